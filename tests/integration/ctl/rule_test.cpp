// rdma-qosctl rule, and how the daemon takes away what has ended.
#include <algorithm>
#include <filesystem>
#include <future>
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

const fs::path kRules = "run/rdma-qos/policy.d";

// The standard output and error of several at once must not meet in one file.
Outcome run_beside(const fs::path& root, const std::string& words, const std::string& name)
{
    const std::string command = fmt::format("cd {0} && timeout 120 {1} --root {0} {2} >{3}.out 2>{3}.err </dev/null",
                                            root.string(), RDMAQOS_CTL, words, name);
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_text(root / (name + ".out")),
            read_text(root / (name + ".err"))};
}

class CtlRule : public testing::Test {
protected:
    Outcome ctl(const std::string& words) const { return run_ctl(daemon.root(), words); }
    // The level that the running daemon gives to this service.
    std::string level_of(const std::string& service)
    {
        const Outcome answered = ctl("query-path --json --service-id " + service);
        return answered.status == 0 ? Json::parse(answered.output).at("paths").at(0).at("level").get<std::string>()
                                    : answered.error;
    }
    bool gets(const std::string& service, const std::string& level)
    {
        return eventually([&] { return level_of(service) == level; });
    }
    void make_cgroup(const std::string& cgroup) const
    {
        daemon.dir().write("sys/fs/cgroup/cgroup.controllers", "cpu\n");
        fs::create_directories(daemon.root() / "sys/fs/cgroup" / cgroup);
    }
    fs::path file(const std::string& name) const { return daemon.root() / kRules / name; }

    Daemon daemon{{kTwoLevelPolicy, kTwoDevices, "", false, RDMAQOS_DAEMON}};
};

TEST_F(CtlRule, IsInForceUntilItIsRemoved)
{
    ASSERT_EQ(level_of("0x5"), "DEFAULT");
    const Outcome added = ctl(
        "rule add --owner slurm-job-4711 --for 2h --service-id 0x5-0x6 --level bulk --use 'job 4711'");
    ASSERT_EQ(added.status, 0) << added.error;
    EXPECT_THAT(added.output, HasSubstr("rule slurm-job-4711 is in force, until 2"));
    EXPECT_EQ(level_of("0x6"), "bulk");
    EXPECT_THAT(ctl("explain --service-id 5").output, HasSubstr("/run/rdma-qos/policy.d/10-slurm-job-4711.yaml:"));
    EXPECT_THAT(ctl("show-config").output, HasSubstr("# /run/rdma-qos/policy.d/10-slurm-job-4711.yaml:"));

    ASSERT_EQ(ctl("rule add --name second --owner slurm-job-4711 --service-id 7 --level bulk").status, 0);
    const Json rules = Json::parse(ctl("rule list --json").output).at("rules");
    ASSERT_EQ(rules.size(), 2U);
    EXPECT_EQ(rules.at(0).at("name"), "second");
    EXPECT_EQ(rules.at(1).at("name"), "slurm-job-4711");
    EXPECT_EQ(rules.at(1).at("owner"), "slurm-job-4711");
    EXPECT_EQ(rules.at(1).at("state"), "read");
    EXPECT_THAT(ctl("rule list").output, HasSubstr("slurm-job-4711"));

    const Outcome one = ctl("rule remove second");
    EXPECT_EQ(one.output, "removed: second\n") << one.error;
    EXPECT_EQ(level_of("7"), "DEFAULT");
    EXPECT_EQ(level_of("5"), "bulk");
    EXPECT_EQ(ctl("rule remove second").status, 1);
    EXPECT_EQ(ctl("rule remove --owner slurm-job-4711 --json").output,
              "{\n  \"removed\": [\n    \"slurm-job-4711\"\n  ]\n}\n");
    EXPECT_EQ(level_of("5"), "DEFAULT");
    EXPECT_EQ(ctl("rule remove --owner slurm-job-4711").status, 0) << "it may have ended before";
    EXPECT_THAT(ctl("rule list").output, HasSubstr("no transient rules"));
}

