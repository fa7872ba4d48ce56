// rdma-qosctl as a user runs it, where no daemon is: exit statuses, stdout and stderr.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/golden.h"

namespace rdmaqos {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct Outcome {
    int status = -1;
    std::string output;
    std::string error;
};

class CtlOffline : public testing::Test {
protected:
    void SetUp() override
    {
        std::string pattern = testing::TempDir() + "ctl-XXXXXX";
        ASSERT_NE(mkdtemp(pattern.data()), nullptr);
        directory_ = pattern;
    }
    void TearDown() override { std::filesystem::remove_all(directory_); }

    // Words are joined by the shell; a hang ends with status 124.
    [[nodiscard]] Outcome run(const std::string& words) const
    {
        const std::string command = fmt::format("cd {0} && timeout 60 {1} --root {0} {2} >out 2>err </dev/null",
                                                directory_.string(), RDMAQOS_CTL, words);
        const int status = std::system(command.c_str());
        return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, test::read_text(directory_ / "out"),
                test::read_text(directory_ / "err")};
    }
    std::string write(const std::string& name, const std::string& text) const
    {
        std::filesystem::create_directories((directory_ / name).parent_path());
        std::ofstream(directory_ / name, std::ios::binary) << text;
        return directory_ / name;
    }

    std::filesystem::path directory_;
};

