#include "tools/rdma-qosctl/import/partitions.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/import/import_support.h"
#include "tools/rdma-qosctl/import/partition_buffer.h"

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
    EXPECT_THAT(partition.remarks,
                ElementsAre("indx0", "scope=2", "scope=5", "Q_Key=0x1", "TClass=4", "FlowLabel=9",
                            "sl=2: of paths in the partition, where OpenSM runs with QoS and without a policy",
                            "multicast group ff12:401b::16, sl=1", "multicast group ff12::1"));
    EXPECT_EQ(member(partition, 5), PartitionMembership::Limited);
    EXPECT_EQ(member(partition, 6), PartitionMembership::Limited);
}

// To OpenSM a carriage return is part of the last word. In a comment, and behind a membership, the file is taken.
TEST(Partitions, CarriageReturnsDropTheFile)
{
    for (const std::string text : {"P=1 : ALL ;\r\nQ=2 : ALL ;\r\n", "\r\n", "P=1 :\r\n ALL ;\n", "P=1 : 5,\n6\r\n;"}) {
        expect_only_error(read_table(text), "lines end with a carriage return");
    }
    expect_golden("diagnostics/partitions-carriage-return.txt", shown(read_table("P=1 : ALL ;\r\nQ=2 : ALL ;\r\n")));
    EXPECT_EQ(only("# from elsewhere\r\nP=1 : ALL ; # all\r\n").pkey, 1);
    EXPECT_EQ(
        member(with_warning(read_table("P=1 : 5=full\r\n,6;\n"), "`full\\x0d` is not a membership").partitions.at(1),
               5),
        PartitionMembership::Limited);
}

// OpenSM has no bound for where a definition ends that has nothing before its `;`: it reads what is left of a line
// before, and there it mostly finds something.
TEST(Partitions, ALoneSemicolon)
{
    const std::string message = "`;` with nothing before it on its line";
    const std::string storage = "Default=0x7fff,ipoib:ALL=full;\n"
                                "Storage=0x22,ipoib,sl=3,defmember=full:\n"
                                "    0x0002c90300bb0031,\n"
                                "    0x0002c90300bb0041\n"
                                ";\n"
                                "Compute=0x23,ipoib:\n"
                                "    0x0002c90300bb0021=full\n"
                                ";\n";
    const auto result = read_table(storage);
    EXPECT_EQ(result.value, nullptr);
    EXPECT_EQ(result.diagnostics.error_count(), 2U);
    expect_golden("diagnostics/partitions-lone-semicolon.txt", shown(result));
    for (const std::string text :
         {";", "P=1:ALL;;\n", "P=1:ALL;\n;\n", "P=1 :\n   0x5, 0x6\n \t;\n", "P=1 : 5\n; Q=2 : ALL;"}) {
        expect_only_error(read_table(text), message);
    }
    // Here nothing is left behind the `:` that became an end of text.
    const auto lucky = read_table("P=1:ALL\n;\nQ=2:ALL;\n");
    EXPECT_EQ(with_warning(lucky, message).partitions.size(), 3U);
    EXPECT_EQ(with_warning(read_table("P=1:5\n;    6\n"), message).partitions.at(1).ports.size(), 2U);
}

// A multicast group takes a flag, also if there is none: then what stands behind its `;`.
TEST(Partitions, AMulticastGroupBeforeASemicolon)
{
    expect_only_error(read_table("Partition=1 : 0x0002c90300bb0031, 0x0002c90300bb0041,\n mgid=ff12::1;\n"),
                      "`mgid` without a flag right before `;`");
    EXPECT_EQ(
        table_of("Partition=1 : 0x0002c90300bb0031, 0x0002c90300bb0041,\n mgid=ff12::1,sl=0;\n").partitions.size(), 2U);
    const auto swallowed = read_table("P=1 : mgid=ff12::1; Q=2 : ALL ;\n");
    ASSERT_TRUE(swallowed.value);
    EXPECT_EQ(swallowed.value->partitions.size(), 2U);
    expect_golden("diagnostics/partitions-multicast.txt", shown(swallowed));
}

// The definition of a line whose word is cut at OpenSM's 4,094th byte: after `count` bytes of it.
std::string split_after(std::size_t count)
{
    std::string text = "Big=0x33, ipoib : 0x0002c90311110000=full,";
    const std::string last = "0x0002c90300bb0031=full, 0x0002c90300bb0021=full;";
    text.append(PartitionBuffer::kLongestPart - count - text.size(), ' ');
    return text + last + "\n";
}

