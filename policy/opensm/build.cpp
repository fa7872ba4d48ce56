#include "policy/opensm/build.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "policy/assembly/assembly.h"
#include "policy/model/ib.h"

namespace rdmaqos::opensm {
namespace {

class Builder {
public:
    Builder(reader::Context& context, const File& file, OpensmMode mode, const FabricDirectory& directory,
            bool incomplete)
        : context_(context), file_(file), mode_(mode), directory_(directory), incomplete_(incomplete), made_(context)
    {
    }

    Policy build();

private:
    void warn(const Position& at, std::string message, std::string hint = {})
    {
        context_.warning(context_.locate(at), std::move(message), std::move(hint));
    }
    // OpenSM looks through its lists and takes the first.
    template <typename Objects>
    [[nodiscard]] bool is_second(std::string_view kind, const reader::NameIndex& names, const Objects& objects,
                                 std::string_view name, const Location& at)
    {
        const auto first = names.find(name);
        if (first) {
            context_.warning(at, fmt::format("a second {} `{}` is never used, as in OpenSM", kind, printable(name)));
            context_.note(objects[*first].location, "the first one of this name is here");
        }
        return first.has_value();
    }
    [[nodiscard]] bool is_done() const { return mode_ == OpensmMode::Strict && context_.has_errors(); }

    // A text as a value of the policy. What cannot be shown everywhere is escaped, except in strict mode.
    [[nodiscard]] std::string text_of(const Text& text);
    [[nodiscard]] std::string text_of(const std::optional<Text>& text) { return text ? text_of(*text) : std::string{}; }
    // The same of a name that is defined or looked up elsewhere.
    [[nodiscard]] std::string name_of(const Text& text, std::string_view what);
    [[nodiscard]] IntervalSet read_pkeys(const std::vector<Range>& ranges);

    void add_groups();
    void add_group(const Group& group);
    void set_node_types(const std::vector<NodeTypeWord>& words, PortGroup& group);
    void add_levels();
    void add_level(const Level& level);
    void set_numbers(const Level& level, QosLevel& made);
    void add_ulp(const UlpEntry& entry);
    void report_no_default();
    void add_rules();
    void add_rule(const Rule& rule);
    void warn_of_classes(const Rule& rule);
    [[nodiscard]] std::size_t find_level(const Text& name, std::size_t number);
    [[nodiscard]] std::vector<std::size_t> find_groups(const std::vector<Text>& names, std::string_view key,
                                                       std::size_t number);
    void warn_of_unknown_partitions(const Position& at, const IntervalSet& pkeys);
    void warn_of_setups();

