// The ports of another host, from what `rdma-qosctl devices --json` or `status --json` says there. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"
#include "lib/port_lint/values.h"

namespace rdmaqos::ctl {

inline constexpr std::size_t kLargestOtherEnd = std::size_t{16} << 20U;    // of such a file

// Ports that are set the same are one: "eth0 and 7 more in storage7.json", where `file` names it. Errors:
// InvalidArgument: it is no such JSON, or no port in it was read by its daemon.
[[nodiscard]] Result<std::vector<port_lint::OtherEnd>> other_ends_of(std::string_view text, std::string_view file);

}    // namespace rdmaqos::ctl
