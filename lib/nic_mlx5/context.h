// libibverbs objects with owners.
#pragma once

#include <memory>
#include <string>

#include <infiniband/verbs.h>
#include <sys/types.h>

#include "lib/base/result.h"

namespace rdmaqos::mlx5 {

struct CloseContext {
    void operator()(ibv_context* context) const { ibv_close_device(context); }
};
using Context = std::unique_ptr<ibv_context, CloseContext>;

// An mlx5 device by name, with DEVX. Errors: UnknownDevice, Unsupported (no mlx5, or opened without DEVX),
// DeviceFailed.
[[nodiscard]] Result<Context> open_context(const std::string& device);

// Why a client's character device `given` is not the file `ours` of `device`. `owner`: whose it is, as sysfs says.
[[nodiscard]] Error not_of_device(dev_t given, dev_t ours, const Result<std::string>& owner, const std::string& device);

}    // namespace rdmaqos::mlx5
