#include "daemon/handover/handover.h"

#include <cerrno>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>

#include "lib/base/log.h"

namespace rdmaqos {
namespace {

// "0x0010000000000001/1" of "0x0010000000000001/1 record"; empty: it is none of ours.
std::string device_of(const std::string& name)
{
    const std::string device = name.substr(0, name.find(' '));
    return name == elements_file_name(device) || name == record_name(device) ? device : std::string();
}

// False, with errno: there is no room for it.
bool copy(const UniqueFd& fd, UniqueFd& to)
{
    to = fd ? UniqueFd(fcntl(fd.get(), F_DUPFD_CLOEXEC, 0)) : UniqueFd();
    return !fd || to;
}

constexpr std::string_view kCannotTakeOver = "what an earlier rdma-qosd left cannot be taken over at this time";

}    // namespace

Handover::Handover(std::shared_ptr<DescriptorStore> store, NamedDescriptors&& kept) : store_(std::move(store))
{
    for (auto& [name, fd] : kept) {
        const std::string device = device_of(name);
        if (device.empty()) {
            continue;    // an administrator's socket unit, say: nothing here listens on it
        }
        KeptDescriptors& of_device = kept_[device];
        (name == record_name(device) ? of_device.record : of_device.elements_file) = std::move(fd);
    }
}

Result<std::unique_ptr<DeviceHandover>> Handover::begin(const DeviceInfo& port)
{
    if (!store_) {
        return nullptr;
    }
    const std::string device = stable_name(port);
    KeptDescriptors kept;
    {
        const std::lock_guard lock(mutex_);
        if (const auto found = kept_.find(device); found != kept_.end()) {
            if (!copy(found->second.elements_file, kept.elements_file) || !copy(found->second.record, kept.record)) {
                return fail(error_from_errno(ErrorCode::Busy, errno, kCannotTakeOver));
            }
        }
    }
    return std::make_unique<DeviceHandover>(store_, openings_, device, port.key(), std::move(kept));
}

void Handover::opened(const DeviceInfo& port)
{
    const std::lock_guard lock(mutex_);
    kept_.erase(stable_name(port));
}

void Handover::forget_all_but(const std::vector<DeviceInfo>& managed)
{
    std::set<std::string> there;
    for (const auto& port : managed) {
        there.insert(stable_name(port));
    }
    std::map<std::string, KeptDescriptors> gone;
    {
        const std::lock_guard lock(mutex_);
        for (auto it = kept_.begin(); it != kept_.end();) {
            const auto next = std::next(it);
            if (!there.contains(it->first)) {
                gone.insert(kept_.extract(it));
            }
            it = next;
        }
    }
    for (auto& [device, kept] : gone) {
        log(LogLevel::Notice,
            "the device port {} that an earlier rdma-qosd managed is not there any longer, or released", device);
        DeviceHandover(store_, openings_, device, device, std::move(kept)).forget();
    }
}

}    // namespace rdmaqos
