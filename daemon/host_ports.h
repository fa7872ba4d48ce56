// The traffic classes of the host's network interfaces, by DCB netlink (lib/dcb).
//
// Those of the daemon's network namespace. An interface that was moved into another one cannot be read.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/port_classes/port_kernel.h"
#include "lib/bus/event.h"
#include "lib/dcb/transport.h"

namespace rdmaqos {

class HostPorts final : public PortKernel {
public:
    [[nodiscard]] Result<PortAnswer> read(const std::string& netdev) override;
    [[nodiscard]] dcb::WriteReport write(const std::string& netdev, const std::vector<dcb::Write>& writes) override;
    // By which it is asked: for author_of(), on any thread.
    [[nodiscard]] const dcb::Transport& transport() const { return kernel_; }

private:
    dcb::KernelTransport kernel_;
};

// What other programs have written, as WatchPorts. Null, with a line in the log: the kernel has no DCB.
[[nodiscard]] std::shared_ptr<void> watch_host_ports(bus::EventLoop& loop, std::shared_ptr<const HostPorts> ours,
                                                     std::function<void(const PortNotice&)> take);

// Why this process cannot set them: a sentence; empty: it can, as far as its capabilities say. `proc`: /proc/self.
[[nodiscard]] std::string why_ports_cannot_be_set(const std::filesystem::path& proc = "/proc/self");

// What else may set traffic classes of ports: a sentence each. `root`: a prefix of every path.
[[nodiscard]] std::vector<std::string> other_owners(const std::filesystem::path& root = {});

}    // namespace rdmaqos
