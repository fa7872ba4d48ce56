#include "tools/rdma-qosctl/rendering/program_rates.h"

#include <fmt/format.h>

#include "lib/base/text.h"
#include "tools/rdma-qosctl/rendering/value_text.h"

namespace rdmaqos::ctl {
namespace {

using Align = Table::Align;
using Fit = Table::Fit;

// Three digits tell enough of what changes each second: "71.2 Gbit/s".
std::string measured_text(Bandwidth rate)
{
    constexpr double kThousand = 1000;
    auto value = static_cast<double>(rate.kbps());
    const char* unit = "kbit/s";
    for (const char* larger : {"Mbit/s", "Gbit/s"}) {
        if (value < kThousand) {
            break;
        }
        value /= kThousand;
        unit = larger;
    }
    return value < 10 && rate.kbps() >= 1000    ? fmt::format("{:.2f} {}", value, unit)
           : value < 100 && rate.kbps() >= 1000 ? fmt::format("{:.1f} {}", value, unit)
                                                : fmt::format("{:.0f} {}", value, unit);
}

std::string part_of(Bandwidth rate, Bandwidth link)
{
    return link.is_zero()
               ? std::string()
               : fmt::format("{:.1f} %", 100.0 * static_cast<double>(rate.kbps()) / static_cast<double>(link.kbps()));
}

std::string title_of(const PortRates& port, Bandwidth link, const Screen& screen)
{
    if (port.programs.empty()) {
        return fmt::format("{}: {}\n", port.device,
                           port.queue_pairs == 0 ? "no session has queue pairs here" : "nothing is counted");
    }
    const std::string title = fmt::format("{}: the queue pairs below send {} and receive {}{}", port.device,
                                          measured_text(port.sent), measured_text(port.received),
                                          link.is_zero() ? std::string() : fmt::format(" (link: {})", to_string(link)));
    return sentence_on(screen, 0, 2, printable(title)) + "\n";
}

std::string counted_text(const PortRates& port, const Screen& screen)
{
    if (port.reason.empty()) {
        return {};
    }
    const std::string what = port.queue_pairs == port.counted
                                 ? std::string("not all is counted:")
                                 : fmt::format("not counted, {} of {} of sessions:", port.queue_pairs - port.counted,
                                               counted(port.queue_pairs, "queue pair"));
    return labelled(what, Style::Warning, port.reason, screen);
}

}    // namespace

std::string render_rates(const std::vector<PortRates>& ports, RatesBy by,
                         const std::map<std::string, Bandwidth>& link_speeds, const Screen& screen)
{
    std::string text;
    for (const auto& port : ports) {
        const auto speed = link_speeds.find(port.device);
        const Bandwidth link = speed == link_speeds.end() ? Bandwidth() : speed->second;
        text += (text.empty() ? "" : "\n") + title_of(port, link, screen);
        Table table({{"SENT", Align::Right},
                     {"OF LINK", Align::Right},
                     {"RECEIVED", Align::Right},
                     {"PACKETS/S", Align::Right, Fit::DropSoon},
                     {"QPS", Align::Right, Fit::Drop},
                     {"LEVEL"},
                     {"LEAF", Align::Left, Fit::ShortenPath},
                     {"PID", Align::Right},
                     {"COMMAND", Align::Left, Fit::Shorten},
                     {"UNIT", Align::Left, Fit::Drop}});
        for (const auto& row : port.programs) {
            const bool by_session = by == RatesBy::Session;
            table.add({measured_text(row.sent), part_of(row.sent, link), measured_text(row.received),
                       fmt::to_string(row.sent_packets), fmt::to_string(row.queue_pairs), row.level, row.leaf,
                       by_session ? number_text(row.pid) : "", row.command, row.unit});
        }
        if (!table.empty()) {
            text += table.render(screen);
        }
        text += counted_text(port, screen);
    }
    return text.empty() ? "there is no managed device\n" : text;
}

}    // namespace rdmaqos::ctl
