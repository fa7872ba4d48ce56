// Programs that know nothing of the service, taken into the tree: who, where to, and who is left alone.
#include "tests/unit/daemon/adoption_fixture.h"

namespace rdmaqos {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class ServiceAdoption : public test::AdoptionFixture {
protected:
    // Whom the model NIC was told to put into a leaf, or out of any: "17: in", "17: out".
    std::vector<std::string> moves(std::uint32_t number) const
    {
        std::vector<std::string> all;
        for (const auto& operation : nic->log()) {
            if (operation.kind == CommandKind::Attach && operation.queue_pair == number) {
                all.emplace_back(operation.requester ? "in" : "out");
            }
        }
        return all;
    }
};

Gid gid(const char* text)
{
    return *parse_gid(text);
}

// ---- who is taken in ----

TEST_F(ServiceAdoption, ByIdentity)
{
    begin();
    const auto seen = make(program(100), 17);
    EXPECT_EQ(word(seen), kNotReady);
    loop.clock.advance(20ms);
    HostNews news{{}, {seen}, loop.clock.now()};
    loop.clock.advance(40ms);
    watch->tell(news);
    ASSERT_TRUE(comes_into("/rpc", 17));
    EXPECT_EQ(word(seen), "");
    EXPECT_THAT(programs->asked(), ElementsAre(100));
    const auto session = adopted();
    ASSERT_TRUE(session);
    EXPECT_EQ(session->owner.pid, 100);
    EXPECT_EQ(session->grant.level, "rpc");
    ASSERT_EQ(session->queue_pairs.size(), 1U);
    EXPECT_EQ(session->queue_pairs[0].level, "rpc");
    EXPECT_THAT(moves(17), ElementsAre("in"));

    const auto status = service->adoption().status();
    EXPECT_EQ(status.setting, Unregistered::Adopt);
    EXPECT_EQ(status.unavailable, "");
    EXPECT_EQ(status.programs, 1U);
    EXPECT_EQ(status.queue_pairs, 1U);
    EXPECT_EQ(status.counters.adopted, 1U);
    EXPECT_THAT(status.counters.refused, IsEmpty());
    Histogram delay;
    delay.observe(40ms);
    EXPECT_EQ(status.counters.delay, delay) << "from when it was seen";
}

TEST_F(ServiceAdoption, WhatAProgramHasIsOneSession)
{
    begin();
    add_nic("mlx5_1");
    const auto owner = program(100);
    tell({make(owner, 17), make(owner, 18), make(owner, 17, 0, "mlx5_1"), make(program(200), 20)});
    EXPECT_TRUE(comes_into("/rpc", 17));
    EXPECT_TRUE(comes_into("/rpc", 18));
    EXPECT_TRUE(comes_into("/rpc", 17, "mlx5_1/1"));
    EXPECT_TRUE(comes_into("/rpc", 20));
    EXPECT_EQ(service->sessions().ids().size(), 2U);
    EXPECT_EQ(service->adoption().status().programs, 2U);
    EXPECT_EQ(service->adoption().status().queue_pairs, 4U);
    std::map<pid_t, std::size_t> counts;
    for (const SessionId id : service->sessions().ids()) {
        counts[service->sessions().with_queue_pairs(id)->owner.pid] = service->sessions().queue_pair_count(id);
    }
    EXPECT_THAT(counts, ElementsAre(Pair(100, 3), Pair(200, 1)));
}

TEST_F(ServiceAdoption, ByDestinationAndPartition)
{
    begin();
    const auto owner = program(100, "talker");
    const auto to_storage = make(owner, 17);
    const auto elsewhere = make(owner, 18);
    const auto in_partition = make(owner, 19);
    const auto datagrams = make(owner, 20, 0, "mlx5_0", test::kKernelsUd);
    programs->change({"mlx5_0", 17}, [](auto& each) { each.found.destination = gid("fe80::50"); });
    programs->change({"mlx5_0", 18}, [](auto& each) { each.found.destination = gid("fe80::51"); });
    programs->change({"mlx5_0", 19}, [](auto& each) { each.found.pkey = 0x8011; });
    tell({to_storage, elsewhere, in_partition, datagrams});
    EXPECT_TRUE(comes_into("/bulk", 17));
    EXPECT_TRUE(comes_into("/rpc", 19));
    EXPECT_TRUE(gets_word(kNoRule, elsewhere));
    EXPECT_TRUE(gets_word(kNoRule, datagrams)) << "without a destination of its own";
    EXPECT_EQ(adopted()->queue_pairs.size(), 2U);
    EXPECT_EQ(refused(kNoRule), 2U);
}

// ---- who is left alone ----

TEST_F(ServiceAdoption, AProgramThatNoRuleTakesInIsNeverTouched)
{
    begin();
    const auto nobody = make(program(101, "somebody"), 21);
    const auto unscheduled = make(program(102, "unscheduled"), 22);
    const auto by_level = make(program(103, "of-private"), 23);
    const auto by_rule = make(program(104, "left-alone"), 24);
    tell({nobody, unscheduled, by_level, by_rule});
    rest();
    EXPECT_THAT(programs->asked(), IsEmpty());
    EXPECT_EQ(programs->looks(), 0U);
    EXPECT_THAT(listed(nobody), Pair(kNoRule, ""));
    EXPECT_THAT(listed(unscheduled), Pair(kNotScheduled, ""));
    EXPECT_THAT(listed(by_level), Pair(kExcluded, ""));
    EXPECT_THAT(listed(by_rule), Pair(kExcluded, ""));
    EXPECT_THAT(service->sessions().ids(), IsEmpty());
    EXPECT_THAT(service->adoption().status().counters.refused,
                ElementsAre(Pair(kExcluded, 2), Pair(kNoRule, 1), Pair(kNotScheduled, 1)));
    tell({nobody, unscheduled, by_level, by_rule});
    EXPECT_EQ(refused(kNoRule) + refused(kNotScheduled) + refused(kExcluded), 4U) << "each counts once";
}

TEST_F(ServiceAdoption, TheDefaultTakesNobodyIn)
{
    begin("adopt", R"(version: 1
qos-levels:
  - {name: DEFAULT, sl: 0, schedule: {share: 10}}
  - {name: rpc, schedule: {share: 60}}
)");
    const auto seen = make(program(100), 17);
    tell({seen});
    rest();
    EXPECT_EQ(word(seen), kNoRule);
    EXPECT_THAT(programs->asked(), IsEmpty());
    reload_with(R"(version: 1
qos-levels:
  - {name: DEFAULT, sl: 0, schedule: {share: 10}}
qos-match-rules:
  - {qos-level-name: DEFAULT}
)");
    tell({seen});
    EXPECT_TRUE(comes_into("/DEFAULT", 17)) << "a rule without criteria takes everybody in";
}

TEST_F(ServiceAdoption, WhatCannotBeInALeafHasASentence)
{
    Capabilities cannot = default_capabilities();
    cannot.scheduling = false;
    cannot.attachable = {};
    begin();
    add_nic("mlx5_9", cannot);
    const auto owner = program(100);
    const auto raw = make(owner, 17, 0, "mlx5_0", test::kKernelsRawPacket);
    const auto xrc = make(owner, 18, 0, "mlx5_0", 9);
    const auto elsewhere = make(owner, 19, 0, "mlx5_9");
    tell({raw, xrc, elsewhere});
    rest();
    EXPECT_THAT(programs->asked(), IsEmpty());
    EXPECT_THAT(listed(raw), Pair(kNotAdoptable, HasSubstr("run with rdma-qos-run")));
    EXPECT_THAT(listed(xrc),
                Pair(kNotAdoptable, "mlx5_0/1 cannot schedule queue pairs of type xrc-ini: its program has to "
                                    "use another type (RC, UC, UD)"));
    EXPECT_THAT(listed(elsewhere), Pair(kNotAdoptable, HasSubstr("mlx5_9/1 cannot schedule")));
}

TEST_F(ServiceAdoption, OfOthersNothingIsSaid)
{
    begin();
    auto ownerless = make(program(100), 17);
    ownerless.owner = nullptr;
    auto elsewhere = make(program(100), 18);
    elsewhere.device = "rxe0";
    auto other_port = make(program(100), 19);
    other_port.tracked.port = 2;
    tell({ownerless, elsewhere, other_port});
    rest();
    EXPECT_THAT(programs->asked(), IsEmpty());
    EXPECT_EQ(word(ownerless), kOwnerUnknown);
    EXPECT_EQ(word(elsewhere), kUnmanaged);
    EXPECT_THAT(service->adoption().status().counters.refused, IsEmpty());
}

// ---- settings ----

TEST_F(ServiceAdoption, CountedOnly)
{
    begin("count");
    const auto seen = make(program(100), 17);
    EXPECT_EQ(watch->begun, 0);
    EXPECT_THAT(listed(seen), Pair(kUnregistered, ""));
    ASSERT_TRUE(answer<HostView::Counted>([&](auto done) { service->host().count(std::move(done)); }));
    EXPECT_EQ(surveys, 1);
    EXPECT_EQ(service->adoption().status(), AdoptionStatus{});
}

TEST_F(ServiceAdoption, Ignored)
{
    begin("ignore");
    make(program(100), 17);
    const auto counted = answer<HostView::Counted>([&](auto done) { service->host().count(std::move(done)); });
    ASSERT_TRUE(counted);
    EXPECT_THAT(counted->counts, IsEmpty());
    EXPECT_EQ(surveys, 0) << "nobody is looked at";
    EXPECT_EQ(watch->begun, 0);
    EXPECT_EQ(service->adoption().status().setting, Unregistered::Ignore);
}

TEST_F(ServiceAdoption, WithoutTheRightItIsSaidWhy)
{
    files->unavailable = "kernel.yama.ptrace_scope is 3";
    begin();
    const auto seen = make(program(100), 17);
    EXPECT_EQ(watch->begun, 0);
    EXPECT_THAT(listed(seen), Pair(kNotAdoptable, "kernel.yama.ptrace_scope is 3"));
    EXPECT_EQ(service->adoption().status().unavailable, "kernel.yama.ptrace_scope is 3");
    files->unavailable.clear();
    reload_and_look();
    EXPECT_EQ(watch->begun, 1);
    EXPECT_THAT(listed(seen), Pair(kNotReady, ""));
    EXPECT_EQ(service->adoption().status().unavailable, "");
}

// A server that only answers RDMA READ never leaves it.
TEST_F(ServiceAdoption, WhatIsInRtrIsToldThatItMayStayOutside)
{
    begin();
    auto seen = make(program(100), 17);
    seen.tracked.state = QueuePairState::Init;
    EXPECT_THAT(listed(seen), Pair(kNotReady, ""));
    seen.tracked.state = QueuePairState::Rtr;
    EXPECT_THAT(listed(seen), Pair(kNotReady, testing::HasSubstr("RDMA READ")));
}

TEST_F(ServiceAdoption, WithoutDevicesOfThisHostItIsSaid)
{
    policy(test::kAdoptionPolicy);
    set_to("adopt");
    start();
    turn();
    EXPECT_EQ(service->adoption().status().unavailable, "the devices are simulated, and no program can open them");
    set_to("count");
    reload_and_look();
    EXPECT_EQ(service->adoption().status().unavailable, "");
}

TEST_F(ServiceAdoption, FromAdoptToCountLetsAllGo)
{
    begin();
    tell({make(program(100), 17), make(program(100), 18), make(program(200), 20)});
    for (const std::uint32_t number : {17, 18, 20}) {
        ASSERT_TRUE(comes_into("/rpc", number));
    }
    ASSERT_TRUE(register_as(PeerId{3}, process(300), asking_for("rpc", "mlx5_0", {30})));
    nic->clear_log();
    set_to("count");
    ASSERT_TRUE(reload_and_look().accepted);
    EXPECT_THAT(service->sessions().ids(), ElementsAre(SessionId{3})) << "who registered stays";
    for (const std::uint32_t number : {17, 18, 20}) {
        EXPECT_THAT(moves(number), ElementsAre("out"));
    }
    EXPECT_THAT(moves(30), IsEmpty());
    EXPECT_TRUE(until([&] { return watch->is_over(); }));
    EXPECT_EQ(service->adoption().status().programs, 0U);
    EXPECT_EQ(service->adoption().status().counters.adopted, 3U) << "ever";
    set_to("adopt");
    ASSERT_TRUE(reload_and_look().accepted);
    EXPECT_EQ(watch->begun, 2);
    tell({survey.queue_pairs[0]});
    EXPECT_TRUE(comes_into("/rpc", 17));
}

// ---- reloads ----

constexpr const char* kJobsInBulk = R"(version: 1
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: rpc, schedule: {share: 60}}
  - {name: bulk, schedule: {share: 40}}
