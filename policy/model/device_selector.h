// Which devices something of a policy is for: `devices:` of a level, a scheduling-node or a rule.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/net.h"
#include "lib/base/units.h"

namespace rdmaqos {

// A device (port) as selectors know it.
struct DeviceNames {
    std::string device;    // "mlx5_0"
    std::uint32_t port = 1;
    std::string netdev;
    std::string pci_address;
    std::optional<LinkLayer> link_layer{};    // empty: not known
    Bandwidth link_speed{};                   // 0: not known, as while the port is down

    friend bool operator==(const DeviceNames&, const DeviceNames&) = default;
};

// What the name of a selector is compared with: "mlx5_0", "mlx5_0/1", netdev and PCI address.
[[nodiscard]] std::vector<std::string> names_of(const DeviceNames& device);

enum class Comparison : std::uint8_t { Less, AtMost, Exactly, AtLeast, Greater };

struct SpeedCondition {
    Comparison comparison = Comparison::Exactly;
    Bandwidth speed;

    friend auto operator<=>(const SpeedCondition&, const SpeedCondition&) = default;
};

// ">=200Gbps", "< 100 Gbit/s", "400Gbps" (exactly); nothing for another text.
[[nodiscard]] std::optional<SpeedCondition> parse_speed_condition(std::string_view text);

// All that is given must hold.
struct DeviceSelector {
    std::string name;      // a glob over any of names_of(); empty: not asked for, as for the others
    std::string netdev;    // globs
    std::string pci;
    std::optional<LinkLayer> link_layer;
    std::optional<SpeedCondition> speed;    // a device whose speed is not known is not selected

    // It asks for nothing but a name.
    [[nodiscard]] bool is_name() const { return netdev.empty() && pci.empty() && !link_layer && !speed; }
    friend auto operator<=>(const DeviceSelector&, const DeviceSelector&) = default;
};

[[nodiscard]] bool selects(const DeviceSelector& selector, const DeviceNames& device);
// By any of them; without any, everything is.
[[nodiscard]] bool is_selected(const std::vector<DeviceSelector>& selectors, const DeviceNames& device);

// "mlx5_0", "link-layer ethernet and speed >= 200 Gbit/s"
[[nodiscard]] std::string to_string(const DeviceSelector& selector);
[[nodiscard]] std::vector<std::string> texts_of(const std::vector<DeviceSelector>& selectors);
// "mlx5_0, netdev ens*"
[[nodiscard]] std::string to_string(const std::vector<DeviceSelector>& selectors);

}    // namespace rdmaqos
