// org.rdmaqos1.Device: its methods, properties and signals for sd-bus.
#pragma once

#include <systemd/sd-bus.h>

namespace rdmaqos {

[[nodiscard]] const sd_bus_vtable* device_vtable();

}    // namespace rdmaqos
