#include "tools/rdma-qosctl/verbs/verb.h"

#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <sys/utsname.h>

#include "lib/base/try.h"
#include "lib/base/version.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/world_json.h"
#include "tools/rdma-qosctl/rendering/world_text.h"
#include "tools/rdma-qosctl/world/chosen.h"
#include "tools/rdma-qosctl/world/hardware_report.h"

namespace rdmaqos::ctl {
namespace {

struct HardwareReportOptions {
    std::string device;    // empty: all
    bool guids = false;    // in full
};

void add_options(CLI::App& command, HardwareReportOptions& options)
{
    command.add_option("DEVICE", options.device, "Name, name/port, netdev or PCI address; none: all");
    command.add_flag("--guids", options.guids, "Show GUIDs in full");
}

HostView this_host()
{
    utsname names{};
    if (uname(&names) != 0) {
        return {"not known", "", kVersion};
    }
    return {names.release, names.machine, kVersion};
}

Result<ExitStatus> hardware_report(const Context& context, const HardwareReportOptions& options)
{
    const auto chosen = TRY(fetch_chosen(context, options.device));
    const auto report = make_hardware_report(this_host(), chosen.world.manager.version, chosen.devices,
                                             options.guids ? Guids::Shown : Guids::Masked);
    print(context.json ? to_text(hardware_report_json(report)) : render_hardware_report(report, context.screen));
    return ExitStatus::Ok;
}

}    // namespace

extern const Verb kHardwareReportVerb{
    .name = "hardware-report",
    .summary = "Print everything known about the cards, for a question or a bug report",
    .examples = "  rdma-qosctl hardware-report >report.txt\n"
                "  rdma-qosctl hardware-report mlx5_0 --json\n"
                "  rdma-qosctl hardware-report --guids            with the whole GUIDs, not the vendor's part alone",
    .paged = true,
    .prepare = with_options<HardwareReportOptions, add_options, hardware_report>,
};

}    // namespace rdmaqos::ctl
