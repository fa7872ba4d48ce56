#include "tools/rdma-qosctl/world/active_tree.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lib/model/solver.h"
#include "tools/rdma-qosctl/world/port_levels.h"

namespace rdmaqos::ctl {
namespace {

std::uint32_t weight(const Element& element)
{
    return std::max(1U, element.attributes.share);
}

std::string name_of(std::uint8_t port_class)
{
    return fmt::format("traffic class {}", port_class);
}

}    // namespace

ActiveTree::ActiveTree(const World& world, const DeviceView& device) : competition_(compete(world, device))
{
    for (const auto& [port_class, processes] : competition_.senders) {
        for (const auto& [process, senders] : processes) {
            for (const auto& [leaf, most] : senders.demands()) {
                for (auto at = tree().find(competition_.place(process, leaf)); at != tree().end();
                     at = tree().find(at->second.parent)) {
                    busy_paths_[port_class].insert(at->first);
                }
            }
        }
    }
}

std::vector<WhyStep> ActiveTree::way_to(const ElementPath& leaf) const
{
    std::vector<WhyStep> steps;
    const ElementPath own_root = place(ElementPath::root());
    for (ElementPath path = place(leaf); !path.empty(); path = tree().at(path).parent) {
        const Element& element = tree().at(path);
        const std::string& name = path.text();
        WhyStep step;
        step.is_tree_of_process = path == own_root && !path.is_root();
        // In the device's tree.
        step.path = competition_.is_per_process && path != own_root && !path.is_root()
                        ? name.substr(own_root.text().size())
                        : name;
        step.max_rate = element.attributes.max_rate;
        if (path.is_root() && classes().divide()) {
            steps.push_back(step_of_class());
        }
        if (!path.is_root()) {
            step.share = element.attributes.share;
            step.share_of = weight(element);
            add_siblings(path, element, step);
        }
        steps.push_back(std::move(step));
    }
    std::reverse(steps.begin(), steps.end());
    return steps;
}

std::vector<WhyStage> ActiveTree::stages_to(const ElementPath& leaf) const
{
    std::vector<WhyStage> stages;
    const ElementPath own_root = place(ElementPath::root());
    add_stage(stages, name_of(port_class_), rate_of(ElementPath::root()), false);
    if (!own_root.is_root()) {
        add_stage(stages, "the trees of processes", rate_of(own_root), other_processes() > 0);
    }
    add_stage(stages, own_root.is_root() ? "the tree" : "its tree", busy(leaf), false);
    return stages;
}

void ActiveTree::add_stage(std::vector<WhyStage>& stages, std::string by, Bandwidth rate, bool assumed) const
{
    const Bandwidth before = stages.empty() ? link_speed() : stages.back().rate;
    const double part = before.is_zero() ? 0 : static_cast<double>(rate.kbps()) / static_cast<double>(before.kbps());
    stages.push_back({std::move(by), rate, part, assumed});
}

Bandwidth ActiveTree::rate_of(const ElementPath& at) const
{
    return Allocation{competition_.busy_kbps(port_class_, at), {}, {}, {}}.rate();
}

WhyStep ActiveTree::step_of_class() const
{
    const PortClasses& port = classes().port();
    const PortClass& own = port.classes.at(port_class_);
    WhyStep step;
    step.path = name_of(port_class_);
    step.port_class = port_class_;
    step.is_strict = own.is_strict;
    step.max_rate = own.max_rate;
    step.is_held_by_siblings = competition_.is_held_by_other_classes(port_class_);
    if (!own.is_strict) {
        step.share = weight_of(own);
        step.share_of = weight_of(own);
    }
    for (const auto& [number, processes] : competition_.senders) {
        if (number == port_class_ || rank_of(port, number) < rank_of(port, port_class_)) {
            continue;
        }
        const bool goes_before = rank_of(port, number) > rank_of(port, port_class_);
        step.siblings.push_back(fmt::format("{} ({}{})", name_of(number), in_words(port.classes.at(number)),
                                            goes_before ? ", goes first" : ""));
        step.share_of += goes_before ? 0 : weight_of(port.classes.at(number));
    }
    return step;
}

void ActiveTree::add_siblings(const ElementPath& path, const Element& element, WhyStep& step) const
{
    const auto busy = busy_paths_.find(port_class_);
    if (busy == busy_paths_.end()) {
        return;
    }
    for (const auto& other : busy->second) {
        const Element& sibling = tree().at(other);
        if (other != path && sibling.parent == element.parent) {
            step.share_of += weight(sibling);
            step.siblings.push_back(fmt::format("{} (share {})", other.name(), weight(sibling)));
        }
    }
}

}    // namespace rdmaqos::ctl
