#include "lib/model/port_classes.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "lib/base/try.h"

namespace rdmaqos {
namespace {

constexpr std::uint32_t kLargestWeight = 100;    // percent

tl::unexpected<Error> wrong(std::string message)
{
    return fail(ErrorCode::InvalidArgument, std::move(message));
}

// What the word is about, if it begins with `name`: a number below `count`.
std::optional<std::size_t> number_of(std::string_view subject, std::string_view name, std::size_t count)
{
    if (!subject.starts_with(name)) {
        return std::nullopt;
    }
    const auto number = parse_number(std::string(subject.substr(name.size())));
    return number && *number < count ? std::optional<std::size_t>(*number) : std::nullopt;
}

Result<PortClass> parse_class(std::string_view word, std::string_view value)
{
    PortClass parsed;
    const auto comma = value.find(',');
    const std::string_view service = value.substr(0, comma);
    parsed.is_strict = service == "strict";
    const auto weight = parsed.is_strict ? std::optional<std::uint64_t>(0) : parse_number(std::string(service));
    if (!weight || *weight > kLargestWeight) {
        return wrong(fmt::format("{}: a weight is 0 to {}, or `strict`", printable(word), kLargestWeight));
    }
    parsed.weight = static_cast<std::uint32_t>(*weight);
    if (comma != std::string_view::npos) {
        parsed.max_rate = parse_bandwidth(std::string(value.substr(comma + 1))).value;
        if (!parsed.max_rate) {
            return wrong(fmt::format("{}: behind the comma is a rate, as 10Gbps is", printable(word)));
        }
    }
    return parsed;
}

Result<void> take_word(PortClasses& port, std::string_view word)
{
    const auto equals = word.find('=');
    const std::string_view subject = word.substr(0, equals);
    const std::string_view value = equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1);
    if (const auto number = number_of(subject, "tc", kPortClasses)) {
        port.classes.at(*number) = TRY(parse_class(word, value));
        return {};
    }
    const auto priority = number_of(subject, "prio", kPortPriorities);
    const auto dscp = number_of(subject, "dscp", kDscps);
    const auto to = parse_number(std::string(value));
    if ((!priority && !dscp) || !to || *to >= kPortClasses) {
        return wrong(fmt::format("`{}` is none of tc0=WEIGHT[,RATE] to tc7=strict[,RATE], prio0=CLASS to prio7=CLASS, "
                                 "dscp0=PRIORITY to dscp63=PRIORITY",
                                 printable(word)));
    }
    (priority ? port.class_of_priority.at(*priority)
              : port.priority_of_dscp.at(*dscp)) = static_cast<std::uint8_t>(*to);
    return {};
}

}    // namespace

unsigned rank_of(const PortClasses& port, std::size_t number)
{
    constexpr unsigned kWeightless = 0;
    constexpr unsigned kWeighted = 1;
    constexpr unsigned kLowestStrict = 2;
    const PortClass& own = port.classes.at(number);
    if (own.is_strict) {
        return kLowestStrict + static_cast<unsigned>(number);
    }
    return own.weight > 0 ? kWeighted : kWeightless;
}

std::uint32_t weight_of(const PortClass& port_class)
{
    return port_class.is_strict ? 1 : std::max(1U, port_class.weight);
}

bool divides(const PortClasses& port)
{
    const std::uint8_t first = port.class_of_dscp(0);
    for (std::uint8_t dscp = 0; dscp < kDscps; ++dscp) {
        if (port.class_of_dscp(dscp) != first) {
            return true;
        }
    }
    return port.classes.at(first).max_rate.has_value();
}

std::string in_words(const PortClass& port_class)
{
    const std::string service = port_class.is_strict ? "strict" : fmt::format("weight {}", port_class.weight);
    return port_class.max_rate ? fmt::format("{}, at most {}", service, to_string(*port_class.max_rate)) : service;
}

Result<PortClasses> parse_port_classes(const std::vector<std::string>& words)
{
    PortClasses port;
    for (std::uint8_t priority = 0; priority < kPortPriorities && !words.empty(); ++priority) {
        port.class_of_priority.at(priority) = priority;
    }
    for (const auto& word : words) {
        TRY(take_word(port, word));
    }
    return port;
}

std::vector<std::string> words_of(const PortClasses& port)
{
    std::vector<std::string> words;
    if (port == PortClasses()) {
        return words;
    }
    for (std::size_t number = 0; number < kPortClasses; ++number) {
        const PortClass& own = port.classes.at(number);
        if (own != PortClass()) {
            words.push_back(fmt::format("tc{}={}{}", number, own.is_strict ? "strict" : std::to_string(own.weight),
                                        own.max_rate ? fmt::format(",{}kbps", own.max_rate->kbps()) : std::string()));
        }
    }
    for (std::size_t priority = 0; priority < kPortPriorities; ++priority) {
        if (port.class_of_priority.at(priority) != priority) {
            words.push_back(fmt::format("prio{}={}", priority, port.class_of_priority.at(priority)));
        }
    }
    for (std::size_t dscp = 0; dscp < kDscps; ++dscp) {
        if (port.priority_of_dscp.at(dscp) != 0) {
            words.push_back(fmt::format("dscp{}={}", dscp, port.priority_of_dscp.at(dscp)));
        }
    }
    // Each priority in the class of its number, and nothing else: not what no words say.
    return words.empty() ? std::vector<std::string>{"prio0=0"} : words;
}

}    // namespace rdmaqos
