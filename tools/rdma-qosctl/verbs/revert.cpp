#include "tools/rdma-qosctl/verbs/verb.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/base/text.h"
#include "lib/base/try.h"
#include "tools/rdma-qosctl/changes/daemon_calls.h"
#include "tools/rdma-qosctl/changes/password_agent.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/world_json.h"
#include "tools/rdma-qosctl/world/online.h"
#include "tools/rdma-qosctl/world/reports.h"

namespace rdmaqos::ctl {
namespace {

Result<ExitStatus> revert(const Context& context)
{
    auto client = TRY(connect(context));
    const auto trial = fetch_trial(client);
    if (!trial) {
        return fail(trial.error());
    }
    const auto report = with_password(context, client,
                                      [&] { return call_manager<api::Reload>(client, "Revert", {}, kDeviceTimeout); });
    if (!report) {
        return fail(report.error());
    }
    const ReloadView reload = to_reload(*report);
    if (!reload.accepted) {
        return fail(ErrorCode::InvalidPolicy,
                    fmt::format("the files cannot be used: policy {}, from before the trial, is running\n{}",
                                printable(reload.revision), to_text(reload, Colour::Off)));
    }
    if (context.json) {
        Json json = reload_json(reload);
        json["revision"] = reload.revision;
        print(to_text(json));
    } else {
        print(to_text(reload, context.screen.colour) +
              fmt::format("policy {} is running{}: {}\n", printable(reload.revision), but_not_on_devices(reload),
                          reload.revision == trial->goes_back_to
                              ? "it is the one from before the trial"
                              : fmt::format("the files say so; before the trial it was policy {}",
                                            printable(trial->goes_back_to))));
    }
    return status_of(reload);
}

}    // namespace

extern const Verb kRevertVerb{
    .name = "revert",
    .summary = "End the trial now: the policy of the files comes back",
    .examples = "  rdma-qosctl revert",
    .prepare = without_options<revert>,
};

}    // namespace rdmaqos::ctl
