#include "tools/rdma-qosctl/offline/notifications.h"

#include "lib/port_lint/rdma_facts.h"
#include "tools/rdma-qosctl/offline/files.h"

namespace rdmaqos::ctl {

void find_notifications(World& world, const std::string& root, const std::filesystem::path& host)
{
    const auto settings = load_settings(root);
    for (auto& device : world.devices) {
        if (device.port_classes.state != api::kPortRead) {
            continue;
        }
        if (device.driver == "mlx5" && !device.netdev.empty()) {
            device.cnp_dscp = port_lint::read_rdma_facts(host, device.name, device.port, device.netdev,
                                                         device.pci_address)
                                  .notifications.dscp;
        }
        if (device.cnp_dscp) {
            continue;
        }
        if (const auto& care = device.port_classes.care) {
            device.cnp_dscp = care->cnp_dscp;
        } else if (settings.value) {
            device.cnp_dscp = settings.value->cnp_dscp;
        }
    }
}

}    // namespace rdmaqos::ctl
