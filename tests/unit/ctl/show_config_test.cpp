#include "tools/rdma-qosctl/rendering/show_config.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/golden.h"
#include "tests/support/temp_dir.h"
#include "tools/rdma-qosctl/command_line.h"

namespace rdmaqos::ctl {
namespace {

namespace fs = std::filesystem;
using rdmaqos::test::expect_golden;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct Outcome {
    Result<int> status = 0;
    std::string output;
};

// A host's files below a directory, and the command over them.
class ShowConfigCommand : public testing::Test {
protected:
    void write(const std::string& path, const std::string& text) const { root_.write(path, text); }
    void write_host() const
    {
        write("usr/lib/rdma-qos/policy.yaml", "version: 1\nqos-levels: [{name: DEFAULT}]\n");
        write("usr/lib/rdma-qos/policy.d/10-vendor.yaml", "broken: [");
        write("usr/lib/rdma-qos/policy.d/30-extra.yaml", "version: 1\nqos-levels: [{name: extra}]\n");
        write("etc/rdma-qos/policy.yaml",
              "version: 1\nqos-levels:\n  - {name: DEFAULT, sl: 0}\n  - {name: rpc, schedule: {share: 60}}\n"
              "qos-match-rules:\n  - {service-id: 7, qos-level-name: rpc}\n");
        write("etc/rdma-qos/policy.d/60-night.yaml",
              "version: 1\nqos-levels:\n  - {name: rpc, schedule: {share: 20}}\n  - {name: extra, remove: true}\n");
        write("etc/rdma-qos/policy.d/60-night.yaml.dpkg-old", "not read");
        fs::create_symlink("/dev/null", root_.path() / "etc/rdma-qos/policy.d/10-vendor.yaml");
        write("etc/rdma-qos/rdma-qosd.yaml", "version: 1\nmode: monitor\n");
    }
    [[nodiscard]] Outcome run(std::vector<std::string> words) const
    {
        words.insert(words.begin(), "show-config");
        const auto parsed = parse_command_line(words);
        const auto* invocation = std::get_if<Invocation>(&parsed);
        if (invocation == nullptr) {
            return {1, {}};
        }
        Context context;
        context.root = root_.path();
        context.json = invocation->json;
        testing::internal::CaptureStdout();
        Result<int> status = invocation->run(context);
        return {std::move(status), testing::internal::GetCapturedStdout()};
    }

