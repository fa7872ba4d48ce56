#include "tools/rdma-qosctl/offline/opensm_qos.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/load/policy_reader.h"
#include "tests/support/golden.h"
#include "tools/rdma-qosctl/offline/vl_arbitration.h"

namespace rdmaqos::ctl {
namespace {

using rdmaqos::test::expect_golden;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

OpensmQos qos_of(const std::string& levels, const FabricPorts& ports = {})
{
    const auto read = read_policy(
        {std::make_shared<const SourceFile>(SourceFile{"policy.yaml", "version: 1\n" + levels})}, NameService{});
    EXPECT_TRUE(read.value) << render(read.diagnostics, Colour::Off);
    return read.value ? opensm_qos(*read.value, ports) : OpensmQos{};
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
    EXPECT_THAT(qos_of(three, {4, 8}).findings, IsEmpty());
    const OpensmQos qos = qos_of(three, {2, 8});
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

constexpr char kManyShares[] = R"(qos-levels:
  - {name: DEFAULT}
  - {name: a, sl: 1, schedule: {share: 60}}
  - {name: b, sl: 2, schedule: {share: 20}}
  - {name: c, sl: 3, schedule: {share: 10}}
)";

std::string line_of(const OpensmQos& qos, const std::string& option)
{
    const std::string text = "\n" + to_conf(qos);
    const auto at = text.find("\n" + option + " ");
    const auto from = at + option.size() + 2;
    return at == std::string::npos ? "" : text.substr(from, text.find('\n', from) - from);
}

// As OpenSM reads it.
std::vector<smp::Turn> turns_in(const std::string& line)
{
    std::vector<smp::Turn> turns;
    std::istringstream text(line);
    for (std::string pair; std::getline(text, pair, ',');) {
        const auto colon = pair.find(':');
        turns.push_back({static_cast<std::uint8_t>(std::stoi(pair.substr(0, colon))),
                         static_cast<std::uint8_t>(std::stoi(pair.substr(colon + 1)))});
    }
    return turns;
}

TEST(OpensmQos, ThePrintedLinesDivideALinkByTheShares)
{
    const std::string two = R"(qos-levels:
  - {name: DEFAULT}
  - {name: a, sl: 1, schedule: {share: 70}}
  - {name: b, sl: 2, schedule: {share: 30}}
)";
    // All else has a tenth of the smallest share.
    const std::pair<std::string, std::vector<double>> cases[] = {
        {two, {3 / 1.03, 70 / 1.03, 30 / 1.03}}, {kManyShares, {1 / .91, 60 / .91, 20 / .91, 10 / .91}}};
    for (const auto& [policy, wanted] : cases) {
        const OpensmQos qos = qos_of(policy);
        const auto turns = turns_in(line_of(qos, "qos_vlarb_low"));
        EXPECT_LE(turns.size(), FabricPorts{}.entries);
        for (const std::uint32_t bytes : {64U, 256U, 1024U, 2048U, 4096U}) {
            auto parts = parts_of(turns, bytes);
            ASSERT_EQ(parts.size(), wanted.size());
            for (std::uint8_t vl = 0; vl < wanted.size(); ++vl) {
                EXPECT_NEAR(parts[vl], wanted[vl], 3) << "VL " << int{vl} << " with packets of " << bytes;
            }
        }
        EXPECT_THAT(qos.findings, IsEmpty());
    }
}

TEST(OpensmQos, MoreEntriesComeNearer)
{
    const std::string far = R"(qos-levels:
  - {name: DEFAULT}
  - {name: a, sl: 1, schedule: {share: 95}}
  - {name: b, sl: 2, schedule: {share: 1}}
)";
    const OpensmQos eight = qos_of(far, {8, 8});
    EXPECT_THAT(eight.findings,
                Contains("a gets 92 % of a busy link, and should get 98 %: a table of 8 entries cannot come nearer"));
    EXPECT_THAT(qos_of(far, {8, 16}).findings, IsEmpty());
    const OpensmQos two = qos_of(far, {8, 2});
    EXPECT_THAT(two.findings, Contains("3 VLs need as many entries, and ports have 2: they leave out the last"));
    EXPECT_EQ(two.low.size(), 3U);
}

TEST(OpensmQos, WhatIsStrictGoesFirst)
{
    const std::string strict = R"(qos-levels:
  - {name: DEFAULT}
  - {name: bulk, sl: 1, schedule: {share: 30}}
  - {name: control, sl: 2, schedule: {strict: true, max-rate: 2Gbps}}
  - {name: rpc, sl: 3, schedule: {share: 70}}
)";
    const OpensmQos qos = qos_of(strict);
    expect_golden("ctl/export-opensm-strict.txt", to_conf(qos));
    EXPECT_THAT(qos.high, ElementsAre(smp::Turn{1, 64})) << "VL 1 is control";
    EXPECT_EQ(qos.vl_of_sl[2], 1);
    EXPECT_EQ(parts_of(qos.low, 4096).count(1), 0U) << "it is not among the others";
    // What has no cap has no limit.
    const OpensmQos unlimited = qos_of(R"(scheduling-nodes:
  - {name: control, strict: true}
qos-levels:
  - {name: DEFAULT}
  - {name: bulk, sl: 1, schedule: {share: 30}}
  - {name: a, sl: 2, schedule: {parent: control}}
)");
    EXPECT_EQ(line_of(unlimited, "qos_high_limit"), "255");
    EXPECT_THAT(unlimited.findings, ElementsAre(HasSubstr("control goes first and can take the whole link")));
}

TEST(OpensmQos, WhatIsStrictAndHasNoLaneDoesNotGoFirst)
{
    const OpensmQos qos = qos_of(R"(qos-levels:
  - {name: DEFAULT}
  - {name: bulk, sl: 1, schedule: {share: 30}}
  - {name: control, schedule: {strict: true, max-rate: 2Gbps}}
)");
    EXPECT_THAT(qos.findings, Contains("control is strict, and does not go first: it has no VL of its own"));
    EXPECT_EQ(line_of(qos, "qos_vlarb_high"), "0:0");
    EXPECT_EQ(line_of(qos, "qos_high_limit"), "0");
}

TEST(OpensmQos, SaysWhatBecomesOfRates)
{
    const OpensmQos qos = qos_of(R"(qos-levels:
  - {name: DEFAULT}
  - {name: capped, sl: 1, schedule: {share: 30, max-rate: 25%}}
  - {name: free, sl: 2, schedule: {share: 70}}
)");
    EXPECT_THAT(qos.findings,
                ElementsAre("capped has a max-rate, and VL arbitration cannot cap: it gets what the others leave"));
    const OpensmQos guaranteed = qos_of(R"(qos-levels:
  - {name: DEFAULT}
  - {name: absolute, sl: 1, schedule: {min-rate: 30Gbps}}
  - {name: part, sl: 2, schedule: {min-rate: 40%}}
)");
    EXPECT_THAT(guaranteed.findings,
                Contains("absolute has a min-rate, and VL arbitration knows no rates: its share is "
                         "that of a link of 100 Gbit/s"));
    EXPECT_THAT(guaranteed.findings, Not(Contains(HasSubstr("part has"))));
}

}    // namespace
}    // namespace rdmaqos::ctl
