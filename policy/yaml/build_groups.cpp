#include "policy/yaml/build_groups.h"

#include <array>
#include <unordered_map>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "policy/keys/objects.h"

namespace rdmaqos::reader {
namespace {

using namespace std::string_view_literals;

void read_node_types(Context& context, const Field& field, PortGroup& group)
{
    for (const Field& item : read_items(context, field)) {
        const auto word = read_word(context, item, item.row->value.words);
        if (!word) {
            continue;
        }
        const auto type = item.row->value.words[*word];
        group.node_types.ca |= type == "CA" || type == "ALL";
        group.node_types.switch_ |= type == "SWITCH" || type == "ALL";
        group.node_types.router |= type == "ROUTER" || type == "ALL";
        group.self |= type == "SELF";
    }
}

// "DESCRIPTION/Pn" as OpenSM splits it: at the last slash.
void check_port_name(Context& context, const Field& item, std::string_view name)
{
    const auto slash = name.rfind('/');
    const auto port = slash == std::string_view::npos ? std::string_view{} : name.substr(slash + 1);
    const bool has_form = slash != std::string_view::npos && slash > 0 && port.size() > 1 &&
                          (port[0] == 'P' || port[0] == 'p');
    const auto number = has_form ? parse_number(port.substr(1)) : std::nullopt;
    if (!number || *number == 0 || *number > 255) {
        context.error(*item.value, fmt::format("`{}` is not the name of a port", name),
                      "a port-name is a node description, `/P` and a port number from 1 to 255: `vs1 HCA-1/P1`");
    }
}

void read_gids(Context& context, const Field& field, PortGroup& group)
{
    for (const Field& item : read_items(context, field)) {
        if (const auto prefix = parse_gid_prefix(item.value->text)) {
            group.gids.push_back(*prefix);
        } else {
            context.error(*item.value, fmt::format("`{}` is not a GID or GID prefix", item.value->text),
                          "write `fd00:10::/32`, `::ffff:10.1.0.0/112` or an address; the bits after the prefix must "
                          "be 0");
        }
    }
}

void read_members(Context& context, const Mapping& mapping, PortGroup& group)
{
    if (const auto field = mapping.find("port-guid")) {
        group.port_guids = read_ranges(context, *field);
    }
    if (const auto field = mapping.find("port-name")) {
        for (const Field& item : read_items(context, *field)) {
            if (auto name = read_text(context, item)) {
                check_port_name(context, item, *name);
                group.port_names.push_back(std::move(*name));
            }
        }
    }
    if (const auto field = mapping.find("pkey")) {
        group.pkeys = read_pkeys(context, *field);
    }
    if (const auto field = mapping.find("partition")) {
        group.partitions = read_texts(context, *field);
    }
    if (const auto field = mapping.find("node-type")) {
        read_node_types(context, *field, group);
    }
    if (const auto field = mapping.find("gid")) {
        read_gids(context, *field, group);
    }
}

}    // namespace

void read_groups(Build& build)
{
    for (const auto& object : build.sections.groups.objects()) {
        Context& context = build.context;
        const Mapping mapping(context, object.mapping, keys::kPortGroup);
        PortGroup group;
        group.name = object.name;
        group.location = context.locate(object.name_at);
        if (const auto use = mapping.find("use")) {
            group.use = read_description(context, *use);
        }
        const auto errors = context.diagnostics().error_count();
        read_members(context, mapping, group);
        const bool whole = !object.has_unknown_keys && context.diagnostics().error_count() == errors;
        build.add(std::move(group), whole ? Read::Whole : Read::InPart);
    }
}

void read_class_names(Build& build)
{
    for (const auto& entry : build.sections.class_names.entries()) {
        Context& context = build.context;
        if (entry.removed) {
            continue;
        }
        const auto name = read_name(context, {"qos-class-names", &entry.name});
        if (!name) {
            continue;
        }
        if (is_digit(name->front())) {
            context.error(entry.name, fmt::format("the qos-class-name `{}` starts with a digit", *name),
                          "it could not be distinguished from a number");
        }
        const auto number = read_integer<std::uint16_t>(context, {*name, &entry.number}, 0, kHighestQosClass);
        build.class_numbers.emplace(to_lower(*name), number.value_or(0));
        build.policy.qos_class_names.push_back({*name, number.value_or(0), context.locate(entry.name)});
    }
}

void read_partitions(Build& build)
{
    std::unordered_map<std::uint16_t, std::size_t> by_pkey;
    for (const auto& object : build.sections.partitions.objects()) {
        Context& context = build.context;
        const Mapping mapping(context, object.mapping, keys::kPartition);
        Partition partition;
        partition.name = object.name;
        partition.location = context.locate(object.name_at);
        if (const auto field = mapping.find("pkey")) {
            const auto pkey = read_integer<std::uint16_t>(context, *field, 0, 0xFFFF);
            partition.pkey = partition_of(pkey.value_or(1));
            if (partition.pkey == 0) {
                context.error(*field->value, "`pkey` is 0 without the membership bit: there is no such partition");
            }
        } else {
            context.error(partition.location, fmt::format("partition `{}` needs a `pkey`", partition.name));
        }
        if (const auto field = mapping.find("qos-level-name")) {
            partition.level = find_level(build, *field);
        } else if (!object.has_unknown_keys) {
            context.warning(partition.location, fmt::format("partition `{}` has no effect", partition.name),
                            "give it a `qos-level-name`");
        }
        if (partition.pkey != 0 && mapping.has("pkey")) {
            const auto [same, inserted] = by_pkey.emplace(partition.pkey, build.policy.partitions.size());
            if (!inserted) {
                const Partition& other = build.policy.partitions[same->second];
                context.error(partition.location, fmt::format("partitions `{}` and `{}` have the same P_Key 0x{:04x}",
                                                              other.name, partition.name, partition.pkey));
                context.note(other.location, "the other one is defined here");
            }
        }
        build.policy.partitions.push_back(std::move(partition));
    }
}

}    // namespace rdmaqos::reader
