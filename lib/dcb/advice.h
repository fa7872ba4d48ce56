// Why a write was not taken, and what to change, for an administrator. Pure.
#pragma once

#include <string>

#include "lib/dcb/driver.h"
#include "lib/dcb/port.h"
#include "lib/dcb/port_settings.h"

namespace rdmaqos::dcb {

// What is known of the port that was written to.
struct PortKnown {
    std::string interface;
    const Driver* driver = nullptr;    // null: no row
    PortSettings before;
};

// After an errno.
[[nodiscard]] std::string advice_on(const PortKnown& port, const Write& write, int error);
// After the answer "done", if what was read back is not what was asked.
[[nodiscard]] std::string advice_on_difference(const PortKnown& port, const Write& write, const PortSettings& after);

}    // namespace rdmaqos::dcb
