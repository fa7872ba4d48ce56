#include "daemon/bus/property.h"

namespace rdmaqos {
namespace {

constexpr std::uint64_t kAllFlags = (std::uint64_t{1} << 56U) - 1;    // as many as sd-bus has room for

}    // namespace

std::vector<sd_bus_vtable> make_vtable(std::span<const sd_bus_vtable> methods, std::span<const Property> properties,
                                       std::span<const sd_bus_vtable> signals)
{
    const sd_bus_vtable start = SD_BUS_VTABLE_START(0);
    const sd_bus_vtable end = SD_BUS_VTABLE_END;
    std::vector<sd_bus_vtable> table{start};
    table.insert(table.end(), methods.begin(), methods.end());
    for (const auto& [name, signature, flags, write, get] : properties) {
        sd_bus_vtable entry = SD_BUS_PROPERTY(name, signature, get, 0, 0);
        entry.flags = flags & kAllFlags;
        table.push_back(entry);
    }
    table.insert(table.end(), signals.begin(), signals.end());
    table.push_back(end);
    return table;
}

}    // namespace rdmaqos
