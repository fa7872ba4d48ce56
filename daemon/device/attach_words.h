// What the attach mode of a device leaves of what a class promises, in words and numbers.
//
// In mode per-process every process has a tree of its own: nothing holds one process against another, and a cap is one
// process's. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

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
    RateSpec rate;
    FairBy fair_by = FairBy::None;
    bool competes = false;    // it, or a node above it, has siblings
    std::vector<PromisedCap> caps;
    std::size_t processes = 0;           // in the class
    std::size_t device_processes = 0;    // in any class of the device
};

struct AttachVerdict {
    bool held = true;     // all that the class promises, as far as the attach mode is concerned
    std::string words;    // empty only in mode shared
};

[[nodiscard]] AttachVerdict attach_verdict(const AttachReport& attach, const ClassPromise& promise);

}    // namespace rdmaqos
