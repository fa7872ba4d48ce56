#include "policy/yaml/build_rules.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "policy/keys/choices.h"
#include "policy/keys/objects.h"
#include "policy/model/service_id.h"
#include "policy/yaml/build_client.h"
#include "policy/yaml/device_fields.h"

namespace rdmaqos::reader {
namespace {

using namespace std::string_view_literals;

constexpr std::array kNoCriteria{"use"sv, "qos-level-name"sv, "adopt"sv};

// Numbers, ranges, and names of qos-class-names.
IntervalSet read_classes(Build& build, const Field& field)
{
    Context& context = build.context;
    std::vector<Interval> classes;
    for (const Field& item : read_items(context, field)) {
        const auto text = read_text(context, item);
        if (!text) {
            continue;
        }
        if (is_digit(text->front())) {
            const auto interval = read_interval(context, item);
            if (!interval) {
                continue;
            }
            if (interval->last > kHighestQosClass) {
                context.warning(*item.value,
                                fmt::format("a QoS class has 12 bits: values above {} never match", kHighestQosClass));
            }
            classes.push_back(*interval);
            continue;
        }
        const auto number = build.class_numbers.find(to_lower(*text));
        if (number != build.class_numbers.end()) {
            classes.push_back({number->second, number->second});
        } else if (!build.sections.incomplete) {
            context.error(*item.value, fmt::format("there is no qos-class-name `{}`", *text),
                          context.suggest_name(*text, build.policy.qos_class_names,
                                               "a class is a number, a range or a name from `qos-class-names`"));
        }
    }
    return IntervalSet(std::move(classes));
}

void add_ulp_ports(Context& context, const Field& field, std::vector<Interval>& service_ids)
{
    const Mapping mapping(context, *field.value, keys::kUlpPort);
    if (!mapping.is_valid()) {
        return;
    }
    const auto space = mapping.find("space");
    const auto port = mapping.find("port");
    if (!space || !port) {
        if (!mapping.has_unknown_keys()) {
            context.error(*field.value, fmt::format("`ulp-port` needs `{}`", space ? "port" : "space"),
                          "for example `ulp-port: {space: tcp, port: [4420]}`");
        }
        return;
    }
    const auto word = read_word(context, *space, keys::kPortSpaces);
    const IntervalSet ports = read_ranges(context, *port);
    if (!word) {
        return;
    }
    const auto base = service_id_of(keys::kPortSpaces.at(*word), 0);
    for (const Interval& interval : ports.intervals()) {
        service_ids.push_back({*base + interval.first, *base + interval.last});
    }
}

void read_service_ids(Context& context, const Mapping& mapping, MatchRule& rule)
{
    std::vector<Interval> ids;
    if (const auto field = mapping.find("service-id")) {
        ids = read_ranges(context, *field).intervals();
    }
    if (const auto field = mapping.find("ulp-port")) {
        add_ulp_ports(context, *field, ids);
    }
    rule.service_id = IntervalSet(std::move(ids));
}

// `device` came first, and takes the same.
void read_devices(Context& context, const Mapping& mapping, MatchRule& rule)
{
    const auto devices = mapping.find("devices");
    const auto device = mapping.find("device");
    if (const auto& field = devices ? devices : device) {
        rule.devices = read_selectors(context, *field);
    }
    if (devices && device) {
        context.error(*find_key(mapping.node(), "device"), "`device` and `devices` are the same criterion",
                      "keep `devices`, with the entries of both");
        context.note(context.locate(*find_key(mapping.node(), "devices")), "`devices` is given here");
    }
}

void read_criteria(Build& build, const Mapping& mapping, MatchRule& rule)
{
    Context& context = build.context;
    if (const auto field = mapping.find("source")) {
        rule.source = find_groups(build, *field);
    }
    if (const auto field = mapping.find("destination")) {
        rule.destination = find_groups(build, *field);
    }
    if (const auto field = mapping.find("qos-class")) {
        rule.qos_class = read_classes(build, *field);
    }
    read_service_ids(context, mapping, rule);
    if (const auto field = mapping.find("pkey")) {
        rule.pkey = read_pkeys(context, *field);
    }
    if (const auto field = mapping.find("client")) {
        rule.client = read_client(build, *field, ClientFor::Rule);
    }
    read_devices(context, mapping, rule);
}

bool has_criteria(const Mapping& mapping)
{
    return std::ranges::any_of(keys::kMatchRule.keys, [&](const keys::Key& key) {
        return std::ranges::find(kNoCriteria, key.name) == kNoCriteria.end() && mapping.has(key.name);
    });
}

}    // namespace

void read_match_rules(Build& build)
{
    Context& context = build.context;
    for (const Node& entry : build.sections.rules) {
        const Mapping mapping(context, entry, keys::kMatchRule);
        if (!mapping.is_valid()) {
            continue;
        }
        MatchRule rule;
        rule.location = context.locate(entry);
        if (const auto use = mapping.find("use")) {
            rule.use = read_description(context, *use);
        }
        read_criteria(build, mapping, rule);
        if (const auto adopt = mapping.find("adopt")) {
            rule.adopt = read_bool(context, *adopt).value_or(true);
        }
        if (const auto level = mapping.find("qos-level-name")) {
            rule.level = find_level(build, *level).value_or(0);
        } else if (!mapping.has_unknown_keys()) {
            context.error(entry, "a match rule needs a `qos-level-name`");
        }
        build.add_rule(std::move(rule), !has_criteria(mapping) && !mapping.has_unknown_keys());
    }
}

}    // namespace rdmaqos::reader
