// rdma-qosctl override: what a level gets for a while, on the devices too, and that it is gone afterwards.
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/support/ctl.h"
#include "tests/support/daemon_fixture.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

const fs::path kOverrides = "run/rdma-qos/policy.d";

class CtlOverride : public testing::Test {
protected:
    Outcome ctl(const std::string& words) const { return run_ctl(daemon.root(), words); }
    Json json_of(const std::string& words) const
    {
        const Outcome outcome = ctl(words + " --json");
        EXPECT_EQ(outcome.status, 0) << words << outcome.error;
        return outcome.status == 0 ? Json::parse(outcome.output) : Json::object();
    }
    Json listed() const { return json_of("override list").value("overrides", Json::array()); }
    // The cap of a level's class in the tree of the first device, in kbit/s; 0: none, or no such class.
    std::uint64_t cap_of(const std::string& level) const
    {
        const Json trees = json_of("tree mlx5_0");
        const Json& elements = trees.at("trees").at(0).at("elements");
        for (const Json& element : elements) {
            if (element.at("path") == "/" + level) {
                return element.value("max-rate", 0ULL);
            }
        }
        return 0;
    }
    bool gets_cap(const std::string& level, std::uint64_t gbps) const
    {
        return eventually([&] { return cap_of(level) == gbps * 1'000'000; });
    }
    bool has_no_file() const
    {
        return !fs::exists(daemon.root() / kOverrides) || fs::is_empty(daemon.root() / kOverrides);
    }
    fs::path file(const std::string& name) const { return daemon.root() / kOverrides / name; }

    Daemon daemon{{kTwoLevelPolicy, kTwoDevices, "", false, RDMAQOS_DAEMON}};
};

TEST_F(CtlOverride, IsOnTheDevicesUntilItIsCleared)
{
    ASSERT_TRUE(gets_cap("rpc", 40));
    const Outcome set = ctl("override rpc --max-rate 10Gbps --for 30m");
    ASSERT_EQ(set.status, 0) << set.error;
    EXPECT_THAT(set.output, HasSubstr("rpc: max-rate 40 Gbit/s -> 10 Gbit/s (override of max-rate, until 2"));
    EXPECT_THAT(set.output, HasSubstr("the override of rpc is in force; it ends in "));
    EXPECT_TRUE(gets_cap("rpc", 10));

    const Json overrides = listed();
    ASSERT_EQ(overrides.size(), 1U);
    EXPECT_EQ(overrides.at(0).at("level"), "rpc");
    EXPECT_EQ(overrides.at(0).at("property"), "max-rate");
    EXPECT_EQ(overrides.at(0).at("value"), "10 Gbit/s");
    EXPECT_EQ(overrides.at(0).at("in-place-of"), "40 Gbit/s");
    EXPECT_EQ(overrides.at(0).at("state"), "applied");
    EXPECT_TRUE(overrides.at(0).contains("until"));
    EXPECT_THAT(ctl("override list").output, AnyOf(HasSubstr("  30 min"), HasSubstr("  29 min")));
    EXPECT_THAT(ctl("rule list").output, HasSubstr("no transient rules")) << "it is none";
    EXPECT_EQ(ctl("rule remove 90-override-rpc").status, 1);

    const Outcome cleared = ctl("override clear RPC");
    ASSERT_EQ(cleared.status, 0) << cleared.error;
    EXPECT_EQ(cleared.output,
              "rpc: max-rate 10 Gbit/s -> 40 Gbit/s (without the override of max-rate)\ncleared: rpc\n");
    EXPECT_TRUE(gets_cap("rpc", 40));
    EXPECT_TRUE(has_no_file());
    EXPECT_THAT(ctl("override list").output, HasSubstr("no level is overridden"));
    EXPECT_EQ(ctl("override clear rpc").status, 1);
    EXPECT_EQ(ctl("override clear --all").output, "no level is overridden\n");
}