std::vector<std::string> examples()
{
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(test::source_dir() + "/config/examples")) {
        const std::string name = entry.path().filename();
        const bool is_policy = test::read_text(entry.path()).find("qos-levels:") != std::string::npos;
        if (entry.path().extension() == ".yaml" && is_policy) {
            files.push_back(entry.path());
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}

constexpr const char* kGood =
    "version: 1\nqos-levels:\n  - {name: DEFAULT}\n  - {name: bulk, sl: 2, schedule: {share: 3}}\n"
    "qos-match-rules:\n  - {service-id: [7], qos-level-name: bulk}\n";

TEST_F(CtlOffline, ExamplesAreGoodAndCanBePlanned)
{
    ASSERT_FALSE(examples().empty());
    for (const auto& file : examples()) {
        const Outcome checked = run("check " + file);
        EXPECT_EQ(checked.status, 0) << file << "\n" << checked.output << checked.error;
        EXPECT_THAT(checked.output, HasSubstr("ok: ")) << file;
        EXPECT_THAT(checked.output, Not(HasSubstr("can never match"))) << file;
        const Outcome planned = run("plan --json " + file);
        EXPECT_EQ(planned.status, 0) << file << planned.error;
        const auto json = nlohmann::json::parse(planned.output);
        EXPECT_EQ(json.at("mode"), "offline") << file;
        const Outcome explained = run("explain " + file);
        EXPECT_EQ(explained.status, 0) << file << explained.error;
    }
}

TEST_F(CtlOffline, PolicyOfTheHostWithDropIns)
{
    write("etc/rdma-qos/policy.yaml", kGood);
    write("etc/rdma-qos/policy.d/60-more.yaml", "version: 1\nqos-levels:\n  - {name: extra, schedule: {share: 1}}\n");
    const Outcome checked = run("check --json");
    EXPECT_EQ(checked.status, 0) << checked.output << checked.error;
    const auto json = nlohmann::json::parse(checked.output);
    EXPECT_TRUE(json.at("ok").get<bool>());
    EXPECT_EQ(json.at("levels"), 3);
    EXPECT_EQ(json.at("sources").size(), 2U);
    const Outcome answered = run("query-path --service-id 7 --json");
    EXPECT_EQ(answered.status, 0) << answered.error;
    EXPECT_EQ(nlohmann::json::parse(answered.output).at("paths").at(0).at("level"), "bulk");
}

TEST_F(CtlOffline, PlanSaysThatNoDaemonRuns)
{
    const Outcome planned = run("plan " + write("policy.yaml", kGood));
    EXPECT_EQ(planned.status, 0) << planned.error;
    EXPECT_THAT(planned.output, StartsWith("no daemon runs: what the policy would do to an empty device"));
    EXPECT_THAT(planned.output, HasSubstr("bulk"));
}

TEST_F(CtlOffline, RulesThatCanNeverMatchAreWarnings)
{
    const std::string policy = write("policy.yaml", R"(version: 1
port-groups:
  - {name: storage, port-guid: [0x1-0xff]}
  - {name: archive, port-name: ["archive HCA-1/P1"]}
qos-levels:
  - {name: DEFAULT}
qos-match-rules:
  - {destination: [storage], qos-level-name: DEFAULT}
  - {destination: [archive], qos-level-name: DEFAULT}
)");
    EXPECT_THAT(run("check " + policy).output, Not(HasSubstr("can never match"))) << "nobody knows where it is";
    write("etc/rdma-qos/fabric.yaml", "version: 1\nports:\n  - {guid: 0x10, description: archive HCA-1}\n");
    const std::string warning = fmt::format("{0}:9:5: warning: this rule can never match: match rule 1 ({0}:8:5) takes",
                                            policy);
    const Outcome checked = run("check " + policy);
    EXPECT_EQ(checked.status, 0) << checked.output << checked.error;
    EXPECT_THAT(checked.output, HasSubstr(warning));
    const Outcome planned = run("plan " + policy);
    EXPECT_EQ(planned.status, 0) << planned.error;
    EXPECT_THAT(planned.output, HasSubstr(warning));
    for (const auto* command : {"check --json ", "plan --json "}) {
        const auto json = nlohmann::json::parse(run(command + policy).output);
        ASSERT_EQ(json.at("diagnostics").size(), 2U) << command;
        EXPECT_EQ(json.at("diagnostics").at(0).at("severity"), "warning");
        EXPECT_EQ(json.at("diagnostics").at(0).at("line"), 9);
        EXPECT_EQ(json.at("diagnostics").at(1).at("severity"), "note");
        EXPECT_EQ(json.at("diagnostics").at(1).at("line"), 8);
    }
}

TEST_F(CtlOffline, ADropInIsTriedWithTheHostsFiles)
{
    write("etc/rdma-qos/policy.yaml", kGood);
    const std::string drop_in = write("new.yaml", "version: 1\nqos-levels:\n  - {name: extra, schedule: {share: 1}}\n");
    EXPECT_EQ(run("plan " + drop_in).status, 2) << "alone it has no level DEFAULT";
    const Outcome planned = run("plan new.yaml --as policy.d/60-new.yaml");
    EXPECT_EQ(planned.status, 0) << planned.error;
    EXPECT_THAT(planned.output, HasSubstr("extra"));
    EXPECT_THAT(planned.output, HasSubstr("bulk"));
    const Outcome checked = run("check --as policy.d/60-new.yaml new.yaml --json");
    EXPECT_EQ(nlohmann::json::parse(checked.output).at("levels"), 3) << checked.output << checked.error;
    const Outcome several = run("plan etc/rdma-qos/policy.yaml new.yaml");
    EXPECT_EQ(several.status, 0) << several.error;
    EXPECT_THAT(several.output, HasSubstr("extra"));

    write("etc/rdma-qos/policy.d/60-new.yaml", kGood);
    const Outcome masked = run("check new.yaml --as /run/rdma-qos/policy.d/60-new.yaml");
    EXPECT_EQ(masked.status, 2);
    EXPECT_THAT(masked.output,
                HasSubstr("new.yaml: error: as /run/rdma-qos/policy.d/60-new.yaml it would not be read"));
    const Outcome elsewhere = run("plan new.yaml --as 60-new.yaml");
    EXPECT_EQ(elsewhere.status, 1);
    EXPECT_THAT(elsewhere.error, HasSubstr("no policy is read from `60-new.yaml`: write `policy.d/NAME.yaml`"));
    EXPECT_EQ(run("plan new.yaml new.yaml --as policy.d/60-new.yaml").status, 1);
    EXPECT_EQ(run("plan --as policy.d/60-new.yaml").status, 1);
}

TEST_F(CtlOffline, SimulatedDevicesInsteadOfTheProfile)
{
    const std::string policy = write("policy.yaml", kGood);
    const std::string devices = write("devices.yaml", "version: 1\ndevices:\n  - {name: mlx5_3, link-speed: 10Gbps}\n");
    const Outcome checked = run("check --devices " + devices + " " + policy);
    EXPECT_EQ(checked.status, 0) << checked.output << checked.error;
    EXPECT_THAT(checked.output, HasSubstr("mlx5_3/1: "));
    const Outcome broken = run("plan --devices " + policy + " " + policy);
    EXPECT_EQ(broken.status, 2);
    EXPECT_THAT(broken.error, HasSubstr("the simulation file is refused"));
}

// As a reload does, which reads them with the policy.
TEST_F(CtlOffline, APlanOfTheHostsFilesIsRefusedForItsOtherFilesToo)
{
    const std::string policy = write("etc/rdma-qos/policy.yaml", kGood);
    EXPECT_EQ(run("plan").status, 0);
    write("etc/rdma-qos/rdma-qosd.yaml", "version: 1\nmod: monitor\n");
    const Outcome planned = run("plan");
    EXPECT_EQ(planned.status, 2);
    EXPECT_THAT(planned.error, HasSubstr("unknown key `mod`"));
    EXPECT_EQ(run("plan " + policy).status, 0) << "the host's other files are not on trial";
}

TEST_F(CtlOffline, ExplainAsSomebody)
{
    const std::string policy = write("policy.yaml", kGood);
    const Outcome explained = run("explain " + policy + " --service-id 7 --as-user 4242 --as-unit job-7.scope");
    EXPECT_EQ(explained.status, 0) << explained.error;
    EXPECT_THAT(explained.output, StartsWith("offline: answered from " + policy + ", as uid 4242"));
    EXPECT_THAT(explained.output, HasSubstr("bulk"));
    const std::string by_name = write("by-name.yaml",
                                      "version: 1\nqos-levels: [{name: DEFAULT}, {name: rpc, sl: 3}]\n"
                                      "qos-match-rules: [{client: {command: rank-*}, qos-level-name: rpc}]\n");
    const Outcome named = run("explain " + by_name + " --as-command rank-0");
    EXPECT_EQ(named.status, 0) << named.error;
    EXPECT_THAT(named.output, HasSubstr("command rank-0 (claimed)"));
    const Outcome unknown = run("query-path " + policy + " --level bukl");
    EXPECT_EQ(unknown.status, 1);
    EXPECT_THAT(unknown.error, HasSubstr("bulk"));
}

TEST_F(CtlOffline, EveryMistakeOfEveryFileIsPrinted)
{
    const std::string one = write("one.yaml", "version: 1\nqos-levels:\n  - {name: DEFAULT, sll: 0}\n");
    const std::string two = write("two.yaml", "version: 1\nqos-levles: []\n");
    const Outcome checked = run("check " + one + " " + two);
    EXPECT_EQ(checked.status, 2);
    EXPECT_THAT(checked.output, HasSubstr("one.yaml:3:"));
    EXPECT_THAT(checked.output, HasSubstr("did you mean `sl`?"));
    EXPECT_THAT(checked.output, HasSubstr("two.yaml:2:"));
    EXPECT_THAT(checked.output, HasSubstr("refused: correct the errors above"));
    EXPECT_EQ(checked.error, "");
}

TEST_F(CtlOffline, BadInputIsRefused)
{
    ASSERT_EQ(mkfifo((directory_ / "fifo").c_str(), 0600), 0);
    ASSERT_EQ(mkdir((directory_ / "directory").c_str(), 0700), 0);
    write("empty.yaml", "");
    write("brackets.yaml", std::string(1U << 20U, '['));
    write("nul.yaml", std::string("version: 1\n\0", 12));
    write("utf8.yaml", "version: 1 # \xff\n");
    write("alias.yaml", "version: 1\nqos-levels: &x [*x]\n");
    write("bomb.yaml", "version: 1\na: &a [1,1,1]\nb: &b [*a,*a,*a]\nc: &c [*b,*b,*b]\n");
    write("merge.yaml", "version: 1\nqos-levels:\n  - {<<: {name: DEFAULT}}\n");
    write("twice.yaml", "version: 1\nversion: 1\nqos-levels:\n  - {name: DEFAULT}\n");
    std::ofstream(directory_ / "huge.yaml").close();
    std::filesystem::resize_file(directory_ / "huge.yaml", 1ULL << 30U);    // sparse
    for (const char* name :
         {"fifo", "directory", "missing.yaml", "/dev/null", "/dev/zero", "empty.yaml", "brackets.yaml", "nul.yaml",
          "utf8.yaml", "alias.yaml", "bomb.yaml", "merge.yaml", "twice.yaml", "huge.yaml"}) {
        const Outcome checked = run(fmt::format("check {}", name));
        EXPECT_EQ(checked.status, 2) << name << "\n" << checked.output << checked.error;
        EXPECT_THAT(checked.output, HasSubstr("error: ")) << name;
        const Outcome planned = run(fmt::format("plan {}", name));
        EXPECT_EQ(planned.status, 2) << name << "\n" << planned.error;
        const Outcome explained = run(fmt::format("explain {}", name));
        EXPECT_EQ(explained.status, 2) << name << "\n" << explained.error;
    }
}

TEST_F(CtlOffline, StandardInput)
{
    const std::string policy = write("policy.yaml", kGood);
    const std::string command = fmt::format("{0} --root {1} check - <{2} >{1}/out 2>&1", RDMAQOS_CTL,
                                            directory_.string(), policy);
    EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 0) << test::read_text(directory_ / "out");
    EXPECT_THAT(test::read_text(directory_ / "out"), HasSubstr("<stdin>"));
}

