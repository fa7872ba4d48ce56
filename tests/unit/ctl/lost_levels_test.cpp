// What is shown of levels that a reload takes away, or would.
#include "tools/rdma-qosctl/world/lost_levels.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/support/golden.h"
#include "tests/unit/ctl/sample.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/rendering/plan.h"
#include "tools/rdma-qosctl/rendering/world_json.h"
#include "tools/rdma-qosctl/rendering/world_text.h"
#include "tools/rdma-qosctl/world/problems.h"

namespace rdmaqos::ctl {
namespace {

using namespace rdmaqos::ctl::test;
using rdmaqos::test::expect_golden;
using testing::HasSubstr;

TEST(LostLevels, SessionsShowWhichTheyHad)
{
    expect_golden("ctl/sessions-without-level.txt",
                  render_sessions({sample_session_without_level(), sample_session_bulk()}, 0, Colour::Off));
}

TEST(LostLevels, StatusCountsWhoIsWithoutOne)
{
    World world = sample_world();
    world.sessions.push_back(sample_session_without_level());
    expect_golden("ctl/status-without-level.txt", render_status(world, find_problems(world), Colour::Off));
    const Json json = status_json(world, find_problems(world));
    EXPECT_FALSE(json.at("ok").get<bool>()) << "`status --check` fails";
    expect_golden("ctl/status-without-level.json", to_text(json.at("without-level")));
}

// Where there are too many sessions to list, counts say the same.
TEST(LostLevels, CountsOfSessionsAreAsGoodAsSessions)
{
    World world = sample_world();
    world.sessions.push_back(sample_session_without_level());
    const auto listed = lost_levels(world);
    ASSERT_EQ(listed.size(), 1U);
    world.sessions.clear();
    EXPECT_TRUE(lost_levels(world).empty());
    world.session_counts = {{.uid = 1000, .sessions = 50'000, .queue_pairs = 1},
                            {.uid = 1001, .sessions = 3'248, .queue_pairs = 1},
                            {.state = "detached", .sessions = 7},
                            {.lost = listed[0], .sessions = 40'000, .queue_pairs = 80'000},
                            {.cause = "nothing-asked", .queue_pairs = 5},
                            {.cause = "pacing", .queue_pairs = 9}};
    const std::string text = render_status(world, find_problems(world), Colour::Off);
    EXPECT_THAT(text, HasSubstr("53248 of 2 users"));
    EXPECT_THAT(text, HasSubstr("80000 queue pairs of 40000 sessions, formerly in " + listed[0].level));
    EXPECT_THAT(text, HasSubstr("7 sessions are detached"));
    EXPECT_THAT(text, HasSubstr("9 queue pairs not held to what their level says: cause `pacing`"));
    const Json json = status_json(world, find_problems(world));
    EXPECT_EQ(json.at("sessions"), 53'248);
    EXPECT_EQ(json.at("without-level").size(), 1U);
}

TEST(LostLevels, PlansNameWhoWouldLoseALevel)
{
    PlanReport report;
    report.note = "what a reload with new.yaml would do, by the running daemon:";
    report.levels = {{"rpc", "removed", "removed"}};
    const auto loss = [](const char* level, const char* reason, const char* renamed_to, std::uint32_t sessions) {
        return api::LevelLoss{level, reason, renamed_to, sessions, 4 * sessions};
    };
    const auto losing = [](std::uint64_t session, const char* level, const char* reason) {
        return api::SessionChange{.session = session,
                                  .pid = static_cast<std::uint32_t>(4700 + session),
                                  .uid = 1000,
                                  .unit = "job-7.scope",
                                  .command = "app\x1b[31m",
                                  .device = "mlx5_0/1",
                                  .queue_pairs = 4,
                                  .level_before = level,
                                  .leaf_before = "/old",
                                  .loss = reason,
                                  .user = "alice"};
    };
    const api::SessionChange idle{
        .session = 4, .pid = 4713, .uid = 1000, .level_before = "rpc", .level_after = "DEFAULT"};
    report.lost_levels = {loss("backup", "no-rule", "", 1), loss("bulk", "renamed", "batch", 1),
                          loss("fast", "not-allowed", "", 1), loss("rpc", "removed", "", 10)};
    report.sessions = {losing(1, "backup", "no-rule"), losing(2, "bulk", "renamed"), losing(3, "fast", "not-allowed"),
                       idle};
    for (std::uint64_t session = 11; session <= 20; ++session) {
        report.sessions.push_back(losing(session, "rpc", "removed"));
    }
    expect_golden("ctl/plans-lost-levels.txt", render_plans(report, false, Colour::Off));
    EXPECT_THAT(render_plans(report, true, Colour::Off), testing::HasSubstr("session 20: pid 4720"));
    EXPECT_EQ(plans_json(report).at("lost-levels").size(), 4U);
}

// Each level that went away is told once, whoever lost it, and not as unenforced besides.
TEST(LostLevels, EachIsAProblem)
{
    World world = sample_world();
    world.sessions = {sample_session_without_level(), sample_session_without_level()};
    world.sessions[1].id = 22;
    world.sessions[1].queue_pairs.clear();
    SessionView other = sample_session_rpc();    // its own level stays, that of a queue pair was renamed
    other.queue_pairs[0] = {.number = 1, .cause = "no-level", .lost = api::Lost{"bulk", 0, "renamed", "batch", "ab"}};
    world.sessions.push_back(other);
    const auto problems = find_problems(world);
    ASSERT_EQ(problems.size(), 2U);
    EXPECT_TRUE(problems[0].is_error);
    EXPECT_EQ(problems[0].what,
              "1 queue pair of 1 session has no level since 1970-01-01T00:00:00Z (revision ab); they had "
              "bulk, which was removed; level batch is the same");
    EXPECT_EQ(problems[0].advice, "`renamed-from: bulk` in level batch gives it to them again, with the next reload");
    EXPECT_EQ(problems[1].what,
              "1 queue pair of 2 sessions has no level since 2026-11-23T22:00:00Z (revision 9f3a2c11); "
              "they had rpc, which was removed");
    EXPECT_THAT(problems[1].advice, HasSubstr("or write `renamed-from: rpc` in the level that replaces it"));
    EXPECT_EQ(find_unenforced(world).queue_pairs, 0U);
    EXPECT_THAT(advice_on_loss({"rpc", 0, "not-allowed"}), HasSubstr("extend `allow` of level rpc"));
    EXPECT_THAT(advice_on_loss({"rpc", 0, "not-allowed", "latency"}), HasSubstr("extend `allow` of level latency"));
    EXPECT_EQ(loss_in_words({"rpc", 0, "not-allowed"}), "whose `allow` does not include them any longer");
    EXPECT_EQ(loss_in_words({"rpc", 0, "not-allowed", "latency"}),
              "which is latency now, whose `allow` does not include them");
    EXPECT_EQ(loss_in_words({"rpc", 0, "no-rule"}), "to which no rule leads any longer");
    EXPECT_THAT(advice_on_loss({"rpc", 0, "no-rule"}), HasSubstr("write a rule that leads to level rpc"));
}

}    // namespace
}    // namespace rdmaqos::ctl
