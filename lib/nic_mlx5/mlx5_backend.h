// An mlx5 port as a Backend: DEVX commands on the daemon's own uverbs file for scheduling elements, and on the files of
// clients for their queue pairs.
//
// A device that was reset or removed is dead for this backend: it says Removed, every later call fails with
// DeviceGone, and what comes back is another device with a backend of its own.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "lib/nic/backend.h"
#include "lib/nic_mlx5/element_tree.h"
#include "lib/nic_mlx5/self_test.h"

namespace rdmaqos::mlx5 {

struct BackendOptions {
    std::optional<AttachMode> forced_mode;    // empty: as the self-test says; else only its reading back is done
    CapMode caps = CapMode::Whole;
    SelfTestOptions self_test;
    // Nothing is written to a device of which no answer is kept, until test_attaching().
    bool postpone_test = false;
    // The file of the lifeline of an earlier process, for Backend::take_over(); see can_take_over(). Null: there is
    // none.
    std::shared_ptr<const UniqueFd> elements_file;
    // Called when the device is open and nothing was written to it; an error ends the opening. Empty: nobody asks.
    std::function<Result<void>()> before_writing;
    // Destroyed when the device has been closed.
    std::shared_ptr<const void> held;
};

// Opens the port's device and finds out how queue pairs of others can be attached; takes a second or so where the
// self-test has to run and is not postponed. Errors: UnknownDevice (not there, or no mlx5), Unsupported (the kernel
// opens it without DEVX), DeviceFailed, Busy (it was reset since it was found out that `elements_file` can be taken
// over).
[[nodiscard]] Result<std::unique_ptr<Backend>> open_backend(const DeviceInfo& port, const BackendOptions& options);

// Whether this is a file of the port's device as it is now: not of one that was reset or removed since.
[[nodiscard]] Result<bool> can_take_over(int elements_file, const DeviceInfo& port);

// Whether libmlx5 drives the device.
[[nodiscard]] bool is_mlx5(const DeviceInfo& port);

}    // namespace rdmaqos::mlx5
