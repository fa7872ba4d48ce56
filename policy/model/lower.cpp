#include "policy/model/lower.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "policy/model/cgroup_layouts.h"

namespace rdmaqos {
namespace {

// A name as a path segment: without '/', control characters and '%' itself, so that different names stay different.
std::string as_segment(std::string_view name)
{
    std::string segment;
    segment.reserve(name.size());
    for (const char c : name) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '/' || c == '%' || byte < 0x20 || byte == 0x7f) {
            segment += fmt::format("%{:02X}", byte);
        } else {
            segment.push_back(c);
        }
    }
    return segment;
}

ElementPath node_path(const Policy& policy, std::optional<std::size_t> node)
{
    if (!node) {
        return ElementPath::root();
    }
    const SchedulingNode& self = policy.nodes[*node];
    return node_path(policy, self.parent).child(as_segment(self.name));
}

// By index: nodes that are only there for levels that are only monitored.
std::vector<bool> monitored_nodes(const Policy& policy)
{
    std::vector<bool> monitored(policy.nodes.size());
    std::vector<bool> enforced(policy.nodes.size());
    for (const auto& level : policy.levels) {
        auto& above = level.mode == Mode::Monitor ? monitored : enforced;
        for (auto node = level.schedule ? level.schedule->parent : std::nullopt; node;
             node = policy.nodes[*node].parent) {
            above[*node] = true;
        }
    }
    for (std::size_t node = 0; node < policy.nodes.size(); ++node) {
        monitored[node] = monitored[node] && !enforced[node];
    }
    return monitored;
}

// "1000" when the cgroup lies in a user's own service manager, whose unit names are unique per user only.
std::string_view user_manager_of(std::string_view cgroup, std::string_view unit)
{
    constexpr std::string_view kPrefix = "/user@";
    constexpr std::string_view kSuffix = ".service/";
    const auto begin = cgroup.find(kPrefix);
    if (begin == std::string_view::npos || unit.starts_with("user@")) {
        return {};
    }
    const auto rest = cgroup.substr(begin + kPrefix.size());
    const auto end = rest.find(kSuffix);
    return end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
}

std::string process_segment(const Identity& identity)
{
    return fmt::format("pid:{}", identity.pid);
}

std::string unit_segment(const Identity& identity)
{
    if (identity.unit.empty()) {
        return process_segment(identity);
    }
    const auto user = user_manager_of(identity.cgroup, identity.unit);
    if (user.empty()) {
        return "unit:" + as_segment(identity.unit);
    }
    return fmt::format("uid:{},unit:{}", as_segment(user), as_segment(identity.unit));
}

std::string cgroup_segment(const Identity& identity, const std::string& pattern)
{
    const auto cgroup = matching_cgroup(identity.cgroup, pattern);
    return cgroup.empty() ? process_segment(identity) : "cgroup:" + as_segment(without_leading_blanks(cgroup, "/"));
}

std::string named_segment(const Identity& identity, std::string_view what, std::string_view name)
{
    return name.empty() ? process_segment(identity) : fmt::format("{}:{}", what, as_segment(name));
}

}    // namespace

ElementPath node_path(const Policy& policy, const SchedulingNode& node)
{
    return node_path(policy, node.parent).child(as_segment(node.name));
}

ElementPath class_path(const Policy& policy, const QosLevel& level)
{
    if (!level.schedule) {
        return {};
    }
    const auto path = node_path(policy, level.schedule->parent).child(as_segment(level.name));
    const bool is_taken = std::any_of(policy.nodes.begin(), policy.nodes.end(), [&level](const SchedulingNode& node) {
        return node.parent == level.schedule->parent && node.name == level.name;
    });
    // In a name's segment '%' is always followed by two hexadecimal digits, so this path is nobody else's.
    return is_taken ? ElementPath(path.text() + "%level") : path;
}

TreeSpec to_tree_spec(const Policy& policy)
{
    TreeSpec spec;
    spec.elements.reserve(policy.nodes.size() + policy.levels.size());
    const auto monitored = monitored_nodes(policy);
    for (std::size_t node = 0; node < policy.nodes.size(); ++node) {
        if (monitored[node]) {
            continue;
        }
        SpecElement element;
        element.path = node_path(policy, node);
        element.rate = policy.nodes[node].rate;
        spec.elements.push_back(std::move(element));
    }
    for (const auto& level : policy.levels) {
        if (level.mode == Mode::Monitor) {
            continue;
        }
        if (const auto& limit = level.per_queue_pair; limit.max_rate) {
            spec.limits.push_back({level.name, class_path(policy, level),
                                   RateLimit{*limit.max_rate, limit.max_burst, limit.typical_packet}});
        }
        if (!level.schedule) {
            continue;
        }
        spec.elements.push_back({*level.schedule, class_path(policy, level), true});
    }
    return spec;
}

ElementDevices element_devices(const Policy& policy)
{
    ElementDevices devices;
    for (std::size_t node = 0; node < policy.nodes.size(); ++node) {
        if (!policy.nodes[node].devices.empty()) {
            devices.emplace(node_path(policy, node), policy.nodes[node].devices);
        }
    }
    for (const auto& level : policy.levels) {
        if (level.schedule && !level.devices.empty()) {
            devices.emplace(class_path(policy, level), level.devices);
        }
    }
    return devices;
}

bool is_for_device(const ElementPath& path, const ElementDevices& devices, const DeviceNames& device)
{
    for (ElementPath at = path; !at.empty(); at = at.parent()) {
        if (const auto only = devices.find(at); only != devices.end() && !is_selected(only->second, device)) {
            return false;
        }
    }
    return true;
}

TreeSpec for_device(TreeSpec spec, const ElementDevices& devices, const DeviceNames& device)
{
    if (devices.empty()) {
        return spec;
    }
    const auto is_here = [&](const ElementPath& path) { return is_for_device(path, devices, device); };
    std::erase_if(spec.elements, [&](const SpecElement& element) { return !is_here(element.path); });
    for (auto& limit : spec.limits) {
        if (!is_here(limit.class_path)) {
            limit.class_path = ElementPath();
        }
    }
    return spec;
}

TreeSpec to_tree_spec(const Policy& policy, const DeviceNames& device)
{
    return for_device(to_tree_spec(policy), element_devices(policy), device);
}

bool has_class(const TreeSpec& spec, const ElementPath& path)
{
    return std::ranges::any_of(spec.elements,
                               [&](const SpecElement& element) { return element.is_class && element.path == path; });
}

std::string principal_segment(FairBy fair_by, const std::string& cgroup_pattern, const Identity& identity,
                              QueuePairId queue_pair)
{
    switch (fair_by) {
    case FairBy::None:
        return {};
    case FairBy::QueuePair:
        return fmt::format("qp:{}", queue_pair.number);
    case FairBy::Process:
        return process_segment(identity);
    case FairBy::User:
        return fmt::format("uid:{}", identity.uid);
    case FairBy::Unit:
        return unit_segment(identity);
    case FairBy::Cgroup:
        return cgroup_segment(identity, cgroup_pattern);
    case FairBy::SlurmJob:
        return named_segment(identity, "job", identity.slurm_job);
    case FairBy::KubernetesPod:
        return named_segment(identity, "pod", identity.kubernetes_pod);
    }
    return {};
}

}    // namespace rdmaqos
