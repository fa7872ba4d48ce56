#include "policy/model/policy.h"

#include <algorithm>

#include <fmt/format.h>

#include "lib/base/hash.h"
#include "lib/base/text.h"

namespace rdmaqos {

std::string_view to_string(MessageModel model)
{
    switch (model) {
    case MessageModel::Default:
        return "default";
    case MessageModel::LowLatency:
        return "low-latency";
    case MessageModel::HighBandwidth:
        return "high-bandwidth";
    case MessageModel::ForceLowLatency:
        return "force-low-latency";
    }
    return "default";
}

std::string revision_of(const std::vector<std::shared_ptr<const SourceFile>>& sources)
{
    std::uint64_t hash = kFnvOffset;
    for (const auto& source : sources) {
        hash = fnv1a(source->text, hash);
        hash = fnv1a(std::string_view("\0", 1), hash);
    }
    return fmt::format("{:016x}", hash);
}

const QosLevel* Policy::find_level(std::string_view name) const
{
    for (const auto& level : levels) {
        if (!level.from_ulp && equals_ignoring_case(level.name, name)) {
            return &level;
        }
    }
    return nullptr;
}

const QosLevel* Policy::find_renamed_level(std::string_view former_name) const
{
    for (const auto& level : levels) {
        for (const auto& name : level.renamed_from) {
            if (equals_ignoring_case(name, former_name)) {
                return &level;
            }
        }
    }
    return nullptr;
}

std::optional<std::uint16_t> Policy::find_qos_class(std::string_view name) const
{
    for (const auto& entry : qos_class_names) {
        if (equals_ignoring_case(entry.name, name)) {
            return entry.number;
        }
    }
    return std::nullopt;
}

std::span<const LevelOverride> Policy::overrides_of(const QosLevel& level) const
{
    const auto index = static_cast<std::size_t>(&level - levels.data());
    return {std::ranges::lower_bound(overrides, index, {}, &LevelOverride::level),
            std::ranges::upper_bound(overrides, index, {}, &LevelOverride::level)};
}

std::string Policy::describe_rule(const MatchRule& rule) const
{
    const auto place = rule.location.to_string();
    return fmt::format("{} rule {}{}", rule.origin == RuleOrigin::Ulp ? "ulp" : "match", rule.number,
                       place.empty() ? "" : fmt::format(" ({})", place));
}

}    // namespace rdmaqos
