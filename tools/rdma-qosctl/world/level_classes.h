// In which traffic class of a device's port the packets of queue pairs are, as far as that can be told: that of the
// DSCP that they carry, where it is known (World::carried), else that of the DSCP of their level. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/api/policy.h"
#include "lib/model/port_classes.h"
#include "lib/tree/element.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

// As it is made where the port is not known, or where it makes no difference in which class a packet is.
[[nodiscard]] PortClasses port_that_divides(const DeviceView& device);

// 0 to 63; empty: not known.
[[nodiscard]] std::optional<std::uint8_t> carried_dscp(const World& world, const api::QueuePair& queue_pair);

// What queue pairs carry of which the same is to be said.
struct CarriedDscps {
    std::set<std::uint8_t> dscps;
    std::size_t seen = 0;      // queue pairs that carry one of them
    std::size_t unseen = 0;    // queue pairs whose DSCP is not known

    void add(const std::optional<std::uint8_t>& dscp);
};

class LevelClasses {
public:
    // Nothing is divided.
    LevelClasses() = default;
    LevelClasses(const std::vector<api::Level>& levels, const DeviceView& device);

    [[nodiscard]] const PortClasses& port() const { return port_; }
    // False: all is in class 0, as if there were no classes.
    [[nodiscard]] bool divide() const { return divides_; }
    // Of a queue pair that carries this DSCP; if that is not known, of one of this level (empty: not known) in this
    // leaf. In a leaf that no level is known of: as DSCP 0.
    [[nodiscard]] std::uint8_t class_of(std::string_view level, const ElementPath& leaf,
                                        std::optional<std::uint8_t> carried = std::nullopt) const;
    // The level's DSCP; empty: it has none, or is not known.
    [[nodiscard]] std::optional<std::uint8_t> dscp_meant(std::string_view level, const ElementPath& leaf) const;
    // Names of the levels whose packets are assumed to be in it, in the order of the policy.
    [[nodiscard]] std::vector<std::string> levels_in(std::uint8_t port_class) const;
    // Why class_of() says what it says of queue pairs that are all in one class; a sentence without a full stop.
    [[nodiscard]] std::string reason(std::string_view level, const ElementPath& leaf,
                                     const CarriedDscps& carried = {}) const;

private:
    struct Known {
        std::string name;
        std::optional<std::uint8_t> dscp;    // empty: the level does not say it
        bool is_here = false;                // it has a class on this device
    };
    [[nodiscard]] const Known* find(std::string_view level, const ElementPath& leaf) const;
    [[nodiscard]] std::string reason_by_mark(const Known* level, const CarriedDscps& carried) const;

    PortClasses port_;
    bool divides_ = false;
    bool trusts_dscp_ = false;
    std::string netdev_;
    std::vector<Known> levels_;
    std::unordered_map<std::string, std::size_t> by_name_;    // in small letters
    std::unordered_map<std::string, std::size_t> by_path_;    // of their classes
};

}    // namespace rdmaqos::ctl
