#include "tools/rdma-qosctl/offline/opensm_compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rdmaqos::ctl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// VL 0 for all else, 1 for tenants (SL 3 and 4), 2 for bulk (SL 5).
OpensmQos wanted()
{
    OpensmQos qos;
    qos.max_vls = 4;
    qos.lanes = {{"", 10, 16, {}}, {"tenants", 70, 128, {3, 4}}, {"bulk", 30, 64, {5}}};
    for (std::uint8_t sl = 0; sl < 16; ++sl) {
        qos.vl_of_sl.at(sl) = sl == 5 ? 2 : sl == 3 || sl == 4 ? 1 : 0;
        if (qos.vl_of_sl.at(sl) == 0) {
            qos.lanes[0].sls.push_back(sl);
        }
    }
    return qos;
}

// As a subnet manager sets it that was given these lines.
smp::PortLanes as_asked()
{
    const OpensmQos qos = wanted();
    smp::PortLanes port;
    port.data_vls = qos.max_vls;
    for (std::size_t vl = 0; vl < qos.lanes.size(); ++vl) {
        port.low.push_back({static_cast<std::uint8_t>(vl), qos.lanes[vl].weight});
    }
    port.vl_of_sl = qos.vl_of_sl;
    return port;
}

TEST(OpensmCompare, APortThatIsSetAsAskedDiffersInNothing)
{
    smp::PortLanes port = as_asked();
    EXPECT_THAT(differences(wanted(), port), IsEmpty());
    port.data_vls = 8;
    port.low.push_back({7, 255});
    port.high = {{7, 1}};
    EXPECT_THAT(differences(wanted(), port), IsEmpty()) << "no SL of the policy is in VL 7";
    // The same parts, in other numbers and by several turns.
    port = as_asked();
    port.low = {{1, 64}, {0, 16}, {1, 64}, {2, 64}};
    EXPECT_THAT(differences(wanted(), port), IsEmpty()) << "and in another order";
}

TEST(OpensmCompare, ServiceLevelsThatAreElsewhere)
{
    smp::PortLanes port = as_asked();
    port.vl_of_sl[3] = 2;
    port.vl_of_sl[4] = 2;
    port.vl_of_sl[5] = smp::kNoLane;
    EXPECT_THAT(differences(wanted(), port),
                ElementsAre("SL 3, 4 are in VL 2, and should be in VL 1, that of tenants",
                            "SL 5 is in no VL (VL 15, its packets are dropped), and should be in VL 2, that of bulk"));
}

TEST(OpensmCompare, PartsAreComparedAndNotNumbers)
{
    smp::PortLanes port = as_asked();
    port.low[1].weight = 64;
    EXPECT_THAT(differences(wanted(), port),
                ElementsAre(HasSubstr("VL 0 (all else) gets 33 % of the link"),
                            HasSubstr("VL 1 (tenants) gets 33 % of the link with packets of 4096 bytes while all lanes "
                                      "are busy, and should get 50 %"),
                            HasSubstr("VL 2 (bulk) gets 33 %")));
    port.low.erase(port.low.begin() + 1);
    EXPECT_THAT(differences(wanted(), port), testing::Contains(HasSubstr("VL 1 (tenants) gets 0 %")));
}

TEST(OpensmCompare, WhatGoesFirst)
{
    smp::PortLanes port = as_asked();
    port.high = {{2, 4}, {2, 8}};
    port.high_limit = 255;
    EXPECT_THAT(
        differences(wanted(), port),
        ElementsAre("VL 2 (bulk) goes before the others, by the table of high priority (limit 255), and nothing "
                    "should"));
}

TEST(OpensmCompare, APortWithoutQosHasOneLane)
{
    EXPECT_THAT(differences(wanted(), {}),
                ElementsAre(HasSubstr("the port has 1 VL for data in operation, and 3 are needed"),
                            "SL 3, 4 are in VL 0, and should be in VL 1, that of tenants",
                            "SL 5 is in VL 0, and should be in VL 2, that of bulk"));
}

TEST(OpensmCompare, InWords)
{
    EXPECT_EQ(in_words(std::vector<smp::Turn>{{1, 70}, {2, 30}}), "1:70,2:30");
    EXPECT_EQ(in_words(std::vector<smp::Turn>{}), "none");
}

}    // namespace
}    // namespace rdmaqos::ctl
