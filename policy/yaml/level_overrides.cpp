#include "policy/yaml/level_overrides.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "lib/base/percentage.h"
#include "lib/base/text.h"
#include "lib/base/units.h"
#include "policy/keys/objects.h"
#include "policy/text/name_index.h"
#include "policy/yaml/build.h"
#include "policy/yaml/fields.h"
#include "policy/yaml/transient_reader.h"
#include "policy/yaml/yaml_reader.h"

namespace rdmaqos::reader {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kSchedule = "schedule";
constexpr std::string_view kPerQueuePair = "per-queue-pair";

struct OverrideRow {
    std::string_view property;
    std::string_view mapping;    // of the level, in which it is
    std::string_view key;        // there
    std::string_view without;    // what holds if the level does not say
};

constexpr std::array kOverrideRows{
    OverrideRow{"max-rate", kSchedule, "max-rate", "unlimited"},
    OverrideRow{"min-rate", kSchedule, "min-rate", "none"},
    OverrideRow{"share", kSchedule, "share", "1"},
    OverrideRow{"per-queue-pair-max-rate", kPerQueuePair, "max-rate", "unlimited"},
};
constexpr std::array kOverrideProperties{kOverrideRows[0].property, kOverrideRows[1].property,
                                         kOverrideRows[2].property, kOverrideRows[3].property};
// "25 Gbit/s", "12.5 %", "unlimited", "40"; null: the level does not say.
std::string override_in_words(const OverrideRow& row, const Node* value)
{
    if (value == nullptr || !value->is_scalar()) {
        return std::string(row.without);
    }
    if (const auto part = parse_percentage(value->text)) {
        return to_string(*part);
    }
    const auto rate = parse_bandwidth(value->text);
    return rate.value ? to_string(*rate.value) : to_lower(shortened(value->text));
}

// What one file says last, of a property of a level: it is known which of several wins before any is applied, so that
// each takes the place of what the level itself says.
struct WantedOverride {
    Node key;
    Node value;
};
using WantedOverrides =
    std::map<std::pair<std::size_t, std::size_t>, WantedOverride>;    // index of the level, of the row

class OverrideCollector {
public:
    OverrideCollector(Context& context, Sections& sections) : context_(context), sections_(sections)
    {
        const auto& levels = sections.levels.objects();
        for (std::size_t i = 0; i < levels.size(); ++i) {
            levels_.add(levels[i].name, i);
        }
        for (const Node& transient : sections.transients) {
            transient_files_.insert(transient.at.file);
        }
    }

    void add(OverrideSection& section)
    {
        const bool may_have_it = transient_files_.contains(section.key.at.file);
        if (!may_have_it) {
            context_.error(section.key, "`qos-level-overrides` is for files that end by themselves: this one stays",
                           "write the value in the level itself, an entry of `qos-levels`; or end the file with the "
                           "key `transient`");
        }
        if (section.list.has_no_value() || !check_list(context_, {section.key.text, &section.list})) {
            return;
        }
        std::unordered_map<std::string, Position> in_this_file;
        for (Node& entry : section.list.children) {
            const auto level = find_level(entry, in_this_file, may_have_it);
            if (level) {
                add_values(*level, entry);
            }
        }
    }

    [[nodiscard]] WantedOverrides take() { return std::move(wanted_); }

private:
    // The level's index, if there is one to change.
    std::optional<std::size_t> find_level(const Node& entry, std::unordered_map<std::string, Position>& in_this_file,
                                          bool may_have_it)
    {
        const Mapping mapping(context_, entry, keys::kLevelOverride);
        if (!mapping.is_valid()) {
            return std::nullopt;
        }
        const auto field = mapping.find("name");
        if (!field) {
            context_.error(entry, fmt::format("{} needs a `name`", keys::kLevelOverride.what));
            return std::nullopt;
        }
        const auto name = read_name(context_, *field);
        if (!name) {
            return std::nullopt;
        }
        const auto [first, inserted] = in_this_file.emplace(to_lower(*name), field->value->at);
        if (!inserted) {
            context_.error(*field->value, fmt::format("qos-level `{}` is overridden twice in one file", *name));
            context_.note(context_.locate(first->second), "it was first overridden here");
            return std::nullopt;
        }
        const auto level = levels_.find(*name);
        if (!level && may_have_it && !sections_.incomplete) {
            // No error: the level may have gone since, and its override must not keep the policy out.
            context_.warning(*field->value,
                             fmt::format("there is no qos-level `{}`: this override does nothing", *name),
                             context_.suggest_name(*name, sections_.levels.objects()));
            if (const Position* removed = sections_.levels.removed_at(*name)) {
                context_.note(context_.locate(*removed), "it is removed here");
            }
        }
        if (!may_have_it || !level) {
            check_rates(mapping);
            check_per_queue_pair(mapping);
            return std::nullopt;
        }
        return level;
    }

    // A value that is not put into a level is not read with it.
    void check_rates(const Mapping& entry)
    {
        RateFields unused;
        static_cast<void>(read_rate_spec(context_, entry, unused));
    }
    void check_per_queue_pair(const Mapping& entry)
    {
        if (const auto rate = entry.find("per-queue-pair-max-rate")) {
            static_cast<void>(read_rate(context_, *rate));
        }
    }

