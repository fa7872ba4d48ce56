#include "policy/explain/changes.h"

#include <utility>

#include <fmt/format.h>

#include "policy/yaml/level_options.h"

namespace rdmaqos {
namespace {

using Properties = std::vector<LevelProperty>;

// `renamed-from` says nothing of what a level gives.
enum class Names : bool { Ignored, Compared };

std::string differences(const Properties& before, const Properties& after, Names names)
{
    std::string text;
    for (std::size_t i = 0; i < after.size(); ++i) {
        if (names == Names::Ignored && after[i].key == kRenamedFromKey) {
            continue;
        }
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

const QosLevel* level_before(const Policy& before, const Policy& after, const std::string& former_name)
{
    return after.find_level(former_name) == nullptr ? before.find_level(former_name) : nullptr;
}

// "renamed from old (sl 3 -> 4)"; empty: no level of `before` had any of its former names.
std::string renaming(const Policy& before, const Policy& after, const QosLevel& level)
{
    std::string text;
    for (const auto& name : level.renamed_from) {
        if (const QosLevel* old = level_before(before, after, name)) {
            const auto changed = differences(properties_of(before, *old), properties_of(after, level), Names::Ignored);
            text += fmt::format("{}{}{}", text.empty() ? "renamed from " : ", ", old->name,
                                changed.empty() ? "" : fmt::format(" ({})", changed));
        }
    }
    return text;
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
        if (old != nullptr) {
            if (auto text = differences(properties_of(before, *old), properties, Names::Compared); !text.empty()) {
                changes.push_back({level.name, LevelChangeKind::Changed, std::move(text)});
            }
        } else if (auto text = renaming(before, after, level); !text.empty()) {
            changes.push_back({level.name, LevelChangeKind::Renamed, std::move(text)});
        } else {
            changes.push_back({level.name, LevelChangeKind::New, "new" + summary(properties)});
        }
    }
    for (const auto& level : before.levels) {
        if (level.from_ulp || after.find_level(level.name) != nullptr) {
            continue;
        }
        const QosLevel* now = after.find_renamed_level(level.name);
        if (now == nullptr) {
            changes.push_back({level.name, LevelChangeKind::Removed, "removed"});
        } else if (before.find_level(now->name) != nullptr) {    // else it is said of that one
            changes.push_back({level.name, LevelChangeKind::Renamed, fmt::format("becomes level {}", now->name)});
        }
    }
    return changes;
}

const QosLevel* same_under_another_name(const Policy& before, const QosLevel& gone, const Policy& after)
{
    const Properties properties = properties_of(before, gone);
    if (summary(properties).empty()) {
        return nullptr;    // many are like that
    }
    const QosLevel* same = nullptr;
    for (const auto& level : after.levels) {
        if (level.from_ulp || before.find_level(level.name) != nullptr ||
            !differences(properties, properties_of(after, level), Names::Ignored).empty()) {
            continue;
        }
        if (same != nullptr) {
            return nullptr;
        }
        same = &level;
    }
    return same;
}

}    // namespace rdmaqos
