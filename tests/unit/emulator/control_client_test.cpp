#include "tools/emulator/control_client.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace rdmaqos::emulator {
namespace {

using namespace std::chrono_literals;

Json state_with(std::uint64_t heavy, std::uint64_t light)
{
    return Json::parse(fmt::format(R"({{"devices": [
        {{"name": "mlx5_0",
          "ports": [{{"port": 1, "sent-bytes": {0}, "received-bytes": 250000}}],
          "tree": [
            {{"id": 1, "element": "tsar", "bw-share": 1, "max-average-bw": 0, "bytes": {0}}},
            {{"id": 2, "element": "queue-group", "parent": 1, "bw-share": 70, "max-average-bw": 0, "bytes": {1}}},
            {{"id": 3, "element": "queue-group", "parent": 1, "bw-share": 30, "max-average-bw": 400, "bytes": {2}}}],
          "queue-pairs": [
            {{"qpn": 257, "type": "RC", "state": "RTS", "requester": 3, "bytes": {2}, "packets": {4}}},
            {{"qpn": 258, "type": "RC", "state": "RTS", "requester": 2, "bytes": {1}, "packets": {3}}},
            {{"qpn": 259, "type": "UD", "state": "INIT", "requester": 0, "bytes": 0, "packets": 0}}]}},
        {{"name": "mlx5_1", "tree": [], "queue-pairs": []}}]}})",
                                   heavy + light, heavy, light, heavy / 1000, light / 1000));
}

TEST(ControlClient, DescribesRates)
{
    const std::vector<Json> owners{Json{{"device", "mlx5_0"}, {"qpn", 258}, {"pid", 999'999'999}}};
    EXPECT_EQ(describe_rates(state_with(1'000'000, 0), state_with(8'000'000'000, 1'000'000), 2s, owners),
              "mlx5_0 port 1: sends 32.0 Gbit/s, receives 0.00 Mbit/s\n"
              "  tsar 1                       share 1                        32.0 Gbit/s\n"
              "    queue-group 2              share 70                       32.0 Gbit/s\n"
              "    queue-group 3              share 30   cap 400 Mbit/s      4.00 Mbit/s\n"
              "  qp 258 RC RTS                in 2       999999999           32.0 Gbit/s    3999500 packets/s\n"
              "  qp 257 RC RTS                in 3                           4.00 Mbit/s        500 packets/s\n"
              "  qp 259 UD INIT                                              0.00 Mbit/s          0 packets/s\n");
}

TEST(ControlClient, WhatCountsFromZeroAgainHasMovedNothing)
{
    const auto text = describe_rates(state_with(8'000'000, 0), state_with(0, 0), 1s, {});
    EXPECT_NE(text.find("sends 0.00 Mbit/s"), std::string::npos) << text;
}

TEST(ControlClient, SaysThatNothingIsMoved)
{
    const Json state = Json::parse(R"({"devices": [{"name": "mlx5_0", "tree": [], "queue-pairs": []}]})");
    EXPECT_EQ(describe_rates(state, state, 1s, {}), "no device of this emulator moves data\n");
}

TEST(ControlClient, SumsCallsUp)
{
    CallSummary summary;
    for (const double microseconds : {10.0, 30.0}) {
        summary.add({{"method", "queue-pair.create"}, {"result", "ok"}, {"microseconds", microseconds}});
    }
    summary.add({{"method", "devx-object.modify"}, {"result", "EREMOTEIO"}, {"microseconds", 100.0}});
    EXPECT_EQ(summary.text(), "METHOD                              CALLS   ERRORS    MEAN us LONGEST us\n"
                              "devx-object.modify                      1        1        100        100\n"
                              "queue-pair.create                       2        0         20         30\n");
}

}    // namespace
}    // namespace rdmaqos::emulator
