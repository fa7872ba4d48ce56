#include "tools/rdma-qosctl/world/chosen.h"

#include <utility>

#include "lib/base/try.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {

Result<ChosenDevices> fetch_chosen(const Context& context, const std::vector<std::string>& names, Sessions sessions)
{
    auto client = TRY(connect(context));
    auto world = TRY(sessions == Sessions::Needed ? fetch_world(client) : fetch_devices(client));
    ChosenDevices chosen{std::move(world), {}};
    if (names.empty()) {
        for (const auto& device : chosen.world.devices) {
            chosen.devices.push_back(&device);
        }
    }
    for (const auto& name : names) {
        const auto device = TRY(find_device(chosen.world, name));
        chosen.devices.push_back(device);
    }
    return chosen;
}

Result<ChosenDevices> fetch_chosen(const Context& context, const std::string& name)
{
    return fetch_chosen(context, name.empty() ? std::vector<std::string>{} : std::vector{name});
}

}    // namespace rdmaqos::ctl
