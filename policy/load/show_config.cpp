#include "policy/load/show_config.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "policy/keys/objects.h"
#include "policy/yaml/fields.h"
#include "policy/yaml/sections.h"
#include "policy/yaml/yaml_reader.h"

namespace rdmaqos {
namespace {

using namespace reader;

using Kind = ShownNode::Kind;

ShownNode mapping_of(std::string_view key)
{
    ShownNode node;
    node.key = key;
    node.kind = Kind::Mapping;
    return node;
}

bool has(const ShownNode& mapping, std::string_view key)
{
    return std::any_of(mapping.children.begin(), mapping.children.end(),
                       [&](const ShownNode& child) { return child.key == key; });
}

ShownNode* find(ShownNode& mapping, std::string_view key)
{
    const auto found = std::find_if(mapping.children.begin(), mapping.children.end(),
                                    [&](const ShownNode& child) { return child.key == key; });
    return found == mapping.children.end() ? nullptr : &*found;
}

ShownNode default_text(std::string_view key, std::string text, Kind kind = Kind::Text)
{
    ShownNode node;
    node.key = key;
    node.kind = kind;
    node.text = std::move(text);
    node.is_default = true;
    return node;
}

void add_default(ShownNode& mapping, std::string_view key, std::string_view text, Kind kind = Kind::Text)
{
    if (!has(mapping, key)) {
        mapping.children.push_back(default_text(key, std::string(text), kind));
    }
}

ShownNode convert(const Context& context, std::string_view key, const Node& node)
{
    ShownNode shown;
    shown.key = key;
    shown.at = context.locate(node);
    shown.text = node.text;
    if (node.is_mapping()) {
        shown.kind = Kind::Mapping;
        for (std::size_t i = 0; i + 1 < node.children.size(); i += 2) {
            shown.children.push_back(convert(context, node.children[i].text, node.children[i + 1]));
        }
    } else if (node.is_sequence()) {
        shown.kind = Kind::List;
        for (const Node& item : node.children) {
            shown.children.push_back(convert(context, {}, item));
        }
    }
    return shown;
}

// `levels` is the list of them, in the order of the policy.
void mark_overrides(const Policy& policy, ShownNode& levels)
{
    for (const LevelOverride& each : policy.overrides) {
        const bool is_per_queue_pair = each.property == "per-queue-pair-max-rate";
        ShownNode& level = levels.children.at(each.level);
        ShownNode* mapping = find(level, is_per_queue_pair ? "per-queue-pair" : "schedule");
        const std::string_view key = is_per_queue_pair ? std::string_view("max-rate") : each.property;
        if (ShownNode* value = mapping == nullptr ? nullptr : find(*mapping, key)) {
            value->override_note = fmt::format("in place of {}, {}", each.in_place_of, how_long(each.transient));
        }
    }
}

// A `share` beside a `min-rate` has no effect, so it has no default there.
void add_rate_defaults(ShownNode& mapping)
{
    if (!has(mapping, "min-rate")) {
        add_default(mapping, "share", "1");
    }
    add_default(mapping, "max-rate", "unlimited");
}

void add_schedule_defaults(ShownNode& schedule)
{
    add_default(schedule, "parent", "the root", Kind::Implied);
    add_rate_defaults(schedule);
    add_default(schedule, "fair-by", "none");
    if (!equals_ignoring_case(find(schedule, "fair-by")->text, "none")) {
        add_default(schedule, "leaf-budget", "as many as the device has", Kind::Implied);
    }
    if (ShownNode* responder = find(schedule, "responder")) {
        add_rate_defaults(*responder);
    }
}

void add_level_defaults(ShownNode& level)
{
    if (has(level, "sl")) {
        add_default(level, "sl-source", "subnet-manager");
    }
    if (ShownNode* schedule = find(level, "schedule")) {
        add_schedule_defaults(*schedule);
    } else {
        add_default(level, "schedule", "none, queue pairs are not attached", Kind::Implied);
    }
    if (ShownNode* limits = find(level, "per-queue-pair")) {
        add_default(*limits, "max-rate", "unlimited");
    }
    add_default(level, "allow", "everybody", Kind::Implied);
}

void add_node_defaults(ShownNode& node)
{
    add_default(node, "parent", "the root", Kind::Implied);
    add_rate_defaults(node);
}

ShownNode list_of(std::string_view key)
{
    ShownNode list;
    list.key = key;
    list.kind = Kind::List;
    return list;
}

void nothing_implied(ShownNode& /*object*/) {}

ShownNode show_objects(const Context& context, std::string_view key, const NamedObjects& objects,
                       void (*add_defaults)(ShownNode&))
{
    ShownNode list = list_of(key);
    for (const NamedObject& object : objects.objects()) {
        ShownNode shown = convert(context, {}, object.mapping);
        add_defaults(shown);
        list.children.push_back(std::move(shown));
    }
    return list;
}

ShownNode show_class_names(const Context& context, const ClassNames& names)
{
    ShownNode mapping = mapping_of("qos-class-names");
    for (const auto& entry : names.entries()) {
        if (!entry.removed) {
            mapping.children.push_back(convert(context, entry.name.text, entry.number));
        }
    }
    return mapping;
}

// The entries of one list, in the order in which the policy holds their rules.
ShownNode show_rules(const Context& context, std::string_view key, const std::vector<Node>& entries,
                     const Policy& policy, RuleOrigin origin)
{
    ShownNode list = list_of(key);
    auto rule = std::find_if(policy.rules.begin(), policy.rules.end(),
                             [&](const MatchRule& each) { return each.origin == origin; });
    for (const Node& entry : entries) {
        ShownNode shown = convert(context, {}, entry);
        const Node* ulp = find_value(entry, "ulp");
        if (ulp != nullptr && equals_ignoring_case(ulp->text, "default")) {
            shown.remark = "no rule: it states the default level";
        } else {
            shown.remark = policy.describe_rule(*rule);
            shown.rule = rule->number;
            ++rule;
        }
        list.children.push_back(std::move(shown));
    }
    return list;
}

// Several files' tables, one list each.
ShownNode show_setups(const Context& context, const std::vector<Node>& setups)
{
    ShownNode mapping = mapping_of("qos-setup");
    for (const Node& setup : setups) {
        ShownNode shown = convert(context, {}, setup);
        for (ShownNode& tables : shown.children) {
            if (ShownNode* known = find(mapping, tables.key)) {
                std::move(tables.children.begin(), tables.children.end(), std::back_inserter(known->children));
            } else {
                mapping.children.push_back(std::move(tables));
            }
        }
    }
    return mapping;
}

std::vector<RemovedObject> removed_objects(const Context& context, const Sections& sections)
{
    std::vector<std::pair<Position, RemovedObject>> found;
    for (const NamedObjects* objects : {&sections.groups, &sections.partitions, &sections.nodes, &sections.levels}) {
        for (const auto& removal : objects->removals()) {
            found.push_back({removal.at, {std::string(objects->kind()), removal.name, context.locate(removal.at)}});
        }
    }
    for (const auto& entry : sections.class_names.entries()) {
        if (entry.removed) {
            found.push_back({entry.name.at, {"qos-class-name", entry.name.text, context.locate(entry.name)}});
        }
    }
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
        return std::tie(a.first.file, a.first.line, a.first.column) <
               std::tie(b.first.file, b.first.line, b.first.column);
    });
    std::vector<RemovedObject> removed;
    removed.reserve(found.size());
    for (auto& [position, object] : found) {
        removed.push_back(std::move(object));
    }
    return removed;
}

