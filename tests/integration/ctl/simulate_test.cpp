// rdma-qosctl simulate as a user runs it: with files, and against a daemon with sessions.
#include <cstdlib>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/support/ctl.h"
#include "tests/support/daemon_fixture.h"
#include "tests/support/golden.h"

namespace rdmaqos::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using Json = nlohmann::json;

// In the directory of the root; a hang ends with status 124.
Outcome run(const std::filesystem::path& root, const std::string& words)
{
    return run_ctl(root, "simulate " + words);
}

std::string example(const std::string& name)
{
    return source_dir() + "/config/examples/" + name;
}

TEST(CtlSimulate, ExampleAsTextJsonAndPage)
{
    const TempDir dir;
    const std::string words = fmt::format("--devices {} {} --loads {}", example("devices.yaml"), example("demo.yaml"),
                                          example("loads.yaml"));
    const Outcome text = run(dir.path(), words + " --html page.html --check");
    EXPECT_EQ(text.status, 0) << text.error;
    EXPECT_THAT(text.output, HasSubstr("from 25 min to 45 min: training and calls"));
    EXPECT_THAT(text.output, HasSubstr("the largest deviation is "));
    EXPECT_THAT(text.output, HasSubstr("the page is in page.html"));
    EXPECT_THAT(read_text(dir.path() / "page.html"), StartsWith("<!DOCTYPE html>"));
    const Outcome page = run(dir.path(), words + " --html - --check");
    EXPECT_EQ(page.output, read_text(dir.path() / "page.html"));

    const Json json = Json::parse(run(dir.path(), words + " --json --device mlx5_1 --check").output);
    EXPECT_EQ(json.at("mode"), "offline");
    ASSERT_EQ(json.at("devices").size(), 1U);
    ASSERT_EQ(json.at("devices").at(0).at("steps").size(), 4U);
    for (const auto& step : json.at("devices").at(0).at("steps")) {
        EXPECT_LE(step.at("check").at("percent").get<double>(), 1.0);
    }
}

TEST(CtlSimulate, MistakesAreRefused)
{
    const TempDir dir;
    const std::string policy = "--offline " + example("demo.yaml");
    dir.write("loads.yaml", "version: 1\nloads: {rcp: inf, rpc: 1}\n");
    dir.write("unknown.yaml", "version: 1\nloads: {rcp: inf}\n");
    ASSERT_EQ(mkfifo((dir.path() / "fifo").c_str(), 0600), 0);
    const struct {
        std::string words;
        int status;
        const char* error;
    } cases[] = {
        {policy, 1, "no load: name levels and rates"},
        {policy + " --load rpc=inf --loads loads.yaml", 1, "give either `--load` or `--loads`"},
        {policy + " --load rpc=50", 1, "--load:1:5: error: `rpc`: `50` has no unit"},
        {policy + " --load rcp=inf", 1, "did you mean `rpc`?"},
        {policy + " --loads loads.yaml", 2, "loads.yaml:2:24: error: `rpc`: `1` has no unit"},
        {policy + " --loads unknown.yaml", 2, "unknown.yaml:2:9: error: there is no level `rcp`"},
        {policy + " --loads fifo", 2, "is a FIFO"},
        {policy + " --load rpc=inf --device mlx5_7", 1, "there is no device mlx5_7"},
        {policy + " --load rpc=inf --html fifo", 1, "not a regular file"},
        {policy + " --load rpc=inf --html /nonexistent/page.html", 1, "/nonexistent/page.html"},
        {policy + " --load rpc=inf --html - --json", 1, "both write to stdout"},
        {"--offline loads.yaml --load rpc=inf", 2, "unknown key `loads`"},
    };
    for (const auto& [words, status, error] : cases) {
        const Outcome outcome = run(dir.path(), words);
        EXPECT_EQ(outcome.status, status) << words;
        EXPECT_THAT(outcome.error, HasSubstr(error)) << words;
    }
    const Json json = Json::parse(run(dir.path(), policy + " --loads unknown.yaml --json").output);
    EXPECT_EQ(json.at("error").at("exit-status"), 2);
}

TEST(CtlSimulate, WithoutADaemonTheHostsFilesAreTaken)
{
    const TempDir dir;
    dir.write("etc/rdma-qos/policy.yaml", kTwoLevelPolicy);
    const Outcome outcome = run(dir.path(), "--load bulk=inf");
    EXPECT_EQ(outcome.status, 0) << outcome.error;
    EXPECT_THAT(outcome.output,
                StartsWith("no daemon runs: who would get what with /etc/rdma-qos/policy.yaml on a device"));
}

TEST(CtlSimulate, TheTreesOfADaemonWithItsSessions)
{
    const Daemon daemon({kTwoLevelPolicy, kTwoDevices, "", false, RDMAQOS_DAEMON});
    auto client = daemon.direct();
    bus::Dict request;
    request.set("level", "rpc");
    request.set("queue-pairs", std::vector<bus::Dict>{queue_pair("mlx5_0", 17), queue_pair("mlx5_0", 18)});
    const auto session = register_session(client, request);
    ASSERT_TRUE(session) << to_string(session.error());

    const Outcome outcome = run(daemon.root(), "--json --load rpc*2=inf,bulk=inf,DEFAULT=inf --device mlx5_0");
    ASSERT_EQ(outcome.status, 0) << outcome.error;
    const Json json = Json::parse(outcome.output);
    EXPECT_EQ(json.at("mode"), "daemon");
    const Json step = json.at("devices").at(0).at("steps").at(0);
    std::map<std::string, std::uint64_t> gets;
    for (const auto& element : step.at("elements")) {
        gets[element.at("path")] = element.at("gets");
    }
    EXPECT_EQ(gets.at("/rpc"), 40'000'000U);
    EXPECT_EQ(gets.at("/bulk"), 60'000'000U);
    EXPECT_EQ(gets.at(fmt::format("/rpc/pid:{}", getpid())), 20'000'000U);
    EXPECT_EQ(gets.at("/rpc/process-1"), 20'000'000U);
    EXPECT_EQ(step.at("not-simulated").at(0).at("level"), "DEFAULT");

    // A policy that is not live, on the same devices.
    daemon.dir().write("new.yaml",
                       "version: 1\nqos-levels: [{name: DEFAULT}, {name: new, schedule: {max-rate: 7Gbps}}]\n");
    const Outcome planned = run(daemon.root(), "new.yaml --load new=inf");
    EXPECT_EQ(planned.status, 0) << planned.error;
    EXPECT_THAT(planned.output,
                StartsWith("who would get what with new.yaml on the daemon's devices, without its sessions"));
    EXPECT_THAT(planned.output, HasSubstr("mlx5_1/1"));
    EXPECT_THAT(planned.output, HasSubstr("its max-rate"));
}

}    // namespace
}    // namespace rdmaqos::test