TEST_F(CtlOverride, IsSeenWhereverTheLevelIs)
{
    ASSERT_EQ(ctl("override rpc --max-rate 10Gbps --per-queue-pair-max-rate 2Gbps --for 2h").status, 0);
    const Outcome status = ctl("status --wide");
    EXPECT_THAT(status.output, HasSubstr("2: rpc max-rate 10 Gbit/s in place of 40 Gbit/s, ends in "));
    EXPECT_THAT(status.output, HasSubstr("; rpc per-queue-pair-max-rate 2 Gbit/s in place of unlimited, ends in "));
    EXPECT_EQ(json_of("status").at("overrides").size(), 2U);
    EXPECT_THAT(ctl("levels --wide").output, HasSubstr("\nrpc max-rate 10 Gbit/s in place of 40 Gbit/s, until 2"));
    EXPECT_THAT(ctl("show-config").output,
                HasSubstr("# /run/rdma-qos/policy.d/90-override-rpc.yaml:7, in place of 40 Gbit/s, until 2"));
    EXPECT_THAT(ctl("metrics").output,
                AllOf(HasSubstr("\nrdmaqos_policy_overrides 2\n"),
                      HasSubstr("\nrdmaqos_level_overridden{level=\"rpc\",property=\"max-rate\"} 1\n")));
    // What a reload would do: nothing new with the override, and without it the level as it was.
    EXPECT_THAT(ctl("plan").output, Not(HasSubstr("max-rate")));
    fs::remove(file("90-override-rpc.yaml"));
    EXPECT_THAT(ctl("plan").output, HasSubstr("max-rate 10 Gbit/s -> 40 Gbit/s"));
    EXPECT_THAT(ctl("plan").output, HasSubstr("without the override of max-rate"));
}

TEST_F(CtlOverride, EndsWhenItsTimeHasPassed)
{
    ASSERT_EQ(ctl("override rpc --max-rate 10Gbps --for 1h").status, 0);
    const Outcome endless = ctl("override bulk --max-rate 20Gbps");
    EXPECT_THAT(endless.output, HasSubstr("it ends when the host restarts, for there is no `--for`"));
    EXPECT_TRUE(gets_cap("rpc", 10));
    EXPECT_TRUE(gets_cap("bulk", 20));
    // On a busy machine this one's time has passed when somebody looks.
    ASSERT_EQ(ctl("override rpc --max-rate 10Gbps --for 6s").status, 0);
    EXPECT_TRUE(gets_cap("rpc", 40)) << daemon.log();
    EXPECT_TRUE(gets_cap("bulk", 20));
    EXPECT_FALSE(fs::exists(file("90-override-rpc.yaml")));
    EXPECT_THAT(daemon.log(), HasSubstr("90-override-rpc.yaml was removed: its time has passed"));
}

TEST_F(CtlOverride, EndsWithItsCgroup)
{
    daemon.dir().write("sys/fs/cgroup/cgroup.controllers", "cpu\n");
    fs::create_directories(daemon.root() / "sys/fs/cgroup/system.slice/job.scope");
    EXPECT_THAT(ctl("override rpc --share 5 --cgroup /gone").error, HasSubstr("there is no cgroup /gone"));
    const Outcome set = ctl("override rpc --max-rate 10Gbps --cgroup /system.slice/job.scope");
    ASSERT_EQ(set.status, 0) << set.error;
    EXPECT_THAT(set.output, HasSubstr("it ends with the cgroup /system.slice/job.scope\n"));
    EXPECT_TRUE(gets_cap("rpc", 10));
    fs::remove(daemon.root() / "sys/fs/cgroup/system.slice/job.scope");
    EXPECT_TRUE(gets_cap("rpc", 40)) << daemon.log();
}