TEST_F(CtlOffline, CommandsThatNeedTheDaemonSaySo)
{
    for (const char* command : {"status", "tree", "levels", "devices", "sessions", "reload", "reconcile", "verify",
                                "request -- true", "metrics", "monitor"}) {
        const Outcome outcome = run(command);
        EXPECT_EQ(outcome.status, 5) << command;
        EXPECT_EQ(outcome.output, "") << command;
        EXPECT_THAT(outcome.error, StartsWith("rdma-qosctl: error: ")) << command;
        EXPECT_THAT(outcome.error, HasSubstr("start it with")) << command;
    }
    const Outcome json = run("status --json");
    EXPECT_EQ(json.status, 5);
    EXPECT_EQ(nlohmann::json::parse(json.output).at("error").at("name"), "org.rdmaqos1.Error.NoDaemon");
}

TEST_F(CtlOffline, ColoursOnlyWhenAskedFor)
{
    const std::string policy = write("policy.yaml", kGood);
    EXPECT_EQ(run("check " + policy).output.find('\x1b'), std::string::npos);
    EXPECT_NE(run("check --colour always " + policy).output.find('\x1b'), std::string::npos);
}

TEST_F(CtlOffline, OutputThatCannotBeWrittenIsAFailure)
{
    const std::string policy = write("policy.yaml", kGood);
    const std::string command = fmt::format("{0} --root {1} check {2} >/dev/full 2>{1}/err", RDMAQOS_CTL,
                                            directory_.string(), policy);
    EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 1);
    EXPECT_THAT(test::read_text(directory_ / "err"), HasSubstr("could not be written"));
}

