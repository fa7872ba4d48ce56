// A property of an object as a row: the table of sd-bus, listings of objects and PropertiesChanged draw from it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <systemd/sd-bus.h>

#include "daemon/bus/endpoint.h"

namespace rdmaqos {

// Flags of methods and properties.
constexpr auto kOpen = SD_BUS_VTABLE_UNPRIVILEGED;    // who may what is decided here, not by the bus
constexpr auto kConst = SD_BUS_VTABLE_PROPERTY_CONST;
constexpr auto kChanges = SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE;
constexpr auto kInvalidates = SD_BUS_VTABLE_PROPERTY_EMITS_INVALIDATION;

struct Property {
    const char* name;
    const char* signature;
    std::uint64_t flags;    // kConst, kChanges, kInvalidates, or 0
    void (*write)(BusContext& context, const char* path, bus::Writer& writer);
    sd_bus_property_get_t get;    // the same for sd-bus: nothing is thrown through it

    // Named in PropertiesChanged when it differs from what was published.
    [[nodiscard]] bool is_published() const
    {
        return (flags & (SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE | SD_BUS_VTABLE_PROPERTY_EMITS_INVALIDATION)) != 0;
    }
};

template <auto write>
constexpr Property property(const char* name, const char* signature, std::uint64_t flags)
{
    return {name, signature, flags, write, get_property<write>};
}

// An object's interface; `methods` and `signals` are as the macros of sd-bus make them.
[[nodiscard]] std::vector<sd_bus_vtable> make_vtable(std::span<const sd_bus_vtable> methods,
                                                     std::span<const Property> properties,
                                                     std::span<const sd_bus_vtable> signals);

}    // namespace rdmaqos
