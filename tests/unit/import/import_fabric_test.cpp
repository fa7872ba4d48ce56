#include "tools/rdma-qosctl/import/fabric.h"

#include <algorithm>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/yaml/fabric_reader.h"
#include "tests/unit/import/import_support.h"

namespace rdmaqos::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string text_of(const FabricImport& input)
{
    const auto result = import_fabric(input);
    EXPECT_TRUE(result.value) << shown(result);
    return result.value ? *result.value : "";
}

// What is written is read back without a warning.
Fabric fabric_of(const std::string& text)
{
    const auto result = read_fabric(source("fabric.yaml", text));
    EXPECT_TRUE(result.value) << shown(result) << text;
    EXPECT_EQ(result.diagnostics.warning_count(), 0U) << shown(result);
    return result.value ? *result.value : Fabric{};
}

FabricImport topology(const std::string& text)
{
    return {source("topology", text), nullptr, nullptr, std::nullopt};
}

FabricImport small()
{
    return {golden_source("import/small.topology"), golden_source("import/small.partitions"),
            golden_source("import/small.names"), std::nullopt};
}

std::vector<std::uint16_t> pkeys_of(const Fabric& fabric, std::uint64_t guid)
{
    const auto* port = fabric.find_port(Guid{guid});
    EXPECT_NE(port, nullptr);
    return port == nullptr ? std::vector<std::uint16_t>{} : port->pkeys;
}

const FabricPartition& partition(const Fabric& fabric, std::uint16_t pkey)
{
    const auto found = std::find_if(fabric.partitions.begin(), fabric.partitions.end(),
                                    [pkey](const FabricPartition& candidate) { return candidate.pkey == pkey; });
    EXPECT_NE(found, fabric.partitions.end());
    return *found;
}

TEST(ImportFabric, WholeFiles)
{
    FabricImport input = small();
    expect_golden("import/small.yaml", text_of(input));
    input.subnet_manager = Guid{0x0002c90300a1b2c1};
    input.node_names = nullptr;
    expect_golden("import/small-sm.yaml", text_of(input));
    expect_golden("import/grouped.yaml", text_of({golden_source("import/grouped.topology"), nullptr, nullptr, {}}));
    expect_golden("import/ports.yaml", text_of({golden_source("import/ports.topology"), nullptr, nullptr, {}}));
    expect_golden("import/partitions-only.yaml",
                  text_of({nullptr, golden_source("import/small.partitions"), nullptr, {}}));
}

TEST(ImportFabric, IsReadBack)
{
    FabricImport input = small();
    input.subnet_manager = Guid{0x0002c90300a1b2c1};
    const Fabric fabric = fabric_of(text_of(input));
    ASSERT_EQ(fabric.ports.size(), 4U);
    EXPECT_EQ(fabric.ports[0].type, NodeType::Switch);
    EXPECT_EQ(fabric.ports[0].port, 0U);
    EXPECT_EQ(fabric.ports[0].description, "leaf 1");
    EXPECT_EQ(fabric.ports[1].node_guid, Guid{0x0002c90300a1b2c0});
    EXPECT_TRUE(fabric.ports[1].subnet_manager);
    EXPECT_EQ(fabric.ports[2].description, "node2 \"quoted\", HCA-1");
    EXPECT_EQ(fabric.ports[2].port, 2U);
    EXPECT_EQ(fabric.ports[3].type, NodeType::Router);
    EXPECT_EQ(fabric.ports[3].description, "gate-north ");
}

