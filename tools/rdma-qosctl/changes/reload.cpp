#include "tools/rdma-qosctl/changes/reload.h"

#include "lib/base/text.h"
#include "tools/rdma-qosctl/changes/password_agent.h"
#include "tools/rdma-qosctl/world/online.h"
#include "tools/rdma-qosctl/world/reports.h"

namespace rdmaqos::ctl {
namespace {

// The error names what is wrong first; what else there is stands in a property.
Error refusal_of_reload(bus::Client& client, Error error, bool brief)
{
    if (brief) {
        error.message = "the new policy is refused, the running one stays; the log of rdma-qosd says why";
        return error;
    }
    if (const auto manager = fetch_manager(client); manager && !manager->last_reload.accepted) {
        error.message = to_text(manager->last_reload, Colour::Off);
    }
    error.message.insert(0, "the new policy is refused, the running one stays\n");
    return error;
}

Result<ReloadView> read_files(const Context& context, bus::Client& client, const std::string& method, bool brief)
{
    const auto report = with_password(context, client,
                                      [&] { return call_manager<bus::Dict>(client, method, {}, kDeviceTimeout); });
    if (!report) {
        // A refresh leaves LastReload as it is.
        const bool is_in_property = report.error().code == ErrorCode::InvalidPolicy && method == "Reload";
        return fail(is_in_property ? refusal_of_reload(client, report.error(), brief) : report.error());
    }
    return to_reload(*report);
}

}    // namespace

Result<ReloadView> reload_files(const Context& context, bus::Client& client, bool brief)
{
    return read_files(context, client, "Reload", brief);
}

Result<ReloadView> refresh_files(const Context& context, bus::Client& client)
{
    const auto properties = client.properties(kManagerPath, kManagerInterface);
    if (!properties) {
        return fail(properties.error());
    }
    // A daemon that does not know of trials is older.
    return read_files(context, client, properties->contains("Trial") ? "Refresh" : "Reload", false);
}

Result<TrialView> fetch_trial(bus::Client& client)
{
    const auto manager = fetch_manager(client);
    if (!manager) {
        return fail(manager.error());
    }
    if (!manager->trial) {
        return fail(ErrorCode::InvalidArgument, "no policy is being tried: the trial has ended, or there was none");
    }
    return *manager->trial;
}

}    // namespace rdmaqos::ctl
