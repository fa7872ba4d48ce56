// From merged sections to a Policy, section by section. Each part reports its mistakes and goes on.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "policy/load/policy_reader.h"
#include "policy/model/policy.h"
#include "policy/yaml/fields.h"
#include "policy/yaml/sections.h"

namespace rdmaqos::reader {

// Asks the name service once per name.
class UserDirectory {
public:
    explicit UserDirectory(const NameService& names) : names_(names) {}

    [[nodiscard]] std::optional<std::uint32_t> uid_of(const std::string& name);
    [[nodiscard]] std::optional<std::uint32_t> gid_of(const std::string& name);

private:
    const NameService& names_;
    std::unordered_map<std::string, std::optional<std::uint32_t>> uids_;
    std::unordered_map<std::string, std::optional<std::uint32_t>> gids_;
};

// Names ignoring case -> index into a vector of the policy.
class NameIndex {
public:
    // The first of a name wins.
    void add(std::string_view name, std::size_t index);
    [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;
    void clear() { index_.clear(); }

private:
    std::unordered_map<std::string, std::size_t> index_;
};

// Where the rates of a node or level were written, for messages about siblings.
struct RateFields {
    const Node* share = nullptr;
    const Node* min_rate = nullptr;
    const Node* max_rate = nullptr;
};

struct Build {
    Build(Context& context_, UserDirectory& users_, const Sections& sections_)
        : context(context_), users(users_), sections(sections_)
    {
    }

    Context& context;
    UserDirectory& users;
    const Sections& sections;
    Policy policy;
    NameIndex groups;
    NameIndex nodes;
    NameIndex levels;
    std::unordered_map<std::string, std::uint16_t> class_numbers;    // by name in lower case
    std::vector<RateFields> node_fields;     // parallel to policy.nodes
    std::vector<RateFields> level_fields;    // parallel to the named ones of policy.levels
    std::optional<std::size_t> ulp_default;
    std::vector<MatchRule> ulp_rules;    // go behind the match rules
};

// In the order in which they must be called. `sections` must outlive the build.
void read_groups(Build& build);
void read_class_names(Build& build);
void read_scheduling_nodes(Build& build);
void read_levels(Build& build);
void read_partitions(Build& build);
void read_ulps(Build& build);    // before the match rules: these may name the groups it makes
void read_match_rules(Build& build);
void read_setups(Build& build);
void choose_default_level(Build& build);
void check_tree(Build& build);

// Shared by the parts.

// `share`, `min-rate` and `max-rate` of a mapping that has any of them.
[[nodiscard]] RateSpec read_rate_spec(Context& context, const Mapping& mapping, RateFields& fields);
// `client:` of a rule or `allow:` of a level.
enum class ClientFor : bool { Rule, Allow };
[[nodiscard]] std::optional<ClientCriteria> read_client(Build& build, const Field& field, ClientFor use);
// The index of a name that must exist; reports it otherwise.
[[nodiscard]] std::optional<std::size_t> find_level(Build& build, const Field& field);
[[nodiscard]] std::optional<std::size_t> find_node(Build& build, const Field& field);
[[nodiscard]] std::vector<std::size_t> find_groups(Build& build, const Field& field);

}    // namespace rdmaqos::reader
