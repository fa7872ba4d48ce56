// What lib/shapers reads from the kernel: for any bytes it ends, with words or with none.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/shapers/shapers.h"
#include "tests/fuzz/support/mutator.h"
#include "tests/support/shaper_messages.h"

namespace rdmaqos::shapers {
namespace {

using namespace test::netlink;
using Message = test::netlink::Bytes;

Message function_rate()
{
    const std::uint64_t gigabit = 125'000'000;
    return rate(text(DEVLINK_ATTR_RATE_NODE_NAME, "tenants") + attribute(DEVLINK_ATTR_RATE_TX_MAX, bytes_of(gigabit)) +
                attribute(CTRL_ATTR_FAMILY_ID, bytes_of(std::uint16_t{21})));
}

TEST(ShapersFuzz, Netlink)
{
    std::vector<std::string> seeds;
    for (const Message& seed :
         {mqprio(1), offloaded_htb(), qdisc("tbf", attribute(TCA_HW_OFFLOAD, {1})), function_rate()}) {
        seeds.emplace_back(seed.begin(), seed.end());
    }
    test::fuzz("shapers", seeds, [](const std::string& text) {
        const rdmaqos::netlink::Bytes bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
        ASSERT_LE(read_offloaded_qdisc(bytes, kInterface).size(), text.size());
        static_cast<void>(read_family(bytes));
        const auto rate = read_function_rate(bytes, {kFunction});
        ASSERT_TRUE(rate.empty() || rate.starts_with("pci/0000:3b:00.0/")) << rate;
    });
}

}    // namespace
}    // namespace rdmaqos::shapers
