#include "tools/rdma-qosctl/verbs/verb.h"

#include <string>

#include <CLI/CLI.hpp>

#include "tools/rdma-qosctl/changes/daemon_calls.h"

namespace rdmaqos::ctl {
namespace {

struct EnableOptions {
    std::string device;    // empty: all
    bool all = false;      // the same
};

void add_options(CLI::App& command, EnableOptions& options)
{
    CLI::Option* device = command.add_option("DEVICE", options.device,
                                             "Name, name/port, netdev or PCI address; none: all");
    command.add_flag("--all", options.all, "All devices, as without a name")->excludes(device);
}

Result<ExitStatus> enable(const Context& context, const EnableOptions& options)
{
    return switch_devices(context, "Enable", options.device, "enabled");
}

}    // namespace

extern const Verb kEnableVerb{
    .name = "enable",
    .summary = "Undo `disable` or `release`: rebuild the tree and attach queue pairs again",
    .examples = "  rdma-qosctl enable                             all devices\n"
                "  rdma-qosctl enable mlx5_0",
    .prepare = with_options<EnableOptions, add_options, enable>,
};

}    // namespace rdmaqos::ctl
