// How it stands with the traffic classes of a port that somebody keeps as a policy asks.
#pragma once

#include <cstdint>
#include <string_view>

namespace rdmaqos {

enum class PortKeeping : std::uint8_t {
    Off,          // nobody sets it, and nothing of it is there
    Pending,      // not looked at yet, or being set
    Kept,         // as the policy asks, when it was read last
    LeftAlone,    // the policy asks nothing that this port can have, or the tree divides it
    Waiting,      // a write was not taken, or the port cannot be read; it is tried again
    Failed,       // a write was not taken, and is not tried again by itself
    Stopped,      // others write, too; nothing is written any more
};
[[nodiscard]] std::string_view to_string(PortKeeping keeping);
// It is not, or not known to be, as it should be, and somebody should look.
[[nodiscard]] bool needs_attention(PortKeeping keeping);

}    // namespace rdmaqos
