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

struct VerifyOptions {
    std::string device;    // empty: all
};

void add_options(CLI::App& command, VerifyOptions& options)
{
    command.add_option("DEVICE", options.device, "Name, name/port, netdev or PCI address; none: all");
}

Result<ExitStatus> verify(const Context& context, const VerifyOptions& options)
{
    const auto reply = TRY(call_on_devices<api::Drift>(context, "Verify", options.device));
    print(context.json ? to_text({{"drift", api::to_json(reply)}}) : render_drift(reply, context.screen));
    return reply.empty() ? ExitStatus::Ok : ExitStatus::Found;
}

}    // namespace

extern const Verb kVerifyVerb{
    .name = "verify",
    .summary = "Read elements and port classes back and report drift, without repairing; status 3 if there is any",
    .examples = "  rdma-qosctl verify\n"
                "  rdma-qosctl verify mlx5_0 || rdma-qosctl reconcile mlx5_0",
    .prepare = with_options<VerifyOptions, add_options, verify>,
};

}    // namespace rdmaqos::ctl
