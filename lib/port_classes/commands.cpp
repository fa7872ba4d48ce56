#include "lib/port_classes/commands.h"

#include <string_view>
#include <variant>

#include <fmt/format.h>

#include "lib/base/overloaded.h"
#include "lib/dcb/words.h"

namespace rdmaqos::port_classes {
namespace {

std::string ets_command(const std::string& interface, const dcb::Ets& ets)
{
    std::string algorithms;
    std::string weights;
    for (std::size_t index = 0; index < ets.classes && index < ets.traffic_class.size(); ++index) {
        const dcb::TrafficClass& each = ets.traffic_class.at(index);
        if (each.selection != dcb::Selection::Vendor) {
            algorithms += fmt::format(" {}:{}", index, dcb::tsa_word(each.selection));
        }
        weights += fmt::format(" {}:{}", index, each.weight);
    }
    std::string priorities;
    for (std::size_t priority = 0; priority < ets.class_of_priority.size(); ++priority) {
        priorities += fmt::format(" {}:{}", priority, ets.class_of_priority.at(priority));
    }
    return fmt::format("dcb ets set dev {}{}{} tc-bw{} prio-tc{}", interface, algorithms.empty() ? "" : " tc-tsa",
                       algorithms, weights, priorities);
}

std::string rates_command(const std::string& interface, const dcb::MaxRates& rates)
{
    std::string text;
    for (std::size_t index = 0; index < rates.size(); ++index) {
        text += fmt::format(" {}:{}$kbit", index, rates.at(index).value_or(Bandwidth{}).kbps());
    }
    return fmt::format("dcb maxrate set dev {} tc-maxrate{}", interface, text);
}

// iproute2 before 6.18 counts bytes per second where the kernel takes kbit/s: there, `bps` is the unit that arrives as
// kbit/s (upstream commit e7d4c060).
constexpr const char* kUnitOfRates = "case $(dcb -V) in *iproute2-[0-5].* | *iproute2-6.[0-9].* | "
                                     "*iproute2-6.1[0-7].*) kbit=bps ;; *) kbit=kbit ;; esac";

std::string dcbx_command(const std::string& interface, const dcb::Dcbx& dcbx)
{
    return fmt::format("dcb dcbx set dev {}{}{}{}{}", interface, dcbx.host ? " host" : "",
                       dcbx.firmware ? " lld-managed" : "", dcbx.cee ? " cee" : "", dcbx.ieee ? " ieee" : "");
}

std::string app_command(std::string_view verb, const std::string& interface)
{
    return fmt::format("dcb app {} dev {} dscp-prio", verb, interface);
}

}    // namespace

std::vector<std::string> dcb_commands(const std::string& interface, const std::vector<Step>& steps)
{
    std::vector<std::string> commands;
    std::string entries;    // how the command begins to which entries are being added
    const auto entry = [&](std::string_view verb, const dcb::AppEntry& app) {
        if (std::string begin = app_command(verb, interface); begin != entries) {
            commands.push_back(begin);
            entries = std::move(begin);
        }
        commands.back() += fmt::format(" {}:{}", app.protocol, app.priority);
    };
    const auto other = [&](std::string command) {
        commands.push_back(std::move(command));
        entries.clear();
    };
    for (const Step& step : steps) {
        std::visit(Overloaded{
                       [&](const dcb::SetEts& set) { other(ets_command(interface, set.ets)); },
                       [&](const dcb::SetMaxRates& set) {
                           other(kUnitOfRates);
                           other(rates_command(interface, set.rates));
                       },
                       [&](const dcb::SetApp& set) { entry("add", set.entry); },
                       [&](const dcb::DeleteApp& set) { entry("del", set.entry); },
                       [&](const dcb::SetDcbx& set) { other(dcbx_command(interface, set.dcbx)); },
                   },
                   step.write);
    }
    return commands;
}

}    // namespace rdmaqos::port_classes
