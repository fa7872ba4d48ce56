#include "policy/yaml/build_setup.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "policy/keys/objects.h"

namespace rdmaqos::reader {
namespace {

using namespace std::string_view_literals;

constexpr std::uint64_t kHighestVl = 15;
constexpr std::size_t kTableSize = 16;

// "VL:weight"
void check_weights(Context& context, const Field& field)
{
    for (const Field& item : read_items(context, field)) {
        const std::string_view text = item.value->text;
        const auto colon = text.find(':');
        const auto vl = parse_number(text.substr(0, colon));
        const auto weight = colon == std::string_view::npos ? std::nullopt : parse_number(text.substr(colon + 1));
        if (!vl || !weight || *vl > kHighestVl || *weight > 255) {
            context.error(*item.value, fmt::format("`{}`: `{}` is not a VL and a weight", field.key, text),
                          "write `VL:weight` with a VL from 0 to 15 and a weight from 0 to 255: `0:64`");
        }
    }
}

void check_ports(Context& context, const Field& field)
{
    if (field.value->is_scalar() && field.value->text == "*") {
        return;
    }
    static_cast<void>(read_ranges(context, field));
}

bool has_any(const Mapping& mapping, std::initializer_list<std::string_view> keys)
{
    return std::any_of(keys.begin(), keys.end(), [&](std::string_view key) { return mapping.has(key); });
}

void check_names(Context& context, const Mapping& mapping, std::initializer_list<std::string_view> keys)
{
    for (const auto key : keys) {
        if (const auto field = mapping.find(key)) {
            static_cast<void>(read_texts(context, *field));
        }
    }
}

void check_vlarb(Context& context, const Node& entry)
{
    const Mapping mapping(context, entry, keys::kVlarbTable);
    if (!mapping.is_valid()) {
        return;
    }
    if (!has_any(mapping, {"group", "across"})) {
        context.error(entry, "a vlarb-table needs `group` or `across`");
    }
    check_names(context, mapping, {"group", "across"});
    for (const auto key : {"vlarb-high"sv, "vlarb-low"sv}) {
        if (const auto field = mapping.find(key)) {
            check_weights(context, *field);
        }
    }
    if (const auto field = mapping.find("vl-high-limit")) {
        static_cast<void>(read_integer<std::uint8_t>(context, *field));
    }
}

void check_sl2vl(Context& context, const Node& entry)
{
    const Mapping mapping(context, entry, keys::kSl2vlTable);
    if (!mapping.is_valid()) {
        return;
    }
    if (!has_any(mapping, {"group", "across", "across-from", "across-to"})) {
        context.error(entry, "an sl2vl-table needs `group`, `across`, `across-from` or `across-to`");
    }
    check_names(context, mapping, {"group", "across", "across-from", "across-to"});
    for (const auto key : {"from"sv, "to"sv}) {
        if (const auto field = mapping.find(key)) {
            check_ports(context, *field);
        }
    }
    const auto table = mapping.find("sl2vl-table");
    if (!table) {
        context.error(entry, "an sl2vl-table needs `sl2vl-table`, the 16 VLs of SL 0 to 15");
        return;
    }
    const auto items = read_items(context, *table);
    const std::size_t count = table->value->is_sequence() ? table->value->children.size() : items.size();
    if (count != kTableSize && count != 0) {    // read_items reports an empty list
        context.error(*table->value, fmt::format("`sl2vl-table` has {}, not 16", counted(count, "value")));
    }
    for (const Field& item : items) {
        static_cast<void>(read_integer<std::uint8_t>(context, item));
    }
}

void check_tables(Context& context, const Mapping& setup, std::string_view key, void (*check)(Context&, const Node&))
{
    const auto field = setup.find(key);
    if (!field || !check_list(context, *field)) {
        return;
    }
    for (const Node& entry : field->value->children) {
        check(context, entry);
    }
}

}    // namespace

void read_setups(Build& build)
{
    for (const Node& node : build.sections.setups) {
        const Mapping setup(build.context, node, keys::kQosSetup);
        if (!setup.is_valid() || node.children.empty()) {
            continue;
        }
        build.context.warning(node, "`qos-setup` has no effect",
                              "VL arbitration and SL-to-VL tables belong to the subnet manager: see opensm.conf");
        check_tables(build.context, setup, "vlarb-tables", check_vlarb);
        check_tables(build.context, setup, "sl2vl-tables", check_sl2vl);
    }
}

}    // namespace rdmaqos::reader