TEST_F(CtlOffline, ImportFabricMakesAFileThatIsRead)
{
    const std::string golden = test::source_dir() + "/tests/golden/import/";
    const Outcome made = run(
        fmt::format("import-fabric --ibnetdiscover {0}small.topology --partitions {0}small.partitions "
                    "--node-name-map {0}small.names",
                    golden));
    EXPECT_EQ(made.status, 0);
    EXPECT_THAT(made.error, HasSubstr("warning: unknown flag `bogus`"));
    EXPECT_THAT(made.output, HasSubstr("description: \"leaf 1\", lid: 2, pkeys: [0x0010, 0x0013, 0x7fff]}"));
    EXPECT_THAT(made.output, Not(HasSubstr("warning")));

    const Outcome stored = run(
        fmt::format("import-fabric --ibnetdiscover {}small.topology --output fabric.yaml", golden));
    EXPECT_EQ(stored.status, 0);
    EXPECT_EQ(stored.output + stored.error, "");
    std::filesystem::create_directories(directory_ / "etc/rdma-qos");
    std::filesystem::rename(directory_ / "fabric.yaml", directory_ / "etc/rdma-qos/fabric.yaml");
    write("policy.yaml", "version: 1\nqos-levels: [{name: DEFAULT}]\n"
                         "port-groups: [{name: g, port-name: [\"node1 HCA-1/P1\"]}]\n");
    const Outcome checked = run("check --offline policy.yaml");
    EXPECT_EQ(checked.status, 0);
    EXPECT_THAT(checked.output, Not(HasSubstr("note:")));
}

