#include "tools/rdma-qosctl/commands/manage.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/base/text.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/manage.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {
namespace {

// A device with thousands of elements to make, on slow firmware.
constexpr auto kDeviceTimeout = std::chrono::minutes(5);

// The results of a Manager method that takes a device name.
Result<std::vector<bus::Dict>> call_on_device(const Context& context, const std::string& method,
                                              const std::string& device)
{
    auto client = connect(context);
    if (!client) {
        return fail(client.error());
    }
    return call_manager<std::vector<bus::Dict>>(*client, method, {bus::Value(device)}, kDeviceTimeout);
}

ExitStatus status_of(const std::vector<bus::Dict>& results)
{
    const bool failed = std::any_of(results.begin(), results.end(),
                                    [](const bus::Dict& result) { return !list_of(result, "failures").empty(); });
    return failed ? ExitStatus::Failed : ExitStatus::Ok;
}

// `done`: what has become of a device, "disabled".
Result<ExitStatus> switch_devices(const Context& context, const std::string& method, const std::string& device,
                                  std::string_view done)
{
    const auto reply = call_on_device(context, method, device);
    if (!reply) {
        return fail(reply.error());
    }
    print(context.json ? to_text({{"devices", to_json(*reply)}}) : render_switched(*reply, done, context.colour));
    return status_of(*reply);
}

}    // namespace

Result<ExitStatus> reload(const Context& context)
{
    auto client = connect(context);
    if (!client) {
        return fail(client.error());
    }
    auto report = call_manager<std::string>(*client, "Reload", {}, kDeviceTimeout);
    if (!report) {
        Error error = std::move(report).error();
        if (error.code == ErrorCode::InvalidPolicy) {
            error.message.insert(0, "the new policy is refused, the running one stays\n");
        }
        return fail(std::move(error));
    }
    const auto manager = fetch_manager(*client);
    if (!manager) {
        return fail(manager.error());
    }
    if (context.json) {
        print(to_text({{"revision", manager->policy_revision}, {"report", *report}}));
        return ExitStatus::Ok;
    }
    std::string text = printable_lines(*report);
    text += text.empty() || text.back() == '\n' ? "" : "\n";
    print(text + fmt::format("policy {} is running\n", printable(manager->policy_revision)));
    return ExitStatus::Ok;
}

Result<ExitStatus> reconcile(const Context& context, const std::string& device)
{
    const auto reply = call_on_device(context, "Reconcile", device);
    if (!reply) {
        return fail(reply.error());
    }
    print(context.json ? to_text({{"devices", to_json(*reply)}}) : render_reconciled(*reply, context.colour));
    return status_of(*reply);
}

Result<ExitStatus> disable(const Context& context, const std::string& device)
{
    return switch_devices(context, "Disable", device, "disabled");
}

Result<ExitStatus> enable(const Context& context, const std::string& device)
{
    return switch_devices(context, "Enable", device, "enabled");
}

Result<ExitStatus> release(const Context& context, const std::string& device)
{
    return switch_devices(context, "Release", device, "released");
}

Result<ExitStatus> verify(const Context& context, const std::string& device)
{
    const auto reply = call_on_device(context, "Verify", device);
    if (!reply) {
        return fail(reply.error());
    }
    print(context.json ? to_text({{"drift", to_json(*reply)}}) : render_drift(*reply, context.colour));
    return reply->empty() ? ExitStatus::Ok : ExitStatus::Drift;
}

}    // namespace rdmaqos::ctl
