// org.rdmaqos1.Device: its methods, properties and signals for sd-bus.
#pragma once

#include <span>

#include <systemd/sd-bus.h>

#include "daemon/bus/property.h"

namespace rdmaqos {

[[nodiscard]] const sd_bus_vtable* device_vtable();
[[nodiscard]] std::span<const Property> device_properties();

}    // namespace rdmaqos
