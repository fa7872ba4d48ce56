// In which traffic class of a device's port the packets of queue pairs are, as far as that can be told: that of the
// DSCP of their level. What they do carry (marks.h) makes no difference to it. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
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

class LevelClasses {
public:
    // Nothing is divided.
    LevelClasses() = default;
    LevelClasses(const std::vector<api::Level>& levels, const DeviceView& device);

    [[nodiscard]] const PortClasses& port() const { return port_; }
    // False: all is in class 0, as if there were no classes.
    [[nodiscard]] bool divide() const { return divides_; }
    // Of a queue pair of this level (empty: not known) in this leaf. In a leaf that no level is known of: as DSCP 0.
    [[nodiscard]] std::uint8_t class_of(std::string_view level, const ElementPath& leaf) const;
    // Names of the levels whose packets are assumed to be in it, in the order of the policy.
    [[nodiscard]] std::vector<std::string> levels_in(std::uint8_t port_class) const;
    // Why class_of() says what it says; a sentence without a full stop.
    [[nodiscard]] std::string reason(std::string_view level, const ElementPath& leaf) const;

private:
    struct Known {
        std::string name;
        std::optional<std::uint8_t> dscp;    // empty: the level does not say it
        bool is_here = false;                // it has a class on this device
    };
    [[nodiscard]] const Known* find(std::string_view level, const ElementPath& leaf) const;

    PortClasses port_;
    bool divides_ = false;
    bool trusts_dscp_ = false;
    std::string netdev_;
    std::vector<Known> levels_;
    std::unordered_map<std::string, std::size_t> by_name_;    // in small letters
    std::unordered_map<std::string, std::size_t> by_path_;    // of their classes
};

}    // namespace rdmaqos::ctl
