#include "tools/rdma-qosctl/simulate/html.h"

#include <fmt/format.h>

#include "lib/base/text.h"
#include "tools/rdma-qosctl/simulate/words.h"

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
