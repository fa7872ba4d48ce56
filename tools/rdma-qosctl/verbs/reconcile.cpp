#include "tools/rdma-qosctl/verbs/verb.h"

#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "lib/api/json.h"
#include "lib/base/try.h"
#include "tools/rdma-qosctl/changes/daemon_calls.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/world_text.h"

namespace rdmaqos::ctl {
namespace {

struct ReconcileOptions {
    std::string device;    // empty: all
};

void add_options(CLI::App& command, ReconcileOptions& options)
{
    command.add_option("DEVICE", options.device, "Name, name/port, netdev or PCI address; none: all");
}

Result<ExitStatus> reconcile(const Context& context, const ReconcileOptions& options)
{
    const auto reply = TRY(call_on_devices<api::DeviceResult>(context, "Reconcile", options.device));
    print(context.json ? to_text({{"devices", api::to_json(reply)}}) : render_reconciled(reply, context.screen));
    return status_of(reply);
}

}    // namespace

extern const Verb kReconcileVerb{
    .name = "reconcile",
    .summary = "Make devices match the policy now",
    .examples = "  rdma-qosctl reconcile                          all devices\n"
                "  rdma-qosctl reconcile mlx5_0",
    .prepare = with_options<ReconcileOptions, add_options, reconcile>,
};

}    // namespace rdmaqos::ctl
