#include "daemon/device_claims.h"

#include <utility>

#include <fmt/format.h>

#include "lib/base/log.h"

namespace rdmaqos {

std::string taken_by(const std::string& device, const OtherDaemon& other)
{
    return fmt::format("{} is managed by another rdma-qosd, {}; two must not manage one device: end one of them",
                       device, to_string(other));
}

DeviceClaims::DeviceClaims(std::filesystem::path sys, std::filesystem::path proc)
    : proc_(std::move(proc)), locks_(std::move(sys), proc_)
{
}

tl::expected<std::shared_ptr<const void>, OtherDaemon> DeviceClaims::take(const std::string& device)
{
    auto lock = locks_.take(device);
    if (!lock && !lock.error().ending) {
        return tl::unexpected(describe_daemon(proc_, lock.error().process));
    }
    if (!lock) {
        log(LogLevel::Warning, {{"DEVICE", device}},
            "{}: process {} was killed, but the kernel does not return from a call of it: it is not waited for", device,
            *lock.error().process);
    }
    if (auto other = look(device)) {
        return tl::unexpected(std::move(*other));
    }
    return lock ? *lock : nullptr;
}

std::optional<OtherDaemon> DeviceClaims::look(const std::string& device) const
{
    return find_other_daemon(proc_, device);
}

}    // namespace rdmaqos
