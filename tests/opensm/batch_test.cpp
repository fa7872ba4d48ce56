// The lines of queries, and the fabrics they are asked of.
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "policy/load/policy_reader.h"
#include "policy/model/name_service.h"
#include "policy/opensm/reader.h"
#include "tests/opensm/batch_answer.h"
#include "tests/opensm/topology.h"

namespace rdmaqos::ctl {
namespace {

constexpr const char* kTopology = "@sm 0x1\n"
                                  "@partition Part1 0x8005 3\n"
                                  "# two hosts, a switch\n"
                                  "0x1 CA \"vs1 HCA-1\" 1 0xffff,0x8005\n"
                                  "0x2 CA vs2 1 0x7fff,0x0005 node=0x20\n"
                                  "0x3 CA vs2 2 - node=0x20\n"
                                  "0x9 SWITCH \"sw 1\" 0 0x7fff nports=36\n";

Fabric fabric()
{
    const auto parsed = parse_topology(kTopology);
    EXPECT_TRUE(parsed) << to_string(parsed.error());
    return parsed.value_or(Fabric{});
}

TEST(Topology, PortsPartitionsAndTheSubnetManager)
{
    const Fabric read = fabric();
    ASSERT_EQ(read.ports.size(), 5U);
    EXPECT_TRUE(read.ports[0].subnet_manager);
    EXPECT_EQ(read.ports[0].description, "vs1 HCA-1");
    EXPECT_EQ(read.ports[0].pkeys, (std::vector<std::uint16_t>{0xffff, 0x8005}));
    EXPECT_FALSE(read.ports[1].subnet_manager);
    EXPECT_EQ(read.ports[1].node_guid, Guid{0x20});
    EXPECT_TRUE(read.ports[2].pkeys.empty());
    EXPECT_EQ(read.ports[3].type, NodeType::Switch);
    EXPECT_EQ(read.ports[4].port, 36U);
    EXPECT_EQ(read.ports[4].guid, read.ports[3].guid);
    ASSERT_EQ(read.partitions.size(), 1U);
    EXPECT_EQ(read.partitions[0].pkey, 5);
}

TEST(Topology, SaysWhichLineIsWrong)
{
    for (const std::string line :
         {"0x1 CA x 1", "x CA x 1 -", "0x1 HCA x 1 -", "0x1 CA x 256 -", "0x1 CA x 1 0x10000", "0x1 CA x 1 - ports=2",
          "0x1 CA x 1 - nports=x", "@sm", "@partition A", "@partition A 0x10000", "@partition A 1 16"}) {
        const auto parsed = parse_topology("\n" + line + "\n");
        ASSERT_FALSE(parsed) << line;
        EXPECT_NE(parsed.error().message.find("line 2"), std::string::npos) << parsed.error().message;
    }
}

class Batch : public ::testing::Test {
protected:
    [[nodiscard]] std::string answer(const std::string& line) const
    {
        const auto result = answers.answer(line);
        return result ? *result : "refused: " + result.error().message;
    }

    Fabric known = fabric();
    std::shared_ptr<const Policy> policy =
        read_policy({std::make_shared<const SourceFile>(SourceFile{
                        "policy.yaml", "version: 1\n"
                                       "port-groups: [{name: g, node-type: SELF, port-guid: [0x2]}]\n"
                                       "qos-levels:\n"
                                       "  - {name: DEFAULT}\n"
                                       "  - {name: \"low lat\", sl: 3, mtu-limit: 4, rate-limit: 3, packet-life: 9,"
                                       " pkey: [5-6], path-bits: [1-2, 4]}\n"
                                       "qos-match-rules:\n"
                                       "  - {destination: [g], qos-class: [7], qos-level-name: low lat}\n"})},
                    NameService::host())
            .value;
    Matcher matcher{*policy, resolve(*policy, known, {})};
    BatchAnswers answers{matcher, known};
};

TEST_F(Batch, Levels)
{
    EXPECT_EQ(answer("0x1 0x2 7 - -"),
              "rule=1 \"low lat\" sl=3 mtu=4 rate=3 life=9 path-bits=1-2,4 pkeys=0x0005-0x0006 "
              "path-pkey=0x0005");
    EXPECT_EQ(answer("0x1 0x2 - 0x10 0x8005"),
              "rule=default \"DEFAULT\" sl=- mtu=- rate=- life=- path-bits=- pkeys=- path-pkey=0x8005");
    EXPECT_NE(answer("0x1 0x2 7 - 0xffff").find("path-pkey=NONE(not-in-level)"), std::string::npos);
    EXPECT_NE(answer("0x1 0x2 7 - 0x0009").find("path-pkey=NONE(not-shared)"), std::string::npos);
    EXPECT_NE(answer("0x1 0x3 - - -").find("path-pkey=NONE(no-common)"), std::string::npos);
    EXPECT_NE(answer("0x3 0x2 7 - -").find("path-pkey=NONE(level-none-shared)"), std::string::npos);
}

TEST_F(Batch, Paths)
{
    EXPECT_EQ(answer("0x1 0x2 7 - - - - - - 5 40 -"), "OK mtu=4 rate=3 life=9 pkey=0x0005 sl=3");
    EXPECT_EQ(answer("0x1 0x2 7 - - 3 <4 ^1 >8 5 2.5 0,15"), "OK mtu=3 rate=2 life=9 pkey=0x0005 sl=3");
    EXPECT_EQ(answer("0x1 0x2 7 - - 4 - - - 5 40 -"), "FAIL(5)");
    EXPECT_EQ(answer("0x1 0x2 7 - - - - - - 5 40 1,3"), "FAIL(5)");
    EXPECT_EQ(answer("0x1 0x2 7 - - - =5 - - 5 40 -"), "FAIL(5)");
}

TEST_F(Batch, EndsThatNobodyKnows)
{
    EXPECT_EQ(answer("0x7 0x1 - - -"), "ERROR unknown-source");
    EXPECT_EQ(answer("0x1 0x7 - - -"), "ERROR unknown-destination");
}

TEST_F(Batch, LinesThatAreNoQueries)
{
    for (const std::string line : {"0x1 0x2 - -", "0x1 0x2 - - - -", "x 0x2 - - -", "0x1 0x2 65536 - -",
                                   "0x1 0x2 - - x", "0x1 0x2 - - - - 4 - - 5 40 -", "0x1 0x2 - - - - - - - 6 40 -",
                                   "0x1 0x2 - - - - - - - 5 41 -", "0x1 0x2 - - - - - - - 5 40 16"}) {
        EXPECT_TRUE(answer(line).starts_with("refused: `" + line + "` is not a query")) << answer(line);
    }
}

}    // namespace
}    // namespace rdmaqos::ctl
