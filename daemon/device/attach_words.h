// What the attach mode of a device leaves of what a class promises, in words and numbers.
//
// In mode per-process every process has a tree of its own: nothing in the tree holds one process against another, and a
// cap is one process's. A traffic class of the port that the daemon keeps holds for all of them, if their packets have
// its DSCP. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "daemon/model/port_status.h"
#include "lib/nic/backend.h"
#include "lib/tree/compile.h"

namespace rdmaqos {

// A cap on the way from a class to the root, and how many processes send through it on the device.
struct PromisedCap {
    ElementPath path;
    Bandwidth rate;
    std::size_t processes = 0;
    bool of_class = false;
};

// What a class promises on one device, and among how many.
struct ClassPromise {
    ElementPath path;
    RateSpec rate;
    FairBy fair_by = FairBy::None;
    bool competes = false;    // it, or a node above it, has siblings
    std::vector<PromisedCap> caps;
    std::size_t processes = 0;           // in the class
    std::size_t device_processes = 0;    // in any class of the device
    // Of the child of the root that it is, or is below; empty: the port keeps no class for that child alone.
    std::optional<KeptClass> kept{};
    std::optional<std::uint8_t> mark{};    // DSCP of the packets in question; empty: not known
};

struct AttachVerdict {
    bool held = true;     // all that the class promises, as far as the attach mode is concerned
    std::string words;    // empty only where the tree holds between processes
};

[[nodiscard]] AttachVerdict attach_verdict(const AttachReport& attach, const ClassPromise& promise);

}    // namespace rdmaqos
