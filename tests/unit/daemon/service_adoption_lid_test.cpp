// The path of a queue pair whose address vector has no GIDs, and what is said where it leads nowhere.
#include "daemon/service/adoption_path.h"

#include <gmock/gmock.h>

#include "policy/match/adoption.h"
#include "tests/unit/daemon/adoption_fixture.h"
#include "tests/unit/match/policy_dsl.h"

namespace rdmaqos {
namespace {

using namespace test;
using testing::HasSubstr;
using testing::Pair;

DeviceInfo port_of(LinkLayer link_layer)
{
    DeviceInfo info;
    info.name = "mlx5_0";
    info.port_guid = Guid{0x11};
    info.link_layer = link_layer;
    return info;
}

FoundQueuePair to_lid(std::uint16_t lid)
{
    FoundQueuePair found;
    found.destination_lid = lid;
    return found;
}

Request path_of(const FoundQueuePair& found, LinkLayer link_layer = LinkLayer::InfiniBand)
{
    Request path;
    take_ends(found, port_of(link_layer), path);
    return path;
}

TEST(AdoptionPath, WithoutGidsItIsFromThePortToALid)
{
    EXPECT_EQ(path_of(to_lid(17)).source, Endpoint(Guid{0x11}));
    EXPECT_EQ(path_of(to_lid(17)).destination, Endpoint(Lid{17}));
    EXPECT_EQ(path_of(to_lid(0)), Request{}) << "a datagram queue pair";
    EXPECT_EQ(path_of(to_lid(0xC000)), Request{}) << "a multicast LID is nobody's";
    EXPECT_EQ(path_of(to_lid(17), LinkLayer::Ethernet), Request{}) << "there are none on RoCE";
    DeviceInfo info = port_of(LinkLayer::InfiniBand);
    info.port_guid = Guid{};
    Request path;
    take_ends(to_lid(17), info, path);
    EXPECT_EQ(path.source, std::nullopt);
}

TEST(AdoptionPath, GidsGoFirst)
{
    FoundQueuePair found = to_lid(17);
    found.source = gid("fe80::22");
    found.destination = gid("fe80::77");
    EXPECT_EQ(path_of(found).source, Endpoint(gid("fe80::22")));
    EXPECT_EQ(path_of(found).destination, Endpoint(gid("fe80::77")));
    found.source.reset();
    EXPECT_EQ(path_of(found).source, std::nullopt);
    EXPECT_EQ(path_of(found).destination, Endpoint(gid("fe80::77")));
}

class AdoptionOfLids : public testing::Test {
protected:
    AdoptionOfLids()
    {
        policy.level("storage", [](QosLevel& l) { l.schedule.emplace(); });
        policy.level("local", [](QosLevel& l) { l.schedule.emplace(); });
        policy.group("target", [](PortGroup& g) { g.port_guids = number(0x77); });
        policy.group("here", [](PortGroup& g) { g.port_guids = number(0x11); });
        policy.rule("storage", [](MatchRule& r) { r.destination = {0}; });
        policy.rule("local", [](MatchRule& r) { r.source = r.destination = {1}; });
        policy.fabric.ports = {ca_port(0x77, "target"), ca_port(0x11, "here")};
        policy.fabric.ports[0].lids = LidRange{{16}, 2};
        policy.fabric.ports[1].lids = LidRange{{4}, 0};
    }
    // "storage", or why not.
    std::string outcome_of(std::uint16_t lid)
    {
        const Matcher matcher(policy.policy, policy.resolved());
        const Request path = path_of(to_lid(lid));
        const auto choice = choose_for_adoption(matcher, path, somebody(), true);
        return choice.verdict == AdoptionVerdict::Adopt ? choice.match.level->name : unknown_lid(matcher, path);
    }

    TestPolicy policy;
};

TEST_F(AdoptionOfLids, TheFabricFileSaysWhoseTheyAre)
{
    EXPECT_EQ(outcome_of(16), "storage");
    EXPECT_EQ(outcome_of(19), "storage");
    EXPECT_EQ(outcome_of(4), "local") << "its own port's";
    policy.fabric.ports.push_back(ca_port(0x99, "other"));
    policy.fabric.ports.back().lids = LidRange{{20}, 0};
    EXPECT_EQ(outcome_of(20), "") << "whose it is is known, and no rule is about it";
}

TEST_F(AdoptionOfLids, WhatTheFileDoesNotKnowIsNotGuessed)
{
    EXPECT_EQ(outcome_of(20), "its destination is LID 20, which fabric.yaml does not know; `rdma-qosctl import-fabric` "
                              "writes the LIDs of the subnet into it");
    EXPECT_EQ(outcome_of(0), "") << "it has no destination";
    policy.fabric.ports.clear();
    EXPECT_THAT(outcome_of(16), HasSubstr("LID 16"));
}

// It would have changed nothing.
TEST_F(AdoptionOfLids, WithoutARuleThatAsksNothingIsSaidOfIt)
{
    policy.policy.levels[1].schedule.reset();
    policy.policy.rules.pop_back();
    EXPECT_EQ(outcome_of(20), "");
    policy.policy.rules.clear();
    EXPECT_EQ(outcome_of(20), "");
}

class ServiceAdoptionLid : public AdoptionFixture {
protected:
    void fabric(const std::string& ports)
    {
        root.write("/etc/rdma-qos/fabric.yaml", "version: 1\nports: [" + ports + "]\n");
        bool done = false;
        service->fabric().reread([&done] { done = true; });
        EXPECT_TRUE(until([&done] { return done; }));
        rest();
    }
};

TEST_F(ServiceAdoptionLid, WhoIsConnectedFollowsTheFabricFile)
{
    begin();
    DeviceInfo info = new_device("ib0");
    info.link_layer = LinkLayer::InfiniBand;
    auto model = std::make_unique<ModelBackend>(info, default_capabilities());
    service->device_control().add(std::make_unique<NicOfPrograms>(std::move(model), programs));
    settle();
    const auto seen = make(program(100, "talker"), 17, 0, "ib0");
    programs->change({"ib0", 17}, [](auto& each) { each.found.destination_lid = 33; });
    const auto is_unknown = Pair(kNoRule, HasSubstr("its destination is LID 33, which fabric.yaml does not know"));
    tell({seen});
    ASSERT_TRUE(gets_word(kNoRule, seen));
    EXPECT_THAT(listed(seen), is_unknown);

    const int told = watch->told_again;
    fabric("{guid: 0x50, lid: 32, lmc: 1}");
    EXPECT_GT(watch->told_again, told);
    tell({seen});
    EXPECT_TRUE(comes_into("/bulk", 17, "ib0/1"));

    fabric("{guid: 0x50, lid: 32}");
    EXPECT_TRUE(until([&] { return !adopted(); }));
    EXPECT_THAT(listed(seen), is_unknown);
    fabric("{guid: 0x50, lid: 32}, {guid: 0x51, lid: 33}");
    tell({seen});
    ASSERT_TRUE(gets_word(kNoRule, seen));
    EXPECT_THAT(listed(seen), Pair(kNoRule, "")) << "whose it is is known, and no rule is about it";
}

}    // namespace
}    // namespace rdmaqos