TEST(Partitions, LongLinesComeInParts)
{
    const auto blanks = read_table("P=1 : " + std::string(4100, ' ') + "ALL ;\n");
    EXPECT_EQ(
        with_warning(blanks, "OpenSM reads a line in parts of 4094 bytes: what is here begins one").partitions.size(),
        2U);
    expect_golden("diagnostics/partitions-long.txt", shown(blanks));

    const auto cut = read_table(split_after(16));
    const ConfiguredPartition partition =
        with_warning(cut, "OpenSM reads a line in parts of 4094 bytes: `0x0002c90300bb0031` is cut in two here")
            .partitions.at(1);
    EXPECT_EQ(member(partition, 0x0002c90300bb00), PartitionMembership::Limited);
    EXPECT_EQ(member(partition, 31), PartitionMembership::Full);
    EXPECT_FALSE(member(partition, 0x0002c90300bb0031));
    EXPECT_EQ(member(partition, 0x0002c90300bb0021), PartitionMembership::Full);

    const auto dropped = read_table(split_after(1));
    EXPECT_EQ(dropped.value, nullptr);
    EXPECT_EQ(dropped.diagnostics.error_count(), 2U) << shown(dropped);
    EXPECT_NE(shown(dropped).find("error: `0` is not a port\n"), std::string::npos) << shown(dropped);
    // What goes on behind a comment's 4,094th byte is none.
    const auto comment = read_table("#" + std::string(4093, '-') + " end of the list\nP=1 : ALL;\n");
    EXPECT_EQ(comment.value, nullptr);
    EXPECT_NE(shown(comment).find("the comment ends here"), std::string::npos) << shown(comment);
    EXPECT_EQ(table_of("P=1 : ALL;" + std::string(9000, ' ') + "\n").partitions.size(), 2U);
}

TEST(Partitions, WhatIsReadOtherwiseThanItLooks)
{
    const auto result = read_table("A=0x11, ipoib, rate=263 : ALL;\n"
                                   "B=0x12, ipoib, rate=71 : ALL;\n"
                                   "C=0x13, ipoib, scope=5 : ALL;\n" +
                                   split_after(16) + "#" + std::string(4094, '-') + "\n");
    EXPECT_EQ(result.value, nullptr);
    expect_golden("diagnostics/partitions-otherwise.txt", shown(result));
}

TEST(Partitions, ADefinitionThatDoesNotEnd)
{
    const auto result = read_table("Default=0x7fff,ipoib:ALL=full\nStor=0x21,ipoib:ALL_CAS=full;\n");
    expect_only_error(result, "the definition above, of `Default`, does not end with `;`");
    expect_golden("diagnostics/partitions-no-semicolon.txt", shown(result));
}

// An MTU or a rate that is none leaves a partition without its group; of a large number OpenSM keeps eight bits.
TEST(Partitions, GroupsThatOpenSMDoesNotMake)
{
    const auto result = read_table("Default=0x7fff,ipoib,mtu=4096:ALL=full;\n");
    ASSERT_TRUE(result.value);
    EXPECT_FALSE(result.value->partitions.at(0).broadcast);
    EXPECT_EQ(result.value->partitions.at(0).no_broadcast, "`mtu=4096` has no valid value");
    expect_golden("diagnostics/partitions-no-group.txt", shown(result));
    for (const std::string flags : {"rate=1", "mtu=0", "rate=x", "mtu=", "scope=5"}) {
        const auto other = read_table("P=1,ipoib," + flags + ":ALL;");
        ASSERT_TRUE(other.value) << flags;
        EXPECT_FALSE(other.value->partitions.at(1).broadcast) << flags;
        EXPECT_NE(shown(other).find("OpenSM makes no broadcast group of partition `P`"), std::string::npos) << flags;
    }
    // The flag alone is passed over, the last one counts, and another definition may make the group.
    EXPECT_EQ(read_table("P=1,ipoib,mtu:ALL;").value->partitions.at(1).broadcast->parameters.mtu, IbMtu::Mtu2048);
    EXPECT_TRUE(read_table("P=1,ipoib,mtu=2048,mtu=4:ALL;").value->partitions.at(1).broadcast);
    const auto second = read_table("P=1,ipoib,mtu=2048:ALL; P=1,ipoib:ALL; P=1,ipoib,scope=5:ALL;");
    EXPECT_TRUE(second.value->partitions.at(1).broadcast);
    EXPECT_EQ(second.value->partitions.at(1).no_broadcast, "");
    const auto wrapped = read_table("P=1,ipoib,mtu=260,scope=2:ALL;");
    EXPECT_EQ(with_warning(wrapped, "`mtu=260` is read as 4").partitions.at(1).broadcast->parameters.mtu,
              IbMtu::Mtu2048);
    EXPECT_FALSE(read_table("P=1,ipoib,rate=67:ALL;").value->partitions.at(1).broadcast->parameters.rate);
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
