#include "tools/rdma-qosctl/offline/opensm_qos.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/load/policy_reader.h"
#include "tests/support/golden.h"

namespace rdmaqos::ctl {
namespace {

using rdmaqos::test::expect_golden;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

OpensmQos qos_of(const std::string& levels, std::uint8_t data_vls = 8)
{
    const auto read = read_policy(
        {std::make_shared<const SourceFile>(SourceFile{"policy.yaml", "version: 1\n" + levels})}, NameService{});
    EXPECT_TRUE(read.value) << render(read.diagnostics, Colour::Off);
    return read.value ? opensm_qos(*read.value, data_vls) : OpensmQos{};
}

TEST(OpensmQos, GivesEachChildOfTheRootALane)
{
    const OpensmQos qos = qos_of(R"(scheduling-nodes:
  - {name: tenants, share: 70}
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: rpc, sl: 3, schedule: {parent: tenants, share: 1}}
  - {name: bulk, sl: 5, schedule: {share: 30}}
)");
    EXPECT_EQ(qos.max_vls, 4);
    EXPECT_THAT(qos.vl_of_sl, ElementsAre(0, 0, 0, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
    expect_golden("ctl/export-opensm.txt", to_conf(qos));
}

TEST(OpensmQos, SaysWhereTheFabricCannotFollow)
{
    const OpensmQos qos = qos_of(R"(scheduling-nodes:
  - {name: tenants, share: 95}
qos-levels:
  - {name: DEFAULT}
  - {name: rpc, sl: 3, schedule: {parent: tenants, share: 1}}
  - {name: kv, sl: 4, schedule: {parent: tenants, share: 1}}
  - {name: log, schedule: {parent: tenants, share: 1}}
  - {name: bulk, sl: 3, schedule: {share: 3}}
  - {name: backup, sl: 6, schedule: {share: 2}}
  - {name: unmarked, schedule: {share: 2}}
)");
    expect_golden("ctl/export-opensm-findings.txt", to_conf(qos));
}

TEST(OpensmQos, PutsWhatHasNoLaneLeftIntoTheFirst)
{
    const std::string three = R"(qos-levels:
  - {name: DEFAULT}
  - {name: a, sl: 1, schedule: {share: 2}}
  - {name: b, sl: 2, schedule: {share: 2}}
  - {name: c, sl: 3, schedule: {share: 2}}
)";
    EXPECT_THAT(qos_of(three, 4).findings, IsEmpty());
    const OpensmQos qos = qos_of(three, 2);
    EXPECT_EQ(qos.max_vls, 2);
    EXPECT_THAT(qos.findings, Contains(HasSubstr("c is in VL 0, with all else: ports have 2 VLs for data")));
    EXPECT_EQ(qos.vl_of_sl[3], 0);
}

TEST(OpensmQos, WithoutAClassIsOneLane)
{
    const OpensmQos qos = qos_of("qos-levels:\n  - {name: DEFAULT, sl: 2}\n");
    EXPECT_EQ(qos.lanes.size(), 1U);
    EXPECT_EQ(qos.max_vls, 1);
    EXPECT_THAT(qos.vl_of_sl, ::testing::Each(0));
}

TEST(PartsOfWeights, AreOfWholePackets)
{
    EXPECT_THAT(parts_of({64, 192}, 4096), ElementsAre(25, 75));
    EXPECT_THAT(parts_of({1, 3}, 64), ElementsAre(25, 75));
    EXPECT_THAT(parts_of({1, 3}, 4096), ElementsAre(50, 50)) << "a packet each";
    EXPECT_THAT(parts_of({0, 0}, 64), ElementsAre(0, 0));
}

}    // namespace
}    // namespace rdmaqos::ctl
