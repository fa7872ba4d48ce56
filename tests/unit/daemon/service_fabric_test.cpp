// Service: groups are looked up again when the fabric file or the ports of this host change.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>

#include "daemon/device/device_names.h"
#include "tests/support/journal.h"
#include "tests/support/service_fixture.h"

namespace rdmaqos {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kFabricPolicy = R"(version: 1
port-groups:
  - {name: storage, port-name: ["target HCA-1/P1"]}
  - {name: tenant, pkey: [0x12]}
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: rpc, schedule: {share: 60}}
  - {name: bulk, schedule: {share: 30}}
qos-match-rules:
  - {destination: [storage], qos-level-name: rpc}
  - {source: [tenant], qos-level-name: bulk}
)";
constexpr const char* kTarget = "version: 1\nports: [{guid: 0x77, description: target HCA-1}]\n";
constexpr const char* kOtherName = "version: 1\nports: [{guid: 0x77, description: other HCA-1}]\n";

class ServiceFabricTest : public test::ServiceFixture, public ServiceObserver {
protected:
    void SetUp() override { policy(kFabricPolicy); }
    void TearDown() override { service.reset(); }    // before the journal goes

    void fabric(const std::string& text) { root.write("/etc/rdma-qos/fabric.yaml", text); }
    void reread()
    {
        bool done = false;
        service->fabric().reread([&done] { done = true; });
        EXPECT_TRUE(loop.run_until([&done] { return done; }));
        settle();
    }
    // A session with queue pair 1, to the port that the fabric file may call a storage target.
    SessionId to_target()
    {
        auto request = asking_for("", "mlx5_0", {1});
        request.request.destination = Guid{0x77};
        const auto reply = register_as(PeerId{1}, process(1), request);
        EXPECT_TRUE(reply);
        return reply->session;
    }
    std::string level_of(SessionId id) { return service->sessions().with_queue_pairs(id)->grant.level; }
    std::string leaf_of(SessionId id) { return service->sessions().with_queue_pairs(id)->queue_pairs.at(0).leaf; }

    void session_changed(SessionId id, bool grant_changed) override
    {
        if (grant_changed) {
            new_grants.push_back(id);
        }
    }
    void policy_changed() override { ++policies; }
    void fabric_changed() override { ++fabrics; }

    [[nodiscard]] std::ptrdiff_t times_logged(std::string_view start) const
    {
        const auto lines = journal.lines();
        return std::count_if(lines.begin(), lines.end(),
                             [&](const std::string& line) { return line.starts_with(start); });
    }

    test::Journal journal;
    std::vector<SessionId> new_grants;
    int policies = 0;
    int fabrics = 0;
};

// The policy stays, and yet the level goes away.
TEST_F(ServiceFabricTest, ANewNameMayLeaveASessionWithoutALevel)
{
    policy(R"(version: 1
port-groups: [{name: storage, port-name: ["target HCA-1/P1"]}]
qos-levels:
  - {name: DEFAULT, allow: {unit: [other.service]}}
  - {name: rpc, schedule: {share: 60}}
qos-match-rules: [{destination: [storage], qos-level-name: rpc}]
)");
    fabric(kTarget);
    start();
    add_device("mlx5_0");
    const SessionId session = to_target();
    ASSERT_EQ(level_of(session), "rpc");
    fabric(kOtherName);
    reread();
    const auto lost = service->sessions().with_queue_pairs(session)->grant.lost;
    ASSERT_NE(lost, nullptr);
    EXPECT_EQ(lost->reason, LossReason::NoRule);
    EXPECT_THAT(service->sessions().with_queue_pairs(session)->grant.reason,
                StartsWith("it has no level since the change of the fabric or of ports of "));
    EXPECT_THAT(journal.lines(),
                Contains(StartsWith("no rule leads to level rpc: 1 session with 1 queue pair loses it")));
    fabric(kTarget);
    reread();
    EXPECT_EQ(level_of(session), "rpc");
}

