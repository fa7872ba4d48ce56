// What else shapes the traffic that leaves by a port: what was set for its network interface or its function with tc,
// dcb, devlink or sysfs, and is enforced by the NIC, where the scheduling tree is too. The kernel tells it to
// everybody.
//
// Not seen: what a subnet manager or a switch does, what firmware tools set, interfaces of other network namespaces,
// and queueing disciplines that are not offloaded, by which RDMA traffic does not pass.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lib/dcb/port_settings.h"
#include "lib/netlink/message.h"

namespace rdmaqos::shapers {

struct Shaper {
    std::string what;              // a sentence without a full stop
    std::string command;           // that shows it
    bool is_of_classes = false;    // the traffic classes of the port do it: the daemon may have set them itself

    friend bool operator==(const Shaper&, const Shaper&) = default;
};

// Waits for the kernel for a second at most with each question. What it does not answer is left out.
// `netdev`: empty: the port has none. `pci_address`: "0000:3b:00.0"; of a virtual function, its physical function is
// looked at too. `sys`: "/sys".
[[nodiscard]] std::vector<Shaper> find_shapers(const std::string& netdev, const std::string& pci_address,
                                               const std::filesystem::path& sys);

// Send queues of a network interface whose rate the NIC limits ("tx_maxrate"): each different rate is a row of the
// table of rates, where pacing has its own. Empty: there are none. `sys`: "/sys".
[[nodiscard]] std::optional<Shaper> find_limited_queues(const std::string& netdev, const std::filesystem::path& sys);

// ---- what it reads; any bytes. Pure ----

// Of an answer to RTM_GETQDISC: a discipline of this interface that is offloaded ("mqprio"); empty: it is another.
[[nodiscard]] std::string read_offloaded_qdisc(netlink::Bytes content, int interface);

struct TrafficClasses {
    std::vector<std::string> shares;       // "traffic class 3 gets 40 %", of those that divide the port (ETS)
    std::vector<std::string> max_rates;    // "traffic class 3 sends 10 Gbit/s at most"
};
[[nodiscard]] TrafficClasses traffic_classes_in_words(const dcb::PortSettings& settings);

// The number of a family of generic netlink, of an answer to CTRL_CMD_GETFAMILY.
[[nodiscard]] std::optional<std::uint16_t> read_family(netlink::Bytes content);
// Of an answer to DEVLINK_CMD_RATE_GET: "pci/0000:3b:00.0/1 sends 10 Gbit/s at most"; empty: it limits nothing, or is
// of a device that is not among `pci_addresses`.
[[nodiscard]] std::string read_function_rate(netlink::Bytes content, const std::vector<std::string>& pci_addresses);

}    // namespace rdmaqos::shapers
