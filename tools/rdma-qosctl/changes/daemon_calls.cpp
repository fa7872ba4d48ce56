#include "tools/rdma-qosctl/changes/daemon_calls.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/api/json.h"
#include "lib/base/text.h"
#include "lib/base/try.h"
#include "tools/rdma-qosctl/changes/password_agent.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/world_json.h"
#include "tools/rdma-qosctl/rendering/world_text.h"
#include "tools/rdma-qosctl/world/online.h"
#include "tools/rdma-qosctl/world/reports.h"

namespace rdmaqos::ctl {
namespace {

// The error names what is wrong first; what else there is stands in a property.
Error refusal_of_reload(bus::Client& client, Error error, bool brief)
{
    if (brief) {
        error.message = "the new files are refused, what runs stays; the log of rdma-qosd says why";
        return error;
    }
    std::string_view what = "the new policy is refused, the running one stays\n";
    if (const auto manager = fetch_manager(client); manager && !manager->last_reload.accepted) {
        error.message = to_text(manager->last_reload, Colour::Off);
        if (is_of_settings(manager->last_reload)) {
            what = "the settings are refused; those in force and the running policy stay\n";
        }
    }
    error.message.insert(0, what);
    return error;
}

Result<ReloadView> read_files(const Context& context, bus::Client& client, const std::string& method, bool brief)
{
    const auto report = with_password(context, client,
                                      [&] { return call_manager<api::Reload>(client, method, {}, kDeviceTimeout); });
    if (!report) {
        // A refresh leaves LastReload as it is.
        const bool is_in_property = report.error().code == ErrorCode::InvalidPolicy && method == "Reload";
        return fail(is_in_property ? refusal_of_reload(client, report.error(), brief) : report.error());
    }
    return to_reload(*report);
}

// What Release would answer for a device that is released: by its key or name; empty: it is not.
std::vector<api::DeviceResult> released_already(bus::Client& client, const std::string& device)
{
    const auto manager = client.properties(kManagerPath, kManagerInterface);
    for (const auto& key : manager ? to_manager(*manager).released_devices : std::vector<std::string>()) {
        if (key == device || key.substr(0, key.find('/')) == device) {
            return {{key}};
        }
    }
    return {};
}

// One record, or a list of them.
template <typename Record>
Result<std::vector<Record>> results_of(Result<std::vector<bus::Value>> reply, const std::string& method)
{
    if (!reply) {
        return fail(std::move(reply).error());
    }
    if (reply->size() == 1) {
        if (const auto* one = reply->front().as<bus::Dict>()) {
            return std::vector<Record>{api::read<Record>(*one)};
        }
        if (const auto* list = reply->front().as<std::vector<bus::Dict>>()) {
            return api::read_list<std::vector<Record>>(*list);
        }
    }
    return fail(not_as_documented(method));
}

}    // namespace

Result<ReloadView> reload_files(const Context& context, bus::Client& client, bool brief)
{
    return read_files(context, client, "Reload", brief);
}

Result<ReloadView> refresh_files(const Context& context, bus::Client& client)
{
    const auto properties = TRY(client.properties(kManagerPath, kManagerInterface));
    // A daemon that does not know of trials is older.
    return read_files(context, client, properties.contains("Trial") ? "Refresh" : "Reload", false);
}

void print_reload(const Context& context, const ReloadView& reload)
{
    if (context.json) {
        Json json = reload_json(reload);
        json["revision"] = reload.revision;
        if (!reload.ended_trial.empty()) {
            json["ended-trial"] = reload.ended_trial;
        }
        print(to_text(json));
        return;
    }
    const std::string trial = reload.ended_trial.empty()
                                  ? ""
                                  : fmt::format("the trial of policy {} is over\n", printable(reload.ended_trial));
    print(fmt::format("{}{}policy {} is running{}\n", to_text(reload, context.screen.colour), trial,
                      printable(reload.revision), but_not_on_devices(reload)));
}

Result<api::Trial> fetch_trial(bus::Client& client)
{
    const auto manager = TRY(fetch_manager(client));
    if (!manager.trial) {
        return fail(ErrorCode::InvalidArgument, "no policy is being tried: the trial has ended, or there was none");
    }
    return *manager.trial;
}

template <typename Record>
Result<std::vector<Record>> call_on_devices(const Context& context, const std::string& method,
                                            const std::string& device)
{
    auto client = TRY(connect(context));
    const auto call = [&](const std::string& path, const std::string& interface, const std::string& name,
                          const std::vector<bus::Value>& arguments) {
        return with_password(context, client,
                             [&] { return client.call(path, interface, name, arguments, kDeviceTimeout); });
    };
    if (device.empty()) {
        const std::string all = method + "All";
        return results_of<Record>(call(kManagerPath, kManagerInterface, all, {}), all);
    }
    const auto look = [&] { return client.call(kManagerPath, kManagerInterface, "GetDevice", {bus::Value(device)}); };
    auto found = look();
    // One that was released and is not closed yet.
    const auto end = std::chrono::steady_clock::now() + kDeviceTimeout;
    while (!found && found.error().code == ErrorCode::Busy && method == "Release" &&
           std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        found = look();
    }
    const auto* path = found && found->size() == 1 ? found->front().template as<bus::ObjectPath>() : nullptr;
    if (path != nullptr) {
        return results_of<Record>(call(path->text, kDeviceInterface, method, {}), method);
    }
    if (!found && found.error().code == ErrorCode::UnknownDevice && method == "Enable") {
        // It may have been released, or be disabled and not there.
        return results_of<Record>(call(kManagerPath, kManagerInterface, "EnableDevice", {bus::Value(device)}),
                                  "EnableDevice");
    }
    if constexpr (std::is_same_v<Record, api::DeviceResult>) {
        if (!found && found.error().code == ErrorCode::UnknownDevice && method == "Release") {
            if (auto released = released_already(client, device); !released.empty()) {
                return released;
            }
        }
    }
    return found ? results_of<Record>(found, "GetDevice") : fail(found.error());
}

template Result<std::vector<api::DeviceResult>> call_on_devices(const Context&, const std::string&, const std::string&);
template Result<std::vector<api::Drift>> call_on_devices(const Context&, const std::string&, const std::string&);

ExitStatus status_of(const std::vector<api::DeviceResult>& results)
{
    const bool failed = std::ranges::any_of(results, [](const auto& result) { return !result.failures.empty(); });
    return failed ? ExitStatus::Failed : ExitStatus::Ok;
}

Result<ExitStatus> switch_devices(const Context& context, const std::string& method, const std::string& device,
                                  std::string_view done)
{
    const auto reply = TRY(call_on_devices<api::DeviceResult>(context, method, device));
    print(context.json ? to_text({{"devices", api::to_json(reply)}}) : render_switched(reply, done, context.screen));
    return status_of(reply);
}

}    // namespace rdmaqos::ctl
