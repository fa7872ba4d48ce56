#include "tools/rdma-qosctl/import/partitions.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/import/import_support.h"

namespace rdmaqos::test {
namespace {

using testing::ElementsAre;

constexpr auto kCa = static_cast<std::size_t>(NodeType::Ca);
constexpr auto kSwitch = static_cast<std::size_t>(NodeType::Switch);
constexpr auto kRouter = static_cast<std::size_t>(NodeType::Router);

ReadResult<PartitionTable> read_table(const std::string& text)
{
    return read_partitions(source("partitions.conf", text));
}

PartitionTable table_of(const std::string& text)
{
    return good(read_table(text));
}

// The one partition beside Default.
ConfiguredPartition only(const PartitionTable& table)
{
    EXPECT_EQ(table.partitions.size(), 2U);
    return table.partitions.empty() ? ConfiguredPartition{} : table.partitions.back();
}

ConfiguredPartition only(const std::string& text)
{
    return only(table_of(text));
}

std::optional<PartitionMembership> member(const ConfiguredPartition& partition, std::uint64_t guid)
{
    const auto found = partition.ports.find(guid);
    return found == partition.ports.end() ? std::nullopt : std::optional(found->second.membership);
}

TEST(Partitions, DefaultIsThereBeforeTheFile)
{
    const PartitionTable table = table_of("Default=0x7fff : 0x5=full ;");
    ASSERT_EQ(table.partitions.size(), 1U);
    const ConfiguredPartition& standard = table.partitions[0];
    EXPECT_EQ(standard.name, "Default");
    EXPECT_EQ(standard.pkey, 0x7FFF);
    EXPECT_EQ(standard.by_type[kRouter]->membership, PartitionMembership::Limited);
    EXPECT_EQ(standard.subnet_manager->membership, PartitionMembership::Full);
    EXPECT_GT(standard.subnet_manager->order, standard.by_type[kCa]->order);
    EXPECT_EQ(member(standard, 5), PartitionMembership::Full);
    EXPECT_FALSE(standard.broadcast);
}

TEST(Partitions, WithoutAFileAllAreFullMembers)
{
    const PartitionTable table = default_partitions();
    ASSERT_EQ(table.partitions.size(), 1U);
    EXPECT_EQ(table.partitions[0].by_type[kSwitch]->membership, PartitionMembership::Full);
    EXPECT_EQ(table.partitions[0].broadcast->parameters.mtu, IbMtu::Mtu2048);
    // A file without a definition is none.
    const auto empty = read_table("# nothing\n");
    EXPECT_EQ(with_warning(empty, "there is no partition in this file").partitions[0].by_type[kCa]->membership,
              PartitionMembership::Full);
}

TEST(Partitions, HeadersWithBlanksAndAbbreviations)
{
    const auto partition = only("  My Part = 0x8010 ,ipo, rate = 6,m=5 , sl= 3 ,def=fu:0x5 , 0x6 = limi;");
    EXPECT_EQ(partition.name, "My Part");
    EXPECT_EQ(partition.pkey, 0x10);
    ASSERT_TRUE(partition.broadcast);
    EXPECT_EQ(partition.broadcast->parameters.sl, 3);
    EXPECT_EQ(partition.broadcast->parameters.mtu, IbMtu::Mtu4096);
    EXPECT_EQ(number(*partition.broadcast->parameters.rate), 6);
    EXPECT_EQ(partition.broadcast->stated, "rate, mtu, sl");
    EXPECT_EQ(member(partition, 5), PartitionMembership::Full);
    EXPECT_EQ(member(partition, 6), PartitionMembership::Limited);
}

TEST(Partitions, GroupDefaultsAreThoseOfOpenSM)
{
    const auto partition = only("P=1,ipoib:ALL;");
    EXPECT_EQ(partition.broadcast->parameters.sl, 0);
    EXPECT_EQ(partition.broadcast->parameters.mtu, IbMtu::Mtu2048);
    EXPECT_EQ(number(*partition.broadcast->parameters.rate), 3);
    EXPECT_EQ(partition.broadcast->stated, "");
    EXPECT_FALSE(only("P=1,rate=3:ALL;").broadcast);
}

TEST(Partitions, PortsGoOnOverLines)
{
    const PartitionTable table = table_of("P=0x1 :\n 0x5=full, # first\n\n 0x6\n ,0x7=full; Q=0x2 : 8 ;R=3:9;\n");
    ASSERT_EQ(table.partitions.size(), 4U);
    EXPECT_EQ(table.partitions[1].ports.size(), 3U);
    EXPECT_EQ(member(table.partitions[1], 6), PartitionMembership::Limited);
    EXPECT_EQ(member(table.partitions[1], 7), PartitionMembership::Full);
    EXPECT_EQ(member(table.partitions[2], 8), PartitionMembership::Limited);
    EXPECT_EQ(table.partitions[3].pkey, 3);
}

TEST(Partitions, WordsForManyPorts)
{
    const auto partition = only("P=1 : ALL, ALL_CAS=full, ALL_SW, ALL_ROUTERS=full, SELF=full, NONE;");
    EXPECT_EQ(partition.by_type[kCa]->membership, PartitionMembership::Full);
    EXPECT_EQ(partition.by_type[kSwitch]->membership, PartitionMembership::Limited);
    EXPECT_EQ(partition.by_type[kRouter]->membership, PartitionMembership::Full);
    EXPECT_EQ(partition.subnet_manager->membership, PartitionMembership::Full);
    EXPECT_LT(partition.by_type[kCa]->order, partition.subnet_manager->order);
    // The first word that it can begin.
    EXPECT_EQ(only("P=1 : A=full;").by_type[kRouter]->membership, PartitionMembership::Full);
    EXPECT_FALSE(only("P=1 : ALL_=full;").by_type[kRouter]);
}

TEST(Partitions, DefinitionsOfOnePKeyAddUp)
{
    const auto partition = only("P=1,ipoib,defmember=full : 5;\nP=0x8001 : 6 ;\n");
    EXPECT_EQ(member(partition, 5), PartitionMembership::Full);
    EXPECT_EQ(member(partition, 6), PartitionMembership::Limited);
    const auto later = only("P=1 : 5=full, 5;");
    EXPECT_EQ(member(later, 5), PartitionMembership::Limited);
}

TEST(Partitions, NumbersAreThoseOfC)
{
    EXPECT_EQ(only("010 : ALL;").pkey, 8);
    EXPECT_EQ(only("010 : ALL;").name, "0008");
    EXPECT_EQ(only("=0x10 : ALL;").name, "0010");
    EXPECT_EQ(member(only("P=1 : 010;"), 8), PartitionMembership::Limited);
}

TEST(Partitions, APKeyIsMadeWhereNoneIsStated)
{
    const PartitionTable table = *read_table("P=1:ALL; Q:ALL; Q:SELF; R=0x8000:ALL;").value;
    ASSERT_EQ(table.partitions.size(), 4U);
    EXPECT_EQ(table.partitions[2].name, "Q");
    EXPECT_EQ(table.partitions[2].pkey, 2);
    EXPECT_TRUE(table.partitions[2].subnet_manager);
    EXPECT_EQ(table.partitions[3].pkey, 3);
    std::string many = "Default : SELF ;";
    for (int i = 1; i <= 0x7FFE; ++i) {
        many += std::to_string(i) + ":5;\n";
    }
    EXPECT_EQ(table_of(many).partitions.size(), 0x7FFFU);
    const auto full = read_table(many + "One more : ALL ;");
    expect_only_error(full, "no P_Key is left for a partition without one");
    expect_golden("diagnostics/partitions-full.txt", shown(full));
}

TEST(Partitions, WhatIsNotCarriedOverIsRemarked)
{
    const auto partition = only("P=1,indx0,scope=2,scope=5,Q_Key=0x1,TClass=4,FlowLabel=9,sl=2 :\n"
                                " 5, mgid=ff12:401b::16,sl=1 # IGMP\n mgid=ff12::1\n 6;");
    EXPECT_THAT(partition.remarks, ElementsAre("indx0", "scope=2", "scope=5", "Q_Key=0x1", "TClass=4", "FlowLabel=9",
                                               "sl=2: of paths in the partition where no QoS policy is in force",
                                               "multicast group ff12:401b::16, sl=1", "multicast group ff12::1"));
    EXPECT_EQ(member(partition, 5), PartitionMembership::Limited);
    EXPECT_EQ(member(partition, 6), PartitionMembership::Limited);
}

TEST(Partitions, CarriageReturnsAreToldOnce)
{
    const auto result = read_table("P=1 : ALL ;\r\nQ=2 : ALL ;\r\n");
    EXPECT_EQ(with_warning(result, "lines end with a carriage return").partitions.size(), 3U);
    expect_golden("diagnostics/partitions-carriage-return.txt", shown(result));
}

TEST(Partitions, LongLinesAreTold)
{
    const auto result = read_table("P=1 : " + std::string(4100, ' ') + "ALL ;\n");
    EXPECT_EQ(result.diagnostics.warning_count(), 1U);
    expect_golden("diagnostics/partitions-long.txt", shown(result));
}

TEST(Partitions, MistakesAreShownWhereTheyAre)
{
    expect_golden_diagnostics("diagnostics/partitions.partitions", read_partitions);
}

TEST(Partitions, ManySpecifiersTakeLinearTime)
{
    std::string text = "P=1 : 5";
    for (int i = 0; i < 200'000; ++i) {
        text += ",ALL=full,\nALL_CAS";
    }
    EXPECT_EQ(only(text + ";").by_type[kCa]->membership, PartitionMembership::Limited);
}

}    // namespace
}    // namespace rdmaqos::test
