#include "tools/rdma-qosctl/offline/port_demands.h"

#include <algorithm>

#include <fmt/format.h>

#include "lib/tree/class_requests.h"
#include "lib/tree/compile.h"
#include "policy/model/lower.h"
#include "policy/model/port_class_requests.h"

namespace rdmaqos::ctl {

std::string why_no_ports(const std::filesystem::path& root)
{
    const auto classes = root / "sys/class";
    std::error_code error;
    if (std::filesystem::is_directory(classes, error)) {
        return "";
    }
    return fmt::format("there is no {}, where the kernel lists the ports of a host", classes.string());
}

DeviceNames names_of_port(const port_lint::FoundPort& port)
{
    const port_lint::Interface& interface = port.interface;
    return {interface.rdma.device, interface.rdma.port, interface.name,
            port.pci_address,      LinkLayer::Ethernet, interface.link_speed.value_or(Bandwidth{})};
}

void set_demands(port_lint::Interface& port, const Policy& policy, const DeviceNames& device)
{
    const TreeSpec spec = with_absolute_rates(to_tree_spec(policy, device), port.link_speed.value_or(Bandwidth{}));
    port.root_children.clear();
    port.levels.clear();
    for (const SpecElement& element : spec.elements) {
        if (element.path.parent().is_root()) {
            port.root_children.push_back({std::string(element.path.name()), element.rate.share, element.rate.min_rate,
                                          element.rate.max_rate, false});
        }
    }
    for (const auto& child : port_class_requests(policy, device, port.link_speed.value_or(Bandwidth{})).children) {
        const auto found = std::ranges::find(port.root_children, child.path.name(), &port_lint::RootChild::name);
        if (found != port.root_children.end()) {
            found->is_strict = child.strict;
        }
    }
    for (const QosLevel& level : policy.levels) {
        const ElementPath path = class_path(policy, level);
        const auto element = std::ranges::find(spec.elements, path, &SpecElement::path);
        port_lint::Level demand{level.name, level.traffic_class, {}, {}, {}};
        if (element != spec.elements.end()) {
            demand.root_child = root_child_of(path).name();
            demand.min_rate = element->rate.min_rate;
            demand.max_rate = element->rate.max_rate;
        } else if (!level.traffic_class || !level.devices.empty()) {
            continue;
        }
        port.levels.push_back(std::move(demand));
    }
}

}    // namespace rdmaqos::ctl
