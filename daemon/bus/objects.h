// The object tree of docs/dbus.md on one connection: one registration for each kind of object, whatever their number.
#pragma once

#include "daemon/bus/endpoint.h"

namespace rdmaqos {

// The endpoint must outlive its connection's sd_bus.
[[nodiscard]] Result<void> install_objects(BusEndpoint& endpoint);

}    // namespace rdmaqos
