// What lib/dcb reads from the kernel: for any bytes it ends, with values in their ranges or with none. And what the
// fake kernel of the tests reads.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <linux/rtnetlink.h>

#include "lib/dcb/messages.h"
#include "lib/dcb/watcher.h"
#include "tests/fuzz/support/mutator.h"
#include "tests/support/fake_dcb.h"
#include "tests/support/netlink_bytes.h"

namespace rdmaqos::dcb {
namespace {

using Message = std::vector<std::uint8_t>;
using test::netlink::operator+;

std::string text_of(const Message& message)
{
    return {message.begin(), message.end()};
}

netlink::Bytes bytes_of(const std::string& text)
{
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::vector<Write> all_writes()
{
    Ets ets;
    ets.traffic_class[0] = {.selection = Selection::Ets, .weight = 100, .max_rate = {}};
    return {SetEts{ets}, SetMaxRates{MaxRates{Bandwidth::from_gbps(10)}}, SetApp{{Selector::Dscp, 26, 3}},
            DeleteApp{{Selector::Dscp, 26, 3}}, SetDcbx{kHostDcbx}};
}

void expect_in_range(const PortSettings& settings, std::size_t size)
{
    ASSERT_LE(settings.apps.size() * 8, size);
    ASSERT_TRUE(std::ranges::is_sorted(settings.apps));
    for (const AppEntry& one : settings.apps) {
        ASSERT_LT(one.priority, kPriorities);
        ASSERT_GE(static_cast<unsigned>(one.selector), 1U);
        ASSERT_LE(static_cast<unsigned>(one.selector), 5U);
    }
    if (settings.ets) {
        ASSERT_GE(settings.ets->classes, 1);
        ASSERT_LE(settings.ets->classes, kTrafficClasses);
    }
    for (std::uint8_t dscp = 0; dscp <= kHighestDscp; ++dscp) {
        ASSERT_LT(class_of_dscp(settings, dscp), kTrafficClasses);
    }
}

TEST(DcbFuzz, Answers)
{
    test::FakeDcb kernel(*find_driver("mlx5_core"));
    PortSettings settings = kernel.settings();
    settings.apps = {{Selector::Dscp, 26, 3}, {Selector::DatagramPort, 4791, 3}};
    settings.buffers = Buffers{};
    kernel.have(settings);
    const Message answer = *kernel.ask(RTM_GETDCB, get_request("ens1"));
    std::vector<std::string> seeds{
        text_of(answer), text_of(test::netlink::message(answer, 7, RTM_SETDCB)),
        text_of(test::netlink::message(answer, 7, RTM_SETDCB) + test::netlink::message(answer, 8, RTM_GETDCB))};
    for (const Write& write : all_writes()) {
        seeds.push_back(text_of(*kernel.ask(RTM_SETDCB, write_request("ens1", write))));
    }
    test::fuzz("dcb", seeds, [](const std::string& text) {
        if (const auto read = read_settings(bytes_of(text))) {
            expect_in_range(*read, text.size());
        }
        for (const Change& change : read_changes(bytes_of(text))) {
            ASSERT_FALSE(change.interface.empty());
            ASSERT_LT(change.interface.size(), 16U);
            if (change.settings) {
                expect_in_range(*change.settings, text.size());
            }
        }
        static_cast<void>(read_features(bytes_of(text)));
        for (const Write& write : all_writes()) {
            const auto error = read_write_error(bytes_of(text), write);
            ASSERT_TRUE(!error || (*error >= 0 && *error <= 128));
        }
    });
}

TEST(DcbFuzz, Requests)
{
    std::vector<std::string> seeds{text_of(get_request("ens1"))};
    for (const Write& write : all_writes()) {
        seeds.push_back(text_of(write_request("ens1", write)));
    }
    test::fuzz("dcb_requests", seeds, [](const std::string& text) {
        const Message request(text.begin(), text.end());
        for (const std::string_view name : {"mlx5_core", "ice", "mlx4_core"}) {
            test::FakeDcb kernel(*find_driver(name));
            static_cast<void>(kernel.ask(RTM_SETDCB, request));
            const auto answer = kernel.ask(RTM_GETDCB, get_request("ens1"));
            ASSERT_TRUE(answer);
            ASSERT_TRUE(read_settings(*answer));
        }
    });
}

}    // namespace
}    // namespace rdmaqos::dcb
