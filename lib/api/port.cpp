#include "lib/api/port.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace rdmaqos::api {
namespace {

template <typename T, std::size_t size>
using Words = std::array<std::pair<T, std::string_view>, size>;

constexpr Words<dcb::Selection, 4> kSelections{{{dcb::Selection::Strict, "strict"},
                                                {dcb::Selection::CreditBasedShaper, "credit-based"},
                                                {dcb::Selection::Ets, "ets"},
                                                {dcb::Selection::Vendor, "vendor"}}};
constexpr Words<dcb::Selector, 5> kSelectors{{{dcb::Selector::Ethertype, "ethertype"},
                                              {dcb::Selector::StreamPort, "stream-port"},
                                              {dcb::Selector::DatagramPort, "datagram-port"},
                                              {dcb::Selector::AnyPort, "port"},
                                              {dcb::Selector::Dscp, "dscp"}}};
constexpr Words<bool dcb::Dcbx::*, 4> kDcbx{{{&dcb::Dcbx::host, "host"},
                                             {&dcb::Dcbx::firmware, "firmware"},
                                             {&dcb::Dcbx::ieee, "ieee"},
                                             {&dcb::Dcbx::cee, "cee"}}};

template <typename T, std::size_t size>
std::string_view word_of(const Words<T, size>& words, T value)
{
    const auto found = std::ranges::find(words, value, &std::pair<T, std::string_view>::first);
    return found == words.end() ? std::string_view() : found->second;
}

template <typename T, std::size_t size>
std::optional<T> value_of(const Words<T, size>& words, std::string_view word)
{
    const auto found = std::ranges::find(words, word, &std::pair<T, std::string_view>::second);
    return found == words.end() ? std::nullopt : std::optional(found->first);
}

void set_ets(Port& port, const dcb::Ets& ets)
{
    for (std::uint32_t i = 0; i < std::min<std::size_t>(ets.classes, dcb::kTrafficClasses); ++i) {
        const auto& each = ets.traffic_class.at(i);
        port.classes.push_back({i, std::string(word_of(kSelections, each.selection)), each.weight, each.max_rate});
    }
    for (auto& priority : port.priorities) {
        priority.traffic_class = ets.class_of_priority.at(priority.priority);
    }
}

void set_buffers(Port& port, const dcb::Buffers& buffers)
{
    for (std::uint32_t i = 0; i < dcb::kTrafficClasses; ++i) {
        port.buffers.push_back({i, buffers.size.at(i)});
    }
    for (auto& priority : port.priorities) {
        priority.buffer = buffers.buffer_of_priority.at(priority.priority);
    }
    port.buffers_total = buffers.total;
}

dcb::Ets ets_of(const Port& port)
{
    dcb::Ets ets;
    ets.classes = static_cast<std::uint8_t>(std::min(port.classes.size(), dcb::kTrafficClasses));
    for (const auto& each : port.classes) {
        if (each.number < dcb::kTrafficClasses) {
            ets.traffic_class.at(each.number) = {value_of(kSelections, each.selection).value_or(dcb::Selection::Vendor),
                                                 static_cast<std::uint8_t>(each.weight), each.max_rate};
        }
    }
    return ets;
}

void take_priority(const PortPriority& each, dcb::PortSettings& settings)
{
    if (each.priority >= dcb::kPriorities) {
        return;
    }
    if (settings.ets && each.traffic_class && *each.traffic_class < dcb::kTrafficClasses) {
        settings.ets->class_of_priority.at(each.priority) = static_cast<std::uint8_t>(*each.traffic_class);
    }
    if (settings.pfc && each.lossless) {
        settings.pfc->lossless.at(each.priority) = *each.lossless;
    }
    if (settings.buffers && each.buffer && *each.buffer < dcb::kTrafficClasses) {
        settings.buffers->buffer_of_priority.at(each.priority) = static_cast<std::uint8_t>(*each.buffer);
    }
}

}    // namespace

void set_settings(Port& port, const dcb::PortSettings& settings)
{
    port.trust = dcb::trusts_dscp(settings) ? "dscp" : "pcp";
    for (std::uint32_t i = 0; i < dcb::kPriorities; ++i) {
        port.priorities.push_back({i});
        if (settings.pfc) {
            port.priorities.back().lossless = settings.pfc->lossless.at(i);
        }
    }
    if (settings.ets) {
        set_ets(port, *settings.ets);
    }
    port.has_max_rates = settings.has_max_rates;
    for (const auto& each : settings.apps) {
        port.applications.push_back(
            {std::string(word_of(kSelectors, each.selector)), each.protocol, std::uint32_t{each.priority}});
    }
    if (settings.pfc) {
        port.lossless_capacity = settings.pfc->capacity;
    }
    if (settings.buffers) {
        set_buffers(port, *settings.buffers);
    }
    if (settings.dcbx) {
        for (const auto& [member, word] : kDcbx) {
            if (settings.dcbx.value().*member) {
                port.dcbx.emplace_back(word);
            }
        }
    }
}

std::optional<dcb::PortSettings> settings_of(const Port& port)
{
    if (port.state != kPortRead) {
        return std::nullopt;
    }
    dcb::PortSettings settings;
    if (!port.classes.empty()) {
        settings.ets = ets_of(port);
    }
    settings.has_max_rates = port.has_max_rates;
    if (port.lossless_capacity) {
        settings.pfc.emplace().capacity = static_cast<std::uint8_t>(*port.lossless_capacity);
    }
    if (port.buffers_total) {
        dcb::Buffers& buffers = settings.buffers.emplace();
        buffers.total = *port.buffers_total;
        for (const auto& each : port.buffers) {
            if (each.number < dcb::kTrafficClasses) {
                buffers.size.at(each.number) = each.size;
            }
        }
    }
    for (const auto& each : port.priorities) {
        take_priority(each, settings);
    }
    for (const auto& each : port.applications) {
        if (const auto selector = value_of(kSelectors, each.selector);
            selector && each.protocol <= UINT16_MAX && each.priority < dcb::kPriorities) {
            settings.apps.push_back(
                {*selector, static_cast<std::uint16_t>(each.protocol), static_cast<std::uint8_t>(each.priority)});
        }
    }
    std::ranges::sort(settings.apps);
    for (const auto& [member, word] : kDcbx) {
        if (std::ranges::find(port.dcbx, word) != port.dcbx.end()) {
            settings.dcbx = settings.dcbx.value_or(dcb::Dcbx());
            settings.dcbx.value().*member = true;
        }
    }
    return settings;
}

}    // namespace rdmaqos::api