TEST_F(CtlOverride, OneThatIsRefusedLeavesNothing)
{
    daemon.dir().write(
        "etc/rdma-qos/policy.d/60-guaranteed.yaml",
        "version: 1\nscheduling-nodes: [{name: tenants, min-rate: 40Gbps, max-rate: 50Gbps}]\nqos-levels:\n"
        "  - {name: held, schedule: {parent: tenants, min-rate: 30Gbps}, allow: {user: [root]}}\n");
    ASSERT_EQ(ctl("reload").status, 0);
    struct Case {
        const char* options;
        int status;
        const char* error;
    };
    for (const auto& [options, status, error] : {
             Case{"nothing --max-rate 10Gbps", 2, "there is no qos-level `nothing`: this override does nothing"},
             {"nobody --max-rate 10Gbps", 2, "qos-level `nobody` has no `schedule`: this override does nothing"},
             {"rpc --max-rate fast", 2, "90-override-rpc.yaml:6:15: error: `max-rate`: `fast` is not a number"},
             {"rpc --min-rate unlimited", 2, "`min-rate` cannot be `unlimited`"},
             {"held --max-rate 20Gbps", 2,
              "90-override-held.yaml:6:15: error: `min-rate` 30 Gbit/s is above `max-rate` 20 Gbit/s"},
             {"held --min-rate 60Gbps", 2,
              "90-override-held.yaml:6:15: error: the min-rates below `tenants` add up to 60 Gbit/s"},
             {"rpc", 1, "say what to override"},
             {"", 1, "LEVEL is required"},
             {"rpc list", 1, "take neither a level"},
             {"list --share 3", 1, "take neither a level"},
             {"rpc --share 3 --for never", 1, "`never` is not a time"},
             {"rpc --share 3 --cgroup relative", 2, "`relative` is not the path of a cgroup"},
             {"clear", 1, "name a level"},
         }) {
        const Outcome set = ctl(std::string("override ") + options);
        EXPECT_EQ(set.status, status) << options << set.output;
        EXPECT_THAT(set.error, HasSubstr(error)) << options;
    }
    EXPECT_TRUE(has_no_file());

    // One that cannot replace the one before leaves that.
    ASSERT_EQ(ctl("override rpc --max-rate 10Gbps").status, 0);
    EXPECT_EQ(ctl("override rpc --max-rate fast").status, 2);
    const Outcome refused = ctl("override rpc --min-rate 4000Gbps --max-rate unlimited");
    EXPECT_EQ(refused.status, 2);
    EXPECT_THAT(refused.error, HasSubstr("level rpc is not overridden: "));
    EXPECT_EQ(listed().at(0).at("value"), "10 Gbit/s");
    EXPECT_EQ(cap_of("rpc"), 10'000'000U);
    // That is no state of the files.
    EXPECT_EQ(ctl("status --check").status, 0);
    EXPECT_THAT(ctl("metrics").output, HasSubstr("rdmaqos_last_reload_successful 1\n"));

    // Nor is one cleared that another file needs.
    ASSERT_EQ(ctl("override rpc --max-rate 50Gbps").status, 0);
    daemon.dir().write(kOverrides / "95-mine.yaml",
                       "version: 1\ntransient: {}\nqos-level-overrides:\n  - {name: rpc, min-rate: 45Gbps}\n"
                       "  - {name: held, max-rate: 45Gbps}\n");
    ASSERT_EQ(ctl("reload").status, 0);
    const Outcome kept = ctl("override clear rpc");
    EXPECT_EQ(kept.status, 2);
    EXPECT_THAT(kept.error, HasSubstr("nothing is cleared: "));
    EXPECT_EQ(listed().size(), 3U);
}

TEST_F(CtlOverride, ASecondOneOfALevelReplacesTheFirst)
{
    ASSERT_EQ(ctl("override rpc --max-rate 10Gbps --share 7").status, 0);
    const Outcome second = ctl("override RPC --max-rate 20Gbps");
    ASSERT_EQ(second.status, 0) << second.error;
    EXPECT_THAT(second.output, HasSubstr("max-rate 10 Gbit/s -> 20 Gbit/s"));
    EXPECT_TRUE(gets_cap("rpc", 20));
    ASSERT_EQ(listed().size(), 1U);
    EXPECT_EQ(listed().at(0).at("in-place-of"), "40 Gbit/s");

    // Somebody else's file that is read later has the last word, and the command does not pretend otherwise.
    daemon.dir().write(kOverrides / "95-mine.yaml",
                       "version: 1\ntransient: {}\nqos-level-overrides: [{name: rpc, max-rate: 5Gbps}]\n");
    ASSERT_EQ(ctl("reload").status, 0);
    EXPECT_TRUE(gets_cap("rpc", 5));
    const Outcome hidden = ctl("override rpc --max-rate 30Gbps");
    EXPECT_EQ(hidden.status, 2);
    EXPECT_THAT(hidden.error, HasSubstr("overrides it already"));
    const Json overrides = listed();
    ASSERT_EQ(overrides.size(), 2U);
    EXPECT_EQ(overrides.at(0).at("state"), "no-effect");
    EXPECT_EQ(overrides.at(1).at("state"), "applied");
    EXPECT_EQ(json_of("override clear --all").at("cleared"), Json({"rpc"}));
    EXPECT_TRUE(gets_cap("rpc", 40));
    EXPECT_TRUE(has_no_file());
}

