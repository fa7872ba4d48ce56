#include "policy/yaml/level_options.h"

#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/base/text.h"
#include "policy/model/client_keys.h"
#include "policy/yaml/build_client.h"
#include "policy/yaml/device_fields.h"
#include "policy/yaml/ib_fields.h"
#include "policy/yaml/mode_choice.h"

namespace rdmaqos {
namespace reader {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kNone = "none";

constexpr std::array kScheduleKeys{"parent"sv,  "share"sv,       "min-rate"sv, "max-rate"sv,
                                   "fair-by"sv, "leaf-budget"sv, "responder"sv};
constexpr std::array kResponderKeys{"share"sv, "max-rate"sv};
constexpr std::array kPerQueuePairKeys{"max-rate"sv, "max-burst"sv, "typical-packet"sv};
constexpr std::array<Choice<FairBy>, 7> kFairBy{{{"none", FairBy::None},
                                                 {"queue-pair", FairBy::QueuePair},
                                                 {"process", FairBy::Process},
                                                 {"user", FairBy::User},
                                                 {"unit", FairBy::Unit},
                                                 {"slurm-job", FairBy::SlurmJob},
                                                 {"kubernetes-pod", FairBy::KubernetesPod}}};
constexpr std::array kFairByPatternKeys{"cgroup"sv};
constexpr std::array<Choice<MessageModel>, 4> kMessageModels{{{"default", MessageModel::Default},
                                                              {"low-latency", MessageModel::LowLatency},
                                                              {"high-bandwidth", MessageModel::HighBandwidth},
                                                              {"force-low-latency", MessageModel::ForceLowLatency}}};
constexpr std::array<Choice<SlSource>, 2> kSlSources{
    {{"subnet-manager", SlSource::SubnetManager}, {"host", SlSource::Host}}};

// ---- words ----

template <typename T, typename Words>
std::string or_nothing(const std::optional<T>& value, Words words)
{
    return value ? std::string(words(*value)) : std::string();
}

std::string number_in_words(std::uint64_t value)
{
    return fmt::format("{}", value);
}

std::string rate_in_words(Bandwidth rate)
{
    return to_string(rate);
}

std::string mtu_in_words(IbMtu mtu)
{
    return fmt::format("{}", bytes(mtu));
}

std::string ib_rate_in_words(IbRate rate)
{
    return to_string(nominal(rate));
}

std::string model_in_words(MessageModel model)
{
    return std::string(to_string(model));
}

// ---- values ----

std::optional<std::uint8_t> read_sl(Context& context, const Field& field)
{
    return read_integer<std::uint8_t>(context, field, 0, kHighestSl);
}

std::optional<IbMtu> read_mtu(Context& context, const Field& field)
{
    return read_ib_mtu(context, field, Unlimited::Allowed);
}

std::optional<IbRate> read_ib_limit(Context& context, const Field& field)
{
    return read_ib_rate(context, field, Unlimited::Allowed);
}

std::optional<MessageModel> read_message_model(Context& context, const Field& field)
{
    return read_choice(context, field, kMessageModels);
}

// An option that is one value.
template <auto Member, auto Read, auto Words>
constexpr LevelOption value(std::string_view option)
{
    return {option,
            [](const LevelReading& reading, const Field& field) {
                reading.level.*Member = Read(reading.build.context, field);
            },
            [](std::string_view key, const Policy&, const QosLevel& level, PolicyProperties& properties) {
                properties.push_back({key, or_nothing(level.*Member, Words), kNone});
            }};
}

void tell_nothing(std::string_view, const Policy&, const QosLevel&, PolicyProperties&) {}

// ---- options that are more than a value ----

void read_sl_source(const LevelReading& reading, const Field& field)
{
    Context& context = reading.build.context;
    reading.level.sl_source = read_choice(context, field, kSlSources).value_or(SlSource::SubnetManager);
    if (reading.level.sl_source == SlSource::Host && !reading.mapping.has("sl")) {
        context.warning(*field.value, "`sl-source: host` has no effect without `sl`");
    }
}

void tell_sl_source(std::string_view key, const Policy&, const QosLevel& level, PolicyProperties& properties)
{
    properties.push_back({key, level.sl_source == SlSource::Host ? "host" : "", "subnet-manager"});
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
    if (const auto value = read_integer<std::uint8_t>(reading.build.context, field, 0, 63)) {
        reading.level.traffic_class = static_cast<std::uint8_t>(*value << 2U);
    }
}

void read_traffic_class(const LevelReading& reading, const Field& field)
{
    Context& context = reading.build.context;
    reading.level.traffic_class = read_integer<std::uint8_t>(context, field, 0, 255);
    if (reading.mapping.has("dscp")) {
        const Node& level = reading.mapping.node();
        context.error(*find_key(level, "traffic-class"), "`dscp` and `traffic-class` set the same bits",
                      "keep one of them; traffic-class is dscp * 4 and the two ECN bits");
        context.note(context.locate(*find_key(level, "dscp")), "`dscp` is given here");
    }
}

void tell_traffic_class(std::string_view key, const Policy&, const QosLevel& level, PolicyProperties& properties)
{
    properties.push_back({key, or_nothing(level.traffic_class, number_in_words), kNone});
}

void read_path_bits(const LevelReading& reading, const Field& field)
{
    Context& context = reading.build.context;
    reading.level.path_bits = read_ranges(context, field, ~std::uint64_t{0});
    context.warning(*find_key(reading.mapping.node(), "path-bits"), "`path-bits` has no effect, as in OpenSM");
}

void read_level_pkeys(const LevelReading& reading, const Field& field)
{
    reading.level.pkeys = read_pkeys(reading.build.context, field);
}

void tell_pkeys(std::string_view key, const Policy&, const QosLevel& level, PolicyProperties& properties)
{
    properties.push_back({key, to_string(level.pkeys, NumberBase::Hex), kNone});
}

std::optional<RateSpec> read_responder(Context& context, const Field& field)
{
    const Mapping mapping(context, *field.value, "`responder`", kResponderKeys);
    if (!mapping.is_valid()) {
        return std::nullopt;
    }
    RateFields unused;
    return read_rate_spec(context, mapping, unused);
}

// `fair-by: {cgroup: "*/job_*"}`
void read_fair_cgroup(Context& context, const Field& field, Schedule& schedule)
{
    const Mapping mapping(context, *field.value, "`fair-by`", kFairByPatternKeys);
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
        schedule.fair_by = read_choice(context, field, kFairBy).value_or(FairBy::None);
    }
}

void read_fairness(Context& context, const Mapping& mapping, Schedule& schedule)
{
    const auto fair_by = mapping.find("fair-by");
    if (fair_by) {
        read_fair_by(context, *fair_by, schedule);
    }
    if (const auto budget = mapping.find("leaf-budget")) {
        constexpr std::uint32_t kHighestBudget = 1'000'000;
        schedule.leaf_budget = read_integer<std::uint32_t>(context, *budget, 1, kHighestBudget);
        // A `fair-by` that could not be read has had its error.
        if (!fair_by || equals_ignoring_case(fair_by->value->text, kNone)) {
            context.warning(*find_key(mapping.node(), "leaf-budget"),
                            "`leaf-budget` has no effect: the class has one leaf",
                            "with a `fair-by` other than `none` it has one for each");
        }
    }
}

void read_schedule(const LevelReading& reading, const Field& field)
{
    Context& context = reading.build.context;
    check_path_segment(context, {"name", find_value(reading.mapping.node(), "name")}, reading.level.name);
    const Mapping mapping(context, *field.value, "`schedule`", kScheduleKeys);
    if (!mapping.is_valid()) {
        return;
    }
    Schedule schedule;
    schedule.location = context.locate(*field.value);
    if (const auto parent = mapping.find("parent")) {
        schedule.parent = find_node(reading.build, *parent);
    }
    schedule.rate = read_rate_spec(context, mapping, reading.fields);
    read_fairness(context, mapping, schedule);
    if (const auto responder = mapping.find("responder")) {
        schedule.responder = read_responder(context, *responder);
    }
    reading.level.schedule = std::move(schedule);
}

std::string fairness_in_words(const Schedule& schedule)
{
    if (schedule.fair_by == FairBy::None) {
        return {};
    }
    const auto by = to_string(schedule.fair_by);
    return schedule.fair_by == FairBy::Cgroup ? fmt::format("{} {}", by, schedule.fair_cgroup) : std::string(by);
}

// "25 Gbit/s" or "25 %"
std::string rate_or_part(const std::optional<Bandwidth>& rate, const std::optional<Percentage>& part)
{
    return part ? to_string(*part) : or_nothing(rate, rate_in_words);
}

std::string share_in_words(const RateSpec& rate)
{
    return rate.share ? number_in_words(*rate.share) : "device-default";
}

void tell_schedule(std::string_view, const Policy& policy, const QosLevel& level, PolicyProperties& properties)
{
    const bool has = level.schedule.has_value();
    const auto add = [&](std::string_view key, std::string value) {
        properties.push_back({key, has ? std::move(value) : std::string(), kNone});
    };
    const Schedule& values = has ? *level.schedule : Schedule{};
    const auto& responder = values.responder;
    add("parent", values.parent ? policy.nodes.at(*values.parent).name : "the root");
    add("share", share_in_words(values.rate));
    add("min-rate", rate_or_part(values.rate.min_rate, values.rate.min_part));
    add("max-rate", rate_or_part(values.rate.max_rate, values.rate.max_part));
    add("fair-by", fairness_in_words(values));
    add("leaf-budget", or_nothing(values.leaf_budget, number_in_words));
    add("responder share", or_nothing(responder, share_in_words));
    add("responder max-rate", responder ? rate_or_part(responder->max_rate, responder->max_part) : "");
}

void read_per_queue_pair(const LevelReading& reading, const Field& field)
{
    Context& context = reading.build.context;
    PerQueuePair& limits = reading.level.per_queue_pair;
    const Mapping mapping(context, *field.value, "`per-queue-pair`", kPerQueuePairKeys);
    if (!mapping.is_valid()) {
        return;
    }
    limits.location = context.locate(*field.value);
    if (const auto rate = mapping.find("max-rate")) {
        limits.max_rate = read_rate(context, *rate, Unlimited::Allowed);
    }
    if (const auto burst = mapping.find("max-burst")) {
        limits.max_burst = read_size(context, *burst, 1, 0xFFFFFFFF);
    }
    if (const auto packet = mapping.find("typical-packet")) {
        constexpr std::uint64_t kLargestPacket = 65535;
        if (const auto size = read_size(context, *packet, 1, kLargestPacket)) {
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

void tell_per_queue_pair(std::string_view, const Policy&, const QosLevel& level, PolicyProperties& properties)
{
    const PerQueuePair& limits = level.per_queue_pair;
    properties.push_back({"per-queue-pair max-rate", or_nothing(limits.max_rate, rate_in_words), kNone});
    properties.push_back({"per-queue-pair max-burst", or_nothing(limits.max_burst, number_in_words), kNone});
    properties.push_back({"per-queue-pair typical-packet", or_nothing(limits.typical_packet, number_in_words), kNone});
}

void read_allow(const LevelReading& reading, const Field& field)
{
    reading.level.allow = read_client(reading.build, field, ClientFor::Allow);
}

void tell_allow(std::string_view key, const Policy&, const QosLevel& level, PolicyProperties& properties)
{
    properties.push_back({key, level.allow ? allowed_in_words(level) : "", "everyone"});
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

void tell_devices(std::string_view key, const Policy&, const QosLevel& level, PolicyProperties& properties)
{
    properties.push_back({key, to_string(level.devices), "all"});
}

void read_mode(const LevelReading& reading, const Field& field)
{
    Context& context = reading.build.context;
    reading.level.mode = read_choice(context, field, kModes).value_or(Mode::Enforce);
    const bool asks_nothing = !reading.mapping.has("schedule") && !reading.mapping.has("per-queue-pair");
    if (reading.level.mode == Mode::Monitor && asks_nothing) {
        context.warning(*find_key(reading.mapping.node(), "mode"),
                        fmt::format("`mode: monitor` of `{}` has no effect without `schedule` and `per-queue-pair`",
                                    reading.level.name),
                        "the level asks nothing of a device that could be left out");
    }
}

void tell_mode(std::string_view key, const Policy&, const QosLevel& level, PolicyProperties& properties)
{
    properties.push_back({key, level.mode == Mode::Monitor ? "monitor" : "", "enforce"});
}

void read_log(const LevelReading& reading, const Field& field)
{
    reading.level.log = read_bool(reading.build.context, field).value_or(false);
}

void tell_log(std::string_view key, const Policy&, const QosLevel& level, PolicyProperties& properties)
{
    properties.push_back({key, level.log ? "yes" : "", "no"});
}

void read_adopt(const LevelReading& reading, const Field& field)
{
    reading.level.adopt = read_bool(reading.build.context, field).value_or(true);
}

void tell_adopt(std::string_view key, const Policy&, const QosLevel& level, PolicyProperties& properties)
{
    properties.push_back({key, level.adopt ? "" : "no", "yes"});
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

void tell_renamed_from(std::string_view key, const Policy&, const QosLevel& level, PolicyProperties& properties)
{
    properties.push_back({key, fmt::format("{}", fmt::join(level.renamed_from, ", ")), kNone});
}

// In this order an option is read, so that one may look at what another above it has read.
constexpr std::array kLevelOptions{
    value<&QosLevel::sl, read_sl, number_in_words>("sl"),
    LevelOption{"sl-source", read_sl_source, tell_sl_source},
    LevelOption{"dscp", read_dscp, tell_nothing},
    LevelOption{"traffic-class", read_traffic_class, tell_traffic_class},
    value<&QosLevel::mtu_limit, read_mtu, mtu_in_words>("mtu-limit"),
    value<&QosLevel::rate_limit, read_ib_limit, ib_rate_in_words>("rate-limit"),
    value<&QosLevel::packet_life, read_packet_life, number_in_words>("packet-life"),
    LevelOption{"path-bits", read_path_bits, tell_nothing},
    LevelOption{"pkey", read_level_pkeys, tell_pkeys},
    LevelOption{"schedule", read_schedule, tell_schedule},
    LevelOption{"devices", read_level_devices, tell_devices},
    LevelOption{"per-queue-pair", read_per_queue_pair, tell_per_queue_pair},
    value<&QosLevel::message_model, read_message_model, model_in_words>("message-model"),
    LevelOption{"allow", read_allow, tell_allow},
    LevelOption{"mode", read_mode, tell_mode},
    LevelOption{"log", read_log, tell_log},
    LevelOption{"adopt", read_adopt, tell_adopt},
    LevelOption{kRenamedFromKey, read_renamed_from, tell_renamed_from},
};

}    // namespace

std::span<const LevelOption> level_options()
{
    return kLevelOptions;
}

std::span<const std::string_view> level_keys()
{
    static const auto kKeys = [] {
        std::vector<std::string_view> keys{"name", "use", "remove"};
        std::ranges::transform(kLevelOptions, std::back_inserter(keys), &LevelOption::key);
        return keys;
    }();
    return kKeys;
}

}    // namespace reader

PolicyProperties properties_of(const Policy& policy, const QosLevel& level)
{
    PolicyProperties properties;
    for (const auto& option : reader::level_options()) {
        option.tell(option.key, policy, level, properties);
    }
    return properties;
}

}    // namespace rdmaqos
