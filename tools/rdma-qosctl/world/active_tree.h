// The tree of a device as the solver takes it, who is active in it, and where a process is in it. Paths are those of
// the device's tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tools/rdma-qosctl/world/competition.h"
#include "tools/rdma-qosctl/world/views.h"
#include "tools/rdma-qosctl/world/why.h"

namespace rdmaqos::ctl {

class ActiveTree {
public:
    ActiveTree(const World& world, const DeviceView& device);

    // Whose questions the following ones are: of queue pairs in this class.
    void ask_for(std::uint64_t process, std::uint8_t port_class)
    {
        process_ = process;
        port_class_ = port_class;
    }

    [[nodiscard]] Bandwidth link_speed() const { return competition_.link_speed; }
    [[nodiscard]] const LevelClasses& classes() const { return competition_.classes; }
    [[nodiscard]] bool contains(const ElementPath& leaf) const { return tree().contains(place(leaf)); }
    [[nodiscard]] const Senders& senders() const { return competition_.around(port_class_, process_); }
    [[nodiscard]] std::size_t other_processes() const { return competition_.other_processes(port_class_, process_); }
    [[nodiscard]] Allocation alone(const ElementPath& leaf) const
    {
        return competition_.alone(port_class_, place(leaf));
    }
    [[nodiscard]] Bandwidth busy(const ElementPath& leaf) const { return rate_of(place(leaf)); }

    // From the root to the leaf.
    [[nodiscard]] std::vector<WhyStep> way_to(const ElementPath& leaf) const;
    // Which part of the port each of those that divide it leaves to the leaf.
    [[nodiscard]] std::vector<WhyStage> stages_to(const ElementPath& leaf) const;
    void add_stage(std::vector<WhyStage>& stages, std::string by, Bandwidth rate, bool assumed) const;

private:
    [[nodiscard]] const Tree& tree() const { return competition_.tree; }
    [[nodiscard]] ElementPath place(const ElementPath& path) const { return competition_.place(process_, path); }
    // Of what is in the class, when all send.
    [[nodiscard]] Bandwidth rate_of(const ElementPath& at) const;
    // Classes of the same rank share the port with it by weight; those of higher ranks are served first.
    [[nodiscard]] WhyStep step_of_class() const;
    void add_siblings(const ElementPath& path, const Element& element, WhyStep& step) const;

    Competition competition_;
    std::uint64_t process_ = 0;
    std::uint8_t port_class_ = 0;
    std::map<std::uint8_t, std::set<ElementPath>> busy_paths_;    // by class: with queue pairs in or below them
};

}    // namespace rdmaqos::ctl
