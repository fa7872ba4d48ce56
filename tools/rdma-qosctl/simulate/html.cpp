#include "tools/rdma-qosctl/simulate/html.h"

#include <fmt/format.h>

#include "lib/base/text.h"
#include "tools/rdma-qosctl/simulate/report.h"

namespace rdmaqos::ctl::page {
namespace {

// Without '<' and '&', so that the page is XML too. Text stands on the colours of levels, c0 to c7, at 4.5 to 1.
constexpr std::string_view kStyle = R"(:root {
  --page: #ffffff; --text: #1b2430; --soft: #556070; --line: #c3cad3; --track: #eef1f4; --head: #f6f8fa;
  --on: #ffffff; --cap: #b3261e; --mark: #1b2430; --warn: #fff4df; --warn-line: #b4540a;
  --c0: #2563a8; --c1: #b0500a; --c2: #1d7547; --c3: #a3315f; --c4: #6a4fb0; --c5: #0f7080; --c6: #7a6000; --c7: #5b6470;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12171e; --text: #e4e9ef; --soft: #a3aebb; --line: #3d4855; --track: #212934; --head: #1a212a;
    --on: #10151c; --cap: #ff8a80; --mark: #f4f7fa; --warn: #33270f; --warn-line: #f2a65e;
    --c0: #7db4f0; --c1: #f2a65e; --c2: #6fd09a; --c3: #f08fb8; --c4: #b9a4f5; --c5: #6ccfdd; --c6: #dcc25a; --c7: #b4bdc8;
  }
}
.c0 { --c: var(--c0); } .c1 { --c: var(--c1); } .c2 { --c: var(--c2); } .c3 { --c: var(--c3); }
.c4 { --c: var(--c4); } .c5 { --c: var(--c5); } .c6 { --c: var(--c6); } .c7 { --c: var(--c7); }
.grey { --c: var(--soft); }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 15px/1.4 system-ui, sans-serif; }
main { max-width: 1300px; margin: 0 auto; padding: 1.5rem 1.25rem 3rem; }
h1 { font-size: 1.5rem; margin: 0; }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; padding-top: 1rem; border-top: 1px solid var(--line); overflow-wrap: anywhere; }
h3 { font-size: 1rem; display: inline; overflow-wrap: anywhere; }
small { font-size: .84em; font-weight: 400; color: var(--soft); }
.note, .used { color: var(--soft); margin: .35rem 0; overflow-wrap: anywhere; }
.patterns { position: absolute; }
.key { list-style: none; display: flex; flex-wrap: wrap; gap: .3rem 1.4rem; margin: .9rem 0 0; padding: 0; font-size: .87rem; }
.key li { display: flex; align-items: center; gap: .5rem; }
.key svg { width: 44px; height: 16px; border-radius: 3px; }
.notes { color: var(--soft); padding-left: 1.2rem; margin: .8rem 0 0; }
.notes li { overflow-wrap: anywhere; }
.warning { background: var(--warn); border-left: 4px solid var(--warn-line); padding: .5rem .8rem; margin: .8rem 0 0; overflow-wrap: anywhere; }
details { margin-top: 1.1rem; }
summary { cursor: pointer; padding: .25rem 0; }
summary .used { margin-left: .6rem; }
.swatch { display: inline-block; flex: none; width: .8em; height: .8em; border-radius: 2px; background: var(--c); margin-right: .45em; }
.track { fill: var(--track); }
.fill { fill: var(--c); }
.asked { fill: var(--c); opacity: .28; }
.hatch { fill: var(--soft); opacity: .35; }
.beyond { fill: url(#beyond); }
.cap { stroke: var(--cap); stroke-width: 3; vector-effect: non-scaling-stroke; }
.guarantee { stroke: var(--mark); stroke-width: 2; stroke-dasharray: 3 2; vector-effect: non-scaling-stroke; }
.guarantee-edge { stroke: var(--page); stroke-width: 4; vector-effect: non-scaling-stroke; }
.tree { margin-top: .5rem; border: 1px solid var(--line); border-radius: 6px; overflow: hidden; }
.row { display: flex; padding: 0 .8rem; }
.row + .row { border-top: 1px solid var(--track); }
.row.head { background: var(--head); color: var(--soft); font-size: .84rem; }
.row.idle .cells { color: var(--soft); }
.row.idle .name b, .row.idle .gets b { font-weight: 400; }
.guides { display: flex; flex: none; }
.guides i { position: relative; width: 1.25rem; }
.guides i.down::before { content: ""; position: absolute; left: .4rem; top: 0; bottom: 0; border-left: 1.5px solid var(--line); }
.guides i.end::before { content: ""; position: absolute; left: .4rem; top: 0; height: 1.1rem; border-left: 1.5px solid var(--line); }
.guides i.branch::after, .guides i.end::after { content: ""; position: absolute; left: .4rem; width: .65rem; top: 1.1rem; border-top: 1.5px solid var(--line); }
.cells { flex: 1; min-width: 0; display: grid; column-gap: .9rem; padding: .4rem 0;
  grid-template-columns: minmax(0, 1fr) 220px 7.2rem 6.4rem 2.6rem 5.6rem 6.8rem 8.6rem; }
.facts { display: contents; }
.name { min-width: 0; overflow-wrap: anywhere; }
.name small { white-space: nowrap; }
.name .use { display: block; white-space: normal; }
.bar svg { display: block; width: 100%; height: 20px; border-radius: 3px; margin-top: 1px; }
.share { text-align: right; }
.why { overflow-wrap: anywhere; }
.head .bar { text-align: left; }
.chart { margin: .6rem 0 0; display: grid; grid-template-columns: auto minmax(0, 1fr); column-gap: .5rem; }
.titles { grid-column: 2; position: relative; height: 1.6rem; font-size: .84rem; color: var(--soft); }
.titles span { position: absolute; bottom: .15rem; padding-right: .6rem; overflow: hidden; white-space: nowrap; text-overflow: ellipsis; }
.scale { position: relative; width: 6rem; height: 280px; font-size: .84rem; color: var(--soft); }
.scale span { position: absolute; right: 0; transform: translateY(-50%); white-space: nowrap; }
.plot { position: relative; height: 280px; background: var(--track); border: solid var(--line); border-width: 1px 0; }
.plot svg { position: absolute; width: 100%; height: 100%; }
.plot .fill { stroke: var(--page); stroke-width: 1; vector-effect: non-scaling-stroke; }
.grid { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 2 5; opacity: .55; vector-effect: non-scaling-stroke; pointer-events: none; }
.step { stroke: var(--soft); stroke-width: 1; vector-effect: non-scaling-stroke; pointer-events: none; }
.band { position: absolute; display: flex; align-items: center; justify-content: center; gap: .4em; padding: 0 .3rem;
  overflow: hidden; white-space: nowrap; color: var(--on); font-size: .87rem; font-weight: 600; pointer-events: none; }
.band span { min-width: 0; overflow: hidden; text-overflow: ellipsis; }
.band small { flex: none; color: var(--on); }
.times { grid-column: 2; position: relative; height: 1.5rem; font-size: .84rem; color: var(--soft); }
.times span { position: absolute; top: .2rem; white-space: nowrap; }
.times .last { right: 0; }
figcaption { grid-column: 2; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin-top: .3rem; font-size: .87rem; }
figcaption span { overflow-wrap: anywhere; }
@media (max-width: 1180px) {
  .tight small { display: none; }
  .row.head { display: none; }
  .row.head + .row { border-top: 0; }
  .cells { grid-template-columns: minmax(0, 1fr) auto; row-gap: .2rem; padding: .5rem 0; }
  .name { grid-column: 1; }
  .gets { grid-column: 2; grid-row: 1; text-align: right; }
  .bar { grid-column: 1 / 3; grid-row: 2; }
  .facts { grid-column: 1 / 3; display: flex; flex-wrap: wrap; gap: 0 1rem; font-size: .87rem; }
  .share { text-align: left; }
  .facts div::before { content: attr(data-label) " "; color: var(--soft); }
  .cells .none { display: none; }
}
@media (max-width: 620px) {
  main { padding: 1rem .7rem 2rem; }
  .row { padding: 0 .5rem; }
  .guides i { width: .95rem; }
  .name small { white-space: normal; }
  .scale { width: 4.3rem; font-size: .78rem; }
  .band small { display: none; }
  .titles, .tight { display: none; }
  summary .used { display: block; margin-left: 0; }
}
@media print { details { break-inside: avoid; } }
)";

}    // namespace

