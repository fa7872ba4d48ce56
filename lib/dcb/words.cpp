#include "lib/dcb/words.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace rdmaqos::dcb {
namespace {

constexpr std::array<std::pair<Selection, std::string_view>, 4> kTsaWords{{
    {Selection::Strict, "strict"},
    {Selection::CreditBasedShaper, "cbs"},
    {Selection::Ets, "ets"},
    {Selection::Vendor, "vendor"},
}};

}    // namespace

std::string_view in_words(Author author)
{
    switch (author) {
    case Author::Ourselves:
        return "this daemon";
    case Author::Driver:
        return "the driver or the NIC's firmware";
    case Author::DcbTool:
        return "probably the command `dcb`";
    case Author::Unknown:
        break;
    }
    return "another program (as lldpad or mlnx_qos)";
}

std::string_view in_words(Selection selection)
{
    switch (selection) {
    case Selection::Strict:
        return "strict";
    case Selection::CreditBasedShaper:
        return "a credit-based shaper";
    case Selection::Ets:
        return "by weight (ETS)";
    case Selection::Vendor:
        break;
    }
    return "as the NIC's vendor chose";
}

std::string_view in_words(Selector selector)
{
    switch (selector) {
    case Selector::Ethertype:
        return "EtherType";
    case Selector::StreamPort:
        return "TCP port";
    case Selector::DatagramPort:
        return "UDP port";
    case Selector::AnyPort:
        return "port";
    case Selector::Dscp:
        break;
    }
    return "DSCP";
}

std::string in_words(const AppEntry& entry)
{
    return entry.selector == Selector::Ethertype
               ? fmt::format("EtherType {:#06x} to priority {}", entry.protocol, entry.priority)
               : fmt::format("{} {} to priority {}", in_words(entry.selector), entry.protocol, entry.priority);
}

std::string in_words(const Ets& ets)
{
    std::vector<std::string> classes;
    for (std::size_t i = 0; i < kTrafficClasses; ++i) {
        if (std::ranges::find(ets.class_of_priority, i) == ets.class_of_priority.end()) {
            continue;
        }
        const TrafficClass& one = ets.traffic_class.at(i);
        classes.push_back(one.selection == Selection::Ets ? fmt::format("class {}: {} %", i, one.weight)
                                                          : fmt::format("class {}: {}", i, in_words(one.selection)));
    }
    return fmt::format("{}; priorities 0 to 7 in classes {}", fmt::join(classes, ", "),
                       fmt::join(ets.class_of_priority, " "));
}

std::string in_words(const Dcbx& dcbx)
{
    std::string words = dcbx.firmware ? "in the NIC's firmware" : dcbx.host ? "in host mode" : "in no host mode";
    words += dcbx.ieee ? ", IEEE" : "";
    words += dcbx.cee ? ", CEE" : "";
    return words;
}

std::string_view tsa_word(Selection selection)
{
    return std::ranges::find(kTsaWords, selection, &std::pair<Selection, std::string_view>::first)->second;
}

std::optional<Selection> selection_of(std::string_view tsa_word)
{
    const auto* const found = std::ranges::find(kTsaWords, tsa_word, &std::pair<Selection, std::string_view>::second);
    return found == kTsaWords.end() ? std::nullopt : std::optional(found->first);
}

}    // namespace rdmaqos::dcb