TEST_F(CtlRule, OneThatIsRefusedLeavesNothing)
{
    struct Case {
        const char* options;
        int status;
        const char* error;
    };
    for (const auto& [options, status, error] : {
             Case{"--service-id 5 --level nothing", 2, "there is no qos-level `nothing`"},
             {"--destination nowhere --level bulk", 2, "nowhere"},
             {"--level bulk", 1, "the rule has no criterion"},
             {"--service-id 5", 1, "--level is required"},
             {"--service-id 5 --level bulk --for never", 1, "`never` is not a time"},
             {"--service-id 5 --level bulk --for 0s", 1, "`0s` is not above 0"},
             {"--service-id 5 --level bulk --name ../x", 1, "`../x` is not a name of a rule"},
             {"--service-id 5 --level bulk --cgroup relative", 2, "`relative` is not the path of a cgroup"},
             {"--ulp-port tcp --level bulk", 1, "`tcp` is not SPACE:PORT"},
         }) {
        const Outcome added = ctl(std::string("rule add ") + options);
        EXPECT_EQ(added.status, status) << options << added.output;
        EXPECT_THAT(added.error, HasSubstr(error)) << options;
    }
    make_cgroup("here");
    EXPECT_THAT(ctl("rule add --service-id 5 --level bulk --cgroup /gone").error,
                HasSubstr("there is no cgroup /gone"));
    EXPECT_TRUE(!fs::exists(daemon.root() / kRules) || fs::is_empty(daemon.root() / kRules));
    daemon.dir().write("etc/rdma-qos/policy.d/10-mine.yaml", "version: 1\n");
    EXPECT_THAT(ctl("rule add --service-id 5 --level bulk --name mine").error,
                HasSubstr("there is a policy file 10-mine.yaml already"));
    EXPECT_TRUE(!fs::exists(daemon.root() / kRules) || fs::is_empty(daemon.root() / kRules));
    EXPECT_EQ(level_of("5"), "DEFAULT");
}

// They neither go live with a rule, nor keep one out.
TEST_F(CtlRule, UnfinishedEditsTakeNoEffect)
{
    const std::string edited = "version: 1\nqos-levels: [{name: DEFAULT}, {name: edited}, {name: bulk}]\n"
                               "qos-match-rules: [{service-id: 6, qos-level-name: edited}]\n";
    daemon.dir().write("etc/rdma-qos/policy.yaml", edited);
    const Outcome added = ctl("rule add --name job --service-id 5 --level bulk");
    EXPECT_EQ(added.status, 0) << added.error;
    EXPECT_EQ(level_of("5"), "bulk");
    EXPECT_EQ(level_of("6"), "DEFAULT");
    EXPECT_THAT(ctl("status").output, HasSubstr("note: the policy's files say something else by now"));

    daemon.dir().write("etc/rdma-qos/policy.yaml", "version: 1\nbogus: 1\n");
    daemon.dir().write("etc/rdma-qos/rdma-qosd.yaml", "bogus: 1\n");
    EXPECT_EQ(ctl("override bulk --max-rate 1Gbps").status, 0);
    EXPECT_EQ(ctl("rule add --name other --service-id 7 --level bulk").status, 0);
    EXPECT_EQ(ctl("rule remove job").status, 0);
    EXPECT_EQ(level_of("5"), "DEFAULT");
    EXPECT_EQ(level_of("7"), "bulk");
    const Outcome status = ctl("status --check");
    EXPECT_EQ(status.status, 0) << "nothing of it is in force: " << status.output;
    EXPECT_THAT(status.output, HasSubstr("note: the policy's files have errors by now"));
    EXPECT_THAT(ctl("metrics").output, HasSubstr("rdmaqos_last_reload_successful 1\n"));

    // A rule is checked with what runs, also with what is being tried.
    daemon.dir().write("new.yaml", edited);
    daemon.dir().write("etc/rdma-qos/policy.yaml", kTwoLevelPolicy);
    fs::remove(daemon.root() / "etc/rdma-qos/rdma-qosd.yaml");
    ASSERT_EQ(ctl("try new.yaml --timeout 1h").status, 0);
    EXPECT_EQ(ctl("rule add --name tried --service-id 8 --level edited").status, 0);
    EXPECT_EQ(ctl("rule add --name gone --service-id 9 --level rpc").status, 2) << "the policy that is tried has none";
    EXPECT_EQ(level_of("8"), "edited");
}

TEST_F(CtlRule, OneThatCannotBeRemovedStays)
{
    daemon.dir().write(kRules / "20-level.yaml", "version: 1\nqos-levels: [{name: job, sl: 2}]\n");
    ASSERT_EQ(ctl("rule add --service-id 5 --level job").status, 0);
    const Outcome removed = ctl("rule remove 20-level");
    EXPECT_EQ(removed.status, 2);
    EXPECT_THAT(removed.error, HasSubstr("nothing is removed: "));
    EXPECT_TRUE(fs::exists(file("20-level.yaml")));
    EXPECT_EQ(level_of("5"), "job");
    EXPECT_EQ(ctl("reload").status, 0);
}