TEST_F(ServiceFabricTest, ANewNameInTheFabricFileMovesASessionAndItsQueuePair)
{
    fabric(kOtherName);
    start().context().add_observer(*this);
    ModelBackend& nic = add_device("mlx5_0");
    const SessionId session = to_target();
    ASSERT_EQ(level_of(session), "DEFAULT");
    EXPECT_EQ(leaf_of(session), "");
    nic.clear_log();
    new_grants.clear();

    fabric(kTarget);
    reread();
    EXPECT_EQ(level_of(session), "rpc");
    EXPECT_EQ(leaf_of(session), "/rpc");
    EXPECT_EQ(new_grants, std::vector{session});
    EXPECT_EQ(policies, 0) << "the policy is the same";
    EXPECT_THAT(writes(nic), ElementsAre(StartsWith("attach queue pair 1: requester #")));
    EXPECT_THAT(journal.lines(),
                Contains(HasSubstr("the fabric changed: 1 of 2 port groups with other members, 1 session")));

    fabric(kOtherName);
    reread();
    EXPECT_EQ(level_of(session), "DEFAULT");
    EXPECT_EQ(leaf_of(session), "");
}

// No group has other members, but a destination is another port.
TEST_F(ServiceFabricTest, AnotherPortWithALidMovesWhoIsConnectedToIt)
{
    fabric("version: 1\nports: [{guid: 0x77, description: target HCA-1}]\n");
    start().context().add_observer(*this);
    add_device("mlx5_0");
    auto request = asking_for("", "mlx5_0", {1});
    request.request.destination = Lid{17};
    const auto reply = register_as(PeerId{1}, process(1), request);
    ASSERT_TRUE(reply);
    ASSERT_EQ(level_of(reply->session), "DEFAULT");

    fabric("version: 1\nports: [{guid: 0x77, description: target HCA-1, lid: 16, lmc: 1}]\n");
    reread();
    EXPECT_EQ(level_of(reply->session), "rpc");
    EXPECT_EQ(leaf_of(reply->session), "/rpc");

    fabric("version: 1\nports: [{guid: 0x77, description: target HCA-1, lid: 18}, {guid: 0x78, lid: 17}]\n");
    reread();
    EXPECT_EQ(level_of(reply->session), "DEFAULT");
    EXPECT_EQ(leaf_of(reply->session), "");
}

TEST_F(ServiceFabricTest, AFileThatChangesNoGroupWritesNothing)
{
    fabric(kTarget);
    start().context().add_observer(*this);
    ModelBackend& nic = add_device("mlx5_0");
    const SessionId session = to_target();
    ASSERT_EQ(level_of(session), "rpc");
    nic.clear_log();
    new_grants.clear();
    fabric(std::string(kTarget) + "partitions: [{name: far, pkey: 0x99}]\n");
    reread();
    EXPECT_THAT(writes(nic), IsEmpty());
    EXPECT_THAT(new_grants, IsEmpty());
    EXPECT_THAT(journal.lines(), Contains(HasSubstr("the fabric file was read again: 1 port and 1 partition")));
    EXPECT_THAT(journal.lines(), Not(Contains(HasSubstr("other members"))));
}

TEST_F(ServiceFabricTest, AFileThatIsGoneIsAnEmptyFabricAndSaysSo)
{
    fabric(kTarget);
    start();
    add_device("mlx5_0");
    const SessionId session = to_target();
    ASSERT_EQ(level_of(session), "rpc");
    std::filesystem::remove(service->fabric().file());
    reread();
    EXPECT_EQ(level_of(session), "DEFAULT");
    EXPECT_TRUE(service->in_force().fabric_diagnostics.empty());
    EXPECT_THAT(journal.lines(),
                Contains(HasSubstr("the fabric file is gone: nothing is known of the fabric anymore")));
}

TEST_F(ServiceFabricTest, ABrokenFileKeepsWhatWasKnownAndIsToldOnce)
{
    fabric(kTarget);
    start().context().add_observer(*this);
    ModelBackend& nic = add_device("mlx5_0");
    const SessionId session = to_target();
    nic.clear_log();
    fabric("version: 1\nports: [{guid: 0x77, descripton: x}]\n");
    reread();
    reread();
    EXPECT_EQ(level_of(session), "rpc");
    EXPECT_THAT(writes(nic), IsEmpty());
    EXPECT_THAT(render(service->in_force().fabric_diagnostics, Colour::Off),
                HasSubstr("fabric.yaml:2:22: error: unknown key `descripton`"));
    EXPECT_EQ(fabrics, 1);
    EXPECT_EQ(times_logged("the fabric file cannot be used; the fabric known so far stays in use:"), 1);

    fabric(kTarget);
    reread();
    EXPECT_TRUE(service->in_force().fabric_diagnostics.empty());
    EXPECT_EQ(fabrics, 2);
    EXPECT_THAT(journal.lines(), Contains(HasSubstr("can be used again")));
}