std::string_view style_sheet()
{
    return kStyle;
}

std::string escaped(std::string_view text)
{
    std::string result;
    for (const char c : printable(text)) {
        switch (c) {
        case '&':
            result += "&amp;";
            break;
        case '<':
            result += "&lt;";
            break;
        case '>':
            result += "&gt;";
            break;
        case '"':
            result += "&quot;";
            break;
        case '\'':
            result += "&#39;";
            break;
        default:
            result += c;
        }
    }
    // U+FFFE and U+FFFF are good UTF-8, but no XML.
    for (const std::string_view bad : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"}) {
        for (auto at = result.find(bad); at != std::string::npos; at = result.find(bad, at)) {
            result.replace(at, bad.size(), "\xEF\xBF\xBD");
        }
    }
    return result;
}

LevelColours colours_of(const SimulatedPort& port)
{
    LevelColours colours;
    for (const auto& step : port.steps) {
        for (const auto& level : step.levels) {
            colours.emplace(level.level, colours.size() % kColours);
        }
    }
    return colours;
}

}    // namespace rdmaqos::ctl::page

namespace rdmaqos::ctl {
namespace {

// More trees than anybody reads; the chart shows all steps.
constexpr std::size_t kTreesDrawn = 50;
constexpr std::size_t kTreesOpen = 4;

// No request leaves the page whatever a name in it says.
constexpr std::string_view kHead = R"(<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta name="color-scheme" content="light dark"/>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'"/>
<title>Who gets the bandwidth</title>
<style>
)";

constexpr std::string_view kKey = R"(<ul class="key">
<li><svg viewBox="0 0 44 16" aria-hidden="true"><rect class="track" width="44" height="16"/><rect class="fill c0" width="26" height="16"/></svg>gets</li>
<li><svg viewBox="0 0 44 16" aria-hidden="true"><rect class="track" width="44" height="16"/><rect class="asked c0" width="44" height="16"/></svg>asks for more</li>
<li><svg viewBox="0 0 44 16" aria-hidden="true"><rect class="track" width="44" height="16"/><rect class="beyond" x="26" width="18" height="16"/><line class="cap" x1="26" x2="26" y1="0" y2="16"/></svg>max-rate</li>
<li><svg viewBox="0 0 44 16" aria-hidden="true"><rect class="track" width="44" height="16"/><line class="guarantee-edge" x1="22" x2="22" y1="0" y2="16"/><line class="guarantee" x1="22" x2="22" y1="0" y2="16"/></svg>guaranteed, when all are backlogged</li>
</ul>
)";

