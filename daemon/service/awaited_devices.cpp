#include "daemon/service/awaited_devices.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "lib/base/log.h"

namespace rdmaqos {
namespace {

// A device is opened and tests itself in a second or two; D-Bus libraries wait 25 s for an answer.
constexpr auto kTimeToCome = std::chrono::seconds(20);

DeviceReconcile not_taken(const DeviceNames& names, std::string why)
{
    return {key_of(names), 0, {{ElementPath(), "take", Error{ErrorCode::UnknownDevice, 0, std::move(why)}}}};
}

}    // namespace

void AwaitedDevices::await(const DeviceId& id, const DeviceNames& names, std::function<void(DeviceReconcile)> done)
{
    Awaited& one = awaited_[id];
    one.names = names;
    one.done.push_back(std::move(done));
    if (!one.limit) {
        one.limit = context_.executor.after(kTimeToCome, [this, id] {
            refuse(id, fmt::format("it did not appear within {} s; it will be managed when it appears, and the "
                                   "daemon's journal says what is wrong (`journalctl -u rdma-qosd`)",
                                   kTimeToCome.count()));
        });
    }
}

void AwaitedDevices::refuse(const DeviceId& id, std::string why)
{
    const auto node = awaited_.extract(id);
    if (node.empty()) {
        return;
    }
    const DeviceReconcile result = not_taken(node.mapped().names, std::move(why));
    log(LogLevel::Warning, {{"DEVICE", result.device}}, "{} is enabled but not present: {}", result.device,
        result.failures.front().error.message);
    for (const auto& done : node.mapped().done) {
        done(result);
    }
}

void AwaitedDevices::has_come(ManagedDevice& device)
{
    const auto node = awaited_.extract(id_of(device.info()));
    if (node.empty()) {
        return;
    }
    device.reconcile_now([waiting = std::move(node.mapped().done), &device](DeviceReconcile reached) {
        // The tree was built when it came.
        reached.operations = device.metrics(nullptr).counters.operations;
        for (const auto& done : waiting) {
            done(reached);
        }
    });
}

SwitchedOff AwaitedDevices::names() const
{
    SwitchedOff names;
    for (const auto& [id, awaited] : awaited_) {
        names.emplace(id, awaited.names);
    }
    return names;
}

}    // namespace rdmaqos
