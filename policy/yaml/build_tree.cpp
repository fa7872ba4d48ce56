#include "policy/yaml/build_tree.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "policy/keys/objects.h"
#include "policy/yaml/device_fields.h"

namespace rdmaqos::reader {
namespace {

// Far beyond any device; bounds the length of paths.
constexpr std::size_t kDeepestNode = 32;

struct Parents {
    std::vector<std::optional<std::size_t>> of;    // per object
    std::vector<std::size_t> depth;                // 1: below the root
};

// Cuts what would never end: reports a cycle once, at the parent that closes it.
void break_cycles(Build& build, Parents& parents)
{
    enum class State : std::uint8_t { New, Open, Done };
    const auto& objects = build.sections.nodes.objects();
    std::vector<State> states(objects.size(), State::New);
    parents.depth.assign(objects.size(), 1);
    for (std::size_t start = 0; start < objects.size(); ++start) {
        std::vector<std::size_t> chain;
        std::optional<std::size_t> at = start;
        while (at && states[*at] == State::New) {
            states[*at] = State::Open;
            chain.push_back(*at);
            at = parents.of[*at];
        }
        if (at && states[*at] == State::Open) {
            const std::size_t last = chain.back();
            build.context.error(*find_value(objects[last].mapping, "parent"),
                                fmt::format("scheduling-node `{}` is its own ancestor", objects[*at].name),
                                "follow the `parent` keys: they must end at a node without one");
            parents.of[last].reset();
        }
        for (auto index = chain.rbegin(); index != chain.rend(); ++index) {
            states[*index] = State::Done;
            parents.depth[*index] = parents.of[*index] ? parents.depth[*parents.of[*index]] + 1 : 1;
        }
    }
}

SchedulingNode read_node(Build& build, const NamedObject& object, RateFields& fields)
{
    Context& context = build.context;
    const Mapping mapping(context, object.mapping, keys::kSchedulingNode);
    SchedulingNode node;
    node.name = object.name;
    node.location = context.locate(object.name_at);
    check_path_segment(context, {"name", find_value(object.mapping, "name")}, node.name);
    if (const auto use = mapping.find("use")) {
        node.use = read_description(context, *use);
    }
    node.rate = read_rate_spec(context, mapping, fields);
    node.strict = read_strict(build, mapping, node.name, mapping.has("parent"), node.rate);
    if (const auto devices = mapping.find("devices")) {
        node.devices = read_selectors(context, *devices);
    }
    return node;
}

// A node or level as a member of the tree.
struct Member {
    std::string_view kind;
    const std::string* name;
    const Location* location;
    const RateSpec* rate;
    const RateFields* fields;
    std::optional<std::size_t> node;    // index into Policy::nodes; empty: a level
    bool is_everywhere;                 // on all devices
};

// The members below each node, and at the end those below the root.
using Families = std::vector<std::vector<Member>>;

Families families_of(const Build& build)
{
    const Policy& policy = build.policy;
    Families families(policy.nodes.size() + 1);
    const auto below = [&](const std::optional<std::size_t>& parent) -> std::vector<Member>& {
        return families[parent.value_or(policy.nodes.size())];
    };
    for (std::size_t i = 0; i < policy.nodes.size(); ++i) {
        const auto& node = policy.nodes[i];
        below(node.parent)
            .push_back({"scheduling-node", &node.name, &node.location, &node.rate, &build.node_fields[i], i,
                        node.devices.empty()});
    }
    for (std::size_t i = 0; i < build.level_fields.size(); ++i) {
        const auto& level = policy.levels[i];
        if (level.schedule) {
            below(level.schedule->parent)
                .push_back({"qos-level",
                            &level.name,
                            &level.location,
                            &level.schedule->rate,
                            &build.level_fields[i],
                            {},
                            level.devices.empty()});
        }
    }
    return families;
}

void check_names(Context& context, const std::vector<Member>& family)
{
    std::unordered_map<std::string, const Member*> names;
    for (const Member& member : family) {
        const auto [first, inserted] = names.emplace(to_lower(*member.name), &member);
        if (!inserted) {
            context.error(*member.location, fmt::format("{} `{}` has the name of a {} with the same parent",
                                                        member.kind, *member.name, first->second->kind));
            context.note(*first->second->location, "the other one is defined here");
        }
    }
}

void check_guarantees(Context& context, const std::vector<Member>& family)
{
    const auto guaranteed = std::find_if(family.begin(), family.end(),
                                         [](const Member& member) { return member.rate->has_guarantee(); });
    if (guaranteed == family.end()) {
        return;
    }
    for (const Member& member : family) {
        if (member.rate->has_guarantee()) {
            if (member.fields->share != nullptr) {
                const auto& [share, min_rate, max_rate] = *member.fields;
                const bool is_share = &to_blame(*share, *min_rate) == share;
                context.warning(is_share ? *share : *min_rate,
                                fmt::format("`share` of `{}` has no effect together with `min-rate`", *member.name),
                                "its weight follows from the min-rates of its siblings");
                context.note(context.locate(is_share ? *min_rate : *share),
                             fmt::format("`{}` is given here", is_share ? "min-rate" : "share"));
            }
            continue;
        }
        if (!member.rate->share) {
            const Node* share = member.fields->share;
            const Node* min_rate = guaranteed->fields->min_rate;
            const bool is_share = &to_blame(*share, *min_rate) == share;
            context.error(is_share ? *share : *min_rate,
                          fmt::format("`share: device-default` of `{}` cannot be combined with the min-rate of `{}`",
                                      *member.name, *guaranteed->name),
                          "a guarantee can only be computed against siblings whose weight is known");
            context.note(context.locate(is_share ? *min_rate : *share),
                         is_share ? fmt::format("`min-rate` of `{}` is given here", *guaranteed->name)
                                  : fmt::format("`share` of `{}` is given here", *member.name));
        }
    }
}

// What a member needs: its own guarantee, and those below it. What is on some devices only may be alone there, which is
// seen when the policy is compiled for one.
Bandwidth needed_by(const Member& member, const std::vector<Bandwidth>& needed_below)
{
    if (!member.is_everywhere) {
        return {};
    }
    const Bandwidth own = member.rate->min_rate.value_or(Bandwidth{});
    return member.node ? std::max(own, needed_below[*member.node]) : own;
}

// The places of the largest parts of a sum, at most a few.
void note_parts(Context& context, std::vector<Member> family, const std::vector<Bandwidth>& needed_below)
{
    constexpr std::size_t kMost = 4;
    std::erase_if(family, [&](const Member& member) { return needed_by(member, needed_below).is_zero(); });
    std::stable_sort(family.begin(), family.end(), [&](const Member& a, const Member& b) {
        return needed_by(a, needed_below) > needed_by(b, needed_below);
    });
    for (std::size_t i = 0; i < std::min(family.size(), kMost); ++i) {
        const Member& member = family[i];
        const Bandwidth part = needed_by(member, needed_below);
        const bool is_own = member.rate->min_rate == part;
        context.note(is_own ? context.locate(*member.fields->min_rate) : *member.location,
                     fmt::format("{}{} `{}`{}", to_string(part), is_own ? " for" : " below", *member.name,
                                 i + 1 == kMost && family.size() > kMost
                                     ? fmt::format(", and {} more", family.size() - kMost)
                                     : ""));
    }
}

// The min-rate that an override has brought in below a node, however deep; null: none.
const Node* overriding_below(const Families& families, std::size_t node)
{
    for (const Member& member : families[node]) {
        const Node* min_rate = member.fields->min_rate;
        if (min_rate != nullptr && min_rate->overriding) {
            return min_rate;
        }
        if (const Node* below = member.node ? overriding_below(families, *member.node) : nullptr) {
            return below;
        }
    }
    return nullptr;
}

// Also checked: what is asked below a node cannot be more than its own cap lets through.
void check_sums(Build& build, const Families& families)
{
    const Policy& policy = build.policy;
    std::vector<Bandwidth> needed_below(policy.nodes.size());
    for (std::size_t i = policy.nodes.size(); i-- > 0;) {
        const auto& node = policy.nodes[i];
        Bandwidth& sum = needed_below[i];
        for (const Member& member : families[i]) {
            sum = sum + needed_by(member, needed_below);
        }
        if (node.rate.max_rate && sum > *node.rate.max_rate) {
            const Node& cap = *build.node_fields[i].max_rate;
            const Node* brought_in = overriding_below(families, i);
            build.context.error(brought_in == nullptr ? cap : *brought_in,
                                fmt::format("the min-rates below `{}` add up to {}, more than its `max-rate` {}",
                                            node.name, to_string(sum), to_string(*node.rate.max_rate)));
            if (brought_in != nullptr) {
                build.context.note(build.context.locate(cap), fmt::format("`{}` is capped here", node.name));
            }
            note_parts(build.context, families[i], needed_below);
        }
    }
}

// Parts that siblings are guaranteed of the same whole.
void check_parts(Build& build, const Families& families)
{
    for (std::size_t i = 0; i < families.size(); ++i) {
        std::vector<const Member*> guaranteed;
        std::uint32_t sum = 0;
        for (const Member& member : families[i]) {
            if (member.rate->min_part && member.is_everywhere) {
                guaranteed.push_back(&member);
                sum += member.rate->min_part->hundredths();
            }
        }
        if (sum <= Percentage::kWhole) {
            continue;
        }
        const bool is_root = i == build.policy.nodes.size();
        const auto brought_in = std::ranges::find_if(
            guaranteed, [](const Member* member) { return member->fields->min_rate->overriding; });
        const auto cause = brought_in == guaranteed.end() ? std::prev(guaranteed.end()) : brought_in;
        build.context.error(*(*cause)->fields->min_rate,
                            fmt::format("the min-rates below {} add up to {:g} %",
                                        is_root ? "the root" : fmt::format("`{}`", build.policy.nodes[i].name),
                                        static_cast<double>(sum) / 100));
        constexpr std::size_t kMost = 4;
        guaranteed.erase(cause);
        guaranteed.resize(std::min(guaranteed.size(), kMost));
        for (const Member* member : guaranteed) {
            build.context.note(build.context.locate(*member->fields->min_rate),
                               fmt::format("{} for `{}`", to_string(*member->rate->min_part), *member->name));
        }
    }
}

// A node with nothing below it, and a cap above that of a node further up, which never binds.
void warn_of_no_effect(Build& build, const Families& families)
{
    const Policy& policy = build.policy;
    std::vector<std::optional<std::size_t>> lowest_cap(policy.nodes.size());    // the node that has it
    for (std::size_t i = 0; i < policy.nodes.size(); ++i) {
        const auto& node = policy.nodes[i];
        lowest_cap[i] = node.parent ? lowest_cap[*node.parent] : std::nullopt;
        if (node.rate.max_rate &&
            (!lowest_cap[i] || *node.rate.max_rate < *policy.nodes[*lowest_cap[i]].rate.max_rate)) {
            lowest_cap[i] = i;
        }
        for (const Member& member : families[i]) {
            const auto cap = lowest_cap[i] ? policy.nodes[*lowest_cap[i]].rate.max_rate : std::nullopt;
            if (cap && member.rate->max_rate && *member.rate->max_rate > *cap) {
                build.context.warning(*member.fields->max_rate,
                                      fmt::format("`max-rate` of `{}` has no effect: an ancestor is capped at {}",
                                                  *member.name, to_string(*cap)));
                build.context.note(build.context.locate(*build.node_fields[*lowest_cap[i]].max_rate),
                                   fmt::format("`{}` is capped here", policy.nodes[*lowest_cap[i]].name));
            }
        }
        if (families[i].empty()) {
            build.context.warning(node.location,
                                  fmt::format("scheduling-node `{}` has no effect: nothing is below it", node.name),
                                  "a level is below a node when its `schedule` has `parent: " + node.name + "`");
        }
    }
}

}    // namespace

bool read_strict(Build& build, const Mapping& mapping, const std::string& name, bool has_parent, const RateSpec& rate)
{
    const auto strict = mapping.find("strict");
    if (!strict || !read_bool(build.context, *strict).value_or(false)) {
        return false;
    }
    const Node& key = *find_key(mapping.node(), "strict");
    if (has_parent) {
        build.context.error(key, fmt::format("`strict` of `{}` needs a traffic class, and it has a `parent`", name),
                            "only what has no `parent` has a traffic class: omit `parent`, or this key");
    } else if (!rate.max_rate && !rate.max_part) {
        build.context.warning(key, fmt::format("`strict` of `{}` can take the whole link", name),
                              "cap it with `max-rate`");
    }
    return true;
}

void read_scheduling_nodes(Build& build)
{
    const auto& objects = build.sections.nodes.objects();
    for (std::size_t i = 0; i < objects.size(); ++i) {
        build.nodes.add(objects[i].name, i);
    }
    Parents parents;
    for (const auto& object : objects) {
        const Node* parent = find_value(object.mapping, "parent");
        parents.of.push_back(parent == nullptr ? std::nullopt : find_node(build, {"parent", parent}));
    }
    break_cycles(build, parents);
    std::vector<std::size_t> order(objects.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        order[i] = i;
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return parents.depth[a] < parents.depth[b]; });
    std::vector<std::size_t> place(objects.size());
    build.nodes.clear();
    for (const std::size_t index : order) {
        place[index] = build.policy.nodes.size();
        RateFields fields;
        SchedulingNode node = read_node(build, objects[index], fields);
        if (parents.of[index]) {
            node.parent = place[*parents.of[index]];
        }
        if (parents.depth[index] == kDeepestNode + 1) {
            build.context.error(node.location, fmt::format("scheduling-node `{}` is nested more than {} deep",
                                                           node.name, kDeepestNode));
        }
        build.nodes.add(node.name, build.policy.nodes.size());
        build.policy.nodes.push_back(std::move(node));
        build.node_fields.push_back(fields);
    }
}

void check_tree(Build& build)
{
    const Families families = families_of(build);
    for (const auto& family : families) {
        check_names(build.context, family);
        check_guarantees(build.context, family);
    }
    check_sums(build, families);
    check_parts(build, families);
    // After a mistake what seems to have no effect may only be misspelt.
    if (!build.context.has_errors()) {
        warn_of_no_effect(build, families);
    }
}

}    // namespace rdmaqos::reader