TEST(ImportFabric, PortsHaveThePKeysOfTheirPartitions)
{
    FabricImport input = small();
    Fabric fabric = fabric_of(text_of(input));
    EXPECT_THAT(pkeys_of(fabric, 0x0002c90200400d98), ElementsAre(0x0010, 0x0013, 0x7FFF));
    EXPECT_THAT(pkeys_of(fabric, 0x0002c90300a1b2c1), ElementsAre(0x8010, 0x8012, 0x0013, 0x7FFF));
    EXPECT_THAT(pkeys_of(fabric, 0x0002c90300a1b2d2), ElementsAre(0x0010, 0x0012, 0x0013, 0x7FFF));
    EXPECT_THAT(pkeys_of(fabric, 0x0002c90300c0ffe1), ElementsAre(0x8010, 0x0013, 0x7FFF));
    input.subnet_manager = Guid{0x0002c90300a1b2c1};
    fabric = fabric_of(text_of(input));
    EXPECT_THAT(pkeys_of(fabric, 0x0002c90300a1b2c1), ElementsAre(0x8010, 0x0011, 0x8012, 0x0013, 0xFFFF));
}

TEST(ImportFabric, BroadcastGroups)
{
    const Fabric fabric = fabric_of(text_of(small()));
    const auto& standard = partition(fabric, 0x7FFF);
    EXPECT_EQ(standard.ipoib->sl, 1);
    EXPECT_EQ(standard.ipoib->mtu, IbMtu::Mtu4096);
    EXPECT_EQ(number(*standard.ipoib->rate), 16);
    EXPECT_EQ(number(*partition(fabric, 0x12).ipoib->rate), 3);
    EXPECT_FALSE(partition(fabric, 0x13).ipoib);
}

// Every rate and MTU there is.
TEST(ImportFabric, AllValuesOfGroupsAreReadBack)
{
    for (int rate = 2; rate <= 24; ++rate) {
        const int mtu = 1 + rate % 5;
        const std::string flags = fmt::format("P=1,ipoib,rate={},mtu={},sl={}:ALL;", rate, mtu, rate % 16);
        const Fabric fabric = fabric_of(text_of({nullptr, source("partitions.conf", flags), nullptr, {}}));
        EXPECT_EQ(number(*partition(fabric, 1).ipoib->rate), rate);
        EXPECT_EQ(partition(fabric, 1).ipoib->mtu, static_cast<IbMtu>(mtu));
        EXPECT_EQ(partition(fabric, 1).ipoib->sl, rate % 16);
    }
}

// Of two partitions with one name the one that OpenSM finds keeps it: 0x0100 is before 0x0001 in its table.
TEST(ImportFabric, NamesAreUniqueAndUtf8)
{
    const auto partitions = source("partitions.conf", "P=0x1:ALL;P=0x100:ALL;caf\xe9=2:ALL;partition-0001=3:ALL;");
    const std::string text = text_of({golden_source("import/small.topology"), partitions, nullptr, {}});
    const Fabric fabric = fabric_of(text);
    EXPECT_EQ(partition(fabric, 0x100).name, "P");
    EXPECT_EQ(partition(fabric, 1).name, "partition-0001-");
    EXPECT_EQ(partition(fabric, 2).name, "partition-0002");
    EXPECT_EQ(partition(fabric, 3).name, "partition-0001");
    EXPECT_THAT(text, HasSubstr("# \"caf\\xe9\" of OpenSM: no name that a fabric file can hold"));
}

TEST(ImportFabric, DescriptionsOfAnyKind)
{
    for (const std::string description : {"a: b", "#1", "'", "\\", "{x}, [y]", "- x", "*", "&a", "null", "~", "", " x ",
                                          "\"", "%", "@", "`", "yes", "0x10", "key: value # comment"}) {
        const Fabric fabric = fabric_of(
            text_of(topology("Ca 1 \"H-1\" # \"" + description + "\"\n[1](2) \"S-3\"[1]\n")));
        ASSERT_EQ(fabric.ports.size(), 1U);
        EXPECT_EQ(fabric.ports[0].description, description);
    }
}

// More P_Keys than one `[...]` may hold.
TEST(ImportFabric, APortInEveryPartition)
{
    std::string partitions;
    for (int pkey = 1; pkey < 0x7FFF; ++pkey) {
        partitions += std::to_string(pkey) + ":ALL=full;\n";
    }
    FabricImport input = small();
    input.partitions = source("partitions.conf", partitions);
    const Fabric fabric = fabric_of(text_of(input));
    EXPECT_EQ(pkeys_of(fabric, 0x0002c90300a1b2c1).size(), 0x7FFFU);
}

