// The type of service that rdma_cm gives to connections whose program sets none: a setting of the kernel for each port.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "lib/base/result.h"

namespace rdmaqos::run {

struct DefaultTos {
    std::string device;
    std::uint32_t port = 1;
    std::uint8_t tos = 0;
};

// "mlx5_0/1=104"; the number as C writes it.
[[nodiscard]] Result<DefaultTos> parse_default_tos(const std::string& text);

// Sets them all, or none and says why. What was there before is restored when this process has ended, however it ends,
// by another one, which leaves its session. `configfs` is where configfs is mounted.
[[nodiscard]] Result<void> set_until_the_end(const std::filesystem::path& configfs, const std::vector<DefaultTos>& all);

}    // namespace rdmaqos::run
