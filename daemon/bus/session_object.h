// org.rdmaqos1.Session: its methods, properties and signals for sd-bus.
#pragma once

#include <systemd/sd-bus.h>

namespace rdmaqos {

[[nodiscard]] const sd_bus_vtable* session_vtable();

}    // namespace rdmaqos
