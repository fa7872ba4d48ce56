// rdma-qosctl try, confirm and revert.
#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/ctl.h"
#include "tests/support/daemon_fixture.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

constexpr const char* kPolicyFile = "etc/rdma-qos/policy.yaml";

class CtlTrial : public testing::Test {
protected:
    void SetUp() override { daemon.dir().write("new.yaml", tried); }

    Outcome ctl(const std::string& words) const { return run_ctl(daemon.root(), words); }
    // Succeeds.
    Json status() const
    {
        const Outcome said = ctl("status --json");
        EXPECT_EQ(said.status, 0) << said.error;
        return Json::parse(said.output);
    }
    std::string revision() const { return status().at("policy").at("revision").get<std::string>(); }
    bool is_trying() const { return status().at("policy").contains("trial"); }
    std::string policy_file() const { return read_text(daemon.root() / kPolicyFile); }

    const std::string old = kTwoLevelPolicy;
    const std::string tried = old + "# tried\n";
    Daemon daemon{{old, kTwoDevices, "", false, RDMAQOS_DAEMON}};
    const std::string before = revision();
};

TEST_F(CtlTrial, IsInForceAndIsConfirmed)
{
    const Outcome begun = ctl("try new.yaml --timeout 10min");
    ASSERT_EQ(begun.status, 0) << begun.error;
    const std::string during = revision();
    EXPECT_NE(during, before);
    EXPECT_THAT(begun.output, HasSubstr(fmt::format("policy {} is running, for 600 seconds", during)));
    EXPECT_THAT(begun.output, HasSubstr("rdma-qosctl confirm"));
    EXPECT_THAT(begun.output, HasSubstr("rdma-qosctl revert"));
    EXPECT_EQ(policy_file(), old);

    const Json shown = status();
    const Json& trial = shown.at("policy").at("trial");
    EXPECT_EQ(trial.at("revision"), during);
    EXPECT_EQ(trial.at("goes-back-to"), before);
    EXPECT_LE(trial.at("seconds-left").get<int>(), 600);
    EXPECT_GT(trial.at("seconds-left").get<int>(), 400);
    EXPECT_EQ(trial.at("command"), "rdma-qosctl");
    EXPECT_TRUE(shown.at("ok"));
    EXPECT_THAT(ctl("status").output, HasSubstr("rdma-qosctl confirm"));
    EXPECT_THAT(ctl("metrics").output, HasSubstr("rdmaqos_trial_in_force 1\n"));

    const Outcome config = ctl("show-config");
    EXPECT_THAT(config.output, HasSubstr("Revision: " + during)) << config.error;
    EXPECT_THAT(config.output, HasSubstr("tries another text in the place of /etc/rdma-qos/policy.yaml"));
    EXPECT_EQ(Json::parse(ctl("show-config --json").output).at("daemon").at("trial").at("shown"), true);
    EXPECT_THAT(ctl("show-config --offline").output, HasSubstr("Revision: " + before));

    ASSERT_EQ(chmod((daemon.root() / kPolicyFile).c_str(), 0640), 0);
    const Outcome confirmed = ctl("confirm");
    ASSERT_EQ(confirmed.status, 0) << confirmed.error;
    EXPECT_THAT(confirmed.output, HasSubstr(during));
    EXPECT_EQ(policy_file(), tried);
    struct stat now {};
    ASSERT_EQ(stat((daemon.root() / kPolicyFile).c_str(), &now), 0);
    EXPECT_EQ(now.st_mode & 07777, 0640U);
    EXPECT_FALSE(is_trying());
    EXPECT_EQ(revision(), during);
    EXPECT_THAT(daemon.log(), HasSubstr("is confirmed"));
    EXPECT_EQ(ctl("confirm").status, 1) << "once";
    EXPECT_EQ(ctl("reload").status, 0);
    EXPECT_EQ(revision(), during);
}