TEST_F(CtlOffline, ImportFabricThatCannotBeMade)
{
    write("topology", "nonsense\n");
    const Outcome broken = run("import-fabric --ibnetdiscover topology --partitions missing --output fabric.yaml");
    EXPECT_EQ(broken.status, 2);
    EXPECT_EQ(broken.output, "");
    EXPECT_THAT(broken.error, HasSubstr("missing: error: cannot be opened"));
    EXPECT_FALSE(std::filesystem::exists(directory_ / "fabric.yaml"));
    const Outcome refused = run("--json import-fabric --ibnetdiscover topology");
    EXPECT_EQ(refused.status, 2);
    const auto json = nlohmann::json::parse(refused.output);
    EXPECT_EQ(json["ok"], false);
    EXPECT_FALSE(json.contains("yaml"));
    EXPECT_EQ(json["diagnostics"][0]["line"], 1);
    EXPECT_EQ(run("import-fabric").status, 1);
    EXPECT_EQ(run("import-fabric --partitions missing --sm none").status, 1);
    const std::string golden = test::source_dir() + "/tests/golden/import/";
    write("ports.topology", test::read_text(golden + "ports.topology"));
    const auto whole = nlohmann::json::parse(run("--json import-fabric --ibnetdiscover ports.topology").output);
    EXPECT_EQ(whole["yaml"], test::read_text(golden + "ports.yaml"));
}

// A level may be called like a command.
TEST_F(CtlOffline, OverridesALevelThatIsCalledList)
{
    std::filesystem::create_directories(directory_ / "var/lib");
    write("etc/rdma-qos/policy.yaml",
          "version: 1\nqos-levels:\n  - {name: DEFAULT}\n  - {name: list, schedule: {share: 1}}\n"
          "  - {name: clear, schedule: {share: 1}}\n");
    for (const std::string level : {"list", "clear"}) {
        const Outcome set = run("override --level " + level + " --max-rate 1Gbps");
        EXPECT_EQ(set.status, 0) << set.error;
        EXPECT_THAT(set.output, StartsWith(level + ": max-rate none -> 1 Gbit/s"));
        const Outcome cleared = run("override clear " + level);
        EXPECT_EQ(cleared.status, 0) << cleared.error;
        EXPECT_EQ(run("override clear " + level).status, 1) << "it is gone";
        EXPECT_THAT(run("override " + level + " --max-rate 1Gbps").error, HasSubstr("--level"));
    }
}

// What is printed may be for a program.
TEST_F(CtlOffline, ExplainCutsNothing)
{
    const std::string cgroup = "/system.slice/" + std::string(200, 'x') + "/*";
    const std::string policy = write("policy.yaml", "version: 1\nqos-levels:\n  - {name: DEFAULT}\nqos-match-rules:\n"
                                                    "  - {client: {cgroup: \"" +
                                                        cgroup + "\"}, qos-level-name: DEFAULT}\n");
    const Outcome explained = run("explain " + policy + " --as-cgroup " + cgroup.substr(0, 150));
    EXPECT_EQ(explained.status, 0) << explained.error;
    EXPECT_THAT(explained.output, HasSubstr("asks " + cgroup + "  has " + cgroup.substr(0, 150) + "  "));
}

// Blocks to fill in are meant to be edited: what was edited is not lost to a second import.
TEST_F(CtlOffline, ImportOpensmReplacesNoEditedFile)
{
    write("policy.conf", "qos-ulps\ndefault: 0\nsdp: 1\nend-qos-ulps\n");
    EXPECT_EQ(run("import-opensm policy.conf --force").status, 1);
    ASSERT_EQ(run("import-opensm policy.conf --output made.yaml").status, 0);
    EXPECT_EQ(run("import-opensm policy.conf --output made.yaml").status, 0);    // the same again
    write("made.yaml", "version: 1    # edited\n");
    const Outcome refused = run("import-opensm policy.conf --output made.yaml");
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.error, HasSubstr("--force"));
    EXPECT_EQ(test::read_text(directory_ / "made.yaml"), "version: 1    # edited\n");
    EXPECT_EQ(run("import-opensm policy.conf --output made.yaml --force").status, 0);
    EXPECT_THAT(test::read_text(directory_ / "made.yaml"), HasSubstr("SimpleQoSLevel_SL1"));
}

}    // namespace
}    // namespace rdmaqos
