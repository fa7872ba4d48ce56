#include "policy/yaml/build_levels.h"

#include <array>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "policy/yaml/build_client.h"
#include "policy/yaml/ib_fields.h"

namespace rdmaqos::reader {
namespace {

using namespace std::string_view_literals;

constexpr std::array kScheduleKeys{"parent"sv,   "share"sv,       "min-rate"sv, "max-rate"sv,
                                   "fair-by"sv,  "leaf-budget"sv, "responder"sv};
constexpr std::array kResponderKeys{"share"sv, "max-rate"sv};
constexpr std::array kPerQueuePairKeys{"max-rate"sv, "max-burst"sv, "typical-packet"sv};
constexpr std::array<Choice<FairBy>, 5> kFairBy{{{"none", FairBy::None},
                                                 {"queue-pair", FairBy::QueuePair},
                                                 {"process", FairBy::Process},
                                                 {"user", FairBy::User},
                                                 {"unit", FairBy::Unit}}};
constexpr std::array<Choice<MessageModel>, 4> kMessageModels{{{"default", MessageModel::Default},
                                                              {"low-latency", MessageModel::LowLatency},
                                                              {"high-bandwidth", MessageModel::HighBandwidth},
                                                              {"force-low-latency", MessageModel::ForceLowLatency}}};
constexpr std::array<Choice<SlSource>, 2> kSlSources{{{"subnet-manager", SlSource::SubnetManager},
                                                      {"host", SlSource::Host}}};

void read_path_part(Context& context, const Mapping& mapping, QosLevel& level)
{
    if (const auto field = mapping.find("sl")) {
        level.sl = read_integer<std::uint8_t>(context, *field, 0, kHighestSl);
    }
    if (const auto field = mapping.find("mtu-limit")) {
        level.mtu_limit = read_ib_mtu(context, *field, Unlimited::Allowed);
    }
    if (const auto field = mapping.find("rate-limit")) {
        level.rate_limit = read_ib_rate(context, *field, Unlimited::Allowed);
    }
    if (const auto field = mapping.find("packet-life")) {
        level.packet_life = read_packet_life(context, *field);
    }
    if (const auto field = mapping.find("path-bits")) {
        level.path_bits = read_ranges(context, *field, ~std::uint64_t{0});
        context.warning(*find_key(mapping.node(), "path-bits"), "`path-bits` has no effect, as in OpenSM");
    }
    if (const auto field = mapping.find("pkey")) {
        level.pkeys = read_pkeys(context, *field);
    }
    if (const auto field = mapping.find("sl-source")) {
        level.sl_source = read_choice(context, *field, kSlSources).value_or(SlSource::SubnetManager);
        if (level.sl_source == SlSource::Host && !mapping.has("sl")) {
            context.warning(*field->value, "`sl-source: host` has no effect without `sl`");
        }
    }
}

void read_traffic_class(Context& context, const Mapping& mapping, QosLevel& level)
{
    const auto dscp = mapping.find("dscp");
    const auto traffic_class = mapping.find("traffic-class");
    if (dscp) {
        if (const auto value = read_integer<std::uint8_t>(context, *dscp, 0, 63)) {
            level.traffic_class = static_cast<std::uint8_t>(*value << 2U);
        }
    }
    if (traffic_class) {
        level.traffic_class = read_integer<std::uint8_t>(context, *traffic_class, 0, 255);
    }
    if (dscp && traffic_class) {
        context.error(*find_key(mapping.node(), "traffic-class"), "`dscp` and `traffic-class` state the same bits",
                      "keep one of them; traffic-class is dscp * 4 and the two ECN bits");
        context.note(context.locate(*find_key(mapping.node(), "dscp")), "`dscp` is stated here");
    }
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

std::optional<Schedule> read_schedule(Build& build, const Field& field, RateFields& fields)
{
    Context& context = build.context;
    const Mapping mapping(context, *field.value, "`schedule`", kScheduleKeys);
    if (!mapping.is_valid()) {
        return std::nullopt;
    }
    Schedule schedule;
    schedule.location = context.locate(*field.value);
    if (const auto parent = mapping.find("parent")) {
        schedule.parent = find_node(build, *parent);
    }
    schedule.rate = read_rate_spec(context, mapping, fields);
    bool one_leaf = true;
    if (const auto fair_by = mapping.find("fair-by")) {
        const auto choice = read_choice(context, *fair_by, kFairBy);
        one_leaf = choice == FairBy::None;
        schedule.fair_by = choice.value_or(FairBy::None);
    }
    if (const auto budget = mapping.find("leaf-budget")) {
        constexpr std::uint32_t kHighestBudget = 1'000'000;
        schedule.leaf_budget = read_integer<std::uint32_t>(context, *budget, 1, kHighestBudget);
        if (one_leaf) {
            context.warning(*find_key(mapping.node(), "leaf-budget"),
                            "`leaf-budget` has no effect: the class has one leaf",
                            "with `fair-by` queue-pair, process, user or unit it has one for each");
        }
    }
    if (const auto responder = mapping.find("responder")) {
        schedule.responder = read_responder(context, *responder);
    }
    return schedule;
}

PerQueuePair read_per_queue_pair(Context& context, const Field& field)
{
    PerQueuePair limits;
    const Mapping mapping(context, *field.value, "`per-queue-pair`", kPerQueuePairKeys);
    if (!mapping.is_valid()) {
        return limits;
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
    for (const auto key : {"max-burst"sv, "typical-packet"sv}) {
        const Node* rate = find_value(*field.value, "max-rate");
        const bool no_rate = rate == nullptr || (rate->is_scalar() && equals_ignoring_case(rate->text, "unlimited"));
        if (no_rate && mapping.has(key)) {
            context.error(*find_key(mapping.node(), key),
                          fmt::format("`{}` without `max-rate` in `per-queue-pair` limits nothing", key),
                          "it says how a `max-rate` is kept: give one, or leave this out");
        }
    }
    return limits;
}

void warn_about(Context& context, const Mapping& mapping, const QosLevel& level)
{
    const bool capped = (level.schedule && level.schedule->rate.max_rate) || level.per_queue_pair.max_rate;
    if (level.rate_limit && !capped) {
        context.warning(*find_key(mapping.node(), "rate-limit"),
                        fmt::format("`rate-limit` of `{}` caps nothing: it only goes into path answers", level.name),
                        "a cap is `max-rate` in `schedule` or `per-queue-pair`");
    }
    if (level.schedule && level.schedule->rate.min_rate && !level.allow) {
        context.warning(*find_key(*find_value(mapping.node(), "schedule"), "min-rate"),
                        fmt::format("everybody may take the guarantee of `{}`", level.name),
                        "say who may with `allow`");
    }
}

void read_level(Build& build, const NamedObject& object)
{
    Context& context = build.context;
    const Mapping mapping(context, object.mapping, "a qos-level", build.sections.levels.keys());
    QosLevel level;
    RateFields fields;
    level.name = object.name;
    level.location = context.locate(object.name_at);
    if (const auto field = mapping.find("use")) {
        level.use = read_description(context, *field);
    }
    read_path_part(context, mapping, level);
    read_traffic_class(context, mapping, level);
    if (const auto field = mapping.find("schedule")) {
        check_path_segment(context, {"name", find_value(object.mapping, "name")}, level.name);
        level.schedule = read_schedule(build, *field, fields);
    }
    if (const auto field = mapping.find("per-queue-pair")) {
        level.per_queue_pair = read_per_queue_pair(context, *field);
    }
    if (const auto field = mapping.find("message-model")) {
        level.message_model = read_choice(context, *field, kMessageModels);
    }
    if (const auto field = mapping.find("allow")) {
        level.allow = read_client(build, *field, ClientFor::Allow);
    }
    warn_about(context, mapping, level);
    build.levels.add(level.name, build.policy.levels.size());
    build.policy.levels.push_back(std::move(level));
    build.level_fields.push_back(fields);
}

}    // namespace

void read_levels(Build& build)
{
    for (const auto& object : build.sections.levels.objects()) {
        read_level(build, object);
    }
}

}    // namespace rdmaqos::reader