    rdmaqos::test::TempDir root_;
};

TEST_F(ShowConfigCommand, OfTheHost)
{
    write_host();
    const Outcome shown = run({"--offline"});
    ASSERT_TRUE(shown.status) << shown.status.error().message;
    EXPECT_EQ(*shown.status, 0);
    expect_golden("ctl/show-config.yaml", shown.output);
    const Outcome json = run({"--offline", "--json"});
    ASSERT_TRUE(json.status);
    expect_golden("ctl/show-config.json", json.output);
}

TEST_F(ShowConfigCommand, WithoutADaemonSaysSo)
{
    write_host();
    EXPECT_THAT(run({}).output, HasSubstr("#   no daemon runs\n"));
}

// The whole output, comments and all, is a policy file.
TEST_F(ShowConfigCommand, ItsOutputCanBeShownAgain)
{
    write_host();
    const Outcome first = run({"--offline"});
    write("one.yaml", first.output);
    const Outcome second = run({"--offline", (root_.path() / "one.yaml").string()});
    ASSERT_TRUE(second.status) << second.status.error().message;
    EXPECT_THAT(second.output, StartsWith("# Merged in this order from\n#   " + (root_.path() / "one.yaml").string()));
    EXPECT_THAT(second.output, HasSubstr("share: 20 "));
    EXPECT_THAT(second.output, Not(HasSubstr("Settings of the daemon")));
}

TEST_F(ShowConfigCommand, WhatIsBrokenIsRefusedWithEveryMistake)
{
    write("etc/rdma-qos/policy.yaml", "version: 1\nqos-levels: [{name: DEFAULT, sl: 99}]\n");
    write("etc/rdma-qos/policy.d/60-x.yaml", "version: 1\nqos-levles: []\n");
    const Outcome policy = run({});
    ASSERT_FALSE(policy.status);
    EXPECT_EQ(policy.status.error().code, ErrorCode::InvalidPolicy);
    EXPECT_THAT(policy.status.error().message, HasSubstr("/etc/rdma-qos/policy.yaml:2:"));
    EXPECT_THAT(policy.status.error().message, HasSubstr("/etc/rdma-qos/policy.d/60-x.yaml:2:"));
    EXPECT_EQ(policy.output, "");

    write_host();
    fs::remove(root_.path() / "etc/rdma-qos/policy.d/60-x.yaml");
    write("etc/rdma-qos/rdma-qosd.yaml", "version: 1\nmode: off\n");
    const Outcome settings = run({});
    ASSERT_FALSE(settings.status);
    EXPECT_EQ(settings.status.error().code, ErrorCode::InvalidPolicy);
    EXPECT_THAT(settings.status.error().message, HasSubstr("/etc/rdma-qos/rdma-qosd.yaml:2:"));
}

// Whether the daemon runs what is shown.

struct DaemonCase {
    const char* revision;
    const char* reload_error;
    bool of_host;
    const char* expected;
};

TEST(ShowConfigReport, ComparesWithWhatTheDaemonRuns)
{
    const DaemonCase cases[] = {
        {"aaaa", "", true, "#   the running daemon uses this policy\n"},
        {"bbbb", "", true,
         "#   the running daemon uses another policy: revision bbbb of a.yaml, b.yaml\n#   the files have changed "
         "since it read them: `rdma-qosctl plan` shows what a reload would do\n"},
        {"bbbb", "no such level", true,
         "#   the running daemon uses another policy: revision bbbb of a.yaml, b.yaml\n#   it has refused what it "
         "read last: `rdma-qosctl status` says why\n"},
        {"", "broken", true,
         "#   the running daemon has no policy\n#   it has refused what it read last: `rdma-qosctl status` says why\n"},
        {"bbbb", "", false, "#   the running daemon uses another policy: revision bbbb of a.yaml, b.yaml\n\n"},
    };
    for (const auto& [revision, reload_error, of_host, expected] : cases) {
        ConfigReport report;
        report.of_host = of_host;
        report.files = {"a.yaml"};
        report.revision = "aaaa";
        report.policy.document.kind = ShownNode::Kind::Mapping;
        report.daemon.emplace();
        report.daemon->policy_revision = revision;
        report.daemon->policy_sources = {"a.yaml", "b.yaml"};
        report.daemon->last_reload.accepted = std::string_view(reload_error).empty();
        EXPECT_THAT(render_config(report), HasSubstr(std::string("# Revision: aaaa\n") + expected));
        const Json json = config_json(report);
        EXPECT_EQ(json.at("daemon").at("same"), report.revision == revision);
        EXPECT_EQ(json.at("daemon").at("revision"), revision);
    }
}

TEST_F(ShowConfigCommand, ANativePolicyIsPointedToTheImport)
{
    write("etc/rdma-qos/policy.conf", "qos-ulps\n  default: 0\nend-qos-ulps\n");
    const auto outcome = run({});
    ASSERT_FALSE(outcome.status);
    EXPECT_EQ(outcome.status.error().code, ErrorCode::Unsupported);
    EXPECT_THAT(outcome.status.error().message, HasSubstr("policy.conf is a native OpenSM policy"));
    EXPECT_THAT(outcome.status.error().message, HasSubstr("`rdma-qosctl import-opensm` shows it as YAML"));
    EXPECT_EQ(outcome.output, "");
}

// A file's name cannot end the comment it stands in.
TEST(ShowConfigReport, NamesArePrintable)
{
    ConfigReport report;
    report.files = {"a\nqos-levels: []\n\x1b[31m.yaml"};
    report.policy.document.kind = ShownNode::Kind::Mapping;
    EXPECT_THAT(render_config(report), HasSubstr("#   a\\x0aqos-levels: []\\x0a\\x1b[31m.yaml\n"));
}

}    // namespace
}    // namespace rdmaqos::ctl
