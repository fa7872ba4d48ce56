#include "policy/match/client.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "policy/match/glob_index.h"

namespace rdmaqos {
namespace {

// `executable` is not among them: a client chooses the program it runs.
constexpr std::array kPermitKeys{ClientKey::User, ClientKey::Group, ClientKey::Unit, ClientKey::Cgroup};

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

std::string numbers(const std::vector<std::uint32_t>& values)
{
    return fmt::format("{}", fmt::join(values, ", "));
}

std::string names_or_numbers(const std::vector<std::string>& names, const std::vector<std::uint32_t>& values)
{
    return names.empty() ? numbers(values) : fmt::format("{}", fmt::join(names, ", "));
}

std::string_view noun(ClientKey key)
{
    switch (key) {
    case ClientKey::User:
        return "user";
    case ClientKey::Group:
        return "group";
    case ClientKey::Unit:
        return "unit";
    case ClientKey::Cgroup:
        return "cgroup";
    case ClientKey::Executable:
        return "executable";
    }
    return "";
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

bool asks(const ClientCriteria& criteria, ClientKey key)
{
    switch (key) {
    case ClientKey::User:
        // A name that no user has is still a criterion: one that nobody meets.
        return !criteria.users.empty() || !criteria.uids.empty();
    case ClientKey::Group:
        return !criteria.groups.empty() || !criteria.gids.empty();
    case ClientKey::Unit:
        return !criteria.units.empty();
    case ClientKey::Cgroup:
        return !criteria.cgroups.empty();
    case ClientKey::Executable:
        return !criteria.executables.empty();
    }
    return false;
}

bool holds(const ClientCriteria& criteria, ClientKey key, const Identity& identity, ClientUse use)
{
    switch (key) {
    case ClientKey::User:
        return std::find(criteria.uids.begin(), criteria.uids.end(), identity.uid) != criteria.uids.end();
    case ClientKey::Group:
        return std::any_of(criteria.gids.begin(), criteria.gids.end(), [&](std::uint32_t gid) {
            return std::find(identity.gids.begin(), identity.gids.end(), gid) != identity.gids.end();
        });
    case ClientKey::Unit:
        return unit_holds(criteria.units, identity, use);
    case ClientKey::Cgroup:
        return any_matches(criteria.cgroups, identity.cgroup);
    case ClientKey::Executable:
        return use == ClientUse::Classify && any_matches(criteria.executables, identity.executable);
    }
    return false;
}

std::string asked(const ClientCriteria& criteria, ClientKey key)
{
    switch (key) {
    case ClientKey::User:
        return names_or_numbers(criteria.users, criteria.uids);
    case ClientKey::Group:
        return names_or_numbers(criteria.groups, criteria.gids);
    case ClientKey::Unit:
        return fmt::format("{}", fmt::join(criteria.units, ", "));
    case ClientKey::Cgroup:
        return fmt::format("{}", fmt::join(criteria.cgroups, ", "));
    case ClientKey::Executable:
        return fmt::format("{}", fmt::join(criteria.executables, ", "));
    }
    return {};
}

std::string has(const Identity& identity, ClientKey key)
{
    switch (key) {
    case ClientKey::User:
        return fmt::format("uid {}", identity.uid);
    case ClientKey::Group:
        return identity.gids.empty() ? std::string() : fmt::format("gid {}", numbers(identity.gids));
    case ClientKey::Unit:
        return identity.unit;
    case ClientKey::Cgroup:
        return identity.cgroup;
    case ClientKey::Executable:
        return identity.executable;
    }
    return {};
}

std::string has_in_words(const Identity& identity, ClientKey key)
{
    if (key == ClientKey::Unit) {
        return unit_in_words(identity);
    }
    const std::string value = has(identity, key);
    if (value.empty()) {
        return fmt::format("no known {}", noun(key));
    }
    const bool speaks_for_itself = key == ClientKey::User || key == ClientKey::Group;
    return speaks_for_itself ? value : fmt::format("{} {}", noun(key), value);
}

bool is_allowed(const QosLevel& level, const Identity& identity)
{
    if (!level.allow) {
        return true;
    }
    bool asked_anything = false;
    for (const auto key : kPermitKeys) {
        if (!asks(*level.allow, key)) {
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

std::string allowed_in_words(const QosLevel& level)
{
    if (!level.allow) {
        return "everyone";
    }
    std::string text;
    for (const auto key : kPermitKeys) {
        if (asks(*level.allow, key)) {
            text += fmt::format("{}{} {}", text.empty() ? "" : " and ", noun(key), asked(*level.allow, key));
        }
    }
    return text.empty() ? "nobody" : text;
}

Permission may_use(const QosLevel& level, const Identity& identity)
{
    if (is_allowed(level, identity)) {
        return {};
    }
    std::string reached;
    for (const auto key : kPermitKeys) {
        if (asks(*level.allow, key) && !holds(*level.allow, key, identity, ClientUse::Permit)) {
            const std::string_view verb = key == ClientKey::User ? "are" : "are in";
            reached += fmt::format("{}{} {}", reached.empty() ? "" : ", ", verb, has_in_words(identity, key));
        }
    }
    if (reached.empty()) {
        return {false,
                fmt::format("level {} allows nobody: its `allow` names no user, group, unit or cgroup", level.name)};
    }
    return {false, fmt::format("level {} allows {}; you {}", level.name, allowed_in_words(level), reached)};
}

}    // namespace rdmaqos
