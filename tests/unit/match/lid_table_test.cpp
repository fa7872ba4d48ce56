#include "policy/model/lid_table.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace rdmaqos::test {
namespace {

FabricPort port(std::uint64_t guid, std::optional<LidRange> lids)
{
    FabricPort made;
    made.guid = Guid{guid};
    made.lids = lids;
    return made;
}

TEST(LidTable, EachOfAPortsLidsIsFound)
{
    const LidTable table(Fabric{
        {port(1, LidRange{{4}, 0}), port(2, LidRange{{16}, 2}), port(3, std::nullopt), port(4, LidRange{{0xBF80}, 7})},
        {}});
    struct Case {
        std::uint16_t lid;
        std::uint64_t guid;    // 0: nobody's
    };
    for (const auto& [lid, guid] :
         {Case{0, 0}, Case{3, 0}, Case{4, 1}, Case{5, 0}, Case{15, 0}, Case{16, 2}, Case{18, 2}, Case{19, 2},
          Case{20, 0}, Case{0xBF7F, 0}, Case{0xBF80, 4}, Case{0xBFFF, 4}, Case{0xC000, 0}, Case{0xFFFF, 0}}) {
        EXPECT_EQ(table.find(Lid{lid}), guid == 0 ? std::nullopt : std::optional(Guid{guid})) << lid;
    }
}

TEST(LidTable, WhatIsTakenIsNotGivenAgain)
{
    LidTable table;
    EXPECT_EQ(table.add({{16}, 2}, Guid{1}), std::nullopt);
    EXPECT_EQ(table.add({{16}, 2}, Guid{1}), std::nullopt);    // the ports of a switch
    EXPECT_EQ(table.add({{16}, 2}, Guid{2}), Guid{1});
    EXPECT_EQ(table.add({{16}, 1}, Guid{1}), Guid{1});
    EXPECT_EQ(table.add({{19}, 0}, Guid{2}), Guid{1});
    EXPECT_EQ(table.add({{16}, 3}, Guid{2}), Guid{1});
    EXPECT_EQ(table.add({{20}, 2}, Guid{2}), std::nullopt);
    EXPECT_EQ(table.add({{15}, 0}, Guid{3}), std::nullopt);
    EXPECT_EQ(table.add({{0}, 5}, Guid{4}), Guid{3});    // contains all three
    EXPECT_EQ(table.find(Lid{19}), Guid{1});
    EXPECT_EQ(table.find(Lid{20}), Guid{2});
    EXPECT_EQ(table.find(Lid{24}), std::nullopt);
}

TEST(LidTable, IsTheSameInAnyOrder)
{
    Fabric fabric;
    for (std::uint16_t i = 0; i < 1000; ++i) {
        fabric.ports.push_back(
            port(i + 1U, LidRange{{static_cast<std::uint16_t>(8 + 8 * i)}, static_cast<std::uint8_t>(i % 4)}));
    }
    const LidTable table(fabric);
    std::shuffle(fabric.ports.begin(), fabric.ports.end(), std::mt19937(1));
    EXPECT_EQ(LidTable(fabric), table);
    fabric.ports.pop_back();
    EXPECT_NE(LidTable(fabric), table);
}

// Of ranges put in one after the other: a LID is of the port that asked first, and of no other.
TEST(LidTable, AgreesWithALookAtAllPorts)
{
    EXPECT_TRUE(rc::check("the table finds what the fabric finds", [] {
        Fabric fabric;
        LidTable table;
        const auto count = *rc::gen::inRange(0, 40);
        for (int i = 0; i < count; ++i) {
            const auto lmc = *rc::gen::inRange<std::uint8_t>(0, 4);
            const auto base = static_cast<std::uint16_t>(*rc::gen::inRange(1, 20) << lmc);
            const Guid guid{static_cast<std::uint64_t>(i + 1)};
            if (!table.add({{base}, lmc}, guid)) {
                fabric.ports.push_back(port(guid.value, LidRange{{base}, lmc}));
            }
        }
        RC_ASSERT(LidTable(fabric) == table);
        for (std::uint16_t lid = 0; lid < 200; ++lid) {
            const auto* found = fabric.find_lid(Lid{lid});
            RC_ASSERT(table.find(Lid{lid}) == (found == nullptr ? std::nullopt : std::optional(found->guid)));
        }
    }));
}

}    // namespace
}    // namespace rdmaqos::test