    reader::Context& context_;
    const File& file_;
    OpensmMode mode_;
    const FabricDirectory& directory_;
    bool incomplete_;
    reader::Assembly made_;
};

std::string Builder::text_of(const Text& text)
{
    const bool is_plain = is_valid_utf8(text.value) && std::none_of(text.value.begin(), text.value.end(), [](char c) {
                              const auto byte = static_cast<unsigned char>(c);
                              return byte < 0x20 || byte == 0x7F;
                          });
    if (is_plain || mode_ == OpensmMode::Strict) {
        return text.value;
    }
    std::string shown = printable(text.value);
    warn(text.at, fmt::format("what is not printable UTF-8 is escaped: `{}`", shown),
         "OpenSM keeps the bytes as they are");
    return shown;
}

std::string Builder::name_of(const Text& text, std::string_view what)
{
    if (text.lost_blanks) {
        warn(text.at,
             fmt::format("unquoted spaces are removed, as in OpenSM: the {} is `{}`", what, printable(text.value)),
             "quote it wherever it is used to keep them");
    }
    return text_of(text);
}

IntervalSet Builder::read_pkeys(const std::vector<Range>& ranges)
{
    for (const Range& range : ranges) {
        const auto [masked, masking] = mask_pkeys(range.interval());
        const auto meaning = to_string(IntervalSet({masked}), NumberBase::Hex);
        if (masking == PKeyMasking::InsideOut) {
            warn(range.at,
                 fmt::format("this range crosses a multiple of 0x8000: without the membership bit it is {}, as in "
                             "OpenSM",
                             meaning),
                 "write P_Keys from 0x0000 to 0x7fff");
        } else if (masking == PKeyMasking::TooWide) {
            warn(range.at,
                 fmt::format("a P_Key has 16 bits: without those above the membership bit this is {}, as in "
                             "OpenSM",
                             meaning),
                 "write P_Keys from 0x0000 to 0x7fff");
        }
    }
    return pkeys_of(ranges);
}

void Builder::set_node_types(const std::vector<NodeTypeWord>& words, PortGroup& group)
{
    for (const NodeTypeWord word : words) {
        const bool all = word == NodeTypeWord::All;
        group.node_types.ca |= all || word == NodeTypeWord::Ca;
        group.node_types.switch_ |= all || word == NodeTypeWord::Switch;
        group.node_types.router |= all || word == NodeTypeWord::Router;
        group.subnet_manager |= word == NodeTypeWord::Self;
    }
}

void Builder::add_group(const Group& group)
{
    if (!group.name) {
        return;
    }
    PortGroup made;
    made.name = name_of(*group.name, "name");
    made.location = context_.locate(group.name->at);
    if (is_second("port-group", made_.groups, made_.policy.groups, made.name, made.location)) {
        return;
    }
    made.use = text_of(group.use);
    made.port_guids = intervals_of(group.port_guids);
    made.pkeys = read_pkeys(group.pkeys);
    for (const Text& name : group.port_names) {
        made.port_names.push_back(name_of(name, "port-name"));
    }
    for (const Text& name : group.partitions) {
        made.partitions.push_back(name_of(name, "partition"));
    }
    set_node_types(group.node_types, made);
    made_.add(std::move(made), group.ended ? reader::Read::Whole : reader::Read::InPart);
}

// Groups of ulps can be named too: the order of the sections decides which of a name is first.
void Builder::add_groups()
{
    for (const Section& section : file_.sections) {
        for (std::size_t i = section.first; i < section.first + section.count; ++i) {
            if (section.kind == SectionKind::Groups) {
                add_group(file_.groups[i]);
            } else if (section.kind == SectionKind::Ulps) {
                add_ulp(file_.ulps[i]);
            }
        }
    }
}

void Builder::set_numbers(const Level& level, QosLevel& made)
{
    // Out of range only if that has been reported, or if OpenSM takes the lowest 8 bits.
    const auto byte = [&](const std::optional<Number>& number, std::string_view key,
                          std::uint64_t highest) -> std::optional<std::uint8_t> {
        if (!number) {
            return std::nullopt;
        }
        if (number->value > highest) {
            warn(number->at,
                 fmt::format("`{}` {} is read as {}: its lowest 8 bits", key, number->spelled, number->value & 0xFFU));
        }
        return static_cast<std::uint8_t>(number->value & 0xFFU);
    };
    const bool strict = mode_ == OpensmMode::Strict;
    if (strict || (level.sl && level.sl->value <= kHighestSl)) {
        made.sl = byte(level.sl, "sl", kHighestSl);
    }
    if (strict || (level.packet_life && level.packet_life->value <= kHighestPacketLife)) {
        made.packet_life = byte(level.packet_life, "packet-life", kHighestPacketLife);
    }
    if (level.mtu_limit && level.mtu_limit->value >= 1 && level.mtu_limit->value <= 5) {
        made.mtu_limit = static_cast<IbMtu>(level.mtu_limit->value);
    }
    if (level.rate_limit) {
        made.rate_limit = ib_rate_from_number(level.rate_limit->value);
    }
}

void Builder::add_level(const Level& level)
{
    if (!level.name) {
        return;
    }
    QosLevel made;
    made.name = name_of(*level.name, "name");
    made.location = context_.locate(level.name->at);
    if (is_second("qos-level", made_.levels, made_.policy.levels, made.name, made.location)) {
        return;
    }
    made.use = text_of(level.use);
    set_numbers(level, made);
    made.path_bits = intervals_of(level.path_bits);
    if (!level.path_bits.empty()) {
        warn(level.path_bits.front().at, "`path-bits` has no effect, as in OpenSM");
    }
    made.pkeys = read_pkeys(level.pkeys);
    made_.add(std::move(made));
}

void Builder::add_levels()
{
    for (const Level& level : file_.levels) {
        add_level(level);
    }
}

std::vector<std::string> spelled(const std::vector<Range>& ranges)
{
    std::vector<std::string> texts;
    for (const Range& range : ranges) {
        std::string& text = texts.emplace_back(range.first.spelled);
        if (range.last) {
            text += '-';
            text += range.last->spelled;
        }
    }
    return texts;
}

void Builder::add_ulp(const UlpEntry& entry)
{
    if (!entry.sl || entry.sl->value > kHighestSl) {
        return;
    }
    const auto sl = static_cast<std::uint8_t>(entry.sl->value);
    const Location at = context_.locate(entry.at);
    if (entry.ulp == Ulp::Default) {
        made_.set_ulp_default(made_.default_level_of_sl(sl, at), at, "`default`");
        return;
    }
    MatchRule rule;
    rule.origin = RuleOrigin::Ulp;
    rule.location = at;
    rule.ulp = reader::ulp_in_words(entry.ulp, entry.criterion, spelled(entry.ranges));
    const bool is_pkey = entry.criterion == UlpCriterion::PKey;
    const IntervalSet ranges = is_pkey ? read_pkeys(entry.ranges) : intervals_of(entry.ranges);
    if (entry.criterion == UlpCriterion::PortNum && !ranges.empty() &&
        ranges.intervals().back().last > kHighestUlpPort) {
        return;    // reported
    }
    if (entry.criterion == UlpCriterion::SourceTargetPortGuid) {
        warn(entry.at,
             "both ends of a path must be among these ports, as in OpenSM, whose manual says `source or target`");
    }
    if (is_pkey && entry.ulp == Ulp::Any) {
        warn_of_unknown_partitions(entry.at, ranges);
    }
    rule.level = made_.level_of_sl(sl, at);
    made_.add_ulp(meaning_of(entry.ulp, entry.criterion, ranges), std::move(rule));
}

void Builder::report_no_default()
{
    if (incomplete_) {
        return;
    }
    const auto levels = std::find_if(file_.sections.begin(), file_.sections.end(),
                                     [](const Section& section) { return section.kind == SectionKind::Levels; });
    const Location at = levels != file_.sections.end() ? context_.locate(levels->at) : context_.start_of(0);
    context_.error(
        at, mode_ == OpensmMode::Strict ? "Default qos-level (default) not defined" : "there is no default level",
        "add a qos-level `DEFAULT` with an `sl`, or `default : 0` to `qos-ulps`");
}

// What helps where a name is not found.
std::string blanks_hint(const Text& name)
{
    return name.lost_blanks ? fmt::format("unquoted spaces are removed; write \"{}\" if the name was defined in "
                                          "quotes",
                                          printable(name.spelled))
                            : std::string{};
}

std::size_t Builder::find_level(const Text& name, std::size_t number)
{
    if (const auto level = made_.levels.find(text_of(name))) {
        return *level;
    }
    if (!incomplete_ && !is_done()) {
        std::vector<std::string_view> names;
        for (const QosLevel& level : made_.policy.levels) {
            if (!level.from_ulp) {
                names.push_back(level.name);
            }
        }
        const std::string shown = printable(name.value);
        context_.error(name.at,
                       mode_ == OpensmMode::Strict
                           ? fmt::format("qos-match-rule num {}: qos-level '{}' not found", number, shown)
                           : fmt::format("there is no qos-level `{}`", shown),
                       context_.suggest(name.value, names, blanks_hint(name)));
    }
    return 0;
}

std::vector<std::size_t> Builder::find_groups(const std::vector<Text>& names, std::string_view key, std::size_t number)
{
    std::vector<std::size_t> indexes;
    for (const Text& name : names) {
        if (const auto group = made_.groups.find(text_of(name))) {
            indexes.push_back(*group);
        } else if (!incomplete_ && !is_done()) {
            const std::string shown = printable(name.value);
            context_.error(name.at,
                           mode_ == OpensmMode::Strict
                               ? fmt::format("qos-match-rule num {}: {} port-group '{}' not found", number, key, shown)
                               : fmt::format("there is no port-group `{}`", shown),
                           context_.suggest_name(name.value, made_.policy.groups, blanks_hint(name)));
        }
    }
    return indexes;
}

void Builder::warn_of_unknown_partitions(const Position& at, const IntervalSet& pkeys)
{
    if (directory_.is_empty()) {
        return;
    }
    for (const Interval& interval : pkeys.intervals()) {
        if (!directory_.has_partition(interval)) {
            warn(at, fmt::format("no port of the fabric file has a P_Key of {}",
                                 to_string(IntervalSet({interval}), NumberBase::Hex)));
        }
    }
}

void Builder::warn_of_classes(const Rule& rule)
{
    for (const Range& range : rule.qos_class) {
        if (range.interval().last > kHighestQosClass) {
            warn(range.at, fmt::format("a QoS class has 12 bits: values above {} never match", kHighestQosClass));
        }
    }
}

void Builder::add_rule(const Rule& rule)
{
    MatchRule made;
    const std::size_t number = made_.policy.rules.size() + 1;    // in what OpenSM says
    made.location = context_.locate(rule.at);
    made.use = text_of(rule.use);
    if (rule.level_name) {
        made.level = find_level(*rule.level_name, number);
    }
    made.source = find_groups(rule.source, "source", number);
    made.destination = find_groups(rule.destination, "destination", number);
    made.qos_class = intervals_of(rule.qos_class);
    made.service_id = intervals_of(rule.service_id);
    made.pkey = read_pkeys(rule.pkey);
    if (!rule.pkey.empty()) {
        warn_of_unknown_partitions(rule.pkey.front().at, made.pkey);
    }
    warn_of_classes(rule);
    const bool asks_for_nothing = rule.source.empty() && rule.destination.empty() && made.qos_class.empty() &&
                                  made.service_id.empty() && made.pkey.empty();
    made_.add_rule(std::move(made), asks_for_nothing && rule.ended);
}

void Builder::add_rules()
{
    for (const Rule& rule : file_.rules) {
        if (is_done()) {
            return;
        }
        add_rule(rule);
    }
}

void Builder::warn_of_setups()
{
    for (const Setup& setup : file_.setups) {
        if (!setup.vlarb.empty() || !setup.sl2vl.empty()) {
            warn(setup.at, "`qos-setup` has no effect, as in OpenSM",
                 "VL arbitration and SL-to-VL tables belong to the subnet manager: see opensm.conf");
        }
    }
}

Policy Builder::build()
{
    made_.policy.groups.reserve(file_.groups.size() + file_.ulps.size());
    made_.policy.rules.reserve(file_.rules.size() + file_.ulps.size());
    add_levels();    // before those of ulps
    add_groups();
    if (!made_.choose_default()) {
        report_no_default();
    }
    add_rules();
    made_.end_rules();
    warn_of_setups();
    return std::move(made_.policy);
}

}    // namespace

Policy build_policy(reader::Context& context, const File& file, OpensmMode mode, const FabricDirectory& directory,
                    bool incomplete)
{
    return Builder(context, file, mode, directory, incomplete).build();
}

}    // namespace rdmaqos::opensm
