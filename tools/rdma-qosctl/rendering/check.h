// What `check` found out, as a value: rendered by pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/base/diagnostic.h"
#include "lib/port_lint/values.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/world/reports.h"

namespace rdmaqos::ctl {

struct CheckedDevice {
    std::string device;
    std::uint32_t leaves = 0;    // of the compiled tree
    std::uint32_t elements = 0;
    std::vector<std::string> classes;       // the levels that have their class here
    std::vector<JudgedFinding> findings;    // as if nothing ran
};

// What the ports of this host are set to, compared with the policy. It refuses nothing.
struct CheckedPorts {
    std::vector<std::string> interfaces{};    // that were looked at
    std::vector<std::string> notes{};         // what could not be looked at, or cannot be seen, in words
    std::vector<port_lint::Finding> findings{};
    std::vector<port_lint::Unchecked> unchecked{};    // of the interfaces that were looked at
    std::vector<std::string> compared_lanes{};    // "mlx5_0/1": ports on InfiniBand that said how they divide a link
};

struct CheckReport {
    Diagnostics diagnostics;
    std::vector<std::string> sources;    // files that were read
    std::string revision;                // empty: the policy is broken
    std::size_t levels = 0;
    std::string note;    // in words: against which devices
    std::vector<CheckedDevice> devices;
    std::vector<LeftOutDevice> left_out;
    std::vector<std::string> unresolved;
    std::optional<CheckedPorts> ports{};    // with --host
    bool divides_devices = false;           // some level has its class on some devices only

    [[nodiscard]] bool ok() const;
};

[[nodiscard]] std::string render_check(const CheckReport& report, const Screen& screen);
[[nodiscard]] Json check_json(const CheckReport& report);

}    // namespace rdmaqos::ctl