TEST_F(ServiceFabricTest, ABrokenFileAtTheStartIsNoReasonToBeWithoutThePolicy)
{
    fabric("version: 1\nports: 7\n");
    start();
    EXPECT_TRUE(started.accepted);
    EXPECT_TRUE(service->in_force().policy());
    EXPECT_TRUE(service->in_force().last_reload.accepted);
    EXPECT_THAT(render(service->in_force().fabric_diagnostics, Colour::Off), HasSubstr("fabric.yaml:2:8: error"));
    add_device("mlx5_0");
    const SessionId session = to_target();
    EXPECT_EQ(level_of(session), "DEFAULT");
    fabric(kTarget);
    reread();
    EXPECT_TRUE(service->in_force().fabric_diagnostics.empty());
    EXPECT_EQ(level_of(session), "rpc");
}

TEST_F(ServiceFabricTest, OnlyAFileThatWasTouchedIsReadAgain)
{
    fabric(kTarget);
    start();
    add_device("mlx5_0");
    const auto look = [this] {
        bool done = false;
        service->fabric().look([&done] { done = true; });
        EXPECT_TRUE(loop.run_until([&done] { return done; }));
    };
    journal.clear();
    look();
    EXPECT_THAT(journal.lines(), IsEmpty());
    root.write("/etc/rdma-qos/new", kOtherName);
    std::filesystem::rename(root.path() / "etc/rdma-qos/new", service->fabric().file());
    look();
    EXPECT_THAT(journal.lines(), Contains(HasSubstr("the fabric file was read again")));
}

TEST_F(ServiceFabricTest, AReloadThatIsAcceptedClearsTheError)
{
    fabric("version: 1\nports: 7\n");
    start();
    EXPECT_FALSE(reload().accepted) << "a reload is all or nothing";
    fabric(kTarget);
    EXPECT_TRUE(reload().accepted);
    EXPECT_TRUE(service->in_force().fabric_diagnostics.empty());
}

class ServicePortsTest : public ServiceFabricTest {
protected:
    // From whatever port of this host is in partition 0x12.
    SessionId from_port(ModelBackend& nic)
    {
        auto request = asking_for("", "mlx5_0", {1});
        request.request.source = nic.info().port_guid;
        const auto reply = register_as(PeerId{1}, process(1), request);
        EXPECT_TRUE(reply);
        return reply->session;
    }
    void wait_for_ports()
    {
        settle();    // it has said that it changed
        settle();    // it has been asked how
        loop.advance(std::chrono::milliseconds(100));
        settle();
    }
};

TEST_F(ServicePortsTest, AP_KeyThatALocalPortGainsCounts)
{
    start().context().add_observer(*this);
    ModelBackend& nic = add_device("mlx5_0");
    const SessionId session = from_port(nic);
    ASSERT_EQ(level_of(session), "DEFAULT");
    nic.clear_log();
    new_grants.clear();
    nic.set_addresses({}, {0xffff, 0x8012}, "host HCA-1");
    wait_for_ports();
    EXPECT_EQ(level_of(session), "bulk");
    EXPECT_EQ(leaf_of(session), "/bulk");
    EXPECT_EQ(new_grants, std::vector{session});
    EXPECT_THAT(journal.lines(),
                Contains(HasSubstr("ports of this host changed: 1 of 2 port groups with other members")));
    nic.set_addresses({}, {0xffff}, "host HCA-1");
    wait_for_ports();
    EXPECT_EQ(level_of(session), "DEFAULT");
}

TEST_F(ServicePortsTest, ABurstIsTakenAtOnce)
{
    start();
    ModelBackend& nic = add_device("mlx5_0");
    from_port(nic);
    journal.clear();
    constexpr std::uint16_t kTables[] = {0x8011, 0x8012, 0x8013, 0x8012};
    for (const std::uint16_t pkey : kTables) {
        nic.set_addresses({}, {pkey}, "host");
    }
    wait_for_ports();
    EXPECT_EQ(times_logged("ports of this host changed"), 1);
}

TEST_F(ServicePortsTest, ALinkThatChangesMovesNobody)
{
    start();
    ModelBackend& nic = add_device("mlx5_0");
    const SessionId session = from_port(nic);
    journal.clear();
    nic.set_link(Bandwidth::from_gbps(100), false);
    wait_for_ports();
    EXPECT_EQ(level_of(session), "DEFAULT");
    EXPECT_THAT(journal.lines(), Contains(HasSubstr("link down")));
    EXPECT_THAT(journal.lines(), Not(Contains(HasSubstr("other members"))));
}

