// What the parts of a policy's sections are built in, and what they share beyond an Assembly. Each part (build_groups.h
// and so on) reports its mistakes and goes on; build_policy.h calls them in their order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "policy/assembly/assembly.h"
#include "policy/model/policy.h"
#include "policy/text/context.h"
#include "policy/text/name_index.h"
#include "policy/yaml/fields.h"
#include "policy/yaml/sections.h"
#include "policy/yaml/user_directory.h"

namespace rdmaqos::reader {

// Where the rates of a node or level were written, for messages about siblings.
struct RateFields {
    const Node* share = nullptr;
    const Node* min_rate = nullptr;
    const Node* max_rate = nullptr;
};

// An item of a level's `renamed-from`.
struct FormerName {
    const Node* at = nullptr;
    std::size_t level = 0;    // index into Policy::levels
    std::string name;
};

struct Build : Assembly {
    Build(Context& context_, UserDirectory& users_, const Sections& sections_)
        : Assembly(context_), users(users_), sections(sections_)
    {
    }

    UserDirectory& users;
    const Sections& sections;
    NameIndex nodes;
    std::unordered_map<std::string, std::uint16_t> class_numbers;    // by name in lower case
    std::vector<RateFields> node_fields;                             // parallel to policy.nodes
    std::vector<FormerName> former_names;                            // of all levels, in their order
    NameIndex renamed_levels;                                        // by former name
    std::vector<RateFields> level_fields;                            // parallel to the named ones of policy.levels
};

// Of two values that do not go together, the one to report: the second, if an override has brought it in.
[[nodiscard]] inline const Node& to_blame(const Node& first, const Node& second)
{
    return second.overriding && !first.overriding ? second : first;
}

// A `max-rate`, whatever its key is.
void read_cap(Context& context, const Field& field, RateSpec& spec);
// `share`, `min-rate` and `max-rate` of a mapping that has any of them.
[[nodiscard]] RateSpec read_rate_spec(Context& context, const Mapping& mapping, RateFields& fields);
// The index of a name that must exist; reports it otherwise.
[[nodiscard]] std::optional<std::size_t> find_level(Build& build, const Field& field);
[[nodiscard]] std::optional<std::size_t> find_node(Build& build, const Field& field);
[[nodiscard]] std::vector<std::size_t> find_groups(Build& build, const Field& field);

}    // namespace rdmaqos::reader