qos-match-rules:
  - {client: {command: [job, somebody]}, qos-level-name: bulk}
)";
constexpr const char* kJobsLeftAlone = R"(version: 1
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: rpc, schedule: {share: 60}}
  - {name: bulk, schedule: {share: 40}}
qos-match-rules:
  - {client: {command: [job]}, adopt: no, qos-level-name: rpc}
)";

TEST_F(ServiceAdoption, AReloadMovesIt)
{
    begin();
    tell({make(program(100), 17)});
    ASSERT_TRUE(comes_into("/rpc", 17));
    nic->clear_log();
    ASSERT_TRUE(reload_with(kJobsInBulk).accepted);
    EXPECT_EQ(leaf(17), "/bulk");
    EXPECT_THAT(moves(17), ElementsAre("in")) << "from leaf to leaf";
    ASSERT_TRUE(adopted());
    EXPECT_EQ(adopted()->id, SessionId{1});
    EXPECT_EQ(adopted()->grant.level, "bulk");
}

TEST_F(ServiceAdoption, AReloadExcludesIt)
{
    begin();
    const auto seen = make(program(100), 17);
    tell({seen});
    ASSERT_TRUE(comes_into("/rpc", 17));
    ASSERT_TRUE(reload_with(kJobsLeftAlone).accepted);
    EXPECT_EQ(leaf(17), "not attached");
    EXPECT_EQ(word(seen), kExcluded);
    EXPECT_EQ(refused(kExcluded), 1U);
    EXPECT_THAT(service->sessions().ids(), IsEmpty());
    tell({seen});
    rest();
    EXPECT_EQ(word(seen), kExcluded);
    EXPECT_EQ(refused(kExcluded), 1U);
    EXPECT_THAT(programs->asked(), ElementsAre(100)) << "only when it was adopted";
}