TEST_F(ServicePortsTest, WhatIsSeenToDifferIsAskedEvenWithoutAnEvent)
{
    start();
    ModelBackend& nic = add_device("mlx5_0");
    const SessionId session = from_port(nic);
    nic.set_event_handler({});
    nic.set_addresses({}, {0x8012}, "host");
    wait_for_ports();
    ASSERT_EQ(level_of(session), "DEFAULT");
    service->device_control().port_changed({nic.info().node_guid, nic.info().port});
    wait_for_ports();
    EXPECT_EQ(level_of(session), "bulk");
}

constexpr const char* kFromHere = R"(version: 1
port-groups: [{name: here, node-type: [SELF]}]
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: rpc, schedule: {share: 60}}
qos-match-rules: [{source: [here], qos-level-name: rpc}]
)";

TEST_F(ServicePortsTest, SessionsFollowADeviceThatComesAndGoes)
{
    policy(kFromHere);
    start();
    add_device("mlx5_0");
    auto request = asking_for("", "mlx5_0", {1});
    request.request.source = Guid{0x11001};    // of the second device
    const auto reply = register_as(PeerId{1}, process(1), request);
    ASSERT_TRUE(reply);
    ASSERT_EQ(level_of(reply->session), "DEFAULT");
    add_device("mlx5_1");
    EXPECT_EQ(level_of(reply->session), "rpc");
    EXPECT_EQ(leaf_of(reply->session), "/rpc");
    service->device_control().remove("mlx5_1/1");
    settle();
    EXPECT_EQ(level_of(reply->session), "DEFAULT");
}

TEST_F(ServicePortsTest, APortIsTheSourceOfWhatLeavesByIt)
{
    policy(kFromHere);
    start();
    add_device("mlx5_0");
    const auto reply = register_as(PeerId{1}, process(1), asking_for("", "mlx5_0", {1}));
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->queue_pairs.at(0).level, "rpc");
    EXPECT_EQ(reply->queue_pairs.at(0).leaf, "/rpc");
    auto elsewhere = queue_pair("mlx5_0", 2);
    elsewhere.path.source = Guid{0x99};    // as the program says
    elsewhere.has_path = true;
    const auto attached = answer<std::vector<QueuePairResult>>(
        [&](auto done) { service->session_calls().attach(PeerId{1}, reply->session, {elsewhere}, std::move(done)); });
    ASSERT_TRUE(attached);
    EXPECT_EQ(attached->at(0).level, "DEFAULT");
    ASSERT_TRUE(reload().accepted);
    settle();
    EXPECT_EQ(answer<std::vector<QueuePairResult>>([&](auto done) {
                  service->session_calls().attach(PeerId{1}, reply->session, {queue_pair("mlx5_0", 1)},
                                                  std::move(done));
              })
                  ->at(0)
                  .level,
              "rpc");

    auto named = asking_for("");
    named.device = "mlx5_0";
    const auto whole = register_as(PeerId{2}, process(2), named);
    ASSERT_TRUE(whole);
    EXPECT_EQ(whole->grant.level, "rpc") << "the session names its device";
    const auto nowhere = register_as(PeerId{3}, process(3), asking_for(""));
    ASSERT_TRUE(nowhere);
    EXPECT_EQ(nowhere->grant.level, "DEFAULT") << "its device is not known yet";
}

TEST(SourceOf, IsTheAddressThatPeopleKnow)
{
    DeviceInfo port;
    EXPECT_EQ(source_of(port), std::nullopt);
    port.port_guid = Guid{7};
    EXPECT_EQ(source_of(port), Endpoint(Guid{7}));
    port.link_layer = LinkLayer::Ethernet;
    port.gids = {*parse_gid("fe80::1"), *parse_gid("10.2.0.1")};
    EXPECT_EQ(source_of(port), Endpoint(*parse_gid("10.2.0.1")));
    port.gids.pop_back();
    EXPECT_EQ(source_of(port), Endpoint(*parse_gid("fe80::1")));
    port.link_layer = LinkLayer::InfiniBand;
    EXPECT_EQ(source_of(port), Endpoint(Guid{7}));
}

}    // namespace
}    // namespace rdmaqos
