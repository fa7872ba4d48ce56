#include "policy/yaml/sections.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "policy/keys/objects.h"
#include "policy/yaml/fields.h"
#include "policy/yaml/level_overrides.h"
#include "policy/yaml/yaml_reader.h"

namespace rdmaqos::reader {
namespace {

using namespace std::string_view_literals;

// `later` wins. The name of an object stays as it was first written.
void merge_mapping(const keys::Object& object, Node& earlier, Node later)
{
    auto& into = earlier.children;
    for (std::size_t i = 0; i + 1 < later.children.size(); i += 2) {
        Node& key = later.children[i];
        Node& value = later.children[i + 1];
        const auto there = find_key(earlier, key.text);
        if (there == nullptr) {
            into.push_back(std::move(key));
            into.push_back(std::move(value));
            continue;
        }
        const auto offset = there - into.data();
        if (value.kind == NodeKind::Null) {
            into.erase(into.begin() + offset, into.begin() + offset + 2);
            continue;
        }
        Node& old = into[static_cast<std::size_t>(offset) + 1];
        const keys::Key* row = object.find(key.text);
        const keys::Object* inner = row == nullptr ? nullptr : row->value.object;
        const bool key_by_key = inner != nullptr && inner->merge == keys::Merge::KeyByKey;
        if (key_by_key && old.is_mapping() && value.is_mapping()) {
            merge_mapping(*inner, old, std::move(value));
        } else if (key.text != "name") {
            into[static_cast<std::size_t>(offset)] = std::move(key);
            old = std::move(value);
        }
    }
}

void add_list(Context& context, std::string_view section, Node list, std::vector<Node>& into)
{
    if (list.has_no_value() || !check_list(context, {section, &list})) {
        return;
    }
    std::move(list.children.begin(), list.children.end(), std::back_inserter(into));
}

// Only known keys stay: what merging costs is bounded by them.
void drop_unknown_keys(Node& mapping, const keys::Object& object)
{
    std::vector<Node> kept;
    for (std::size_t i = 0; i + 1 < mapping.children.size(); i += 2) {
        if (object.find(mapping.children[i].text) != nullptr) {
            kept.push_back(std::move(mapping.children[i]));
            kept.push_back(std::move(mapping.children[i + 1]));
        }
    }
    mapping.children = std::move(kept);
}

}    // namespace

std::string NamedObjects::key_of(std::string_view name) const
{
    return case_ == NameCase::Ignored ? to_lower(name) : std::string(name);
}

const Position* NamedObjects::removed_at(std::string_view name) const
{
    const auto found = removed_.find(key_of(name));
    return found == removed_.end() ? nullptr : &found->second.at;
}

std::vector<NamedObjects::Removal> NamedObjects::removals() const
{
    std::vector<Removal> removals;
    for (const auto& [key, removal] : removed_) {
        removals.push_back(removal);
    }
    return removals;
}

void NamedObjects::merge(Context& context, Node list)
{
    std::vector<Node> entries;
    add_list(context, std::string(kind()) + "s", std::move(list), entries);
    std::unordered_map<std::string, Position> in_this_file;
    for (Node& entry : entries) {
        merge_one(context, std::move(entry), in_this_file);
    }
}

void NamedObjects::merge_one(Context& context, Node entry, std::unordered_map<std::string, Position>& in_this_file)
{
    const Mapping checked(context, entry, *object_);
    if (!checked.is_valid()) {
        return;
    }
    const bool has_unknown_keys = checked.has_unknown_keys();
    drop_unknown_keys(entry, *object_);
    const Node* name_node = find_value(entry, "name");
    if (name_node == nullptr) {
        context.error(entry, fmt::format("a {} needs a `name`", kind()));
        return;
    }
    auto name = read_name(context, {"name", name_node});
    if (!name) {
        return;
    }
    const std::string key = key_of(*name);
    const auto [first, inserted] = in_this_file.emplace(key, name_node->at);
    if (!inserted) {
        context.error(*name_node, fmt::format("{} `{}` is defined twice in one file", kind(), *name));
        context.note(context.locate(first->second), "it was first defined here");
        return;
    }
    if (find_key(entry, "remove") != nullptr) {
        remove(context, entry, key, *name_node);
        return;
    }
    const auto known = index_.find(key);
    if (known == index_.end() || objects_[known->second].removed) {
        index_[key] = objects_.size();
        removed_.erase(key);
        const Position at = name_node->at;
        objects_.push_back({std::move(*name), at, std::move(entry), false, has_unknown_keys});
    } else {
        objects_[known->second].has_unknown_keys |= has_unknown_keys;
        merge_mapping(*object_, objects_[known->second].mapping, std::move(entry));
    }
}

void NamedObjects::remove(Context& context, const Node& entry, const std::string& key, const Node& name)
{
    const Field field{"remove", find_value(entry, "remove")};
    const auto value = read_bool(context, field);
    if (!value) {
        return;
    }
    if (!*value) {
        context.error(*field.value, "`remove` can only be `true`", "leave the key out to keep the object");
        return;
    }
    for (std::size_t i = 0; i + 1 < entry.children.size(); i += 2) {
        if (entry.children[i].text != "name" && entry.children[i].text != "remove") {
            context.error(entry.children[i],
                          fmt::format("`{}` cannot be combined with `remove: true`", entry.children[i].text),
                          "an object that is removed has no other keys");
        }
    }
    const auto known = index_.find(key);
    if (known == index_.end() || objects_[known->second].removed) {
        context.warning(name, fmt::format("there is no {} `{}` to remove", kind(), name.text),
                        context.suggest_name(name.text, present(), "an earlier file must define it"));
        return;
    }
    objects_[known->second].removed = true;
    removed_[key] = {name.text, name.at};
}

std::vector<NamedObjects::Name> NamedObjects::present() const
{
    std::vector<Name> names;
    for (const auto& object : objects_) {
        if (!object.removed) {
            names.push_back({object.name});
        }
    }
    return names;
}

void NamedObjects::drop_removed()
{
    std::erase_if(objects_, [](const NamedObject& object) { return object.removed; });
    index_.clear();
}

void ClassNames::merge(Context& context, Node names)
{
    if (names.has_no_value()) {
        return;
    }
    if (!names.is_mapping()) {
        context.error(names, fmt::format("`qos-class-names` must be a mapping of names and numbers, not {}",
                                         kind_in_words(names.kind)));
        return;
    }
    std::unordered_map<std::string, Position> in_this_file;
    for (std::size_t i = 0; i + 1 < names.children.size(); i += 2) {
        Node& name = names.children[i];
        Node& number = names.children[i + 1];
        const std::string key = to_lower(name.text);
        const auto [first, inserted] = in_this_file.emplace(key, name.at);
        if (!inserted) {
            context.error(name, fmt::format("qos-class-name `{}` is defined twice in one file", name.text));
            context.note(context.locate(first->second), "it was first defined here");
            continue;
        }
        const auto known = index_.find(key);
        if (known != index_.end() && number.kind == NodeKind::Null) {
            entries_[known->second] = {std::move(name), {}, true};
            index_.erase(known);
        } else if (known != index_.end()) {
            entries_[known->second].number = std::move(number);
        } else {
            index_.emplace(key, entries_.size());
            entries_.push_back({std::move(name), std::move(number), false});
        }
    }
}

Sections::Sections()
    : groups(keys::kPortGroup, NameCase::Ignored), partitions(keys::kPartition, NameCase::Matters),
      nodes(keys::kSchedulingNode, NameCase::Ignored), levels(keys::kQosLevel, NameCase::Ignored)
{
}

void check_version(Context& context, std::uint32_t file, const Node& document)
{
    if (!document.is_mapping() && !document.has_no_value()) {
        return;    // the reader of the file says what it must be
    }
    const Node* version = find_value(document, "version");
    if (version == nullptr) {
        context.error(context.start_of(file), "`version: 1` is missing", "every file starts with `version: 1`");
        return;
    }
    const Field field{"version", version};
    const auto number = read_number(context, field, 0, ~std::uint64_t{0});
    if (number && *number != 1) {
        context.error(*version, fmt::format("version {} is not supported", *number), "this program reads version 1");
    }
}

void add_document(Context& context, std::uint32_t file, Node document, Sections& sections)
{
    check_version(context, file, document);
    if (document.kind == NodeKind::Missing) {
        return;
    }
    const Mapping checked(context, document, keys::kPolicy);
    if (!checked.is_valid()) {
        return;
    }
    const auto take = [&](std::string_view key) -> Node {
        const Node* value = find_value(document, key);
        return value == nullptr
                   ? Node{}
                   : std::move(document.children[static_cast<std::size_t>(value - document.children.data())]);
    };
    if (const Node* key = find_key(document, "qos-levels"); key != nullptr && !sections.levels_at) {
        sections.levels_at = key->at;
    }
    sections.groups.merge(context, take("port-groups"));
    sections.partitions.merge(context, take("partitions"));
    sections.nodes.merge(context, take("scheduling-nodes"));
    sections.levels.merge(context, take("qos-levels"));
    sections.class_names.merge(context, take("qos-class-names"));
    add_list(context, "qos-match-rules", take("qos-match-rules"), sections.rules);
    add_list(context, "qos-ulps", take("qos-ulps"), sections.ulps);
    if (Node setup = take("qos-setup"); !setup.has_no_value()) {
        sections.setups.push_back(std::move(setup));
    }
    if (const Node* key = find_key(document, "qos-level-overrides"); key != nullptr) {
        sections.overrides.push_back({*key, take("qos-level-overrides")});
    }
    if (find_key(document, "transient") != nullptr) {
        sections.transients.push_back(take("transient"));
    }
}

Sections read_sections(Context& context, bool incomplete)
{
    Sections sections;
    sections.incomplete = incomplete;
    for (std::uint32_t file = 0; file < context.files().size(); ++file) {
        if (auto document = read_yaml(context, file)) {
            add_document(context, file, std::move(*document), sections);
        } else {
            sections.incomplete = true;
        }
    }
    sections.groups.drop_removed();
    sections.partitions.drop_removed();
    sections.nodes.drop_removed();
    sections.levels.drop_removed();
    apply_overrides(context, sections);
    return sections;
}

}    // namespace rdmaqos::reader
