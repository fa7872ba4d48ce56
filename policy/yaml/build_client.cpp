#include "policy/yaml/build_client.h"

#include <array>

#include <fmt/format.h>

#include "lib/base/text.h"

namespace rdmaqos::reader {
namespace {

using namespace std::string_view_literals;

constexpr std::array kKeys{"user"sv, "group"sv, "unit"sv, "cgroup"sv, "executable"sv};

using Lookup = std::optional<std::uint32_t> (UserDirectory::*)(const std::string&);

// Users or groups: exact names or numbers, resolved now.
void read_accounts(Build& build, const Field& field, Lookup look_up, std::vector<std::string>& written,
                   std::vector<std::uint32_t>& ids)
{
    for (const Field& item : read_items(build.context, field)) {
        auto name = read_text(build.context, item);
        if (!name) {
            continue;
        }
        if (has_glob(*name)) {
            build.context.error(*item.value, fmt::format("`{}` must be an exact name or a number, not a pattern", field.key),
                                field.key == "user" ? "name a `group` for many users" : "");
            continue;
        }
        std::optional<std::uint32_t> id;
        const auto number = parse_number(*name);
        const bool is_number = number || name->find_first_not_of("0123456789") == std::string::npos;
        if (is_number && number.value_or(~std::uint64_t{0}) >= 0xFFFFFFFF) {
            build.context.error(*item.value, fmt::format("{} {} is out of range", field.key, *name));
            continue;
        }
        if (number) {
            id = static_cast<std::uint32_t>(*number);
        } else {
            id = (build.users.*look_up)(*name);
        }
        if (id) {
            ids.push_back(*id);
        } else {
            build.context.warning(*item.value, fmt::format("there is no {} `{}` on this host: it never matches", field.key,
                                                           *name),
                                  "reload the policy after the account is made");
        }
        written.push_back(std::move(*name));
    }
}

enum class PatternOf : std::uint8_t { Unit, Path };

void read_patterns(Context& context, const Field& field, PatternOf kind, std::vector<std::string>& patterns)
{
    for (const Field& item : read_items(context, field)) {
        auto pattern = read_text(context, item);
        if (!pattern) {
            continue;
        }
        const std::string_view view = *pattern;
        if (kind == PatternOf::Path && std::string_view("/*?[").find(view[0]) == std::string_view::npos) {
            context.warning(*item.value, fmt::format("`{}` never matches: it is compared with a whole path", view),
                            fmt::format("write `*/{}` or the path from `/` on", view));
        }
        if (kind == PatternOf::Unit && !has_glob(view) && view.find('.') == std::string_view::npos) {
            context.warning(*item.value, fmt::format("`{}` never matches: a unit's name has a type", view),
                            fmt::format("write `{0}.service`, `{0}.scope` or `{0}.*`", view));
        }
        patterns.push_back(std::move(*pattern));
    }
}

}    // namespace

std::optional<ClientCriteria> read_client(Build& build, const Field& field, ClientFor use)
{
    Context& context = build.context;
    const Mapping mapping(context, *field.value, fmt::format("`{}`", field.key), kKeys);
    if (!mapping.is_valid()) {
        return std::nullopt;
    }
    ClientCriteria criteria;
    criteria.location = context.locate(*field.value);
    if (field.value->children.empty()) {
        context.error(*field.value, fmt::format("`{}` names nobody", field.key), "leave the key out for everybody");
        return std::nullopt;
    }
    if (const auto users = mapping.find("user")) {
        read_accounts(build, *users, &UserDirectory::uid_of, criteria.users, criteria.uids);
    }
    if (const auto groups = mapping.find("group")) {
        read_accounts(build, *groups, &UserDirectory::gid_of, criteria.groups, criteria.gids);
    }
    if (const auto units = mapping.find("unit")) {
        read_patterns(context, *units, PatternOf::Unit, criteria.units);
    }
    if (const auto cgroups = mapping.find("cgroup")) {
        read_patterns(context, *cgroups, PatternOf::Path, criteria.cgroups);
    }
    if (const auto executables = mapping.find("executable")) {
        if (use == ClientFor::Allow) {
            context.error(*find_key(*field.value, "executable"), "`executable` cannot stand in `allow`",
                          "anybody can run a program; go by `user`, `group`, `unit` or `cgroup`, and let a rule's "
                          "`client` classify by executable");
        } else {
            read_patterns(context, *executables, PatternOf::Path, criteria.executables);
        }
    }
    return criteria;
}

}    // namespace rdmaqos::reader
