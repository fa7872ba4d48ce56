// What programs send and receive, from two readings of the counters of their queue pairs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/api/counter.h"
#include "lib/base/result.h"
#include "lib/base/units.h"
#include "lib/bus/client.h"

namespace rdmaqos::ctl {

struct CounterReadings {
    std::vector<api::ProgramCounter> counters;
    std::vector<api::CountedPort> ports;
};
[[nodiscard]] Result<CounterReadings> fetch_counters(bus::Client& client);

// Of a counter between two readings of a byte counter; empty if it has started again, or no time has passed.
[[nodiscard]] std::optional<Bandwidth> rate_between(std::uint64_t bytes_before, std::uint64_t bytes_after,
                                                    std::uint64_t microseconds);

enum class RatesBy : std::uint8_t { Session, Leaf, Level, Unit };

// Of a session, a leaf, a level or a unit on a port; what the rows of one have in common.
struct ProgramRate {
    std::string device{};
    std::string level{};
    std::string leaf{};
    std::optional<std::uint64_t> session{};
    std::optional<std::uint32_t> pid{};
    std::string unit{};
    std::string command{};
    std::uint64_t queue_pairs = 0;
    Bandwidth sent{};
    Bandwidth received{};
    std::uint64_t sent_packets = 0;    // a second
    std::uint64_t received_packets = 0;
};

struct PortRates {
    std::string device{};
    Bandwidth sent{};    // by all that is counted
    Bandwidth received{};
    std::uint64_t queue_pairs = 0;          // of sessions
    std::uint64_t counted = 0;              // of them
    std::string reason{};                   // why those are not all
    std::uint64_t interval = 0;             // µs
    std::vector<ProgramRate> programs{};    // who sends most first
};

// Pure. Of ports that are in both readings; of `device` ("mlx5_0", "mlx5_0/1") alone, or of all (""). A counter that
// began in between, or began again, counts from 0. Counters that count no bytes are left out.
[[nodiscard]] std::vector<PortRates> rates_between(const CounterReadings& before, const CounterReadings& after,
                                                   RatesBy by, const std::string& device);

}    // namespace rdmaqos::ctl

namespace rdmaqos::api {

template <>
struct Table<ctl::ProgramRate> {
    using R = ctl::ProgramRate;
    static constexpr auto keys = std::tuple{
        key_unless_empty<&R::level>("level", "absent: more than one, or none"),
        key_unless_empty<&R::leaf>("leaf", "likewise"),
        key<&R::session>("session", "likewise"),
        key<&R::pid>("pid", "likewise"),
        key_unless_empty<&R::unit>("unit", "likewise"),
        key_unless_empty<&R::command>("command", "likewise"),
        key<&R::queue_pairs>("queue-pairs", "that are counted"),
        key<&R::sent>("sent", "kbit/s"),
        key<&R::received>("received", "kbit/s"),
        key<&R::sent_packets>("sent-packets", "a second"),
        key<&R::received_packets>("received-packets", "a second"),
    };
};

template <>
struct Table<ctl::PortRates> {
    using R = ctl::PortRates;
    static constexpr auto keys = std::tuple{
        key<&R::device>("device", "name/port"),
        key<&R::sent>("sent", "kbit/s, by all queue pairs that are counted"),
        key<&R::received>("received", "likewise"),
        key<&R::queue_pairs>("queue-pairs", "of sessions"),
        key<&R::counted>("counted", "of them, those whose bytes are counted"),
        key_unless_empty<&R::reason>("reason", "why those are not all, with what to do"),
        key<&R::interval>("interval", "µs between the two readings"),
        key<&R::programs>("programs", "who sends most first"),
    };
};

}    // namespace rdmaqos::api
