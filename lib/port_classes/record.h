// What a port was set to before anything of ours was written, as text for the daemon's state. It is written before the
// first set, and put back when the daemon lets go of the port.
//
//     port-classes 1
//     driver mlx5_core
//     dcbx host ieee
//     max-rates
//     ets 8
//     class 0 ets 100 unlimited
//     ...
//     priority 0 1
//     ...
//     app 5 26 3
//     pfc 8 3 5
//     end
//
// Rates are in kbit/s. PFC is in it to be compared; we do not set it. Buffers are not in it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "lib/base/result.h"
#include "lib/dcb/port_settings.h"

namespace rdmaqos::port_classes {

struct Record {
    std::string driver;    // that the settings are of: others' are not put back
    dcb::PortSettings before;

    friend bool operator==(const Record&, const Record&) = default;
};

[[nodiscard]] std::string to_text(const Record& record);

inline constexpr std::size_t kLongestRecord = 65536;    // bytes
// Of any bytes: a record, whole and consistent, or what is wrong with it. What to_text() writes is read as it was.
[[nodiscard]] Result<Record> parse_record(std::string_view text);

}    // namespace rdmaqos::port_classes
