#include "tools/rdma-qosctl/verbs/verb.h"

#include <string>

#include <CLI/CLI.hpp>

#include "tools/rdma-qosctl/changes/daemon_calls.h"

namespace rdmaqos::ctl {
namespace {

struct DisableOptions {
    std::string device;    // empty: all, which must be said
    bool all = false;
};

void add_options(CLI::App& command, DisableOptions& options)
{
    CLI::Option* device = command.add_option("DEVICE", options.device, "Name, name/port, netdev or PCI address");
    command.add_flag("--all", options.all, "Every device that is there")->excludes(device);
}

Result<ExitStatus> disable(const Context& context, const DisableOptions& options)
{
    if (options.device.empty() && !options.all) {
        return fail(ErrorCode::InvalidArgument, "nothing to disable: name a device, or give `--all` for every device");
    }
    return switch_devices(context, "Disable", options.device, "disabled");
}

}    // namespace

extern const Verb kDisableVerb{
    .name = "disable",
    .summary = "Detach every queue pair and remove the tree, until `enable`; sessions stay",
    .examples = "  rdma-qosctl disable mlx5_0\n"
                "  rdma-qosctl disable --all                      every device that is there",
    .prepare = with_options<DisableOptions, add_options, disable>,
};

}    // namespace rdmaqos::ctl
