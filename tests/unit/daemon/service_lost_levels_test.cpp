// Service: sessions whose level a reload takes away, and those that keep it under another name.
#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/support/journal.h"
#include "tests/support/service_fixture.h"

namespace rdmaqos {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kRpc = "{name: rpc, sl: 3, schedule: {share: 60}}";

// 2026-11-23T22:00:00Z
constexpr std::chrono::sys_seconds kNow{std::chrono::seconds(1'795'471'200)};

std::string with(const std::string& level, const std::string& more = "")
{
    return "version: 1\nqos-levels:\n  - {name: DEFAULT}\n  - " + level + "\n" + more;
}

class ServiceLostLevelsTest : public test::ServiceFixture {
protected:
    void SetUp() override
    {
        more_options = [this](ServiceOptions& options) { options.wall_clock = [this] { return now; }; };
        policy(with(kRpc));
        start();
        add_device("mlx5_0");
        auto reply = register_as(PeerId{1}, process(4711), asking_for("rpc", "mlx5_0", {1, 2}));
        ASSERT_TRUE(reply);
        session = reply->session;
        ASSERT_EQ(reply->grant.leaf, "/rpc");
        ASSERT_TRUE(register_as(PeerId{2}, process(4712), asking_for("DEFAULT", "mlx5_0", {3})));
        journal.clear();
    }
    void TearDown() override { service.reset(); }    // before the journal goes

    std::vector<LevelLoss> reload_with(const std::string& text)
    {
        policy(text);
        const auto outcome = reload();
        EXPECT_TRUE(outcome.accepted) << outcome.to_text();
        return outcome.losses;
    }
    SessionInfo info(SessionId id) { return service->sessions().with_queue_pairs(id).value(); }
    PlanReport planned(const std::string& text)
    {
        auto report = answer<PlanReport>([&](auto done) {
            service->plans().plan(std::make_shared<SourceFile>(SourceFile{"next.yaml", text}), 0, std::move(done));
        });
        EXPECT_TRUE(report);
        return report ? std::move(*report) : PlanReport();
    }
    Metrics metrics()
    {
        std::optional<Metrics> got;
        service->metrics().collect([&got](const Metrics& all) { got = all; });
        EXPECT_TRUE(loop.run_until([&got] { return got.has_value(); }));
        return got.value_or(Metrics());
    }
    // That the session and its queue pairs remember the same, and are outside.
    const LostLevel& lost()
    {
        const SessionInfo now_is = info(session);
        EXPECT_EQ(now_is.grant.level, "");
        EXPECT_EQ(now_is.grant.cause, kNoLevel);
        EXPECT_FALSE(now_is.grant.enforced);
        EXPECT_THAT(now_is.queue_pairs, SizeIs(2));
        for (const auto& queue_pair : now_is.queue_pairs) {
            EXPECT_EQ(queue_pair.lost, now_is.grant.lost) << "one record for all";
            EXPECT_EQ(queue_pair.level + queue_pair.leaf, "");
            EXPECT_EQ(queue_pair.cause, kNoLevel);
            EXPECT_EQ(queue_pair.reason, now_is.grant.reason);
        }
        static const LostLevel kNone;
        EXPECT_NE(now_is.grant.lost, nullptr);
        kept = now_is.grant.lost;
        return kept == nullptr ? kNone : *kept;
    }

    WallTime now = kNow;
    SessionId session{};
    std::shared_ptr<const LostLevel> kept;
    test::Journal journal;
};

TEST_F(ServiceLostLevelsTest, ALevelThatIsRemoved)
{
    const std::string next = with("{name: bulk, sl: 1}");
    const PlanReport plan = planned(next);
    EXPECT_THAT(plan.losses, ElementsAre(LevelLoss{"rpc", LossReason::Removed, "", 1, 2}));
    ASSERT_THAT(plan.sessions, SizeIs(1)) << "whom it hits";
    EXPECT_EQ(plan.sessions[0].session, session);
    EXPECT_EQ(plan.sessions[0].loss, LossReason::Removed);
    EXPECT_EQ(plan.sessions[0].level_after, "");
    EXPECT_EQ(info(session).grant.lost, nullptr) << "a plan takes nothing";

    EXPECT_EQ(reload_with(next), plan.losses);
    const LostLevel& record = lost();
    EXPECT_EQ(record.level, "rpc");
    EXPECT_EQ(record.reason, LossReason::Removed);
    EXPECT_EQ(record.at, kNow);
    EXPECT_EQ(record.revision, service->in_force().policy()->revision);
    EXPECT_EQ(info(session).grant.reason, "it has no level since the reload of 2026-11-23T22:00:00Z (revision " +
                                              record.revision + "), which removed level rpc");
    const auto told = journal.of(LogEvent::LevelLost);
    ASSERT_THAT(told, SizeIs(1));
    EXPECT_EQ(told[0].message,
              "level rpc is gone: 1 session with 2 queue pairs loses it and gets no other level; its queue pairs leave "
              "the tree");
    EXPECT_EQ(told[0].field("LEVEL") + " " + told[0].field("REASON") + " " + told[0].field("SESSIONS") + " " +
                  told[0].field("QUEUE_PAIRS") + " " + told[0].field("REVISION"),
              "rpc removed 1 2 " + record.revision);
    const Metrics all = metrics();
    EXPECT_EQ(all.sessions_without_level, 1U);
    EXPECT_EQ(all.devices.at(0).queue_pairs_without_level, 2U);
    EXPECT_EQ(all.devices.at(0).unenforced_by_cause.at(kNoLevel), 2U);
    EXPECT_EQ(all.devices.at(0).queue_pairs_unscheduled, 1U) << "of the other session alone";
    EXPECT_FALSE(answer<std::vector<QueuePairResult>>([&](auto done) {
                     service->session_calls().attach(PeerId{1}, session, {queue_pair("mlx5_0", 9)}, std::move(done));
                 })
                     ->at(0)
                     .error == std::nullopt);
}

TEST_F(ServiceLostLevelsTest, ItIsRememberedUntilALevelIsGivenBack)
{
    reload_with(with("{name: bulk, sl: 1}"));
    const std::string took = lost().revision;
    journal.clear();
    now += std::chrono::hours(1);
    const std::string next = with("{name: bulk, sl: 2}");
    EXPECT_THAT(planned(next).losses, IsEmpty()) << "it is lost already";
    reload_with(next);
    EXPECT_EQ(lost().revision, took);
    EXPECT_EQ(lost().at, kNow);
    EXPECT_THAT(journal.of(LogEvent::LevelLost), IsEmpty());

    reload_with(with(kRpc));
    EXPECT_EQ(info(session).grant.level, "rpc");
    EXPECT_EQ(info(session).grant.lost, nullptr);
    for (const auto& queue_pair : info(session).queue_pairs) {
        EXPECT_EQ(queue_pair.leaf, "/rpc");
        EXPECT_EQ(queue_pair.lost, nullptr);
    }
    EXPECT_EQ(metrics().devices.at(0).queue_pairs_without_level, 0U);
}

TEST_F(ServiceLostLevelsTest, ALevelThatIsTheSameUnderAnotherName)
{
    const std::string next = with("{name: latency, sl: 3, schedule: {share: 60}}");
    EXPECT_THAT(planned(next).losses, ElementsAre(LevelLoss{"rpc", LossReason::Renamed, "latency", 1, 2}));
    reload_with(next);
    EXPECT_EQ(lost().reason, LossReason::Renamed);
    EXPECT_EQ(lost().renamed_to, "latency");
    EXPECT_THAT(journal.of(LogEvent::LevelLost).at(0).message,
                HasSubstr("level rpc is gone (level latency is the same, without `renamed-from: rpc`): 1 session"));
    // It is not too late.
    reload_with(with("{name: latency, renamed-from: rpc, sl: 3, schedule: {share: 60}}"));
    EXPECT_EQ(info(session).grant.level, "latency");
    EXPECT_EQ(info(session).grant.lost, nullptr);
}

TEST_F(ServiceLostLevelsTest, RenamedFromKeepsItForThoseWhoAskByName)
{
    const std::string next = with("{name: latency, renamed-from: [RPC, older], sl: 3, schedule: {share: 60}}");
    const PlanReport plan = planned(next);
    EXPECT_THAT(plan.losses, IsEmpty());
    EXPECT_THAT(plan.levels, ElementsAre(LevelChange{"latency", PolicyChangeKind::Renamed, "renamed from rpc"}));
    reload_with(next);
    const SessionInfo after = info(session);
    EXPECT_EQ(after.grant.level, "latency");
    EXPECT_EQ(after.grant.rule, "requested by its former name \"rpc\"");
    for (const auto& queue_pair : after.queue_pairs) {
        EXPECT_EQ(queue_pair.leaf, "/latency") << "the class is made anew";
        EXPECT_TRUE(queue_pair.enforced);
    }
    EXPECT_THAT(journal.of(LogEvent::LevelLost), IsEmpty());
    EXPECT_THAT(journal.lines(),
                testing::Contains("level rpc is renamed to latency: 1 session with 2 queue pairs keeps it"));
    const auto later = register_as(PeerId{3}, process(4713), asking_for("older"));
    ASSERT_TRUE(later) << "a program with its old options";
    EXPECT_EQ(later->grant.level, "latency");
    // The next reload finds nothing to tell.
    journal.clear();
    reload_with(next + "# the same\n");
    EXPECT_THAT(journal.lines(), testing::Not(testing::Contains(HasSubstr("renamed"))));
}

TEST_F(ServiceLostLevelsTest, AllowThatIsNarrowedAndWidenedAgain)
{
    const std::string next = with("{name: rpc, sl: 3, schedule: {share: 60}, allow: {unit: [other.service]}}");
    EXPECT_THAT(planned(next).losses, ElementsAre(LevelLoss{"rpc", LossReason::NotAllowed, "", 1, 2}));
    reload_with(next);
    EXPECT_EQ(lost().reason, LossReason::NotAllowed);
    EXPECT_THAT(info(session).grant.reason, HasSubstr("when `allow` of level rpc closed it to the process"));
    EXPECT_THAT(journal.of(LogEvent::LevelLost).at(0).message, HasSubstr("level rpc is closed by its `allow`: "));
    reload_with(with("{name: rpc, sl: 3, schedule: {share: 60}, allow: {unit: [job.service]}}"));
    EXPECT_EQ(info(session).grant.level, "rpc");
    // Renamed, and closed at the same time.
    reload_with(with("{name: latency, renamed-from: rpc, allow: {unit: [other.service]}}"));
    EXPECT_EQ(lost().reason, LossReason::NotAllowed);
    EXPECT_EQ(lost().renamed_to, "latency");
}

TEST_F(ServiceLostLevelsTest, ARuleThatIsGoneAndADefaultThatIsClosed)
{
    const std::string closed = "version: 1\nqos-levels:\n  - {name: DEFAULT, allow: {unit: [other.service]}}\n"
                               "  - {name: rpc, sl: 3, schedule: {share: 60}}\n";
    reload_with(closed + "qos-match-rules:\n  - {service-id: [80], qos-level-name: rpc}\n");
    RegisterRequest by_rule = asking_for("", "mlx5_0", {11});
    by_rule.request.service_id = 80;
    const auto reply = register_as(PeerId{4}, process(4714), by_rule);
    ASSERT_TRUE(reply);
    ASSERT_EQ(reply->grant.level, "rpc");
    EXPECT_THAT(planned(closed).losses, ElementsAre(LevelLoss{"rpc", LossReason::NoRule, "", 1, 1}));
    reload_with(closed);
    const SessionInfo after = info(reply->session);
    ASSERT_NE(after.grant.lost, nullptr);
    EXPECT_EQ(after.grant.lost->reason, LossReason::NoRule);
    EXPECT_EQ(info(session).grant.level, "rpc") << "the one that asks for it by name keeps it";
    EXPECT_THAT(after.grant.reason, HasSubstr("after which no rule gives it level rpc or another one"));
}

// A queue pair with a path of its own loses its own level, and not its session's.
TEST_F(ServiceLostLevelsTest, AQueuePairWithAChoiceOfItsOwn)
{
    const std::string levels = "version: 1\nqos-levels:\n  - {name: DEFAULT, allow: {unit: [other.service]}}\n"
                               "  - {name: rpc, sl: 3, schedule: {share: 60}}\n";
    reload_with(levels + "  - {name: bulk, sl: 1}\nqos-match-rules:\n  - {service-id: [80], qos-level-name: bulk}\n");
    QueuePairRequest own = queue_pair("mlx5_0", 7);
    own.path.service_id = 80;
    own.has_path = true;
    ASSERT_TRUE(answer<std::vector<QueuePairResult>>(
        [&](auto done) { service->session_calls().attach(PeerId{1}, session, {own}, std::move(done)); }));
    reload_with(levels);
    const SessionInfo after = info(session);
    EXPECT_EQ(after.grant.level, "rpc");
    EXPECT_EQ(after.grant.lost, nullptr);
    ASSERT_THAT(after.queue_pairs, SizeIs(3));
    EXPECT_EQ(after.queue_pairs[0].lost, nullptr);
    ASSERT_NE(after.queue_pairs[2].lost, nullptr);
    EXPECT_EQ(after.queue_pairs[2].lost->level, "bulk");
    EXPECT_EQ(metrics().devices.at(0).queue_pairs_without_level, 2U) << "with that of the session that was in DEFAULT";
}

TEST_F(ServiceLostLevelsTest, TheJournalHasALineForEachLevelUpToANumber)
{
    std::string many = "version: 1\nqos-levels:\n  - {name: DEFAULT}\n";
    for (int i = 0; i < 40; ++i) {
        many += "  - {name: level-" + std::to_string(i) + ", sl: 1}\n";
    }
    reload_with(many);
    for (int i = 0; i < 40; ++i) {
        ASSERT_TRUE(register_as(PeerId{5}, process(5000 + i), asking_for("level-" + std::to_string(i))));
    }
    journal.clear();
    reload_with("version: 1\nqos-levels:\n  - {name: DEFAULT}\n");
    const auto told = journal.of(LogEvent::LevelLost);
    ASSERT_THAT(told, SizeIs(32));
    EXPECT_THAT(told.front().message, testing::EndsWith("leave the tree"));
    EXPECT_THAT(told.back().message, testing::EndsWith("; 8 levels more, `rdma-qosctl status` names them"));
}

}    // namespace
}    // namespace rdmaqos
