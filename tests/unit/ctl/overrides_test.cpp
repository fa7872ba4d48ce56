#include "tools/rdma-qosctl/world/overrides.h"

#include <string>
#include <utility>

#include <gmock/gmock.h>

#include "policy/model/transient.h"
#include "tools/rdma-qosctl/offline/transient.h"
#include "tools/rdma-qosctl/rendering/transient.h"

namespace rdmaqos::ctl {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Le;

const std::chrono::system_clock::time_point kNow = *parse_time("2026-11-23T20:00:00Z") + 1ms;

TEST(OverrideText, IsAPolicyFileThatSaysWhenItEnds)
{
    OverrideOptions options{"my rpc", {{"share", "5"}, {"max-rate", "10Gbps"}}, "30m", "/job"};
    const auto until = end_after(options.lasts, kNow);
    ASSERT_TRUE(until);
    const auto text = override_text(options, {*until, "", options.cgroup});
    ASSERT_TRUE(text) << to_string(text.error());
    EXPECT_EQ(*text, R"(# Written by `rdma-qosctl override`; `rdma-qosctl override clear` takes it away.
version: 1
transient:
  until: "2026-11-23T20:30:01Z"
  cgroup: /job
qos-level-overrides:
  - name: my rpc
    max-rate: 10Gbps
    share: 5
)");
    options.level = "rpc\nqos-setup: {}";
    options.values["max-rate"] = "1Gbps}";
    EXPECT_THAT(*override_text(options, {}), HasSubstr("transient: {}\nqos-level-overrides:\n  - name: "
                                                       "\"rpc\\nqos-setup: {}\"\n    max-rate: \"1Gbps}\"\n"));
    options.values.clear();
    EXPECT_FALSE(override_text(options, {})) << "nothing is overridden";
}

TEST(EndAfter, TakesTimesAsPoliciesDo)
{
    using std::chrono::sys_seconds;
    const sys_seconds now = std::chrono::floor<std::chrono::seconds>(kNow);
    using Case = std::pair<const char*, std::chrono::seconds>;
    for (const auto& [time, lasts] :
         {Case{"30m", 30min}, {"90", 90s}, {"30 min", 30min}, {"1h30min", 90min}, {"1d", 24h}}) {
        EXPECT_EQ(end_after(time, kNow).value_or(std::nullopt), now + lasts + 1s) << time;
    }
    EXPECT_EQ(end_after("500ms", kNow).value_or(std::nullopt), now + 1s);
    EXPECT_EQ(end_after("", kNow).value_or(now), std::nullopt);
    for (const char* time : {"m", "0m", "0", "-1m", "3651d", "30mm", "never"}) {
        EXPECT_FALSE(end_after(time, kNow)) << time;
    }
}

TEST(OverrideFile, IsOneForEachLevel)
{
    for (const auto& [level, file] : {std::pair{"rpc", "90-override-rpc.yaml"},
                                      {"RPC", "90-override-rpc.yaml"},
                                      {"my rpc", "90-override-my%20rpc.yaml"},
                                      {"my-rpc", "90-override-my-rpc.yaml"},
                                      {"../x", "90-override-..%2fx.yaml"},
                                      {"caf\xc3\xa9", "90-override-caf%c3%a9.yaml"}}) {
        EXPECT_EQ(override_file(level), file);
    }
    const std::string longest(128, '/');
    EXPECT_THAT(override_file(longest).size(), Le(200U));
    EXPECT_NE(override_file(longest), override_file(longest.substr(1)));
}

TEST(OverridesInWords, SayWhenTheyEnd)
{
    for (const auto& [time, words] : {std::pair<std::chrono::seconds, const char*>{0s, "0 s"},
                                      {-5s, "0 s"},
                                      {119s, "119 s"},
                                      {120s, "2 min"},
                                      {1799s, "29 min"},
                                      {1h, "1 h"},
                                      {2h + 359s, "2 h 5 min"},
                                      {72h, "72 h"}}) {
        EXPECT_EQ(time_in_words(time), words);
    }
    const auto until = parse_time("2026-11-23T20:29:59Z");
    EXPECT_EQ(end_in_words({until, "", ""}, kNow), "ends in 29 min");
    EXPECT_EQ(end_in_words({until, "", "/job"}, kNow), "ends in 29 min or with the cgroup /job");
    EXPECT_EQ(end_in_words({{}, "", "/job"}, kNow), "ends with the cgroup /job");
    EXPECT_EQ(end_in_words({}, kNow), "ends when the host restarts");
}

TEST(OverridesInWords, AreThoseOfTheDaemonsLevels)
{
    const api::Override each{.property = "max-rate",
                             .value = "10 Gbit/s",
                             .in_place_of = "25 Gbit/s",
                             .until = parse_time("2026-11-23T20:30:00Z")};
    const auto overrides = overrides_of({{}, {.name = "rpc", .overrides = {each}}});
    ASSERT_EQ(overrides.size(), 1U);
    EXPECT_EQ(describe_overrides(overrides, kNow), "1: rpc max-rate 10 Gbit/s in place of 25 Gbit/s, ends in 30 min");
}

}    // namespace
}    // namespace rdmaqos::ctl