TEST_F(CtlTrial, IsNoGoodReload)
{
    const auto good = [this] { return status().at("policy").at("last-good-reload").get<std::time_t>(); };
    const std::time_t at_start = good();
    EXPECT_NEAR(static_cast<double>(at_start), static_cast<double>(std::time(nullptr)), 86'400) << "seconds since 1970";
    const auto text = [](std::time_t time) { return fmt::format("{:%FT%TZ}", fmt::gmtime(time)); };
    EXPECT_THAT(ctl("status").output, HasSubstr("accepted, " + text(at_start) + "\n"));

    ASSERT_EQ(ctl("try new.yaml --timeout 10min").status, 0);
    EXPECT_EQ(good(), at_start);
    EXPECT_THAT(ctl("status").output, Not(HasSubstr(text(at_start))));
    EXPECT_TRUE(eventually([&] { return ctl("reload").status == 0 && good() > at_start; })) << "in a later second";

    const std::time_t after = good();
    daemon.dir().write(kPolicyFile, "version: 2\n");
    EXPECT_NE(ctl("reload").status, 0);
    EXPECT_EQ(good(), after);
    EXPECT_THAT(ctl("status").output, HasSubstr("refused, see below; the last good one was at " + text(after)));
}

TEST_F(CtlTrial, GoesBackByItself)
{
    const Outcome begun = ctl("try new.yaml --timeout 2 --json");
    ASSERT_EQ(begun.status, 0) << begun.error;
    const Json json = Json::parse(begun.output);
    EXPECT_TRUE(json.at("accepted"));
    EXPECT_LE(json.at("seconds-left").get<int>(), 2);
    EXPECT_NE(json.at("revision"), before);
    EXPECT_TRUE(eventually([&] { return !is_trying(); }));
    EXPECT_EQ(revision(), before);
    EXPECT_EQ(policy_file(), old);
    EXPECT_THAT(ctl("confirm").error, HasSubstr("no policy is being tried"));
    EXPECT_EQ(policy_file(), old);
}

TEST_F(CtlTrial, IsReverted)
{
    EXPECT_EQ(ctl("revert").status, 1);
    ASSERT_EQ(ctl("try new.yaml --timeout 1h").status, 0);
    ASSERT_TRUE(is_trying());
    const Outcome reverted = ctl("revert");
    EXPECT_EQ(reverted.status, 0) << reverted.error;
    EXPECT_THAT(reverted.output, HasSubstr(before + " is running: it is the one from before the trial"));
    EXPECT_EQ(revision(), before);

    ASSERT_EQ(ctl("try new.yaml").status, 0);
    daemon.dir().write(kPolicyFile, old + "# edited\n");
    EXPECT_THAT(ctl("revert").output, HasSubstr("the files say so; before the trial it was policy " + before));
    EXPECT_NE(revision(), before);
    daemon.dir().write(kPolicyFile, old);
    ASSERT_EQ(ctl("reload").status, 0);

    ASSERT_EQ(ctl("try new.yaml").status, 0);
    daemon.dir().write(kPolicyFile, "version: 1\nbogus: 1\n");
    const Outcome broken = ctl("revert");
    EXPECT_EQ(broken.status, 2);
    EXPECT_THAT(broken.error, HasSubstr("from before the trial, is running"));
    EXPECT_THAT(broken.error, HasSubstr("policy.yaml:2:1: error"));
    EXPECT_EQ(revision(), before);
    EXPECT_FALSE(status().at("ok")) << "what is wrong with the files is to be seen";
}

TEST_F(CtlTrial, WhatIsRefusedChangesNothing)
{
    daemon.dir().write("broken.yaml", "version: 1\nbogus: 1\n");
    daemon.dir().write("much.yaml",
                       "version: 1\nqos-levels: [{name: DEFAULT}, {name: a, schedule: {min-rate: 4000Gbps}}]\n");
    struct Case {
        const char* words;
        int status;
        const char* error;
    };
    for (const auto& [words, code, error] : {
             Case{"try broken.yaml", 2, "broken.yaml:2:1: error: unknown key `bogus`"},
             {"try much.yaml", 2, "mlx5_0/1"},
             {"try gone.yaml", 1, "gone.yaml"},
             {"try etc/rdma-qos/policy.yaml", 1, "is the file that the trial would go back to"},
             {"try old.conf", 1, "import-opensm"},
             {"try new.yaml --timeout 0", 1, "1 to 86400 seconds"},
             {"try new.yaml --timeout 25h", 1, "1 to 86400 seconds"},
             {"try new.yaml --timeout soon", 1, "`soon` is not a time"},
         }) {
        const Outcome refused = ctl(words);
        EXPECT_EQ(refused.status, code) << words << refused.error;
        EXPECT_THAT(refused.error, HasSubstr(error)) << words;
    }
    EXPECT_EQ(revision(), before);
    EXPECT_FALSE(is_trying());
    EXPECT_TRUE(status().at("ok"));
}

TEST_F(CtlTrial, AFileThatSomebodyHasEditedIsNotOverwrittenUnasked)
{
    ASSERT_EQ(ctl("try new.yaml").status, 0);
    const std::string edited = old + "# edited\n";
    daemon.dir().write(kPolicyFile, edited);
    const Outcome refused = ctl("confirm");
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.error, HasSubstr("/etc/rdma-qos/policy.yaml has changed since the trial began"));
    EXPECT_EQ(policy_file(), edited);
    EXPECT_TRUE(is_trying());
    const Outcome forced = ctl("confirm --force");
    EXPECT_EQ(forced.status, 0) << forced.error;
    EXPECT_EQ(policy_file(), tried);
}