TEST_F(ServiceAdoption, AReloadTakesTheRefusedIn)
{
    begin();
    const auto seen = make(program(100, "somebody"), 17);
    tell({seen});
    ASSERT_EQ(word(seen), kNoRule);
    const int told = watch->told_again;
    ASSERT_TRUE(reload_with(kJobsInBulk).accepted);
    EXPECT_GT(watch->told_again, told) << "all that are ready";
    EXPECT_EQ(word(seen), kNotReady) << "what was said is no longer so";
    tell({seen});
    EXPECT_TRUE(comes_into("/bulk", 17));
}

TEST_F(ServiceAdoption, AnInvalidPolicyChangesNothing)
{
    begin();
    tell({make(program(100), 17)});
    ASSERT_TRUE(comes_into("/rpc", 17));
    nic->clear_log();
    EXPECT_FALSE(reload_with("version: 1\nqos-levels: 7\n").accepted);
    tell({make(program(100), 18)});
    EXPECT_TRUE(comes_into("/rpc", 18)) << "by the policy that is in force";
    EXPECT_EQ(leaf(17), "/rpc");
    EXPECT_THAT(moves(17), IsEmpty());
}

TEST_F(ServiceAdoption, WithoutAPolicyNobodyIsLookedFor)
{
    begin("adopt", "version: 1\nqos-levels: 7\n", false);
    EXPECT_EQ(watch->begun, 0);
    ASSERT_TRUE(reload_with(test::kAdoptionPolicy).accepted);
    EXPECT_EQ(watch->begun, 1);
    tell({make(program(100), 17)});
    EXPECT_TRUE(comes_into("/rpc", 17));
}

