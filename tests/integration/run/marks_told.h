// How the connections of queue pairs were marked, as whoever plays the device was told.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <fmt/format.h>

#include "tests/nic_mlx5/program.h"

namespace rdmaqos::test {

// "sl 5 traffic-class 33" by number, of the queue pairs of a device that have been brought to RTR since the trace
// began. The device's own command has a DSCP, without the two bits below it.
inline std::map<std::uint32_t, std::string> marks_told(Trace& trace, const std::string& device)
{
    std::map<std::uint32_t, std::string> marks;
    for (const auto& call : trace.calls()) {
        const auto& fields = call.at("fields");
        if (call.at("device") != device) {
            continue;
        }
        if (Trace::command_of(call) == "init2rtr-qp") {
            marks[fields.at("qpn")] = fmt::format("sl {} traffic-class {}", fields.at("priority").dump(),
                                                  fields.at("dscp").get<unsigned>() << 2U);
        } else if (fields.contains("traffic-class")) {
            marks[fields.at("qpn")] = fmt::format("sl {} traffic-class {}", fields.at("sl").dump(),
                                                  fields.at("traffic-class").dump());
        }
    }
    return marks;
}

}    // namespace rdmaqos::test
