// qos-level-overrides: what comes of them in the levels. What is wrong with them:
// tests/golden/diagnostics/overrides.yaml.
#include "policy/yaml/level_overrides.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "policy/explain/changes.h"
#include "policy/load/show_config.h"
#include "policy/load/show_config_yaml.h"
#include "tests/unit/policy/policy_text.h"
#include "tests/unit/policy/reader_support.h"

namespace rdmaqos::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kLevels = R"(
scheduling-nodes: [{name: tenants, share: 7}]
qos-levels:
  - {name: DEFAULT}
  - name: rpc
    sl: 3
    schedule: {parent: tenants, share: 60, max-rate: 40Gbps, fair-by: process}
    per-queue-pair: {max-rate: 5Gbps, max-burst: 64KiB, typical-packet: 1024}
  - {name: bulk, schedule: {share: device-default, max-rate: 25%}}
  - {name: plain}
)";

std::string transient(const std::string& overrides)
{
    return "transient: {until: 9999-12-31T23:59:59Z}\nqos-level-overrides: [" + overrides + "]";
}

// Of a policy that reads without a diagnostic: "rpc max-rate 10 Gbit/s in place of 40 Gbit/s".
std::vector<std::string> overrides_in(const Policy& policy)
{
    std::vector<std::string> texts;
    for (const auto& each : policy.overrides) {
        texts.push_back(fmt::format("{} {} {} in place of {}", policy.levels.at(each.level).name, each.property,
                                    each.value, each.in_place_of));
    }
    return texts;
}

struct ReadingCase {
    const char* overrides;
    const char* same_as;    // the level, as a policy without overrides would state it
    const char* in_words;
};

// An override is the same as a level that states the value itself.
TEST(LevelOverrides, AreValuesOfTheLevel)
{
    for (const auto& [overrides, same_as, in_words] : {
             ReadingCase{"{name: rpc, max-rate: 10Gbps}", "{name: rpc, schedule: {max-rate: 10Gbps}}",
                         "rpc max-rate 10 Gbit/s in place of 40 Gbit/s"},
             {"{name: RPC, max-rate: Unlimited}", "{name: rpc, schedule: {max-rate: unlimited}}",
              "rpc max-rate unlimited in place of 40 Gbit/s"},
             {"{name: rpc, max-rate: 12.5%}", "{name: rpc, schedule: {max-rate: 12.5%}}",
              "rpc max-rate 12.5 % in place of 40 Gbit/s"},
             {"{name: rpc, share: 5}", "{name: rpc, schedule: {share: 5}}", "rpc share 5 in place of 60"},
             {"{name: bulk, share: 5}", "{name: bulk, schedule: {share: 5}}",
              "bulk share 5 in place of device-default"},
             {"{name: bulk, max-rate: 1Gbps}", "{name: bulk, schedule: {max-rate: 1Gbps}}",
              "bulk max-rate 1 Gbit/s in place of 25 %"},
             {"{name: rpc, per-queue-pair-max-rate: 2Gbps}", "{name: rpc, per-queue-pair: {max-rate: 2Gbps}}",
              "rpc per-queue-pair-max-rate 2 Gbit/s in place of 5 Gbit/s"},
             {"{name: plain, per-queue-pair-max-rate: 2Gbps}", "{name: plain, per-queue-pair: {max-rate: 2Gbps}}",
              "plain per-queue-pair-max-rate 2 Gbit/s in place of unlimited"},
             {"{name: rpc, per-queue-pair-max-rate: unlimited}",
              "{name: rpc, per-queue-pair: {max-rate: unlimited, max-burst: null, typical-packet: null}}",
              "rpc per-queue-pair-max-rate unlimited in place of 5 Gbit/s"},
         }) {
        const Policy policy = good(read_texts({transient(overrides), kLevels}));
        const Policy same = good(read_texts({"", kLevels, fmt::format("qos-levels: [{}]", same_as)}));
        EXPECT_THAT(level_changes(same, policy), IsEmpty()) << overrides;
        EXPECT_THAT(overrides_in(policy), ElementsAre(in_words));
    }
}

TEST(LevelOverrides, OfSeveralTheLastOfEachPropertyCounts)
{
    const Policy policy = good(read_texts({transient("{name: rpc, max-rate: 10Gbps, share: 5}"), kLevels,
                                           transient("{name: RPC, max-rate: 20Gbps}, {name: bulk, share: 2}")}));
    EXPECT_THAT(overrides_in(policy),
                ElementsAre("rpc max-rate 20 Gbit/s in place of 40 Gbit/s", "rpc share 5 in place of 60",
                            "bulk share 2 in place of device-default"));
    EXPECT_EQ(policy.overrides.at(0).location.file->name, "file3.yaml");
    EXPECT_EQ(policy.overrides.at(1).location.file->name, "file1.yaml");
    EXPECT_EQ(policy.overrides.at(0).transient.until, parse_time("9999-12-31T23:59:59Z"));
}

