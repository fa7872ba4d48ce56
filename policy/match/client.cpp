#include "policy/match/client.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/base/overloaded.h"
#include "policy/match/glob_index.h"

namespace rdmaqos {
namespace {

bool any_matches(const std::vector<std::string>& patterns, const std::string& name)
{
    return !name.empty() && std::any_of(patterns.begin(), patterns.end(),
                                        [&](const std::string& pattern) { return name_matches(pattern, name); });
}

// Users may name a unit below their own manager as they like, so only the system's unit gives a permission.
bool unit_holds(const std::vector<std::string>& patterns, const Identity& identity, ClientUse use)
{
    const auto names = unit_names(identity);
    const auto last = use == ClientUse::Permit ? names.begin() + 1 : names.end();
    return std::any_of(names.begin(), last, [&](const std::string& name) { return any_matches(patterns, name); });
}

std::string unit_in_words(const Identity& identity)
{
    const auto system_unit = system_unit_of_cgroup(identity.cgroup);
    if (identity.unit.empty()) {
        return "no unit";
    }
    if (identity.cgroup.empty() || system_unit == identity.unit) {
        return fmt::format("unit {}", identity.unit);
    }
    return fmt::format("unit {} (inside {})", identity.unit, system_unit.empty() ? "a container" : system_unit);
}

}    // namespace

std::vector<std::string> unit_names(const Identity& identity)
{
    std::string system_unit = identity.cgroup.empty() ? identity.unit : system_unit_of_cgroup(identity.cgroup);
    if (system_unit == identity.unit) {
        return {std::move(system_unit)};
    }
    return {std::move(system_unit), identity.unit};
}

bool holds(const ClientCriteria& criteria, const ClientKey& key, const Identity& identity, ClientUse use)
{
    if (use == ClientUse::Permit && !key.gives_permission()) {
        return false;
    }
    return std::visit(Overloaded{
                          [&](const AccountKind& accounts) {
                              const auto& asked = criteria.*accounts.numbers;
                              const auto has = accounts.of(identity);
                              return std::find_first_of(has.begin(), has.end(), asked.begin(), asked.end()) !=
                                     has.end();
                          },
                          [&](const NameKind& names) {
                              return names.form == NameForm::Unit
                                         ? unit_holds(criteria.*names.patterns, identity, use)
                                         : any_matches(criteria.*names.patterns, identity.*names.name);
                          },
                      },
                      key.kind);
}

std::string has(const Identity& identity, const ClientKey& key)
{
    return std::visit(Overloaded{
                          [&](const AccountKind& accounts) {
                              const auto values = accounts.of(identity);
                              return values.empty() ? std::string()
                                                    : fmt::format("{} {}", accounts.noun, fmt::join(values, ", "));
                          },
                          [&](const NameKind& names) { return identity.*names.name; },
                      },
                      key.kind);
}

std::string has_in_words(const Identity& identity, const ClientKey& key)
{
    const auto* names = std::get_if<NameKind>(&key.kind);
    if (names != nullptr && names->form == NameForm::Unit) {
        return unit_in_words(identity);
    }
    const std::string value = has(identity, key);
    if (value.empty()) {
        return fmt::format("no known {}", key.name());
    }
    return names == nullptr ? value : fmt::format("{} {}", key.name(), value);
}

bool is_allowed(const QosLevel& level, const Identity& identity)
{
    if (!level.allow) {
        return true;
    }
    bool asked_anything = false;
    for (const ClientKey& key : kClientKeys) {
        if (!permits(*level.allow, key)) {
            continue;
        }
        asked_anything = true;
        if (!holds(*level.allow, key, identity, ClientUse::Permit)) {
            return false;
        }
    }
    // An `allow` that names nobody allows nobody.
    return asked_anything;
}

Permission may_use(const QosLevel& level, const Identity& identity)
{
    if (is_allowed(level, identity)) {
        return {};
    }
    std::string reached;
    for (const ClientKey& key : kClientKeys) {
        if (permits(*level.allow, key) && !holds(*level.allow, key, identity, ClientUse::Permit)) {
            reached += fmt::format("{}{} {}", reached.empty() ? "" : ", ", key.verb, has_in_words(identity, key));
        }
    }
    if (reached.empty()) {
        return {false, fmt::format("level {} allows nobody: its `allow` names no {}", level.name, permitting_keys(""))};
    }
    return {false, fmt::format("level {} allows {}; you {}", level.name, allowed_in_words(level), reached)};
}

}    // namespace rdmaqos