// ---- programs that register ----

TEST_F(ServiceAdoption, WhoRegistersGetsWhatWasAdopted)
{
    begin();
    const auto owner = program(100);
    const auto seen = make(owner, 17);
    tell({seen, make(owner, 18)});
    ASSERT_TRUE(comes_into("/rpc", 17));
    ASSERT_TRUE(comes_into("/rpc", 18));
    nic->clear_log();
    const auto reply = register_as(PeerId{1}, owner, asking_for("rpc", "mlx5_0", {17}));
    ASSERT_TRUE(reply) << to_string(reply.error());
    EXPECT_FALSE(reply->queue_pairs.at(0).error);
    ASSERT_TRUE(adopted());
    EXPECT_EQ(adopted()->queue_pairs.size(), 1U);
    EXPECT_EQ(service->sessions().queue_pair_count(reply->session), 1U);
    const auto second = answer<std::vector<QueuePairResult>>([&](auto done) {
        service->session_calls().attach(PeerId{1}, reply->session, {queue_pair("mlx5_0", 18)}, std::move(done));
    });
    ASSERT_TRUE(second);
    EXPECT_FALSE(second->at(0).error);
    EXPECT_FALSE(adopted()) << "it has ended with its last one";
    EXPECT_EQ(service->adoption().status().programs, 0U);
    for (const std::uint32_t number : {17, 18}) {
        EXPECT_EQ(leaf(number), "/rpc");
        EXPECT_THAT(moves(number), testing::Each("in")) << "it never leaves its leaf";
    }
    EXPECT_EQ(service->sessions().queue_pair_count(reply->session), 2U);
    // What the watch says of it is its program's own affair from now on.
    tell({seen, make(owner, 19)});
    tell_gone(17);
    rest();
    EXPECT_EQ(leaf(17), "/rpc");
    EXPECT_EQ(leaf(19), "not attached");
    EXPECT_EQ(programs->asked().size(), 1U);
}

