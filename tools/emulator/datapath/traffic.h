// What the data path has moved.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "lib/model/port_classes.h"

namespace rdmaqos::emulator {

struct TrafficCount {
    std::uint64_t bytes = 0;    // of messages, without headers
    std::uint64_t packets = 0;

    TrafficCount& operator+=(const TrafficCount& other)
    {
        bytes += other.bytes;
        packets += other.packets;
        return *this;
    }
    TrafficCount& operator-=(const TrafficCount& other)
    {
        bytes -= other.bytes;
        packets -= other.packets;
        return *this;
    }
    friend bool operator==(const TrafficCount&, const TrafficCount&) = default;
};

struct SentAndReceived {
    TrafficCount sent;
    TrafficCount received;

    SentAndReceived& operator+=(const SentAndReceived& other)
    {
        sent += other.sent;
        received += other.received;
        return *this;
    }
    // `earlier`: of the same.
    friend SentAndReceived operator-(SentAndReceived later, const SentAndReceived& earlier)
    {
        later.sent -= earlier.sent;
        later.received -= earlier.received;
        return later;
    }
    friend bool operator==(const SentAndReceived&, const SentAndReceived&) = default;
};

struct PortTraffic : SentAndReceived {
    // The bytes of them, by the priority that the sender's port gives their DSCP.
    std::array<std::uint64_t, kPortPriorities> sent_with{};
    std::array<std::uint64_t, kPortPriorities> received_with{};

    friend bool operator==(const PortTraffic&, const PortTraffic&) = default;
};

// Of a device since it came.
struct DeviceTraffic {
    std::vector<PortTraffic> ports;
    // What the work requests of each queue pair have moved, by its number.
    std::map<std::uint32_t, TrafficCount> queue_pairs;
    // What was sent below each element, as it counts on the link (next_piece() of transfers.h).
    std::map<std::uint32_t, std::uint64_t> elements;
    // The same for each traffic class of the port.
    std::array<std::uint64_t, kPortClasses> classes{};
};

}    // namespace rdmaqos::emulator