TEST_F(CtlTrial, FilesThatComeToSomethingElseAreNamedAndTheFileIsPutBack)
{
    ASSERT_EQ(ctl("try new.yaml").status, 0);
    const std::string during = revision();
    daemon.dir().write("etc/rdma-qos/policy.d/70-late.yaml", "version: 1\n");
    const Outcome refused = ctl("confirm");
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.error, HasSubstr("/etc/rdma-qos/policy.d/70-late.yaml"));
    EXPECT_THAT(refused.error, HasSubstr("is as it was before"));
    EXPECT_EQ(policy_file(), old);
    EXPECT_EQ(revision(), during) << "it goes on";
    EXPECT_TRUE(is_trying());
}

TEST_F(CtlTrial, TheLinkToThePolicyStays)
{
    fs::rename(daemon.root() / kPolicyFile, daemon.root() / "etc/rdma-qos/site.txt");
    fs::create_symlink("site.txt", daemon.root() / kPolicyFile);
    ASSERT_EQ(ctl("try new.yaml").status, 0);
    const Outcome confirmed = ctl("confirm");
    ASSERT_EQ(confirmed.status, 0) << confirmed.error;
    EXPECT_TRUE(fs::is_symlink(daemon.root() / kPolicyFile));
    EXPECT_EQ(read_text(daemon.root() / "etc/rdma-qos/site.txt"), tried);
}

TEST_F(CtlTrial, AHostWhosePolicyIsAllDropIns)
{
    fs::create_directories(daemon.root() / "etc/rdma-qos/policy.d");
    fs::rename(daemon.root() / kPolicyFile, daemon.root() / "etc/rdma-qos/policy.d/60-all.yaml");
    ASSERT_EQ(ctl("reload").status, 0);
    daemon.dir().write("rules.yaml", "version: 1\nqos-match-rules: [{service-id: 5, qos-level-name: bulk}]\n");
    ASSERT_EQ(ctl("try rules.yaml").status, 0);
    daemon.dir().write("etc/rdma-qos/policy.d/70-late.yaml", "version: 1\n");
    EXPECT_EQ(ctl("confirm").status, 1);
    EXPECT_FALSE(fs::exists(daemon.root() / kPolicyFile)) << "it is taken away again";
    fs::remove(daemon.root() / "etc/rdma-qos/policy.d/70-late.yaml");
    const Outcome confirmed = ctl("confirm");
    EXPECT_EQ(confirmed.status, 0) << confirmed.error;
    EXPECT_THAT(policy_file(), HasSubstr("service-id: 5"));
}

TEST_F(CtlTrial, AReloadEndsItAndRulesDoNot)
{
    ASSERT_EQ(ctl("try new.yaml").status, 0);
    const Outcome added = ctl("rule add --owner job --service-id 5 --level bulk");
    ASSERT_EQ(added.status, 0) << added.error;
    EXPECT_TRUE(is_trying());
    EXPECT_THAT(ctl("explain --service-id 5").output, HasSubstr("bulk"));
    ASSERT_EQ(ctl("rule remove --owner job").status, 0);
    EXPECT_TRUE(is_trying());
    EXPECT_NE(revision(), before);
    const Outcome reloaded = ctl("reload");
    ASSERT_EQ(reloaded.status, 0) << reloaded.error;
    EXPECT_THAT(reloaded.output, HasSubstr("the trial of policy "));
    EXPECT_FALSE(is_trying());
    EXPECT_EQ(revision(), before);
    EXPECT_THAT(daemon.log(), HasSubstr("a reload has taken the files"));
}