TEST_F(ServiceAdoption, AnotherProcessGetsNothing)
{
    begin();
    tell({make(program(100), 17)});
    ASSERT_TRUE(comes_into("/rpc", 17));
    const auto reply = register_as(PeerId{2}, process(200), asking_for("bulk", "mlx5_0", {17}));
    ASSERT_TRUE(reply);
    ASSERT_TRUE(reply->queue_pairs.at(0).error);
    EXPECT_EQ(reply->queue_pairs.at(0).error->code, ErrorCode::NotOwner);
    const auto later = register_as(PeerId{3}, program(100, "job", 1000, 2), asking_for("bulk", "mlx5_0", {17}));
    ASSERT_TRUE(later);
    EXPECT_TRUE(later->queue_pairs.at(0).error) << "the pid is used again";
    EXPECT_EQ(leaf(17), "/rpc");
    const auto detached = answer<void>(
        [&](auto done) { service->session_calls().release(PeerId{2}, SessionId{1}, std::move(done)); });
    ASSERT_FALSE(detached);
    EXPECT_EQ(detached.error().code, ErrorCode::NotOwner) << "the session is the daemon's own";
}

// ---- ends ----

TEST_F(ServiceAdoption, GoneQueuePairsAndEmptySessions)
{
    begin();
    const auto owner = program(100);
    tell({make(owner, 17), make(owner, 18)});
    ASSERT_TRUE(comes_into("/rpc", 17));
    ASSERT_TRUE(comes_into("/rpc", 18));
    destroy(17);
    EXPECT_EQ(leaf(17), "not attached");
    ASSERT_TRUE(adopted());
    EXPECT_EQ(adopted()->queue_pairs.size(), 1U);
    destroy(18);
    EXPECT_TRUE(until([&] { return service->sessions().ids().empty(); }));
    EXPECT_EQ(service->adoption().status().programs, 0U);
    EXPECT_EQ(service->adoption().status().queue_pairs, 0U);
    destroy(99);    // nobody's
    tell({make(owner, 17)});
    EXPECT_TRUE(comes_into("/rpc", 17)) << "it goes on as before";
}

TEST_F(ServiceAdoption, ASessionEndsWithItsProgram)
{
    begin();
    tell({make(program(100), 17), make(program(100), 18), make(program(200), 20)});
    for (const std::uint32_t number : {17, 18, 20}) {
        ASSERT_TRUE(comes_into("/rpc", number));
    }
    const auto registered = register_as(PeerId{2}, process(300), asking_for("bulk", "mlx5_0", {30}));
    ASSERT_TRUE(registered);
    EXPECT_THAT(ends.watched(), ElementsAre(100, 200)) << "not who registered";
    ends.end(100);
    EXPECT_TRUE(until([&] { return service->adoption().status().programs == 1U; }));
    rest();
    EXPECT_EQ(leaf(17), "not attached");
    EXPECT_EQ(leaf(18), "not attached");
    EXPECT_THAT(moves(17), ElementsAre("in", "out"));
    EXPECT_EQ(leaf(20), "/rpc");
    EXPECT_EQ(leaf(30), "/bulk");
    EXPECT_THAT(ends.watched(), ElementsAre(200));
    // The watch sees it later.
    tell_gone(17);
    tell_gone(18);
    rest();
    EXPECT_EQ(service->adoption().status().queue_pairs, 1U);
    destroy(20);
    EXPECT_TRUE(until([&] { return service->adoption().status().programs == 0U; }));
    EXPECT_THAT(ends.watched(), IsEmpty());
    ends.end(200);
    tell({make(program(100, "job", 1000, 2), 17)});
    EXPECT_TRUE(comes_into("/rpc", 17)) << "another program with its pid";
}

