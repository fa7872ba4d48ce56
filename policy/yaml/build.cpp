#include "policy/yaml/build.h"

#include <fmt/format.h>

#include "lib/base/text.h"

namespace rdmaqos::reader {
namespace {

constexpr std::uint32_t kHighestShare = 1'000'000;

// "50%", "10Gbps": what others call a share.
bool is_part_or_rate(std::string_view text)
{
    return is_percentage(text) || parse_bandwidth(text).value;
}

std::optional<std::uint32_t> read_share(Context& context, const Field& field)
{
    constexpr std::string_view kDeviceDefault = "device-default";
    if (field.value->is_scalar() && equals_ignoring_case(field.value->text, kDeviceDefault)) {
        return std::nullopt;
    }
    if (field.value->is_scalar() && parse_number(field.value->text) == 0) {
        context.error(*field.value, "`share` cannot be 0", "for the device's own default, write `device-default`");
        return 1;
    }
    if (field.value->is_scalar() && is_part_or_rate(field.value->text)) {
        const std::string& text = field.value->text;
        const bool is_part = is_percentage(text);
        context.error(*field.value,
                      fmt::format("`share: {}` is a {}; a share is a weight among siblings, a number without a unit",
                                  shortened(text), is_part ? "percentage" : "rate"),
                      fmt::format("for {0}, write `max-rate: {1}` (a cap) or `min-rate: {1}` (a guarantee)",
                                  is_part ? "a part of the port" : "a rate", shortened(text)));
        return 1;
    }
    return read_integer<std::uint32_t>(context, field, 1, kHighestShare).value_or(1);
}

bool is_part(const Field& field)
{
    return field.value->is_scalar() && is_percentage(field.value->text);
}

std::optional<Percentage> read_part(Context& context, const Field& field)
{
    const auto part = parse_percentage(field.value->text);
    if (!part) {
        context.error(*field.value,
                      fmt::format("`{}: {}` is not a part of the link", field.key, shortened(field.value->text)),
                      "write more than 0 and at most 100 %, with at most two decimals: `25%`, `12.5%`");
    }
    return part;
}

// What is below 1 Mbit/s of it, an element's cap loses.
void warn_of_rounding(Context& context, const Field& field, Bandwidth rate)
{
    const Bandwidth whole = Bandwidth::from_mbps(rate.mbps());
    if (rate != whole) {
        context.warning(*field.value,
                        fmt::format("`{}` {} is rounded down to {}", field.key, to_string(rate), to_string(whole)),
                        "an element of the tree is capped in whole Mbit/s");
    }
}

// A guarantee above the own cap. A part and a rate can be compared only on a device.
template <typename Value>
void check_order(Context& context, const RateFields& fields, std::optional<Value>& min, const std::optional<Value>& max)
{
    if (min && max && *min > *max) {
        const bool is_cap = &to_blame(*fields.min_rate, *fields.max_rate) == fields.max_rate;
        context.error(is_cap ? *fields.max_rate : *fields.min_rate,
                      fmt::format("`min-rate` {} is above `max-rate` {}", to_string(*min), to_string(*max)));
        context.note(context.locate(is_cap ? *fields.min_rate : *fields.max_rate),
                     fmt::format("`{}` is given here", is_cap ? "min-rate" : "max-rate"));
        min.reset();
    }
}

// Reports a name nobody defines, unless a file that may define it could not be read.
template <typename Objects>
void report_unknown(Build& build, const Field& field, const NamedObjects& kind, const Objects& objects,
                    std::string_view name)
{
    if (build.sections.incomplete) {
        return;
    }
    build.context.error(*field.value, fmt::format("there is no {} `{}`", kind.kind(), name),
                        build.context.suggest_name(name, objects));
    if (const Position* removed = kind.removed_at(name)) {
        build.context.note(build.context.locate(*removed), "it is removed here");
    }
}

}    // namespace

void read_cap(Context& context, const Field& field, RateSpec& spec)
{
    if (is_part(field)) {
        spec.max_part = read_part(context, field);
    } else if ((spec.max_rate = read_rate(context, field))) {
        warn_of_rounding(context, field, *spec.max_rate);
    }
}

RateSpec read_rate_spec(Context& context, const Mapping& mapping, RateFields& fields)
{
    RateSpec spec;
    if (const auto field = mapping.find("share")) {
        fields.share = field->value;
        spec.share = read_share(context, *field);
    }
    if (const auto field = mapping.find("min-rate")) {
        fields.min_rate = field->value;
        if (is_part(*field)) {
            spec.min_part = read_part(context, *field);
        } else {
            spec.min_rate = read_rate(context, *field);
        }
    }
    if (const auto field = mapping.find("max-rate")) {
        fields.max_rate = field->value;
        read_cap(context, *field, spec);
    }
    check_order(context, fields, spec.min_rate, spec.max_rate);
    check_order(context, fields, spec.min_part, spec.max_part);
    return spec;
}

std::optional<std::size_t> find_level(Build& build, const Field& field)
{
    const auto name = read_text(build.context, field);
    if (!name) {
        return std::nullopt;
    }
    const auto index = build.levels.find(*name);
    if (index) {
        return index;
    }
    if (const auto now = build.renamed_levels.find(*name)) {
        const QosLevel& renamed = build.policy.levels[*now];
        build.context.error(
            *field.value, fmt::format("there is no qos-level `{}` any longer", *name),
            fmt::format("write `{}`: only sessions may use a name of its `renamed-from`", renamed.name));
        build.context.note(renamed.location, "it is this level now");
        return std::nullopt;
    }
    report_unknown(build, field, build.sections.levels, build.sections.levels.objects(), *name);
    return std::nullopt;
}

std::optional<std::size_t> find_node(Build& build, const Field& field)
{
    const auto name = read_text(build.context, field);
    if (!name) {
        return std::nullopt;
    }
    const auto index = build.nodes.find(*name);
    if (index) {
        return index;
    }
    for (const auto& object : build.sections.levels.objects()) {
        if (equals_ignoring_case(object.name, *name)) {
            build.context.error(*field.value, fmt::format("`{}` is a qos-level; a parent is a scheduling-node", *name),
                                "the parent of a level is an entry of `scheduling-nodes`, never another level");
            return std::nullopt;
        }
    }
    report_unknown(build, field, build.sections.nodes, build.sections.nodes.objects(), *name);
    return std::nullopt;
}

std::vector<std::size_t> find_groups(Build& build, const Field& field)
{
    std::vector<std::size_t> indexes;
    for (const Field& item : read_items(build.context, field)) {
        const auto name = read_text(build.context, item);
        if (!name) {
            continue;
        }
        if (const auto index = build.groups.find(*name)) {
            indexes.push_back(*index);
        } else {
            report_unknown(build, item, build.sections.groups, build.policy.groups, *name);
        }
    }
    return indexes;
}

}    // namespace rdmaqos::reader