TEST_F(CtlRule, EndsWhenItsTimeHasPassed)
{
    // That it was in force is seen of the other one: on a busy machine its own time has passed when somebody asks.
    ASSERT_EQ(ctl("rule add --for 6s --service-id 5 --level bulk --name short").status, 0);
    ASSERT_EQ(ctl("rule add --for 1h --service-id 6 --level bulk --name long").status, 0);
    EXPECT_TRUE(gets("5", "DEFAULT")) << daemon.log();
    EXPECT_FALSE(fs::exists(file("10-short.yaml")));
    EXPECT_EQ(level_of("6"), "bulk");
    EXPECT_THAT(daemon.log(), HasSubstr("/run/rdma-qos/policy.d/10-short.yaml was removed: its time has passed"));
}

TEST_F(CtlRule, EndsWithItsCgroup)
{
    make_cgroup("system.slice/job.scope");
    make_cgroup("system.slice/other.scope");
    ASSERT_EQ(ctl("rule add --cgroup /system.slice/job.scope --service-id 5 --level bulk --owner job").status, 0);
    // Whoever writes a file himself has it taken away too.
    daemon.dir().write(kRules / "30-cni.yaml", "version: 1\ntransient: {cgroup: /system.slice/other.scope}\n"
                                               "qos-match-rules: [{service-id: [6], qos-level-name: bulk}]\n");
    ASSERT_EQ(ctl("reload").status, 0);
    EXPECT_EQ(level_of("5"), "bulk");
    EXPECT_EQ(level_of("6"), "bulk");
    fs::remove(daemon.root() / "sys/fs/cgroup/system.slice/job.scope");
    EXPECT_TRUE(gets("5", "DEFAULT")) << daemon.log();
    EXPECT_FALSE(fs::exists(file("10-job.yaml")));
    EXPECT_EQ(level_of("6"), "bulk");
    EXPECT_THAT(daemon.log(), HasSubstr("the cgroup /system.slice/job.scope is gone; it was for job"));
    fs::remove(daemon.root() / "sys/fs/cgroup/system.slice/other.scope");
    EXPECT_TRUE(gets("6", "DEFAULT")) << daemon.log();
}

// The daemon's start and the command's answers agree: what has ended is as if it were not there.
TEST_F(CtlRule, WhatEndedWhileNobodyLookedIsNotUsed)
{
    static_cast<void>(daemon.stop());
    daemon.dir().write(kRules / "10-old.yaml", "version: 1\ntransient: {until: \"2020-01-01T00:00:00Z\"}\n"
                                               "qos-match-rules: [{service-id: [5], qos-level-name: bulk}]\n");
    const Outcome shown = ctl("show-config --offline");
    EXPECT_THAT(shown.output, HasSubstr("10-old.yaml: its time has passed (2020-01-01T00:00:00Z)"));
    EXPECT_THAT(ctl("rule list --json").output, HasSubstr("\"state\": \"ended\""));
    EXPECT_THAT(ctl("query-path --offline --service-id 5").output, HasSubstr("DEFAULT"));
    EXPECT_EQ(ctl("check --offline").status, 0);
    const Outcome added = ctl("rule add --service-id 6 --level bulk");
    EXPECT_EQ(added.status, 0) << added.error;
    EXPECT_THAT(added.output, HasSubstr("no daemon runs, and it will be in force when one starts"));
    EXPECT_THAT(ctl("query-path --offline --service-id 6").output, HasSubstr("bulk"));
}

// A prolog for each of many jobs.
TEST_F(CtlRule, ManyAtOnceAreAllInForce)
{
    constexpr int kJobs = 12;
    std::vector<std::future<Outcome>> adding;
    for (int job = 0; job < kJobs; ++job) {
        adding.push_back(std::async(std::launch::async, [this, job] {
            // One of them is refused, and the others do not notice.
            return run_beside(daemon.root(),
                              fmt::format("rule add --owner prolog --service-id {} --level {}", 100 + job,
                                          job == 5 ? "none" : "bulk"),
                              fmt::format("job-{}", job));
        }));
    }
    for (int job = 0; job < kJobs; ++job) {
        const Outcome added = adding.at(static_cast<std::size_t>(job)).get();
        EXPECT_EQ(added.status, job == 5 ? 2 : 0) << job << added.error;
    }
    for (int job = 0; job < kJobs; ++job) {
        EXPECT_EQ(level_of(std::to_string(100 + job)), job == 5 ? "DEFAULT" : "bulk");
    }
    EXPECT_EQ(Json::parse(ctl("rule remove --owner prolog --json").output).at("removed").size(), kJobs - 1);
    EXPECT_EQ(level_of("100"), "DEFAULT");
}

}    // namespace
}    // namespace rdmaqos::test
