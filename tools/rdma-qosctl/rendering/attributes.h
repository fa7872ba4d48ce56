// What a device says of itself, and its self-test, as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

// A heading for each structure, then a line for each attribute of it; long values and meanings go on below.
[[nodiscard]] std::string render_attributes(const std::vector<AttributeView>& attributes, const Screen& screen);
// A line for each step: whether it passed, what the device answered, what that means.
[[nodiscard]] std::string render_self_test(const std::vector<api::SelfTestRecord>& steps, const Screen& screen);
// "EREMOTEIO"; a number that has no name: "errno 4711"
[[nodiscard]] std::string errno_name(std::uint64_t number);

}    // namespace rdmaqos::ctl
