// org.rdmaqos1.Manager: its methods, properties and signals for sd-bus.
#pragma once

#include <span>

#include <systemd/sd-bus.h>

#include "daemon/bus/property.h"

namespace rdmaqos {

[[nodiscard]] const sd_bus_vtable* manager_vtable();
[[nodiscard]] std::span<const Property> manager_properties();

}    // namespace rdmaqos
