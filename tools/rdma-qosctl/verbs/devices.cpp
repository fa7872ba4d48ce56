#include "tools/rdma-qosctl/verbs/verb.h"

#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "lib/base/try.h"
#include "tools/rdma-qosctl/offline/notifications.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/devices.h"
#include "tools/rdma-qosctl/rendering/world_json.h"
#include "tools/rdma-qosctl/world/chosen.h"

namespace rdmaqos::ctl {
namespace {

struct DevicesOptions {
    std::string device;    // empty: all
};

void add_options(CLI::App& command, DevicesOptions& options)
{
    command.add_option("DEVICE", options.device, "Name, name/port, netdev or PCI address; none: all");
}

Result<ExitStatus> devices(const Context& context, const DevicesOptions& options)
{
    auto chosen = TRY(fetch_chosen(context, options.device));
    find_notifications(chosen.world, context.root);
    const bool all = options.device.empty();
    if (context.json) {
        print(
            to_text(devices_json(chosen.devices, all ? &chosen.world.manager : nullptr, chosen.world.manager.levels)));
    } else {
        print(all ? render_devices(chosen.world, context.screen)
                  : render_device(*chosen.devices.front(), context.screen, chosen.world.manager.levels));
    }
    return ExitStatus::Ok;
}

}    // namespace

extern const Verb kDevicesVerb{
    .name = "devices",
    .summary = "List the devices, or show one in detail",
    .examples = "  rdma-qosctl devices\n"
                "  rdma-qosctl devices mlx5_0/1",
    .paged = true,
    .prepare = with_options<DevicesOptions, add_options, devices>,
};

}    // namespace rdmaqos::ctl
