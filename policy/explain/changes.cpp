#include "policy/explain/changes.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "policy/explain/properties.h"
#include "policy/keys/level_keys.h"
#include "policy/keys/objects.h"
#include "policy/model/level_index.h"

namespace rdmaqos {
namespace {

// `renamed-from` says nothing of what a level gives.
PolicyProperties what_it_gives(const Policy& policy, const QosLevel& level)
{
    PolicyProperties properties = keys::properties_of(policy, level);
    std::erase_if(properties, [](const PolicyProperty& property) { return property.key == keys::kRenamedFrom; });
    return properties;
}

const QosLevel* level_before(const LevelIndex& before, const LevelIndex& after, const std::string& former_name)
{
    return after.find(former_name) == nullptr ? before.find(former_name) : nullptr;
}

// "renamed from old (sl 3 -> 4)"; empty: no level of `before` had any of its former names.
std::string renaming(const Policy& before, const LevelIndex& levels_before, const Policy& after,
                     const LevelIndex& levels_after, const QosLevel& level)
{
    std::string text;
    for (const auto& name : level.renamed_from) {
        if (const QosLevel* old = level_before(levels_before, levels_after, name)) {
            const auto changed = differences_of(what_it_gives(before, *old), what_it_gives(after, level));
            text += fmt::format("{}{}{}", text.empty() ? "renamed from " : ", ", old->name,
                                changed.empty() ? "" : fmt::format(" ({})", changed));
        }
    }
    return text;
}

// " (override of max-rate, until 2026-11-23T22:00:00Z; without the override of share)": what of the change comes of
// overrides that only one of the two policies has.
std::string overrides_in_words(const Policy& before, const QosLevel& old, const Policy& after, const QosLevel& level)
{
    const auto were = before.overrides_of(old);
    const auto are = after.overrides_of(level);
    std::vector<std::string> words;
    for (const LevelOverride& now : are) {
        if (std::ranges::none_of(were, [&](const LevelOverride& was) {
                return was.property == now.property && was.value == now.value && was.transient == now.transient;
            })) {
            words.push_back(fmt::format("override of {}, {}", now.property, how_long(now.transient)));
        }
    }
    for (const LevelOverride& was : were) {
        if (std::ranges::find(are, was.property, &LevelOverride::property) == are.end()) {
            words.push_back(fmt::format("without the override of {}", was.property));
        }
    }
    return words.empty() ? "" : fmt::format(" ({})", fmt::join(words, "; "));
}

}    // namespace

std::vector<LevelChange> level_changes(const Policy& before, const Policy& after)
{
    const LevelIndex levels_before(before);
    const LevelIndex levels_after(after);
    std::vector<LevelChange> changes;
    for (const auto& level : after.levels) {
        if (level.from_ulp) {
            continue;
        }
        const QosLevel* old = levels_before.find(level.name);
        const PolicyProperties properties = keys::properties_of(after, level);
        if (old != nullptr) {
            if (auto text = differences_of(keys::properties_of(before, *old), properties); !text.empty()) {
                text += overrides_in_words(before, *old, after, level);
                changes.push_back({level.name, PolicyChangeKind::Changed, std::move(text)});
            }
        } else if (auto text = renaming(before, levels_before, after, levels_after, level); !text.empty()) {
            changes.push_back({level.name, PolicyChangeKind::Renamed, std::move(text)});
        } else {
            changes.push_back({level.name, PolicyChangeKind::New, "new" + summary_of(properties)});
        }
    }
    for (const auto& level : before.levels) {
        if (level.from_ulp || levels_after.find(level.name) != nullptr) {
            continue;
        }
        const QosLevel* now = levels_after.find_renamed(level.name);
        if (now == nullptr) {
            changes.push_back({level.name, PolicyChangeKind::Removed, "removed"});
        } else if (levels_before.find(now->name) != nullptr) {    // else it is said of that one
            changes.push_back({level.name, PolicyChangeKind::Renamed, fmt::format("becomes level {}", now->name)});
        }
    }
    return changes;
}

const QosLevel* same_under_another_name(const Policy& before, const QosLevel& gone, const Policy& after)
{
    const PolicyProperties properties = what_it_gives(before, gone);
    if (summary_of(properties).empty()) {
        return nullptr;    // many are like that
    }
    const QosLevel* same = nullptr;
    for (const auto& level : after.levels) {
        if (level.from_ulp || before.find_level(level.name) != nullptr ||
            !differences_of(properties, what_it_gives(after, level)).empty()) {
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
