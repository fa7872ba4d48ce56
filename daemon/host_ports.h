// The traffic classes of the host's network interfaces, by DCB netlink (lib/dcb).
//
// Those of the daemon's network namespace. An interface that was moved into another one cannot be read.
#pragma once

#include <functional>
#include <memory>

#include "daemon/port_classes/port_kernel.h"
#include "lib/bus/event.h"

namespace rdmaqos {

[[nodiscard]] std::shared_ptr<PortKernel> host_ports();

// As WatchPorts. Null, with a line in the log: the kernel has no DCB.
[[nodiscard]] std::shared_ptr<void> watch_host_ports(bus::EventLoop& loop, std::function<void(const PortNotice&)> take);

}    // namespace rdmaqos
