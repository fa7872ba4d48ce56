#include "tools/rdma-qosctl/verbs/verb.h"

#include <string>

#include <CLI/CLI.hpp>

#include "tools/rdma-qosctl/changes/daemon_calls.h"

namespace rdmaqos::ctl {
namespace {

struct ReleaseOptions {
    std::string device;
};

void add_options(CLI::App& command, ReleaseOptions& options)
{
    command.add_option("DEVICE", options.device, "Name, name/port, netdev or PCI address")->required();
}

Result<ExitStatus> release(const Context& context, const ReleaseOptions& options)
{
    return switch_devices(context, "Release", options.device, "released");
}

}    // namespace

extern const Verb kReleaseVerb{
    .name = "release",
    .summary = "Remove everything from a device and close it, before work on its driver",
    .examples = "  rdma-qosctl release mlx5_0 && modprobe -r mlx5_ib\n"
                "  rdma-qosctl enable mlx5_0                      if it was not unplugged or its driver unloaded",
    .prepare = with_options<ReleaseOptions, add_options, release>,
};

}    // namespace rdmaqos::ctl