TEST_F(CtlTrial, ItIsHeardOf)
{
    const std::string words = fmt::format("{} --root {} monitor", RDMAQOS_CTL, daemon.root().string());
    Child monitor({"/bin/sh", "-c", "exec " + words}, {}, daemon.root() / "heard");
    // It listens when it hears of something.
    ASSERT_TRUE(eventually([&] { return ctl("reload").status == 0 && !read_text(daemon.root() / "heard").empty(); }));
    ASSERT_EQ(ctl("try new.yaml").status, 0);
    ASSERT_EQ(ctl("revert").status, 0);
    EXPECT_TRUE(eventually([&] {
        const std::string heard = read_text(daemon.root() / "heard");
        return heard.find("is being tried") != std::string::npos &&
               heard.find("the trial is over, it was reverted: back to policy revision " + before) != std::string::npos;
    })) << read_text(daemon.root() / "heard");
}

TEST_F(CtlTrial, TheEndOfTheCommandIsNotTheEndOfTheTrial)
{
    Child command(
        {RDMAQOS_CTL, "--root", daemon.root().string(), "try", (daemon.root() / "new.yaml").string(), "--timeout", "8"},
        {}, daemon.root() / "said");
    ASSERT_TRUE(eventually([&] { return daemon.log().find("is tried for") != std::string::npos; })) << daemon.log();
    command.signal(SIGKILL);
    command.wait();
    EXPECT_TRUE(eventually([&] { return !is_trying() && revision() == before; })) << "the time is the daemon's";
    EXPECT_EQ(policy_file(), old);
}

// Polkit could grant what the daemon does for it, but not the files that the command writes.
TEST_F(CtlTrial, WhoMayNotWriteTheFilesIsNotSentToPolkit)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can be another user";
    }
    ASSERT_EQ(ctl("try new.yaml").status, 0);
    fs::permissions(daemon.root(), fs::perms(0755));
    const std::string root = daemon.root();
    for (std::vector<const char*> words :
         std::vector<std::vector<const char*>>{{"confirm"},
                                               {"override", "rpc", "--share", "3"},
                                               {"override", "clear", "--all"},
                                               {"rule", "add", "--level", "rpc", "--unit", "some.service"},
                                               {"rule", "remove", "some"}}) {
        SCOPED_TRACE(words.front());
        words.insert(words.begin(), {"rdma-qosctl", "--root", root.c_str()});
        words.push_back(nullptr);
        const UniqueFd said(open((root + "/said").c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600));
        Child user([&] {
            constexpr uid_t kNobody = 65534;
            if (dup2(said.get(), STDERR_FILENO) >= 0 && setgid(kNobody) == 0 && setuid(kNobody) == 0) {
                execv(RDMAQOS_CTL, const_cast<char* const*>(words.data()));    // NOLINT(*-const-cast)
            }
            _exit(1);
        });
        const auto status = user.wait();
        ASSERT_TRUE(status && WIFEXITED(*status));
        const std::string error = read_text(root + "/said");
        EXPECT_EQ(WEXITSTATUS(*status), 4) << error;
        EXPECT_THAT(error, HasSubstr("only root may "));
        EXPECT_THAT(error, HasSubstr("run it as root: the files are root's"));
        EXPECT_THAT(error, Not(HasSubstr("polkit grant")));
    }
    EXPECT_TRUE(is_trying());
}

TEST_F(CtlTrial, ADaemonThatIsKilledHasForgottenIt)
{
    if (EmulatedNics::wanted()) {
        GTEST_SKIP() << "a second daemon needs simulated devices; the containers have this case for others";
    }
    ASSERT_EQ(ctl("try new.yaml --timeout 1h").status, 0);
    const std::string saved = read_text(daemon.root() / "var/lib/rdma-qos/last-good-policy.json");
    EXPECT_THAT(saved, Not(HasSubstr("# tried")));
    daemon.kill();
    EXPECT_EQ(policy_file(), old);
    EXPECT_EQ(read_text(daemon.root() / "var/lib/rdma-qos/last-good-policy.json"), saved);
    EXPECT_EQ(ctl("confirm").status, 5);
    EXPECT_EQ(policy_file(), old);
    Child again(
        {RDMAQOS_DAEMON, "--root", daemon.root().string(), "--simulate", (daemon.root() / "devices.yaml").string()}, {},
        daemon.root() / "again");
    ASSERT_TRUE(eventually([&] { return ctl("status --json").status == 0; })) << read_text(daemon.root() / "again");
    EXPECT_EQ(revision(), before);
    EXPECT_FALSE(is_trying());
    again.signal(SIGTERM);
    EXPECT_TRUE(again.wait());
}

}    // namespace
}    // namespace rdmaqos::test
