// The commands of rdma-qosctl, one function each: options in, exit status out. An Error is printed by main(), which
// also turns its code into the exit status.
#pragma once

#include <string>
#include <vector>

#include "lib/base/result.h"
#include "tools/rdma-qosctl/offline/offline_world.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/request/request_options.h"

namespace rdmaqos::ctl {

// check.cpp
struct CheckOptions {
    std::vector<std::string> files;    // empty: the host's
    std::string simulation;
    bool offline = false;
};
[[nodiscard]] Result<ExitStatus> check(const Context& context, const CheckOptions& options);

// plan.cpp
struct PlanOptions {
    std::string file;    // empty: the host's
    std::string simulation;
    bool offline = false;
};
[[nodiscard]] Result<ExitStatus> plan(const Context& context, const PlanOptions& options);

// import.cpp
struct ImportFabricOptions {
    std::string discovery;     // of ibnetdiscover; "-": stdin
    std::string partitions;    // partitions.conf
    std::string node_names;    // node-name-map
    std::string subnet_manager;
    std::string output;    // empty: stdout
};
[[nodiscard]] Result<ExitStatus> import_fabric(const Context& context, const ImportFabricOptions& options);
struct ImportOpensmOptions {
    std::string file;        // native policy; "-": stdin
    std::string fabric;      // fabric file; empty: the host's
    std::string topology;    // instead: of a compatibility case
    std::string output;      // empty: stdout
};
[[nodiscard]] Result<ExitStatus> import_opensm(const Context& context, const ImportOpensmOptions& options);

// show_config.cpp
struct ShowConfigOptions {
    std::vector<std::string> files;    // empty: the host's
    bool offline = false;
};
[[nodiscard]] Result<ExitStatus> show_config(const Context& context, const ShowConfigOptions& options);

// explain.cpp
struct ExplainOptions {
    RequestOptions request;
    IdentityOptions identity;
    std::string policy;    // empty: the daemon's, or the host's files
    std::string simulation;
    bool offline = false;
    std::string broadcast;    // query-path: compare with the broadcast group of this partition
};
[[nodiscard]] Result<ExitStatus> explain_request(const Context& context, const ExplainOptions& options);
[[nodiscard]] Result<ExitStatus> query_path(const Context& context, const ExplainOptions& options);

// batch.cpp
struct BatchOptions {
    std::string queries;     // file of queries; "-": stdin; empty: no batch
    std::string policy;      // empty: the host's files
    bool strict = false;     // a native OpenSM policy, rejected where OpenSM rejects it
    std::string topology;    // the fabric: of a compatibility case,
    std::string fabric;      // or a fabric file; neither: the host's
};
// Returns the exit status: 0, or 2 and 3 for a policy that is refused by its text or by its validation.
[[nodiscard]] Result<int> query_path_batch(const Context& context, const BatchOptions& options);

// simulate_command.cpp
struct SimulateOptions {
    std::vector<std::string> loads;    // LEVEL[*SENDERS]=RATE|inf, separated by commas
    std::string loads_file;            // instead of `loads`
    std::string policy;                // empty: the daemon's trees, or the host's files
    std::string simulation;
    bool offline = false;
    std::string device;    // empty: all
    bool check = false;    // by packets
    std::string html;      // file for the page; "-": stdout, instead of the text
};
[[nodiscard]] Result<ExitStatus> simulate(const Context& context, const SimulateOptions& options);

// show.cpp
[[nodiscard]] Result<ExitStatus> status(const Context& context, bool fail_on_problems);
struct TreeOptions {
    std::string device;    // empty: all
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
};
[[nodiscard]] Result<ExitStatus> sessions(const Context& context, const SessionFilter& filter);

// why_command.cpp
struct WhyOptions {
    std::string target;                  // pid, unit or queue pair
    std::uint32_t interval_ms = 1000;    // between two readings of the port counters; 0: none
};
[[nodiscard]] Result<ExitStatus> why(const Context& context, const WhyOptions& options);

// manage.cpp
[[nodiscard]] Result<ExitStatus> reload(const Context& context);
[[nodiscard]] Result<ExitStatus> reconcile(const Context& context, const std::string& device);
[[nodiscard]] Result<ExitStatus> verify(const Context& context, const std::string& device);
[[nodiscard]] Result<ExitStatus> disable(const Context& context, const std::string& device);
[[nodiscard]] Result<ExitStatus> enable(const Context& context, const std::string& device);
[[nodiscard]] Result<ExitStatus> release(const Context& context, const std::string& device);

// request.cpp
struct HoldOptions {
    RequestOptions request;
    std::vector<std::string> devices;        // of --qps; empty: the first the daemon has
    std::uint32_t count = 0;                 // --qps
    std::vector<std::string> queue_pairs;    // --qp
    bool print = false;                      // the grant, before the command starts
    std::vector<std::string> command;        // empty: hold until a signal
};
// Returns the exit status of the command.
[[nodiscard]] Result<int> hold(const Context& context, const HoldOptions& options);

// metrics.cpp
[[nodiscard]] Result<ExitStatus> metrics(const Context& context);

// monitor.cpp
[[nodiscard]] Result<ExitStatus> monitor(const Context& context);

}    // namespace rdmaqos::ctl