// Whatever comes of the level later: the policy is read.
TEST(LevelOverrides, OneWithoutALevelIsAWarning)
{
    for (const auto& [overrides, message] : {
             std::pair{"{name: rcp, share: 1}", "there is no qos-level `rcp`: this override does nothing"},
             {"{name: plain, max-rate: 1Gbps}", "qos-level `plain` has no `schedule`: this override does nothing"},
         }) {
        const auto read = read_texts({transient(overrides), kLevels});
        EXPECT_TRUE(read.value) << shown(read);
        EXPECT_EQ(count_of(read, Severity::Warning, message), 1U) << shown(read);
        EXPECT_EQ(read.diagnostics.warning_count(), 1U) << shown(read);
        EXPECT_THAT(read.value->overrides, IsEmpty());
    }
    const auto removed = read_texts(
        {transient("{name: rpc, share: 1}"), kLevels, "qos-levels: [{name: rpc, remove: true}]"});
    EXPECT_TRUE(removed.value) << shown(removed);
    EXPECT_THAT(shown(removed), HasSubstr("note: it is removed here"));
}

TEST(LevelOverrides, AreSaidInChanges)
{
    const Policy without = good(read_texts({"", kLevels}));
    const Policy with = good(read_texts({transient("{name: rpc, max-rate: 10Gbps}"), kLevels}));
    const Policy other = good(read_texts({transient("{name: rpc, share: 5, max-rate: 20Gbps}"), kLevels}));
    const auto words = [](const Policy& before, const Policy& after) {
        const auto changes = level_changes(before, after);
        return changes.size() == 1 ? changes.front().words : fmt::format("{} changes", changes.size());
    };
    EXPECT_EQ(words(without, with),
              "max-rate 40 Gbit/s -> 10 Gbit/s (override of max-rate, until 9999-12-31T23:59:59Z)");
    EXPECT_EQ(words(with, without), "max-rate 10 Gbit/s -> 40 Gbit/s (without the override of max-rate)");
    EXPECT_EQ(words(with, other),
              "share 60 -> 5, max-rate 10 Gbit/s -> 20 Gbit/s (override of max-rate, until 9999-12-31T23:59:59Z; "
              "override of share, until 9999-12-31T23:59:59Z)");
    EXPECT_EQ(words(with, with), "0 changes");
}

TEST(LevelOverrides, AreShownBesideTheValue)
{
    const Policy policy = good(
        read_texts({transient("{name: rpc, max-rate: 10Gbps, per-queue-pair-max-rate: 2Gbps}"), kLevels}));
    const std::string shown_text = to_yaml(show_policy(policy).document);
    EXPECT_THAT(shown_text,
                HasSubstr("max-rate: 10Gbps                      # file1.yaml:3, in place of 40 Gbit/s, until 9999-"));
    EXPECT_THAT(shown_text, HasSubstr("# file1.yaml:3, in place of 5 Gbit/s, until 9999-"));
    const auto again = read_policy({source("printed.yaml", shown_text)}, fake_names());
    ASSERT_TRUE(again.value) << shown(again);
    EXPECT_THAT(level_changes(*again.value, good(read_texts({"", kLevels}))), testing::SizeIs(1))
        << "what is printed keeps the value";
    EXPECT_EQ(text_of(*again.value), text_of(policy));
}

TEST(StatedOverrides, AreReadOfOneFileAlone)
{
    const auto stated = [](const std::string& body) { return reader::overrides_of(with_version(body)); };
    const auto alone = stated(transient("{name: rpc, share: 5, max-rate: 20Gbps}, {name: gone, min-rate: fast}, 7"));
    EXPECT_TRUE(alone.are_all);
    std::vector<std::string> texts;
    for (const auto& each : alone.overrides) {
        texts.push_back(fmt::format("{} {} {} {}", each.level, each.property, each.value, each.location.column));
    }
    EXPECT_THAT(texts, ElementsAre("rpc max-rate 20 Gbit/s 55", "rpc share 5 42", "gone min-rate fast 87"));
    EXPECT_FALSE(stated(transient("{name: rpc, share: 5}") + "\nqos-levels: []").are_all);
    EXPECT_FALSE(stated("qos-levels: []").are_all);
    EXPECT_THAT(stated("# qos-level-overrides").overrides, IsEmpty());
    EXPECT_THAT(stated("qos-level-overrides: {{").overrides, IsEmpty());
    EXPECT_THAT(stated("qos-level-overrides: rpc").overrides, IsEmpty());
}

}    // namespace
}    // namespace rdmaqos::test
