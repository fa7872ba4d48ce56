#include "lib/model/senders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rdmaqos {
namespace {

using testing::ElementsAre;

const ElementPath kLeaf("/a");

std::optional<Bandwidth> rate_in_gbps(std::uint64_t rate)
{
    return Bandwidth::from_gbps(rate);
}

TEST(Senders, WhatThoseOfALeafCanSendTogether)
{
    Senders senders;
    EXPECT_EQ(senders.most(kLeaf), std::nullopt) << "nobody is there, so anybody may come";
    EXPECT_TRUE(senders.demands().empty());
    senders.add(kLeaf, rate_in_gbps(1), 3);
    senders.add(kLeaf, rate_in_gbps(5));
    EXPECT_EQ(senders.most(kLeaf), rate_in_gbps(8));
    EXPECT_EQ(senders.demands(), (Demands{{kLeaf, rate_in_gbps(8)}}));
    senders.add(kLeaf, std::nullopt, 2);
    EXPECT_EQ(senders.most(kLeaf), std::nullopt);
    EXPECT_EQ(senders.count(kLeaf), 6U);
    EXPECT_THAT(senders.rates(kLeaf), ElementsAre(rate_in_gbps(1), rate_in_gbps(1), rate_in_gbps(1), rate_in_gbps(5),
                                                  std::nullopt, std::nullopt));
    senders.add(ElementPath("/b"), std::nullopt, 0);
    EXPECT_EQ(senders.count(ElementPath("/b")), 0U);
    EXPECT_EQ(senders.demands().size(), 1U) << "no sender is no demand";
}

struct PartCase {
    const char* name;
    std::vector<std::optional<Bandwidth>> in_leaf;
    std::uint64_t of_leaf;
    std::vector<std::optional<Bandwidth>> own;
    std::uint64_t gets;
};

TEST(Senders, APartOfALeafIsByQueuePairAndByRate)
{
    const PartCase cases[] = {
        {"equal parts", {{}, {}, {}, {}}, 20, {{}, {}}, 10},
        {"the rates are reached",
         {rate_in_gbps(1), rate_in_gbps(1), rate_in_gbps(2)},
         20,
         {rate_in_gbps(1), rate_in_gbps(2)},
         3},
        {"they are not",
         {rate_in_gbps(10), rate_in_gbps(10), rate_in_gbps(10), rate_in_gbps(10)},
         20,
         {rate_in_gbps(10)},
         5},
        {"a slow one leaves the rest", {rate_in_gbps(2), {}, {}}, 20, {{}}, 9},
        {"itself it gets its rate", {rate_in_gbps(2), {}, {}}, 20, {rate_in_gbps(2)}, 2},
        {"only the slower one is held", {rate_in_gbps(2), rate_in_gbps(15), {}}, 20, {rate_in_gbps(15)}, 9},
        {"all of them", {rate_in_gbps(2), rate_in_gbps(15), {}}, 20, {rate_in_gbps(2), rate_in_gbps(15), {}}, 20},
        {"nothing is nothing", {rate_in_gbps(2), {}}, 0, {rate_in_gbps(2)}, 0},
    };
    for (const auto& [name, in_leaf, of_leaf, own, gets] : cases) {
        Senders senders;
        for (const auto& rate : in_leaf) {
            senders.add(kLeaf, rate);
        }
        EXPECT_EQ(senders.part(kLeaf, Bandwidth::from_gbps(of_leaf), own), Bandwidth::from_gbps(gets)) << name;
    }
}

}    // namespace
}    // namespace rdmaqos
