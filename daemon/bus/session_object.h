// org.rdmaqos1.Session: its methods, properties and signals for sd-bus.
#pragma once

#include <span>

#include <systemd/sd-bus.h>

#include "daemon/bus/property.h"

namespace rdmaqos {

[[nodiscard]] const sd_bus_vtable* session_vtable();
[[nodiscard]] std::span<const Property> session_properties();

}    // namespace rdmaqos
