#include "policy/yaml/level_options.h"

#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/base/text.h"
#include "policy/keys/choices.h"
#include "policy/keys/objects.h"
#include "policy/model/client_keys.h"
#include "policy/yaml/build_client.h"
#include "policy/yaml/build_tree.h"
#include "policy/yaml/device_fields.h"
#include "policy/yaml/ib_fields.h"

namespace rdmaqos::reader {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kNone = "none";

// ---- values ----

std::optional<std::uint8_t> read_sl(Context& context, const Field& field)
{
    return read_integer<std::uint8_t>(context, field);
}

std::optional<MessageModel> read_message_model(Context& context, const Field& field)
{
    return read_choice(context, field, keys::kMessageModels);
}

// An option that is one value.
template <auto Member, auto Read>
constexpr LevelOption value(std::string_view option)
{
    return {option, [](const LevelReading& reading, const Field& field) {
                reading.level.*Member = Read(reading.build.context, field);
            }};
}

template <bool QosLevel::*Member>
constexpr LevelOption flag(std::string_view option)
{
    return {option, [](const LevelReading& reading, const Field& field) {
                reading.level.*Member = read_bool(reading.build.context, field).value_or(field.row->without == "yes");
            }};
}

// ---- options that are more than a value ----

void read_sl_source(const LevelReading& reading, const Field& field)
{
    Context& context = reading.build.context;
    reading.level.sl_source = read_choice(context, field, keys::kSlSources).value_or(SlSource::SubnetManager);
    if (reading.level.sl_source == SlSource::Host && !reading.mapping.has("sl")) {
        context.warning(*field.value, "`sl-source: host` has no effect without `sl`");
    }
}

// "104": of a traffic class that was written as a DSCP.
bool refuse_traffic_class(const LevelReading& reading, const Field& field)
{
    constexpr std::uint64_t kHighestDscp = 63;
    constexpr std::uint64_t kHighestTrafficClass = 255;
    const auto number = field.value->is_scalar() ? parse_number(field.value->text) : std::nullopt;
    if (!number || *number <= kHighestDscp || *number > kHighestTrafficClass) {
        return false;
    }
    const std::string as_traffic_class = reading.mapping.has("traffic-class")
                                             ? ""
                                             : fmt::format(", or `traffic-class: {}`", *number);
    reading.build.context.error(*field.value, fmt::format("`dscp` must be from 0 to {}, not {}", kHighestDscp, *number),
                                fmt::format("{0} is the traffic class of DSCP {1}: write `dscp: {1}`{2}", *number,
                                            *number >> 2U, as_traffic_class));
    return true;
}

void read_dscp(const LevelReading& reading, const Field& field)
{
    if (refuse_traffic_class(reading, field)) {
        return;
    }
    if (const auto value = read_integer<std::uint8_t>(reading.build.context, field)) {
        reading.level.traffic_class = static_cast<std::uint8_t>(*value << 2U);
    }
}

void read_traffic_class(const LevelReading& reading, const Field& field)
{
    Context& context = reading.build.context;
    reading.level.traffic_class = read_integer<std::uint8_t>(context, field);
    if (reading.mapping.has("dscp")) {
        const Node& level = reading.mapping.node();
        context.error(*find_key(level, "traffic-class"), "`dscp` and `traffic-class` set the same bits",
                      "keep one of them; traffic-class is dscp * 4 and the two ECN bits");
        context.note(context.locate(*find_key(level, "dscp")), "`dscp` is given here");
    }
}

void read_path_bits(const LevelReading& reading, const Field& field)
{
    Context& context = reading.build.context;
    reading.level.path_bits = read_ranges(context, field);
    context.warning(*find_key(reading.mapping.node(), "path-bits"), "`path-bits` has no effect, as in OpenSM");
}

void read_level_pkeys(const LevelReading& reading, const Field& field)
{
    reading.level.pkeys = read_pkeys(reading.build.context, field);
}

std::optional<RateSpec> read_responder(Context& context, const Field& field)
{
    const Mapping mapping(context, *field.value, keys::kResponder);
    if (!mapping.is_valid()) {
        return std::nullopt;
    }
    RateFields unused;
    return read_rate_spec(context, mapping, unused);
}

// `fair-by: {cgroup: "*/job_*"}`
void read_fair_cgroup(Context& context, const Field& field, Schedule& schedule)
{
    const Mapping mapping(context, *field.value, keys::kFairByCgroup);
    const auto pattern = mapping.find("cgroup");
    if (!pattern) {
        if (!mapping.has_unknown_keys()) {
            context.error(*field.value, "`fair-by` needs a `cgroup` in a mapping",
                          "for example `{cgroup: \"*/job_*\"}`");
        }
        return;
    }
    if (auto text = read_text(context, *pattern)) {
        warn_of_never(context, *pattern->value, *text, NameForm::Path);
        schedule.fair_by = FairBy::Cgroup;
        schedule.fair_cgroup = std::move(*text);
    }
}

void read_fair_by(Context& context, const Field& field, Schedule& schedule)
{
    if (field.value->is_mapping()) {
        read_fair_cgroup(context, field, schedule);
    } else if (field.value->is_scalar() && equals_ignoring_case(field.value->text, to_string(FairBy::Cgroup))) {
        context.error(*field.value, "`fair-by: cgroup` does not say which cgroups",
                      "give a pattern over their paths: `fair-by: {cgroup: \"*/job_*\"}`");
    } else {
        schedule.fair_by = read_choice(context, field, keys::kFairBy).value_or(FairBy::None);
    }
}

// A part and a rate can be compared only on a device.
template <typename Value>
void warn_above_class(Context& context, const Field& each, const std::optional<Value>& cap,
                      const std::optional<Value>& cap_of_class)
{
    if (cap && cap_of_class && *cap >= *cap_of_class) {
        context.warning(*each.value, fmt::format("`max-rate-each` {} has no effect: the class is capped at {}",
                                                 to_string(*cap), to_string(*cap_of_class)));
    }
}

void read_fairness(Context& context, const Mapping& mapping, Schedule& schedule)
{
    const auto fair_by = mapping.find("fair-by");
    if (fair_by) {
        read_fair_by(context, *fair_by, schedule);
    }
    if (const auto each = mapping.find("max-rate-each")) {
        read_cap(context, *each, schedule.principal);
        warn_above_class(context, *each, schedule.principal.max_rate, schedule.rate.max_rate);
        warn_above_class(context, *each, schedule.principal.max_part, schedule.rate.max_part);
    }
    if (const auto budget = mapping.find("leaf-budget")) {
        schedule.leaf_budget = read_integer<std::uint32_t>(context, *budget);
    }
    // A `fair-by` that could not be read has had its error.
    if (fair_by && !equals_ignoring_case(fair_by->value->text, kNone)) {
        return;
    }
    schedule.principal = {};
    for (const auto key : {"max-rate-each"sv, "leaf-budget"sv}) {
        if (mapping.has(key)) {
            context.warning(*find_key(mapping.node(), key),
                            fmt::format("`{}` has no effect: the class has one leaf", key),
                            "with a `fair-by` other than `none` it has one for each");
        }
    }
}

void read_schedule(const LevelReading& reading, const Field& field)
{
    Context& context = reading.build.context;
    check_path_segment(context, {"name", find_value(reading.mapping.node(), "name")}, reading.level.name);
    const Mapping mapping(context, *field.value, keys::kSchedule);
    if (!mapping.is_valid()) {
        return;
    }
    Schedule schedule;
    schedule.location = context.locate(*field.value);
    if (const auto parent = mapping.find("parent")) {
        schedule.parent = find_node(reading.build, *parent);
    }
    schedule.rate = read_rate_spec(context, mapping, reading.fields);
    schedule.strict = read_strict(reading.build, mapping, reading.level.name, schedule.parent.has_value(),
                                  schedule.rate);
    read_fairness(context, mapping, schedule);
    if (const auto responder = mapping.find("responder")) {
        schedule.responder = read_responder(context, *responder);
    }
    reading.level.schedule = std::move(schedule);
}

void read_per_queue_pair(const LevelReading& reading, const Field& field)
{
    Context& context = reading.build.context;
    PerQueuePair& limits = reading.level.per_queue_pair;
    const Mapping mapping(context, *field.value, keys::kPerQueuePair);
    if (!mapping.is_valid()) {
        return;
    }
    limits.location = context.locate(*field.value);
    if (const auto rate = mapping.find("max-rate")) {
        limits.max_rate = read_rate(context, *rate);
    }
    if (const auto burst = mapping.find("max-burst")) {
        limits.max_burst = read_size(context, *burst);
    }
    if (const auto packet = mapping.find("typical-packet")) {
        if (const auto size = read_size(context, *packet)) {
            limits.typical_packet = static_cast<std::uint32_t>(*size);
        }
    }
    const Node* rate = find_value(*field.value, "max-rate");
    const bool no_rate = rate == nullptr || (rate->is_scalar() && equals_ignoring_case(rate->text, "unlimited"));
    for (const auto key : {"max-burst"sv, "typical-packet"sv}) {
        if (no_rate && mapping.has(key)) {
            context.error(*find_key(mapping.node(), key),
                          fmt::format("`{}` without `max-rate` in `per-queue-pair` limits nothing", key),
                          "it refines a `max-rate`: add one, or omit this key");
        }
    }
}

void read_allow(const LevelReading& reading, const Field& field)
{
    reading.level.allow = read_client(reading.build, field, ClientFor::Allow);
}

void read_level_devices(const LevelReading& reading, const Field& field)
{
    Context& context = reading.build.context;
    reading.level.devices = read_selectors(context, field);
    if (!reading.mapping.has("schedule")) {
        context.warning(*find_key(reading.mapping.node(), "devices"),
                        fmt::format("`devices` of `{}` has no effect without `schedule`", reading.level.name),
                        "it says which devices have the level's class; which queue pairs get a level is said by rules");
    }
}

void read_mode(const LevelReading& reading, const Field& field)
{
    Context& context = reading.build.context;
    reading.level.mode = read_choice(context, field, keys::kModes).value_or(Mode::Enforce);
    const bool asks_nothing = !reading.mapping.has("schedule") && !reading.mapping.has("per-queue-pair");
    if (reading.level.mode == Mode::Monitor && asks_nothing) {
        context.warning(*find_key(reading.mapping.node(), "mode"),
                        fmt::format("`mode: monitor` of `{}` has no effect without `schedule` and `per-queue-pair`",
                                    reading.level.name),
                        "the level asks nothing of a device that could be left out");
    }
}

// Whether other levels have the names is looked at when all levels are read (build_levels.cpp).
void read_renamed_from(const LevelReading& reading, const Field& field)
{
    for (const Field& item : read_items(reading.build.context, field)) {
        if (auto name = read_name(reading.build.context, item)) {
            reading.build.former_names.push_back({item.value, reading.build.policy.levels.size(), *name});
            reading.level.renamed_from.push_back(std::move(*name));
        }
    }
}

// In this order an option is read, so that one may look at what another above it has read.
constexpr std::array kLevelOptions{
    value<&QosLevel::sl, read_sl>("sl"),
    LevelOption{"sl-source", read_sl_source},
    LevelOption{"dscp", read_dscp},
    LevelOption{"traffic-class", read_traffic_class},
    value<&QosLevel::mtu_limit, read_ib_mtu>("mtu-limit"),
    value<&QosLevel::rate_limit, read_ib_rate>("rate-limit"),
    value<&QosLevel::packet_life, read_packet_life>("packet-life"),
    LevelOption{"path-bits", read_path_bits},
    LevelOption{"pkey", read_level_pkeys},
    LevelOption{"schedule", read_schedule},
    LevelOption{"devices", read_level_devices},
    LevelOption{"per-queue-pair", read_per_queue_pair},
    value<&QosLevel::message_model, read_message_model>("message-model"),
    LevelOption{"allow", read_allow},
    LevelOption{"mode", read_mode},
    flag<&QosLevel::log>("log"),
    flag<&QosLevel::adopt>("adopt"),
    LevelOption{keys::kRenamedFrom, read_renamed_from},
};

}    // namespace

std::span<const LevelOption> level_options()
{
    return kLevelOptions;
}

}    // namespace rdmaqos::reader
