// The daemon's devices, all or those that a command line names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "tools/rdma-qosctl/output/context.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

enum class Sessions : std::uint8_t { Needed, NotNeeded };

struct ChosenDevices {
    World world;
    std::vector<const DeviceView*> devices;    // of the world
};

// Without names: all.
[[nodiscard]] Result<ChosenDevices> fetch_chosen(const Context& context, const std::vector<std::string>& names,
                                                 Sessions sessions = Sessions::NotNeeded);
// An empty name: all.
[[nodiscard]] Result<ChosenDevices> fetch_chosen(const Context& context, const std::string& name);

}    // namespace rdmaqos::ctl
