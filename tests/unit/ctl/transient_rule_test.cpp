#include "tools/rdma-qosctl/offline/transient.h"

#include <string>
#include <utility>

#include <gmock/gmock.h>

#include "tools/rdma-qosctl/rendering/transient.h"

namespace rdmaqos::ctl {
namespace {

using testing::HasSubstr;

const std::chrono::system_clock::time_point kStart = *parse_time("2026-11-23T20:00:00Z") + std::chrono::milliseconds(1);

RuleOptions of_job()
{
    RuleOptions options;
    options.lasts = "2h";
    options.owner = "slurm job: 4711";
    options.cgroup = "/system.slice/job.scope";
    options.level = "rpc";
    options.use = "job \"4711\"";
    options.criteria = {{"service-id", {"0x10-0x1f", "7"}}, {"destination", {"storage"}}};
    options.client = {{"cgroup", {"*/job_4711/*"}}, {"user", {"alice", "1000"}}};
    options.ulp_port = "tcp:4420-4421";
    return options;
}

TEST(RuleText, IsAPolicyFileThatSaysWhenItEnds)
{
    const auto transient = transient_from(of_job(), kStart);
    ASSERT_TRUE(transient);
    const auto text = rule_text(of_job(), *transient);
    ASSERT_TRUE(text) << to_string(text.error());
    EXPECT_EQ(*text, R"(# Written by `rdma-qosctl rule add`; `rdma-qosctl rule remove` takes it away.
version: 1
transient:
  until: "2026-11-23T22:00:01Z"
  owner: "slurm job: 4711"
  cgroup: /system.slice/job.scope
qos-match-rules:
  - qos-level-name: rpc
    use: "job \"4711\""
    destination: [storage]
    service-id: [0x10-0x1f, 7]
    ulp-port:
      space: tcp
      port: 4420-4421
    client:
      cgroup: ["*/job_4711/*"]
      user: [alice, 1000]
)");
}

// What a caller writes into an option stays a value of that key.
TEST(RuleText, NothingBreaksOutOfItsValue)
{
    RuleOptions options;
    options.level = "rpc\nqos-setup: {}";
    options.client = {{"command", {"a, b]", "\"", "#", "null", ""}}};
    const auto text = rule_text(options, {});
    ASSERT_TRUE(text);
    EXPECT_THAT(*text, HasSubstr("- qos-level-name: \"rpc\\nqos-setup: {}\"\n"));
    EXPECT_THAT(*text, HasSubstr("command: [\"a, b]\", \"\\\"\", \"#\", \"null\", \"\"]"));
    EXPECT_THAT(*text, HasSubstr("transient: {}\n"));
}

TEST(RuleText, OneWithoutACriterionIsRefused)
{
    RuleOptions options;
    options.level = "rpc";
    EXPECT_FALSE(rule_text(options, {}));
    options.ulp_port = "4420";
    EXPECT_FALSE(rule_text(options, {}));
    for (const char* time : {"0s", "0", "-1h", "h", "100000000h", "99999999999999999999h"}) {
        options.lasts = time;
        EXPECT_FALSE(transient_from(options, kStart)) << time;
    }
}

TEST(RuleName, IsAPartOfTheFilesName)
{
    for (const auto& [name, file] : {std::pair{"job-4711", "10-job-4711.yaml"},
                                     {"70-late", "70-late.yaml"},
                                     {"7-up", "10-7-up.yaml"},
                                     {"10-x", "10-x.yaml"},
                                     {"x", "10-x.yaml"}}) {
        EXPECT_EQ(rule_file(name), file);
        EXPECT_EQ(rule_file(rule_name(file)), file);
        EXPECT_TRUE(check_rule_name(name));
    }
    for (const char* name : {"", ".hidden", "a/b", "../x", "a b", "\n", "caf\xc3\xa9"}) {
        EXPECT_FALSE(check_rule_name(name)) << name;
    }
    EXPECT_FALSE(check_rule_name(std::string(101, 'x')));
    for (const char* owner : {"", "..", "slurm job/4711", "\xff"}) {
        EXPECT_TRUE(check_rule_name(default_rule_name(owner))) << owner;
    }
    EXPECT_TRUE(check_rule_name(default_rule_name(std::string(128, 'x')) + "-999"));
}

TEST(HowLong, IsSaidInWords)
{
    EXPECT_EQ(how_long({}), "until it is removed or the host restarts");
    EXPECT_EQ(how_long({parse_time("2026-11-23T22:00:00Z"), "me", "/job"}),
              "until 2026-11-23T22:00:00Z, and while the cgroup /job is there");
}

}    // namespace
}    // namespace rdmaqos::ctl
