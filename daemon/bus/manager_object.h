// org.rdmaqos1.Manager: its methods, properties and signals for sd-bus.
#pragma once

#include <systemd/sd-bus.h>

namespace rdmaqos {

[[nodiscard]] const sd_bus_vtable* manager_vtable();

}    // namespace rdmaqos
