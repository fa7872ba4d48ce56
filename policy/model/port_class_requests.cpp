#include "policy/model/port_class_requests.h"

#include <algorithm>
#include <utility>

#include "policy/model/lower.h"
#include "policy/model/traffic_class.h"

namespace rdmaqos {

// Its tree has them as elements, nodes before levels; a level that is a child has the name of no node.
bool is_strict(const Policy& policy, const ElementPath& child)
{
    for (const QosLevel& level : policy.levels) {
        if (level.schedule && class_path(policy, level) == child) {
            return level.schedule->strict;
        }
    }
    return std::ranges::any_of(policy.nodes, [&](const SchedulingNode& node) {
        return !node.parent && node.strict && node_path(policy, node) == child;
    });
}

port_classes::Requests port_class_requests(const Policy& policy, const DeviceNames& device, Bandwidth link_speed)
{
    const TreeSpec spec = with_absolute_rates(to_tree_spec(policy, device), link_speed);
    port_classes::Requests requests;
    for (const SpecElement& element : spec.elements) {
        if (element.path.parent().is_root()) {
            requests.children.push_back({element.path,
                                         {},
                                         element.rate.share.value_or(1),
                                         element.rate.min_rate,
                                         element.rate.max_rate,
                                         is_strict(policy, element.path)});
        }
    }
    for (const QosLevel& level : policy.levels) {
        std::optional<std::uint8_t> dscp;
        if (level.traffic_class) {
            dscp = dscp_of(*level.traffic_class);
        }
        const ElementPath path = class_path(policy, level);
        if (!path.empty() && level.mode != Mode::Monitor && has_class(spec, path)) {
            const auto child = std::ranges::find(requests.children, root_child_of(path),
                                                 &port_classes::ClassRequest::path);
            child->levels.push_back({level.name, dscp});
        } else if (dscp) {
            requests.elsewhere.push_back({level.name, dscp});
        }
    }
    // A node without a level on this device sends nothing.
    std::erase_if(requests.children, [](const auto& child) { return child.levels.empty(); });
    return requests;
}

}    // namespace rdmaqos
