// What the kernel knows of the traffic classes of network interfaces, and what it says when they change: to be replaced
// where there is no such kernel.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/dcb/port.h"
#include "lib/dcb/port_settings.h"

namespace rdmaqos {

// What gives the daemon the capability to set ports, where it was installed. It is not in the unit: nobody needs it who
// does not let the daemon set them.
[[nodiscard]] std::string how_to_allow_ports();

struct PortAnswer {
    std::string driver;    // of the network interface: "mlx5_core"; empty: not known
    dcb::PortSettings settings;
    std::vector<std::string> owners{};    // what else may set them, a sentence each

    friend bool operator==(const PortAnswer&, const PortAnswer&) = default;
};

// Used on a thread that may wait: one call at a time.
class PortKernel {
public:
    virtual ~PortKernel() = default;
    // Unsupported: the driver has no traffic classes.
    [[nodiscard]] virtual Result<PortAnswer> read(const std::string& netdev) = 0;
    // One after the other; stops behind the first that is not taken (dcb::write_port).
    [[nodiscard]] virtual dcb::WriteReport write(const std::string& netdev, const std::vector<dcb::Write>& writes) = 0;
};

// The traffic classes of a network interface were written, by somebody else than us.
struct PortNotice {
    std::string netdev;    // empty: notices were lost, so that it may be any
    std::string by;        // "the driver or its firmware"; empty: notices were lost

    friend bool operator==(const PortNotice&, const PortNotice&) = default;
};

// Until what it returns is destroyed; `take` is called on the main loop. Null: there are no notices.
using WatchPorts = std::function<std::shared_ptr<void>(std::function<void(const PortNotice&)> take)>;

}    // namespace rdmaqos