TEST_F(CtlOverride, NeverKeepsThePolicyOut)
{
    ASSERT_EQ(ctl("override rpc --max-rate 10Gbps").status, 0);
    daemon.dir().write("etc/rdma-qos/policy.yaml", "version: 1\nqos-levels: [{name: DEFAULT}, {name: bulk}]\n");
    const Outcome reloaded = ctl("reload");
    EXPECT_EQ(reloaded.status, 0) << reloaded.error;
    EXPECT_THAT(reloaded.output, HasSubstr("there is no qos-level `rpc`: this override does nothing"));
    EXPECT_EQ(listed().at(0).at("state"), "no-effect");
    daemon.dir().write("etc/rdma-qos/policy.yaml", kTwoLevelPolicy);
    ASSERT_EQ(ctl("reload").status, 0);
    EXPECT_TRUE(gets_cap("rpc", 10));
}

TEST_F(CtlOverride, SurvivesARestartAndEndsAfterIt)
{
    if (EmulatedNics::wanted()) {
        GTEST_SKIP() << "the second daemon has simulated devices";
    }
    ASSERT_EQ(ctl("override rpc --max-rate 10Gbps --for 12s").status, 0);
    ASSERT_EQ(ctl("override bulk --max-rate 20Gbps --for 1h").status, 0);
    ASSERT_TRUE(daemon.stop());
    EXPECT_THAT(ctl("override list").output, HasSubstr("20 Gbit/s"));
    const Child second(
        {RDMAQOS_DAEMON, "--root", daemon.root().string(), "--simulate", (daemon.root() / "devices.yaml").string()}, {},
        daemon.root() / "second.log");
    ASSERT_TRUE(eventually([&] { return ctl("status --json").status == 0; }));
    EXPECT_TRUE(gets_cap("bulk", 20));
    EXPECT_TRUE(gets_cap("rpc", 40)) << "it has ended by itself";
    EXPECT_EQ(listed().size(), 1U);

    // While the files are broken, the last good policy is without what has ended or been removed meanwhile.
    second.signal(SIGKILL);
    fs::remove(file("90-override-bulk.yaml"));
    daemon.dir().write("etc/rdma-qos/policy.yaml", "version: 1\nbroken: 1\n");
    ASSERT_TRUE(eventually([&] { return ctl("status --json").status != 0; }));
    const Child third(
        {RDMAQOS_DAEMON, "--root", daemon.root().string(), "--simulate", (daemon.root() / "devices.yaml").string()}, {},
        daemon.root() / "third.log");
    ASSERT_TRUE(eventually([&] { return ctl("tree --json").status == 0; }));
    EXPECT_TRUE(gets_cap("rpc", 40));
    EXPECT_TRUE(gets_cap("bulk", 0));
}

TEST_F(CtlOverride, IsWrittenWithoutADaemon)
{
    ASSERT_TRUE(daemon.stop());
    const Outcome set = ctl("override rpc --max-rate 10Gbps --for 1h");
    EXPECT_EQ(set.status, 0) << set.error;
    EXPECT_THAT(set.output, HasSubstr("is written, and in force when a daemon runs"));
    EXPECT_FALSE(json_of("override bulk --share 3").at("in-force").get<bool>());
    EXPECT_EQ(listed().size(), 2U);
}

}    // namespace
}    // namespace rdmaqos::test
