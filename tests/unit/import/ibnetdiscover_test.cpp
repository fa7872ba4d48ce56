#include "tools/rdma-qosctl/import/ibnetdiscover.h"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/unit/import/import_support.h"

namespace rdmaqos::test {
namespace {

IbnetdiscoverReport discover(const std::string& name)
{
    return good(read_ibnetdiscover(golden_source("import/" + name)));
}

// "CA 0x... \"description\": 1=0x... LID 4, 2=0x..."
std::string in_words(const DiscoveredNode& node)
{
    std::string text = fmt::format("{} {} \"{}\":", to_string(node.type), to_string(node.guid), node.description);
    for (const auto& port : node.ports) {
        text += fmt::format(" {}={}", port.number, to_string(port.guid));
        text += port.lids ? " " + rdmaqos::in_words(*port.lids) : "";
        text += port.rate ? fmt::format(" rate {}", number(*port.rate)) : "";
    }
    return text;
}

TEST(Ibnetdiscover, NodesWithTheirEnds)
{
    const IbnetdiscoverReport discovery = discover("small.topology");
    ASSERT_EQ(discovery.nodes.size(), 4U);
    EXPECT_FALSE(discovery.is_ports_report);
    EXPECT_EQ(in_words(discovery.nodes[0]),
              "SWITCH 0x0002c90200400d98 \"SwitchIB Mellanox Technologies\": 0=0x0002c90200400d98 LID 2");
    EXPECT_EQ(in_words(discovery.nodes[1]),
              "CA 0x0002c90300a1b2c0 \"node1 HCA-1\": 1=0x0002c90300a1b2c1 LID 4 rate 16");
    EXPECT_EQ(in_words(discovery.nodes[2]),
              "CA 0x0002c90300a1b2d0 \"node2 \"quoted\", HCA-1\": 2=0x0002c90300a1b2d2 LID 5 rate 7");
    EXPECT_EQ(in_words(discovery.nodes[3]),
              "ROUTER 0x0002c90300c0ffe0 \"gate\": 1=0x0002c90300c0ffe1 LIDs 8 to 11 rate 6");
    EXPECT_EQ(discovery.nodes[1].location.to_string(), "small.topology:19:1");
}

TEST(Ibnetdiscover, GroupsOldWordsAndChassis)
{
    const IbnetdiscoverReport discovery = discover("grouped.topology");
    ASSERT_EQ(discovery.nodes.size(), 4U);
    // Port 0 of this switch has a GUID of its own.
    EXPECT_EQ(in_words(discovery.nodes[1]), "SWITCH 0x0008f10400410031 \"ISR9288 line\": 0=0x0008f10400410039 LID 5");
    EXPECT_EQ(in_words(discovery.nodes[2]), "CA 0x0008f10403961354 \"old1\": 1=0x0008f10403961355 LID 4 rate 3");
    EXPECT_EQ(in_words(discovery.nodes[3]), "CA 0x0008f10403960558 \"old2 tab\": 1=0x0008f10403960559 LID 6");
}

TEST(Ibnetdiscover, PortsReport)
{
    const IbnetdiscoverReport discovery = discover("ports.topology");
    EXPECT_TRUE(discovery.is_ports_report);
    ASSERT_EQ(discovery.nodes.size(), 4U);
    EXPECT_EQ(in_words(discovery.nodes[0]),
              "CA 0x0000000000000000 \"node1 HCA-1\": 1=0x0002c90300a1b2c1 LID 4 rate 16");
    EXPECT_EQ(in_words(discovery.nodes[1]),
              "CA 0x0000000000000000 \"node2 o'clock\": 2=0x0002c90300a1b2d2 LID 5 rate 7");
    EXPECT_EQ(in_words(discovery.nodes[2]), "SWITCH 0x0000000000000000 \"leaf 1\": 0=0x0002c90200400d98 LID 2");
    EXPECT_EQ(in_words(discovery.nodes[3]), "ROUTER 0x0000000000000000 \"gate\": 1=0x0002c90300c0ffe1 LID 9 rate 6");
}

// A description may say anything; what nobody could have is left out.
TEST(Ibnetdiscover, LidsAreThoseBehindTheNames)
{
    const auto result = read_ibnetdiscover(source("x", R"(switchguid=0x9
Switch 36 "S-9" # "lid 7 lmc 0 "lid 8 lmc 0" base port 0 lid 6 lmc 1
[1] "H-1"[1](11) # "lid 5 lmc 0" lid 16 4xEDR
Ca 4 "H-1" # "lid 3 lmc 0"
[1](11) "S-9"[1][ext 3] # lid 16 lmc 2 "lid 4 lmc 0" lid 6 4xEDR
[2](12) "S-9"[2] # lid 0 lmc 0 "leaf" lid 6 4xEDR
[3](13) "S-9"[3] # lid 19 lmc 0 "leaf" lid 6 4xEDR
[4](14) "S-9"[4] # lid 18 lmc 2 "leaf" lid 6 4xEDR
Ca 5 "H-2" # "b"
[1](21) "S-9"[5] # lid 49152 lmc 0 "leaf" lid 6 4xEDR
[2](22) "S-9"[6] # lid 128 lmc 8 "leaf" lid 6 4xEDR
[3](23) "S-9"[7] # lid 20
[4](24) "S-9"[8]
[5](25) "S-9"[9] # lid 131078 lmc 0 "leaf" lid 6 4xEDR
)"));
    ASSERT_TRUE(result.value) << shown(result);
    EXPECT_EQ(in_words(result.value->nodes[0]),
              "SWITCH 0x0000000000000009 \"lid 7 lmc 0 \"lid 8 lmc 0\": 0=0x0000000000000009 LIDs 6 to 7");
    EXPECT_EQ(in_words(result.value->nodes[1]),
              "CA 0x0000000000000001 \"lid 3 lmc 0\": 1=0x0000000000000011 LIDs 16 to 19 rate 16 2=0x0000000000000012 "
              "rate 16 3=0x0000000000000013 rate 16 4=0x0000000000000014 rate 16");
    EXPECT_EQ(in_words(result.value->nodes[2]),
              "CA 0x0000000000000002 \"b\": 1=0x0000000000000021 rate 16 2=0x0000000000000022 rate 16 "
              "3=0x0000000000000023 4=0x0000000000000024 5=0x0000000000000025 rate 16");
    expect_golden("diagnostics/discovery-lids.txt", shown(result));
}

TEST(Ibnetdiscover, LineEndsOfOtherSystems)
{
    const auto unix_text = golden_source("import/small.topology")->text;
    std::string text;
    for (const char c : unix_text) {
        text += c == '\n' ? "\r" : "";
        text += c;
    }
    EXPECT_EQ(good(read_ibnetdiscover(source("x", text))).nodes.size(), 4U);
    // As it is in the middle of other text.
    const auto rest = read_ibnetdiscover(source("x", unix_text.substr(unix_text.find("caguid"))));
    EXPECT_EQ(with_warning(rest, "1 of 1 nodes that links name have no block in this file, the first is "
                                 "0x0002c90200400d98")
                  .nodes.size(),
              3U);
}

// A dump that was cut off: ibnetdiscover writes switches first.
TEST(Ibnetdiscover, EveryNodeThatALinkNamesIsThere)
{
    const auto text = golden_source("import/small.topology")->text;
    const auto some = read_ibnetdiscover(source("cut.topology", text.substr(0, text.find("caguid=0x2c90300a1b2d0"))));
    EXPECT_EQ(with_warning(some, "2 of 4 nodes that links name have no block in this file, the first is "
                                 "0x0002c90300a1b2d0")
                  .nodes.size(),
              2U);
    const auto none = read_ibnetdiscover(source("cut.topology", text.substr(0, text.find("caguid"))));
    expect_only_error(none, "3 of 3 nodes that links name have no block in this file, the first is 0x0002c90300a1b2c0");
    expect_golden("diagnostics/discovery-cut.txt", shown(some) + shown(none));
}

// Within its last block.
TEST(Ibnetdiscover, EveryPortThatALinkNamesIsThere)
{
    const auto text = golden_source("import/small.topology")->text;
    const auto cut = read_ibnetdiscover(source("cut.topology", text.substr(0, text.rfind("\n[") + 1)));
    EXPECT_EQ(with_warning(cut, "port 1 of 0x0002c90300c0ffe0 is not in the block of its node, the last of this file")
                  .nodes.size(),
              4U);
    expect_golden("diagnostics/discovery-cut-within.txt", shown(cut));
}

TEST(Ibnetdiscover, WidthsAndSpeedsAreRates)
{
    const auto rate_of = [](const std::string& link) {
        const auto read = read_ibnetdiscover(source(
            "x", "Switch 1 \"S-9\" # \"s\"\nCa 1 \"H-1\" # \"a\"\n[1](2) \"S-9\"[1] # lid 4 lmc 0 \"lid 1 1xSDR\" "
                 "lid 2 " +
                     link + "\n"));
        const auto rate = good(read).nodes.at(1).ports.at(0).rate;
        return rate ? int{number(*rate)} : 0;
    };
    EXPECT_EQ(rate_of("1xSDR"), 2);
    EXPECT_EQ(rate_of("4xFDR10"), 7);
    EXPECT_EQ(rate_of("4xFDR s=2 w=2 v=4"), 12);
    EXPECT_EQ(rate_of("12xXDR"), 0) << "2400 Gbit/s is no rate yet";
    EXPECT_EQ(rate_of("4xXDR"), 23);
    EXPECT_EQ(rate_of("2xHDR"), 16);
    EXPECT_EQ(rate_of("4x???"), 0);
    EXPECT_EQ(rate_of("99xSDR"), 0);
    EXPECT_EQ(rate_of(""), 0);
}

TEST(Ibnetdiscover, BytesThatCannotBePrintedAreBlanks)
{
    const IbnetdiscoverReport discovery = good(
        read_ibnetdiscover(source("x", "Ca 1 \"H-1\" # \"caf\xc3\xa9\x01!\"\n")));
    ASSERT_EQ(discovery.nodes.size(), 1U);
    EXPECT_EQ(discovery.nodes[0].description, "caf   !");
}

TEST(Ibnetdiscover, ALongDescriptionIsAnError)
{
    const std::string description(4097, 'x');
    const auto node = read_ibnetdiscover(source("x", fmt::format("Ca 1 \"H-1\" # \"{}\"\n", description)));
    expect_only_error(node, "a description of 4097 bytes; a node has at most 64");
    expect_golden("diagnostics/discovery-long.txt", shown(node));
    expect_only_error(
        read_ibnetdiscover(source("x", fmt::format("CA 4 1 0x1 4x EDR - SW 2 1 0x2 ( '{}' - 'leaf' )\n", description))),
        "a description of 4097 bytes; a node has at most 64");
}

TEST(Ibnetdiscover, MistakesAreShownWhereTheyAre)
{
    expect_golden_diagnostics("diagnostics/discovery.topology", read_ibnetdiscover);
}

TEST(Ibnetdiscover, ManyNodesAreReadInLinearTime)
{
    std::string text = "Switch 36 \"S-1\" # \"s\"\n";
    for (int i = 1; i <= 20'000; ++i) {
        const std::string guid = std::to_string(1000000 + i);
        text += fmt::format("Ca 1 \"H-{0}\" # \"node\"\n[1](a{0})\t\"S-1\"[1] # lid 1\n", guid);
    }
    EXPECT_EQ(good(read_ibnetdiscover(source("x", text))).nodes.size(), 20'001U);
}

}    // namespace
}    // namespace rdmaqos::test
