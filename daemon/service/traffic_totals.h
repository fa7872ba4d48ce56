// What each level has sent and received since the daemon first looked, as counters of queue pairs say.
//
// Counters end with the queue pairs that they have, and their numbers are used again. A total never falls.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/model/counted_traffic.h"
#include "daemon/model/metrics.h"

namespace rdmaqos {

class TrafficTotals {
public:
    // What was read at one time, in the order of time. What counters had counted before the first look at a port is in
    // no total, and neither is what was sent between the last look at a counter and its end. A port whose counters
    // could not be read was not looked at.
    void add(const std::vector<CountersOfPort>& ports);
    // By level. Null: the port has not been read.
    [[nodiscard]] const std::map<std::string, LevelTraffic>* of(const std::string& key) const;

private:
    struct Reading {
        std::optional<SessionId> session;
        LevelTraffic bytes;
    };
    struct Port {
        std::map<std::string, LevelTraffic> totals;
        std::map<std::uint32_t, Reading> last;    // by the counter's number
    };

    std::map<std::string, Port> ports_;    // by key
};

}    // namespace rdmaqos
