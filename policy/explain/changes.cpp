#include "policy/explain/changes.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "policy/match/client.h"

namespace rdmaqos {
namespace {

// A key of a level and its value in words; "" where the level has none.
using Properties = std::vector<std::pair<std::string_view, std::string>>;

template <typename T, typename Words>
std::string or_nothing(const std::optional<T>& value, Words words)
{
    return value ? words(*value) : std::string();
}

std::string number_in_words(std::uint64_t value)
{
    return fmt::format("{}", value);
}

std::string rate_in_words(Bandwidth rate)
{
    return to_string(rate);
}

void add_schedule(const Policy& policy, const std::optional<Schedule>& schedule, Properties& properties)
{
    const bool has = schedule.has_value();
    const auto add = [&](std::string_view key, std::string value) {
        properties.emplace_back(key, has ? std::move(value) : std::string());
    };
    const Schedule& values = has ? *schedule : Schedule{};
    add("parent", values.parent ? policy.nodes.at(*values.parent).name : "the root");
    add("share", values.rate.share ? number_in_words(*values.rate.share) : "device-default");
    add("min-rate", or_nothing(values.rate.min_rate, rate_in_words));
    add("max-rate", or_nothing(values.rate.max_rate, rate_in_words));
    add("fair-by", values.fair_by == FairBy::None ? "" : std::string(to_string(values.fair_by)));
    add("leaf-budget", or_nothing(values.leaf_budget, number_in_words));
    add("responder share",
        values.responder ? (values.responder->share ? number_in_words(*values.responder->share) : "device-default")
                         : "");
    add("responder max-rate", values.responder ? or_nothing(values.responder->max_rate, rate_in_words) : "");
}

Properties properties_of(const Policy& policy, const QosLevel& level)
{
    Properties properties;
    const auto add = [&](std::string_view key, std::string value) { properties.emplace_back(key, std::move(value)); };
    add("sl", or_nothing(level.sl, number_in_words));
    add("sl-source", level.sl_source == SlSource::Host ? "host" : "");
    add("traffic-class", or_nothing(level.traffic_class, number_in_words));
    add("mtu-limit", or_nothing(level.mtu_limit, [](IbMtu mtu) { return fmt::format("{}", bytes(mtu)); }));
    add("rate-limit", or_nothing(level.rate_limit, [](IbRate rate) { return to_string(nominal(rate)); }));
    add("packet-life", or_nothing(level.packet_life, number_in_words));
    add("pkey", to_string(level.pkeys, NumberBase::Hex));
    add_schedule(policy, level.schedule, properties);
    add("per-queue-pair max-rate", or_nothing(level.per_queue_pair.max_rate, rate_in_words));
    add("per-queue-pair max-burst", or_nothing(level.per_queue_pair.max_burst, number_in_words));
    add("per-queue-pair typical-packet", or_nothing(level.per_queue_pair.typical_packet, number_in_words));
    add("message-model",
        or_nothing(level.message_model, [](MessageModel model) { return std::string(to_string(model)); }));
    add("allow", level.allow ? allowed_in_words(level) : "");
    return properties;
}

// What a level is without the key.
std::string_view absent_value(std::string_view key)
{
    return key == "allow" ? "everyone" : key == "sl-source" ? "subnet-manager" : "none";
}

std::string differences(const Properties& before, const Properties& after)
{
    std::string text;
    for (std::size_t i = 0; i < after.size(); ++i) {
        const auto& [key, was] = before[i];
        const auto& is = after[i].second;
        if (was != is) {
            text += fmt::format("{}{} {} -> {}", text.empty() ? "" : ", ", key, was.empty() ? absent_value(key) : was,
                                is.empty() ? absent_value(key) : is);
        }
    }
    return text;
}

std::string summary(const Properties& properties)
{
    std::string text;
    for (const auto& [key, value] : properties) {
        if (!value.empty()) {
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key, value);
        }
    }
    return text.empty() ? "" : fmt::format(" ({})", text);
}

}    // namespace

std::vector<std::string> level_changes(const Policy& before, const Policy& after)
{
    std::vector<std::string> changes;
    for (const auto& level : after.levels) {
        if (level.from_ulp) {
            continue;
        }
        const QosLevel* old = before.find_level(level.name);
        const Properties properties = properties_of(after, level);
        if (old == nullptr) {
            changes.push_back(fmt::format("level {}: new{}", level.name, summary(properties)));
        } else if (const auto text = differences(properties_of(before, *old), properties); !text.empty()) {
            changes.push_back(fmt::format("level {}: {}", level.name, text));
        }
    }
    for (const auto& level : before.levels) {
        if (!level.from_ulp && after.find_level(level.name) == nullptr) {
            changes.push_back(fmt::format("level {}: gone", level.name));
        }
    }
    return changes;
}

}    // namespace rdmaqos
