#include "policy/explain/changes.h"

#include <utility>

#include <fmt/format.h>

#include "policy/yaml/level_options.h"

namespace rdmaqos {
namespace {

using Properties = std::vector<LevelProperty>;

std::string differences(const Properties& before, const Properties& after)
{
    std::string text;
    for (std::size_t i = 0; i < after.size(); ++i) {
        const auto& [key, was, without] = before[i];
        const auto& is = after[i].value;
        if (was != is) {
            text += fmt::format("{}{} {} -> {}", text.empty() ? "" : ", ", key, was.empty() ? without : was,
                                is.empty() ? without : is);
        }
    }
    return text;
}

std::string summary(const Properties& properties)
{
    std::string text;
    for (const auto& [key, value, without] : properties) {
        if (!value.empty()) {
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key, value);
        }
    }
    return text.empty() ? "" : fmt::format(" ({})", text);
}

}    // namespace

std::vector<LevelChange> level_changes(const Policy& before, const Policy& after)
{
    std::vector<LevelChange> changes;
    for (const auto& level : after.levels) {
        if (level.from_ulp) {
            continue;
        }
        const QosLevel* old = before.find_level(level.name);
        const Properties properties = properties_of(after, level);
        if (old == nullptr) {
            changes.push_back({level.name, LevelChangeKind::New, "new" + summary(properties)});
        } else if (auto text = differences(properties_of(before, *old), properties); !text.empty()) {
            changes.push_back({level.name, LevelChangeKind::Changed, std::move(text)});
        }
    }
    for (const auto& level : before.levels) {
        if (!level.from_ulp && after.find_level(level.name) == nullptr) {
            changes.push_back({level.name, LevelChangeKind::Removed, "removed"});
        }
    }
    return changes;
}

}    // namespace rdmaqos
