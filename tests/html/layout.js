// Runs beside pages of `rdma-qosctl simulate`, which have no script of their own: looks at each in frames of several
// widths for what a reader could not read, and writes one line for each mistake into the document.
"use strict";

const widths = [320, 390, 620, 820, 1020, 1190, 1600];
const report = document.getElementById("report");

function say(line) {
    report.textContent += line + "\n";
}

function name(element) {
    return `<${element.tagName} class="${element.className}"> ${element.textContent.trim().slice(0, 40)}`;
}

function isShown(element) {
    return element.getClientRects().length > 0;
}

function overlap(a, b) {
    const one = a.getBoundingClientRect();
    const two = b.getBoundingClientRect();
    return one.left < two.right - 1 && two.left < one.right - 1 && one.top < two.bottom - 1 && two.top < one.bottom - 1;
}

// Texts that lie beside each other must not touch.
function checkNeighbours(label, elements) {
    const shown = elements.filter(isShown);
    for (let i = 0; i + 1 < shown.length; ++i) {
        if (overlap(shown[i], shown[i + 1])) {
            say(`${label}: ${name(shown[i])} overlaps ${name(shown[i + 1])}`);
        }
    }
}

function checkFrame(label, page) {
    const root = page.documentElement;
    if (root.scrollWidth > root.clientWidth) {
        say(`${label}: ${root.scrollWidth} wide in ${root.clientWidth}`);
    }
    const all = (selector, from = page) => [...from.querySelectorAll(selector)];
    // Titles of steps end in dots where they do not fit; everything else has its room.
    for (const element of all("h1, h2, h3, p, li, .name, .gets, .facts > div, .band, .times span, .scale span")) {
        if (isShown(element) && (element.scrollWidth > element.clientWidth + 1) && element.clientWidth > 0) {
            say(`${label}: cut off: ${name(element)}`);
        }
    }
    for (const row of all(".row")) {
        checkNeighbours(label, all(".name, .bar, .gets, .facts > div", row));
    }
    for (const axis of all(".times, .scale, .titles")) {
        checkNeighbours(label, all("span", axis));
    }
    for (const bar of all(".bar svg").filter(isShown)) {
        if (bar.getBoundingClientRect().width < 100) {
            say(`${label}: a bar is only ${bar.getBoundingClientRect().width} wide`);
        }
    }
}

async function check(page) {
    for (const width of widths) {
        const frame = document.createElement("iframe");
        frame.style.width = `${width}px`;
        frame.style.height = "900px";
        const loaded = new Promise((resolve) => frame.addEventListener("load", resolve));
        frame.src = page;
        document.body.append(frame);
        await loaded;
        for (const details of frame.contentDocument.querySelectorAll("details")) {
            details.open = true;
        }
        checkFrame(`${page} at ${width}`, frame.contentDocument);
        frame.remove();
    }
}

async function main() {
    for (const page of document.body.dataset.pages.split(" ")) {
        await check(page);
    }
    say("looked at all");
}

main().catch((error) => say(`failed: ${error}`));
