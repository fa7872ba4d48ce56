// Between which processes what a tree says holds.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace rdmaqos {

// How queue pairs of other processes can be brought into this device's tree (docs/architecture.md).
enum class AttachMode : std::uint8_t {
    Shared,          // into leaves of the daemon's
    SharedLegacy,    // the same, of leaves that the older commands make
    SharedNodes,     // into leaves of their own, below nodes of the daemon's
    PerProcess,      // into a tree of their own
    None
};
inline constexpr std::array kAttachModes{AttachMode::Shared, AttachMode::SharedLegacy, AttachMode::SharedNodes,
                                         AttachMode::PerProcess, AttachMode::None};
[[nodiscard]] constexpr std::string_view to_string(AttachMode mode)
{
    switch (mode) {
    case AttachMode::Shared:
        return "shared";
    case AttachMode::SharedLegacy:
        return "shared-legacy";
    case AttachMode::SharedNodes:
        return "shared-nodes";
    case AttachMode::PerProcess:
        return "per-process";
    case AttachMode::None:
        return "none";
    }
    return "none";
}
// Whether the tree holds one process against another.
[[nodiscard]] constexpr bool shares_between_processes(AttachMode mode)
{
    return mode == AttachMode::Shared || mode == AttachMode::SharedLegacy || mode == AttachMode::SharedNodes;
}

// How caps hold on a device where each process has a tree of its own.
enum class CapMode : std::uint8_t {
    Whole,       // each process may use the whole cap
    Divide,      // each has an equal part, whether the others use theirs or not
    Adaptive,    // the caps of processes' own leaves follow what is measured (lib/adapt)
};
[[nodiscard]] constexpr std::string_view to_string(CapMode mode)
{
    switch (mode) {
    case CapMode::Whole:
        return "whole";
    case CapMode::Divide:
        return "divide";
    case CapMode::Adaptive:
        return "adaptive";
    }
    return "";
}

}    // namespace rdmaqos