// Refused before it is made.
TEST(ImportFabric, WhatNobodyCouldReadIsRefused)
{
    std::string nodes;
    for (int i = 1; i <= 2'000; ++i) {
        nodes += "Ca 1 \"H-" + std::to_string(i) + "\" # \"n\"\n[1](a" + std::to_string(i) + ") \"S-1\"[1]\n";
    }
    std::string partitions;
    for (int pkey = 1; pkey < 0x7FFF; ++pkey) {
        partitions += std::to_string(pkey) + ":ALL=full;\n";
    }
    FabricImport input = topology(nodes);
    input.partitions = source("partitions.conf", partitions);
    expect_only_error(import_fabric(input), "the fabric file would have more than a million values");
    const std::string description(4000, 'd');
    std::string long_nodes;
    for (int i = 1; i <= 2'200; ++i) {
        const std::string guid = std::to_string(i);
        long_nodes += "Ca 1 \"H-" + guid + "\" # \"" + description + "\"\n[1](a" + guid + ") \"S-1\"[1]\n";
    }
    const auto result = import_fabric(topology(long_nodes));
    EXPECT_EQ(result.value, nullptr);
    EXPECT_THAT(shown(result), HasSubstr("error: the fabric file would have"));
}

TEST(ImportFabric, MistakesOfAllFilesAreToldTogether)
{
    const auto result = import_fabric({source("a", "nonsense\n"), source("b", "P=x:ALL;"), source("c", "x\n"), {}});
    EXPECT_EQ(result.value, nullptr);
    EXPECT_EQ(result.diagnostics.error_count(), 3U) << shown(result);
}

// 4xDDR and 4xQDR, as in the topology.
TEST(ImportFabric, LinksHaveTheirRates)
{
    const Fabric fabric = fabric_of(text_of(small()));
    EXPECT_FALSE(fabric.ports[0].rate);
    EXPECT_EQ(number(fabric.ports[1].rate.value()), 16);
    EXPECT_EQ(number(fabric.ports[2].rate.value()), 7);
    EXPECT_EQ(number(fabric.ports[3].rate.value()), 6);
}

TEST(ImportFabric, AnEmptyListOfPortsIsTold)
{
    const auto discovered = import_fabric(topology("Ca 1 \"H-1\" # \"a\"\n"));
    EXPECT_THAT(shown(discovered), HasSubstr("warning: the discovery has no port with a link\n"));
    const auto named = import_fabric({nullptr, source("partitions.conf", "P=1:ALL;"), nullptr, {}});
    EXPECT_THAT(shown(named), HasSubstr("warning: the partitions name no port by its GUID\n"));
}

// What is in OpenSM's place of the parameters that it does not take.
TEST(ImportFabric, GroupsThatAreNotThere)
{
    const std::string text = text_of(
        {nullptr, source("partitions.conf", "Default=0x7fff,ipoib,mtu=4096:5=full;P=1,ipoib,sl=5:5;"), nullptr, {}});
    const Fabric fabric = fabric_of(text);
    EXPECT_FALSE(partition(fabric, 0x7FFF).ipoib);
    EXPECT_THAT(text, HasSubstr("# OpenSM makes no broadcast group: `mtu=4096` has no valid value\n"));
    EXPECT_THAT(text, HasSubstr("# stated: sl; the SL is 0 unless OpenSM runs with `qos TRUE`\n"));
}

TEST(ImportFabric, ASubnetManagerElsewhereIsTold)
{
    FabricImport input = small();
    input.subnet_manager = Guid{0x77};
    const auto result = import_fabric(input);
    ASSERT_TRUE(result.value);
    EXPECT_THAT(shown(result), HasSubstr("--sm 0x0000000000000077: no such port is in the discovery"));
    // Known, so nobody has to be asked which it is.
    EXPECT_THAT(*result.value, Not(HasSubstr("--sm GUID")));
}

}    // namespace
}    // namespace rdmaqos::test