    void add_values(std::size_t level, Node& entry)
    {
        const NamedObject& object = sections_.levels.objects()[level];
        const Node* schedule = find_value(object.mapping, kSchedule);
        const bool has_class = schedule != nullptr && schedule->kind != NodeKind::Null;
        if (!has_class) {
            Diagnostics reported;    // unknown keys are known by now
            Context quiet(context_.files(), reported);
            check_rates(Mapping(quiet, entry, keys::kLevelOverride));
        }
        for (std::size_t i = 0; i + 1 < entry.children.size(); i += 2) {
            const auto row = std::ranges::find(kOverrideRows, entry.children[i].text, &OverrideRow::property);
            if (row == kOverrideRows.end()) {
                continue;
            }
            if (row->mapping == kSchedule && !has_class) {
                context_.warning(
                    entry.children[i],
                    fmt::format("qos-level `{}` has no `schedule`: this override does nothing", object.name),
                    "a class that it made would move the level's queue pairs");
            } else {
                const auto index = static_cast<std::size_t>(row - kOverrideRows.begin());
                wanted_[{level, index}] = {std::move(entry.children[i]), std::move(entry.children[i + 1])};
            }
        }
    }

    Context& context_;
    Sections& sections_;
    NameIndex levels_;
    std::set<std::uint32_t> transient_files_;
    WantedOverrides wanted_;
};

void erase(Node& mapping, std::string_view key)
{
    auto& children = mapping.children;
    if (const Node* there = find_key(mapping, key)) {
        const auto at = children.begin() + (there - children.data());
        children.erase(at, at + 2);
    }
}

// The mapping of the level that holds the property; null: there is one that is no mapping, which is an error of its
// own.
Node* holder(Node& level, const OverrideRow& row, const Node& key)
{
    for (std::size_t i = 0; i + 1 < level.children.size(); i += 2) {
        if (level.children[i].text == row.mapping) {
            Node& value = level.children[i + 1];
            return value.is_mapping() ? &value : nullptr;
        }
    }
    Node name = key;
    name.text = row.mapping;
    Node mapping;
    mapping.kind = NodeKind::Mapping;
    mapping.at = key.at;
    level.children.push_back(std::move(name));
    level.children.push_back(std::move(mapping));
    return &level.children.back();
}

std::optional<AppliedOverride> put_in_place(Node& level, std::size_t index, const OverrideRow& row,
                                            WantedOverride wanted)
{
    Node* mapping = holder(level, row, wanted.key);
    if (mapping == nullptr) {
        return std::nullopt;
    }
    AppliedOverride applied{index, row.property, wanted.value.at, override_in_words(row, &wanted.value),
                            override_in_words(row, find_value(*mapping, row.key))};
    if (row.mapping == kPerQueuePair && wanted.value.is_scalar() &&
        equals_ignoring_case(wanted.value.text, "unlimited")) {
        // They refine a limit that is lifted.
        erase(*mapping, "max-burst");
        erase(*mapping, "typical-packet");
    }
    wanted.key.text = row.key;
    wanted.key.overriding = true;
    wanted.value.overriding = true;
    const Node* there = find_key(*mapping, row.key);
    if (there == nullptr) {
        mapping->children.push_back(std::move(wanted.key));
        mapping->children.push_back(std::move(wanted.value));
    } else {
        const auto offset = static_cast<std::size_t>(there - mapping->children.data());
        mapping->children[offset] = std::move(wanted.key);
        mapping->children[offset + 1] = std::move(wanted.value);
    }
    return applied;
}

Transient end_of(Context& context, const Sections& sections, const Position& at)
{
    const auto found = std::ranges::find(sections.transients, at.file,
                                         [](const Node& transient) { return transient.at.file; });
    if (found == sections.transients.end()) {
        return {};
    }
    Diagnostics unused;    // check_transients() reports what is wrong with it
    Context quiet(context.files(), unused);
    return read_transient(quiet, *found, std::chrono::sys_seconds::min());
}

}    // namespace

std::span<const std::string_view> override_properties()
{
    return kOverrideProperties;
}

void apply_overrides(Context& context, Sections& sections)
{
    OverrideCollector collector(context, sections);
    for (OverrideSection& section : sections.overrides) {
        collector.add(section);
    }
    for (auto& [place, wanted] : collector.take()) {
        const auto& [level, row] = place;
        if (auto applied = put_in_place(sections.levels.object(level).mapping, level, kOverrideRows.at(row),
                                        std::move(wanted))) {
            sections.applied_overrides.push_back(std::move(*applied));
        }
    }
}

std::vector<LevelOverride> read_overrides(Context& context, const Sections& sections)
{
    std::vector<LevelOverride> overrides;
    for (const AppliedOverride& applied : sections.applied_overrides) {
        overrides.push_back({applied.level, std::string(applied.property), applied.value, applied.in_place_of,
                             end_of(context, sections, applied.at), context.locate(applied.at)});
    }
    return overrides;
}

StatedOverrides overrides_of(const std::shared_ptr<const SourceFile>& source)
{
    StatedOverrides stated;
    if (source->text.find("qos-level-overrides") == std::string::npos) {
        return stated;
    }
    Diagnostics unused;
    Context context({source}, unused);
    const auto document = read_yaml(context, 0);
    const Node* list = document && document->is_mapping() ? find_value(*document, "qos-level-overrides") : nullptr;
    if (list == nullptr) {
        return stated;
    }
    stated.are_all = true;
    for (std::size_t i = 0; i + 1 < document->children.size(); i += 2) {
        const std::string& key = document->children[i].text;
        stated.are_all = stated.are_all && (key == "version" || key == "transient" || key == "qos-level-overrides");
    }
    if (!list->is_sequence()) {
        return stated;
    }
    for (const Node& entry : list->children) {
        const Node* name = entry.is_mapping() ? find_value(entry, "name") : nullptr;
        for (const OverrideRow& row : kOverrideRows) {
            const Node* value = name == nullptr ? nullptr : find_value(entry, row.property);
            if (value != nullptr) {
                stated.overrides.push_back(
                    {name->text, std::string(row.property), override_in_words(row, value), context.locate(*value)});
            }
        }
    }
    return stated;
}

}    // namespace rdmaqos::reader
