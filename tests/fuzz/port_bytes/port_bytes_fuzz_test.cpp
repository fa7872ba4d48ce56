// Counters of a driver: whatever their names and numbers are, what is concluded from them keeps to what it claims.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/port_bytes/port_bytes.h"
#include "tests/fuzz/support/mutator.h"

namespace rdmaqos::port_bytes {
namespace {

// "tx_prio3_bytes 12" in each line; the number's first 8 bytes stand for it where it is none.
std::vector<Counter> counters_of(const std::string& text)
{
    std::vector<Counter> counters;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        const auto blank = std::min(line.find(' '), line.size());
        const std::string number = line.substr(blank);
        std::uint64_t value = std::strtoull(number.c_str(), nullptr, 10);
        if (value == 0) {
            std::memcpy(&value, number.data(), std::min(number.size(), sizeof(value)));
        }
        counters.push_back({line.substr(0, blank), value});
    }
    return counters;
}

TEST(PortBytesFuzz, Counters)
{
    const std::vector<std::string> seeds{
        "tx_prio0_bytes 1000\ntx_prio3_bytes 90000\nrx_prio3_bytes 7\ntx_vport_rdma_unicast_bytes 4000000\n",
        "tx_prio_0_bytes 5\nrx_prio_7_bytes 18446744073709551615\ntx_prio_7_bytes 18446744073709551615\n",
        "tx_bytes_pri0 1\ntx_bytes_pri8 1\nrx_vport_rdma_multicast_bytes 18446744073709551615\n",
    };
    const std::vector<MeantPriority> levels{{"rpc", 3}, {"bulk", 3}, {"kv", 7}};
    rdmaqos::test::fuzz("port_bytes", seeds, [&](const std::string& text) {
        const auto bytes = bytes_in(counters_of(text));
        if (!bytes) {
            return;
        }
        const auto none = moved_between(*bytes, *bytes);
        ASSERT_TRUE(none);
        ASSERT_EQ(none->sent, OfPriority{});
        const auto all = moved_between({}, *bytes);
        ASSERT_TRUE(all);
        ASSERT_EQ(all->sent, bytes->sent);
        const auto check = check_bytes(*bytes, levels);
        ASSERT_EQ(check.has_value(), bytes->rdma_sent.has_value());
        if (check) {
            ASSERT_LE(check->outside_at_least, check->outside_at_most);
            ASSERT_LE(check->outside_at_most, check->rdma);
            ASSERT_EQ(outside_in_words(*check).empty(), !is_outside(*check));
        }
    });
}

}    // namespace
}    // namespace rdmaqos::port_bytes
