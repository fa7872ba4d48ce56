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
    qos.lanes = {{"", 10, {}, false}, {"tenants", 20, {3, 4}, false}, {"bulk", 10, {5}, false}};
    qos.low = {{0, 64}, {1, 128}, {2, 64}};
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
    port.low = qos.low;
    port.high = qos.high;
    port.high_limit = qos.high_limit;
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
    port.low = {{1, 64}, {0, 64}, {1, 64}, {2, 64}};
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
    EXPECT_THAT(differences(wanted(), port),
                ElementsAre("VL 2 (bulk) goes before the others, by the table of high priority (limit 255), and should "
                            "not"));
}

TEST(OpensmCompare, WhatShouldGoFirst)
{
    OpensmQos strict = wanted();
    strict.lanes[2].is_first = true;
    strict.low = {{0, 64}, {1, 128}};
    strict.high = {{2, 64}};
    smp::PortLanes port = as_asked();
    port.low = strict.low;
    port.high = {{2, 255}};
    EXPECT_THAT(differences(strict, port), IsEmpty()) << "alone in its table, with any weight";
    port.high_limit = 4;
    EXPECT_THAT(differences(strict, port),
                ElementsAre("VL 2 (bulk) goes before the others with the limit 4, and should with 0"));
    port.high.clear();
    port.low = {{0, 64}, {1, 64}};
    EXPECT_THAT(differences(strict, port),
                ElementsAre("VL 2 (bulk) should go before the others, and is not in the table of high priority",
                            HasSubstr("VL 0 (all else) gets 50 % of what lanes that go first leave"),
                            HasSubstr("VL 1 (tenants) gets 50 %")));
}

// Its table has more entries than those that were counted on.
TEST(OpensmCompare, ComingNearerToTheSharesIsNoDifference)
{
    OpensmQos coarse = wanted();
    coarse.lanes[1].share = 80;    // 10, 80, 10
    coarse.low = {{0, 64}, {1, 192}, {2, 64}};
    smp::PortLanes port = as_asked();
    port.low = {{0, 64}, {1, 255}, {2, 64}, {1, 255}};
    EXPECT_THAT(differences(coarse, port), IsEmpty());
    port.low = {{0, 64}, {1, 128}, {2, 64}};
    EXPECT_EQ(differences(coarse, port).size(), 3U);
}

TEST(OpensmCompare, APortWithoutQosHasOneLane)
{
    EXPECT_THAT(differences(wanted(), {}),
                ElementsAre(HasSubstr("the port has 1 VL for data in operation, and 3 are needed"),
                            "SL 3, 4 are in VL 0, and should be in VL 1, that of tenants",
                            "SL 5 is in VL 0, and should be in VL 2, that of bulk"));
}

}    // namespace
}    // namespace rdmaqos::ctl
