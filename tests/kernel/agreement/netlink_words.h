// Questions to RDMA netlink, and what the answers say in words.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/kernel/agreement/transcript.h"

namespace rdmaqos::test::agreement::netlink {

using Attributes = std::vector<std::pair<std::uint16_t, Bytes>>;
using Names = std::map<std::uint32_t, std::string>;    // of queue pairs, by number

struct Reply {
    int error = 0;
    std::vector<Bytes> messages;    // with their headers
};
[[nodiscard]] Reply ask(std::uint16_t command, std::uint16_t flags,
                        const std::vector<std::pair<std::uint16_t, std::uint32_t>>& given);
// About one queue pair, as if it were of port 1.
[[nodiscard]] Reply ask_queue_pair(std::uint32_t device, std::uint32_t number);

// From an offset on.
[[nodiscard]] Attributes parse(const Bytes& bytes, std::size_t from);
[[nodiscard]] std::uint32_t number_of(const Bytes& bytes);
// Sorted: the order says nothing.
[[nodiscard]] std::string words_of(const Attributes& attributes, const Names& names);
// The first message, or the error.
[[nodiscard]] std::string one(const Reply& reply, const Names& names);
// What the tables of a dump nest.
[[nodiscard]] std::vector<Attributes> entries_of(const Reply& reply, std::uint16_t table);

// Of the first device.
[[nodiscard]] std::uint32_t device_index();

}    // namespace rdmaqos::test::agreement::netlink
