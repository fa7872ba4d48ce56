// Who manages a device holds its lock, so that a second daemon finds out before it writes to the device.
//
// The lock is an flock(2) on a file in sysfs that only root may open: `resource0` of the PCI function that the device
// is, or, of a subfunction, that it is on. So nobody without privileges can take it, it is the device's own (every
// mount of sysfs, in whatever mount or process namespace or chroot, shows the same file), and the kernel gives it up
// when the process ends, however that happens. A network namespace has a sysfs of its own, and with it other files: who
// is in another one is not seen by this (daemon/survey/other_daemon.h looks for it).
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <sys/stat.h>
#include <sys/types.h>
#include <tl/expected.hpp>

#include "lib/base/file.h"

namespace rdmaqos::mlx5 {

// Another process has the lock.
struct LockHolder {
    std::optional<pid_t> process;    // empty: it is not visible from here, as from a container
    bool ending = false;             // it is dead but for a thread that the kernel does not return from
};

// The process with an flock on this file, by the text of /proc/locks. Pure.
[[nodiscard]] std::optional<pid_t> holder_in(std::string_view locks, dev_t device, ino_t inode);

class DeviceLock {
public:
    explicit DeviceLock(UniqueFd file) : file_(std::move(file)) {}

private:
    UniqueFd file_;
};

// Thread-safe.
class DeviceLocks {
public:
    explicit DeviceLocks(std::filesystem::path sys, std::filesystem::path proc = "/proc")
        : sys_(std::move(sys)), proc_(std::move(proc))
    {
    }

    // Of the RDMA device with this name, until the last copy goes. Others of this process that take it share it: ports
    // of one device, subfunctions of one function. Null: there is no such file, it cannot be opened, or others than its
    // owner may, so that it says nothing.
    [[nodiscard]] tl::expected<std::shared_ptr<const DeviceLock>, LockHolder> take(const std::string& device);

private:
    [[nodiscard]] UniqueFd open_file(const std::string& device) const;
    [[nodiscard]] LockHolder find_holder(const struct stat& file) const;

    const std::filesystem::path sys_;
    const std::filesystem::path proc_;
    std::mutex mutex_;
    std::map<std::pair<dev_t, ino_t>, std::weak_ptr<const DeviceLock>> held_;
};

}    // namespace rdmaqos::mlx5
