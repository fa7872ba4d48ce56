// Sessions over reloads that take their level away, rename it, close it and give it back, as a user sees them.
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "tests/support/ctl.h"
#include "tests/support/daemon_fixture.h"

namespace rdmaqos::test {
namespace {

using bus::Dict;
using Json = nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
namespace names = bus::names;

constexpr const char* kPolicyFile = "etc/rdma-qos/policy.yaml";

std::string policy_with(const std::string& level)
{
    return "version: 1\nqos-levels:\n  - {name: DEFAULT, sl: 0}\n  - " + level + "\n";
}

const std::string kOld = policy_with("{name: old, sl: 3, schedule: {share: 60}}");
const std::string kRenamed = policy_with("{name: new, sl: 3, schedule: {share: 60}}");
const std::string kKept = policy_with("{name: new, renamed-from: old, sl: 3, schedule: {share: 60}}");
const std::string kRemoved = policy_with("{name: other, sl: 1}");
const std::string kClosed = policy_with(
    "{name: old, sl: 3, schedule: {share: 60}, allow: {unit: [\"no-such.service\"]}}");

class LostLevel : public ::testing::Test {
protected:
    void SetUp() override
    {
        if (geteuid() != 0) {
            GTEST_SKIP() << "only root may reload by the direct socket";
        }
        Dict request;
        request.set("level", "old");
        auto made = register_session(client, request);
        ASSERT_TRUE(made) << to_string(made.error());
        session = made->path;
        const auto attached = attach(client, session, {queue_pair("mlx5_0", 21), queue_pair("mlx5_0", 22)});
        ASSERT_TRUE(attached) << to_string(attached.error());
        ASSERT_THAT(status(), HasSubstr("nothing is wrong"));
    }

    [[nodiscard]] std::string ctl(const std::string& words, int expected = 0) const
    {
        const Outcome outcome = run_ctl(daemon.root(), words);
        EXPECT_EQ(outcome.status, expected) << words << ": " << outcome.output << outcome.error;
        return outcome.output;
    }
    [[nodiscard]] std::string status(int expected = 0) const { return ctl("status --check", expected); }
    std::string reload_with(const std::string& policy)
    {
        daemon.dir().write(kPolicyFile, policy);
        return ctl("reload");
    }
    [[nodiscard]] std::string planned(const std::string& policy) const
    {
        daemon.dir().write("next.yaml", policy);
        return ctl("plan next.yaml");
    }
    Dict grant()
    {
        const auto properties = client.properties(session, names::kSession);
        EXPECT_TRUE(properties);
        return properties ? *properties->find("Grant")->as<Dict>() : Dict();
    }
    void expect_lost(const std::string& reason)
    {
        for (const Dict& dict : queue_pairs_of(client, session)) {
            EXPECT_EQ(text_of(dict, "lost-level"), "old");
            EXPECT_EQ(text_of(dict, "lost-reason"), reason);
            EXPECT_EQ(text_of(dict, "leaf"), "absent") << "it has left the tree";
            EXPECT_EQ(text_of(dict, "cause"), "no-level");
        }
        EXPECT_EQ(text_of(grant(), "lost-level"), "old");
        EXPECT_EQ(text_of(grant(), "lost-reason"), reason);
        EXPECT_THAT(status(3), AllOf(HasSubstr("problem: 2 queue pairs of 1 session have no level since "),
                                     HasSubstr("they had old, ")));
        const Json json = Json::parse(ctl("status --json"));
        EXPECT_EQ(json.at("without-level").at(0).at("reason"), reason);
        EXPECT_EQ(json.at("without-level").at(0).at("queue-pairs"), 2);
        EXPECT_THAT(ctl("sessions"), HasSubstr("none (was old)"));
        EXPECT_THAT(ctl("sessions --level old --json"), HasSubstr("\"lost-revision\""));
        EXPECT_THAT(ctl("why --interval 0 " + std::to_string(getpid())), HasSubstr("level none (was old)"));
        EXPECT_THAT(ctl("qps --outside=no-level --json"), HasSubstr("\"outside\": \"no-level\""));
        EXPECT_THAT(ctl("metrics"), HasSubstr("rdmaqos_queue_pairs_without_level{device=\"mlx5_0/1\"} 2"));
    }
    void expect_level(const std::string& level)
    {
        EXPECT_EQ(text_of(grant(), "level"), level);
        EXPECT_EQ(text_of(grant(), "lost-level"), "absent");
        for (const Dict& dict : queue_pairs_of(client, session)) {
            EXPECT_EQ(text_of(dict, "leaf"), "/" + level);
            EXPECT_EQ(text_of(dict, "lost-level"), "absent");
        }
        EXPECT_THAT(status(), HasSubstr("nothing is wrong"));
        EXPECT_THAT(status(), Not(HasSubstr("without level")));
        EXPECT_THAT(ctl("metrics"), HasSubstr("rdmaqos_queue_pairs_without_level{device=\"mlx5_0/1\"} 0"));
    }

    Daemon daemon{{kOld, kTwoDevices, "", false, RDMAQOS_DAEMON}};
    bus::Client client = daemon.direct();
    std::string session;
};

TEST_F(LostLevel, RemovedAndGivenBack)
{
    const std::string plan = planned(kRemoved);
    EXPECT_THAT(plan, HasSubstr("level old goes away: 1 session with 2 queue pairs loses it and gets no other\n"));
    EXPECT_THAT(plan, HasSubstr("pid " + std::to_string(getpid())));
    EXPECT_THAT(plan, HasSubstr(", 2 queue pairs on mlx5_0/1\n"));
    expect_level("old");
    EXPECT_THAT(reload_with(kRemoved),
                HasSubstr("level old: warning: 1 session with 2 queue pairs has lost it, and has "
                          "no other level now; `rdma-qosctl status` says what to do\n"));
    expect_lost("removed");
    EXPECT_THAT(daemon.log(), HasSubstr("level old is gone: 1 session with 2 queue pairs loses it and gets no other "
                                        "level; its queue pairs leave the tree"));
    EXPECT_THAT(reload_with(kOld), Not(HasSubstr("warning")));
    expect_level("old");
}

TEST_F(LostLevel, RenamedWithoutAWordAndWithIt)
{
    EXPECT_THAT(planned(kRenamed), HasSubstr("-> level new is the same: `renamed-from: old` in it keeps them"));
    reload_with(kRenamed);
    expect_lost("renamed");
    EXPECT_THAT(status(3), HasSubstr("-> `renamed-from: old` in level new gives it to them again"));
    reload_with(kKept);
    expect_level("new");
}

TEST_F(LostLevel, RenamedFromKeepsIt)
{
    const std::string plan = planned(kKept);
    EXPECT_THAT(plan, HasSubstr("level new: renamed from old\n"));
    EXPECT_THAT(plan, Not(HasSubstr("goes away")));
    reload_with(kKept);
    expect_level("new");
    EXPECT_THAT(daemon.log(), HasSubstr("level old is renamed to new: 1 session with 2 queue pairs keeps it"));
}

TEST_F(LostLevel, ClosedAndOpened)
{
    EXPECT_THAT(planned(kClosed), HasSubstr("level old is closed by its `allow`: 1 session with 2 queue pairs"));
    reload_with(kClosed);
    expect_lost("not-allowed");
    reload_with(kOld);
    expect_level("old");
}

}    // namespace
}    // namespace rdmaqos::test