// Of settings, what each states by not being there.
void add_row_defaults(ShownNode& mapping, const keys::Object& object)
{
    for (const keys::Key& key : object.keys) {
        if (key.value.object != nullptr) {
            if (!has(mapping, key.name)) {
                mapping.children.push_back(mapping_of(key.name));
            }
            add_row_defaults(*find(mapping, key.name), *key.value.object);
        } else if (!key.without.empty()) {
            add_default(mapping, key.name, key.without);
        }
    }
}

}    // namespace

ShownPolicy show_policy(const Policy& policy)
{
    Diagnostics known;    // reading the policy has reported them
    Context context(policy.sources, known);
    const Sections sections = read_sections(context, false);
    ShownPolicy shown;
    shown.document = mapping_of({});
    shown.document.children.push_back(default_text("version", "1"));
    shown.document.children.front().is_default = false;
    ShownNode levels = show_objects(context, "qos-levels", sections.levels, add_level_defaults);
    mark_overrides(policy, levels);
    for (ShownNode section :
         {show_objects(context, "port-groups", sections.groups, nothing_implied),
          show_objects(context, "partitions", sections.partitions, nothing_implied),
          show_class_names(context, sections.class_names),
          show_objects(context, "scheduling-nodes", sections.nodes, add_node_defaults), std::move(levels),
          show_rules(context, "qos-match-rules", sections.rules, policy, RuleOrigin::MatchRule),
          show_rules(context, "qos-ulps", sections.ulps, policy, RuleOrigin::Ulp),
          show_setups(context, sections.setups)}) {
        if (!section.children.empty()) {
            shown.document.children.push_back(std::move(section));
        }
    }
    shown.removed = removed_objects(context, sections);
    return shown;
}

ShownNode show_settings(const std::shared_ptr<const SourceFile>& source)
{
    ShownNode shown = mapping_of({});
    if (source) {
        Diagnostics known;
        Context context({source}, known);
        if (const auto document = read_yaml(context, 0)) {
            shown = convert(context, {}, *document);
            shown.kind = Kind::Mapping;    // also of an empty file
        }
    }
    add_default(shown, "version", "1");
    add_row_defaults(shown, keys::kSettings);
    std::stable_partition(shown.children.begin(), shown.children.end(),
                          [](const ShownNode& child) { return child.kind == Kind::Text; });
    return shown;
}

}    // namespace rdmaqos