TEST_F(ServiceAdoption, AProgramWhoseEndCannotBeWatched)
{
    can_watch_ends = false;
    begin();
    tell({make(program(100), 17)});
    EXPECT_TRUE(comes_into("/rpc", 17));
    destroy(17);
    EXPECT_TRUE(until([&] { return service->sessions().ids().empty(); })) << "it ends with its last queue pair";
}

TEST_F(ServiceAdoption, ANumberThatIsUsedAgainByAnother)
{
    begin();
    const auto before = make(program(100), 17);
    tell({before});
    ASSERT_TRUE(comes_into("/rpc", 17));
    const auto now = make(program(200), 17);
    EXPECT_EQ(word(now), kNotReady) << "the session is not this one's";
    HostNews news{{{"mlx5_0", 17}}, {now}, loop.clock.now()};
    watch->tell(news);
    ASSERT_TRUE(until([&] { return adopted() && adopted()->owner.pid == 200; }));
    EXPECT_TRUE(comes_into("/rpc", 17));
    EXPECT_EQ(service->sessions().ids().size(), 1U);
    EXPECT_EQ(word(now), "");
}

// ---- devices ----

TEST_F(ServiceAdoption, ADeviceThatIsRemoved)
{
    begin();
    tell({make(program(100), 17)});
    ASSERT_TRUE(comes_into("/rpc", 17));
    service->device_control().remove("mlx5_0/1");
    ASSERT_TRUE(until([&] { return service->sessions().ids().empty(); }));
    const int told = watch->told_again;
    nic = &add_nic("mlx5_0");
    EXPECT_GT(watch->told_again, told);
    tell({survey.queue_pairs[0]});
    EXPECT_TRUE(comes_into("/rpc", 17));
}

TEST_F(ServiceAdoption, ADeviceThatIsReset)
{
    begin();
    tell({make(program(100), 17)});
    ASSERT_TRUE(comes_into("/rpc", 17));
    nic->reset();
    ASSERT_TRUE(until([&] { return service->sessions().ids().empty(); }));
    EXPECT_EQ(service->adoption().status().queue_pairs, 0U);
    nic->replug();
    settle();
    tell_gone(17);
    tell({make(program(200), 17)});
    EXPECT_TRUE(comes_into("/rpc", 17));
}

TEST_F(ServiceAdoption, ADeviceThatGoesDuringTheSearch)
{
    test::Gate gate;
    begin();
    files->before_answer = gate.waiter();
    tell({make(program(100), 17)});
    gate.wait_until_it_holds();
    service->device_control().remove("mlx5_0/1");
    rest();
    gate.open();
    rest();
    EXPECT_THAT(service->sessions().ids(), IsEmpty());
    nic = &add_nic("mlx5_0");
    tell({survey.queue_pairs[0]});
    EXPECT_TRUE(comes_into("/rpc", 17));
}

TEST_F(ServiceAdoption, ADisabledDevice)
{
    begin();
    tell({make(program(100), 17)});
    ASSERT_TRUE(comes_into("/rpc", 17));
    const auto change = [&](auto what) {
        return answer<std::vector<DeviceReconcile>>(
            [&](auto done) { (service->device_control().*what)("mlx5_0", std::move(done)); });
    };
    ASSERT_TRUE(change(&DeviceControl::disable));
    EXPECT_EQ(leaf(17), "");
    const auto second = make(program(100), 18);
    tell({second});
    ASSERT_TRUE(until([&] { return service->sessions().queue_pair("mlx5_0/1", 18).has_value(); }));
    rest();
    EXPECT_FALSE(service->sessions().queue_pair("mlx5_0/1", 18)->enforced);
    EXPECT_TRUE(nic->firmware().elements().empty());
    ASSERT_TRUE(change(&DeviceControl::enable));
    EXPECT_TRUE(comes_into("/rpc", 17));
    EXPECT_TRUE(comes_into("/rpc", 18));
}

}    // namespace
}    // namespace rdmaqos
