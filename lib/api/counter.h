// What counters of queue pairs say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/api/record.h"

namespace rdmaqos::api {

struct ProgramCounter {
    std::string device{};
    std::uint32_t counter = 0;
    std::uint32_t queue_pairs = 0;
    std::optional<std::uint64_t> session{};
    std::optional<std::uint32_t> pid{};
    std::optional<std::uint32_t> uid{};
    std::string unit{};
    std::string command{};
    std::string level{};
    std::string leaf{};
    std::optional<std::uint64_t> sent_bytes{};
    std::optional<std::uint64_t> sent_packets{};
    std::optional<std::uint64_t> received_bytes{};
    std::optional<std::uint64_t> received_packets{};
};

template <>
struct Table<ProgramCounter> {
    using C = ProgramCounter;
    static constexpr auto keys = std::tuple{
        key<&C::device>("device", "name/port"),
        key<&C::counter>("counter", "its number, as `rdma statistic qp show` has it; used again after its last queue "
                                    "pair has gone"),
        key<&C::queue_pairs>("queue-pairs", "how many are bound to it"),
        key<&C::session>("session", "whose they are; absent: of none, or of more than one"),
        key<&C::pid>("pid", "of the process that has them; absent: likewise"),
        key<&C::uid>("uid"),
        key_unless_empty<&C::unit>("unit"),
        key_unless_empty<&C::command>("command"),
        key_unless_empty<&C::level>("level", "absent: they are in more than one, or in none"),
        key_unless_empty<&C::leaf>("leaf", "likewise"),
        key<&C::sent_bytes>("sent-bytes", "since they were bound; absent: not counted"),
        key<&C::sent_packets>("sent-packets", "likewise"),
        key<&C::received_bytes>("received-bytes", "likewise"),
        key<&C::received_packets>("received-packets", "likewise"),
    };
};

struct CountedPort {
    std::string device{};
    std::uint32_t queue_pairs = 0;
    std::uint32_t counted = 0;
    std::string reason{};
    std::uint64_t taken_at = 0;
};

template <>
struct Table<CountedPort> {
    using P = CountedPort;
    static constexpr auto keys = std::tuple{
        key<&P::device>("device", "name/port"),
        key<&P::queue_pairs>("queue-pairs", "of sessions"),
        key<&P::counted>("counted", "of them, those whose bytes are counted"),
        key_unless_empty<&P::reason>("reason", "why those are not all, with what to do"),
        key<&P::taken_at>("taken-at", "µs of the monotonic clock"),
    };
};

}    // namespace rdmaqos::api
