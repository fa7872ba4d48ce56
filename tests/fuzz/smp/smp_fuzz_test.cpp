// What an InfiniBand port answers: any bytes are its tables, or a failure, and can be compared with what is wanted.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "lib/smp/lanes.h"
#include "tests/fuzz/support/mutator.h"
#include "tests/support/fake_ib_port.h"
#include "tools/rdma-qosctl/offline/opensm_compare.h"
#include "tools/rdma-qosctl/offline/vl_arbitration.h"

namespace rdmaqos::smp::test {
namespace {

using rdmaqos::test::FakeIbPort;

PortLanes some_lanes()
{
    PortLanes lanes;
    lanes.data_vls = 15;
    lanes.high = {{2, 1}};
    lanes.low = {{0, 10}, {1, 70}, {2, 30}, {14, 255}};
    lanes.vl_of_sl = {0, 0, 0, 1, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 14, kNoLane};
    return lanes;
}

// All that a port says, one answer after the other.
std::string answers_of(FakeIbPort port)
{
    std::string all;
    static_cast<void>(read_lanes([&](const Packet& question) {
        const auto answer = port.answer(question);
        all.append(answer->begin(), answer->end());
        return answer;
    }));
    return all;
}

TEST(SmpFuzz, Answers)
{
    ctl::OpensmQos wanted;
    wanted.lanes = {{"", 10, {0}, false}, {"a", 70, {1, 2}, false}, {"b", 30, {3}, false}, {"c", 1, {4}, true}};
    wanted.low = {{0, 64}, {1, 255}, {2, 192}, {1, 192}};
    wanted.high = {{3, 64}};
    rdmaqos::test::fuzz("smp", {answers_of({some_lanes()}), answers_of({some_lanes(), 64}), answers_of({})},
                        [&](const std::string& text) {
                            std::size_t at = 0;
                            const auto lanes = read_lanes([&](const Packet&) -> Result<Packet> {
                                if (at + kPacketBytes > text.size()) {
                                    return fail(ErrorCode::Timeout, "no answer");
                                }
                                Packet answer{};
                                std::copy_n(text.begin() + static_cast<std::ptrdiff_t>(at), kPacketBytes,
                                            answer.begin());
                                at += kPacketBytes;
                                return answer;
                            });
                            if (!lanes) {
                                return;
                            }
                            ASSERT_GE(lanes->data_vls, 1);
                            ASSERT_LE(lanes->data_vls, 15);
                            for (const Turn& turn : lanes->low) {
                                ASSERT_LE(turn.vl, 15);
                                ASSERT_GT(turn.weight, 0);
                            }
                            double all = 0;
                            for (const auto& [vl, part] : ctl::parts_of(lanes->low, 4096)) {
                                all += part;
                            }
                            ASSERT_TRUE(lanes->low.empty() || std::abs(all - 100) < 1e-6) << all;
                            static_cast<void>(ctl::differences(wanted, *lanes));
                        });
}

}    // namespace
}    // namespace rdmaqos::smp::test