constexpr std::string_view kPatterns = R"svg(<svg class="patterns" width="0" height="0" aria-hidden="true"><defs>
<pattern id="beyond" width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<rect class="hatch" width="3" height="8"/></pattern></defs></svg>
)svg";

std::string step_body(const SimulatedStep& step, Bandwidth link_speed, const page::LevelColours& colours)
{
    std::string text = page::tree(step, link_speed, colours);
    for (const auto& outside : step.outside) {
        text += fmt::format("<p class=\"warning\"><b>Not simulated:</b> {}.</p>\n",
                            page::escaped(outside_in_words(outside)));
    }
    if (step.deviation) {
        text += fmt::format("<p class=\"note\"><b>Check:</b> {}.</p>\n",
                            page::escaped(deviation_in_words(*step.deviation)));
    }
    return text;
}

std::string step_section(const SimulatedStep& step, const SimulatedPort& port, bool over_time, bool open,
                         const page::LevelColours& colours)
{
    const std::string used = page::escaped(used_in_words(step, port.link_speed));
    if (!over_time) {
        return fmt::format("<p class=\"used\">{}</p>\n", used) + step_body(step, port.link_speed, colours);
    }
    std::string title = step_in_words(step, true);
    title[0] = 'F';    // "From 0 s to ..."
    return fmt::format("<details{}><summary><h3>{}</h3> <span class=\"used\">{}</span></summary>\n{}</details>\n",
                       open ? " open=\"open\"" : "", page::escaped(title), used,
                       step_body(step, port.link_speed, colours));
}

std::string port_section(const SimulatedPort& port, bool over_time)
{
    const page::LevelColours colours = page::colours_of(port);
    std::string text = fmt::format("<section>\n<h2>{} <small>link {}</small></h2>\n", page::escaped(port.device),
                                   to_string(port.link_speed));
    if (over_time) {
        text += page::chart(port, colours);
    }
    for (std::size_t i = 0; i < port.steps.size() && i < kTreesDrawn; ++i) {
        const bool open = i == 0 || port.steps.size() <= kTreesOpen;
        text += step_section(port.steps[i], port, over_time, open, colours);
    }
    if (port.steps.size() > kTreesDrawn) {
        text += fmt::format("<p class=\"note\">The trees of {} more steps are left out; --json has them.</p>\n",
                            port.steps.size() - kTreesDrawn);
    }
    if (!port.notes.empty()) {
        text += "<ul class=\"notes\">\n";
        for (const auto& note : port.notes) {
            text += fmt::format("<li>{}</li>\n", page::escaped(note));
        }
        text += "</ul>\n";
    }
    return text + "</section>\n";
}

}    // namespace

std::string simulation_page(const SimulationReport& report)
{
    std::string text(kHead);
    text += page::style_sheet();
    text += "</style>\n</head>\n<body>\n";
    text += kPatterns;
    std::string note = report.note;
    if (!note.empty() && note[0] >= 'a' && note[0] <= 'z') {
        note[0] = static_cast<char>(note[0] - 'a' + 'A');
    }
    text += fmt::format("<main>\n<header>\n<h1>Who gets the bandwidth</h1>\n<p class=\"note\">{}.</p>\n",
                        page::escaped(note));
    text += kKey;
    text += "</header>\n";
    for (const auto& port : report.ports) {
        text += port_section(port, report.over_time);
    }
    return text + "</main>\n</body>\n</html>\n";
}

}    // namespace rdmaqos::ctl
