#include "tools/rdma-qosctl/simulate/html.h"

#include "lib/base/text.h"

namespace rdmaqos::ctl::page {

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
