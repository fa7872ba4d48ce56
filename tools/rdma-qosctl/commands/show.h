// What the daemon has: one command for each view of it.
#pragma once

#include <string>
#include <vector>

#include "lib/base/result.h"
#include "tools/rdma-qosctl/output/context.h"

namespace rdmaqos::ctl {

[[nodiscard]] Result<ExitStatus> status(const Context& context, bool fail_on_problems);

struct TreeOptions {
    std::vector<std::string> devices;    // none: all
    bool busy = false;
    bool all = false;    // every principal of every class
};
[[nodiscard]] Result<ExitStatus> tree(const Context& context, const TreeOptions& options);

[[nodiscard]] Result<ExitStatus> levels(const Context& context);
[[nodiscard]] Result<ExitStatus> devices(const Context& context, const std::string& device);

struct HardwareReportOptions {
    std::string device;    // empty: all
    bool guids = false;    // in full
};
[[nodiscard]] Result<ExitStatus> hardware_report(const Context& context, const HardwareReportOptions& options);

struct SessionFilter {
    std::string pid;      // empty: all
    std::string level;    // empty: all
    bool all = false;     // also on a terminal
};
struct HostQueuePairOptions {
    std::string pid;    // empty: of all
    std::string device;
    std::string level;
    std::string unit;
    std::string outside;    // empty: also those inside; "true": for any reason; else the words of reasons, "a,b"
};
[[nodiscard]] Result<ExitStatus> host_queue_pairs(const Context& context, const HostQueuePairOptions& options);
[[nodiscard]] Result<ExitStatus> sessions(const Context& context, const SessionFilter& filter);

}    // namespace rdmaqos::ctl
