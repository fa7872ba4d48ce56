#include "tests/unit/policy/reader_support.h"

namespace rdmaqos::test {
namespace {

TEST(MergePolicy, ALaterFileWinsKeyByKey)
{
    const Policy policy = good(read_texts({R"(
scheduling-nodes: [{name: tenants, share: 2}]
qos-levels:
  - {name: DEFAULT}
  - name: rpc
    use: first
    sl: 1
    schedule: {parent: tenants, share: 3, max-rate: 40Gbps, responder: {share: 4}}
    per-queue-pair: {max-rate: 5Gbps, max-burst: 1KiB}
    allow: {user: [alice]}
    pkey: [1]
)",
                                           R"(
qos-levels:
  - name: RPC
    sl: 2
    schedule: {share: 5, responder: {max-rate: 1Gbps}}
    per-queue-pair: {max-rate: 6Gbps}
    allow: {group: [hpc]}
    pkey: [2]
  - {name: new}
)"}));
    ASSERT_EQ(policy.levels.size(), 3U);
    const QosLevel& level = policy.levels[1];
    EXPECT_EQ(level.name, "rpc");
    EXPECT_EQ(level.use, "first");
    EXPECT_EQ(level.sl, 2);
    EXPECT_EQ(level.schedule->parent, 0U);
    EXPECT_EQ(level.schedule->rate, (RateSpec{5, std::nullopt, Bandwidth::from_gbps(40)}));
    EXPECT_EQ(level.schedule->responder, (RateSpec{4, std::nullopt, Bandwidth::from_gbps(1)}));
    EXPECT_EQ(level.per_queue_pair.max_rate, Bandwidth::from_gbps(6));
    EXPECT_EQ(level.per_queue_pair.max_burst, 1024U);
    // Replaced as a whole: who may is never a mixture of two files.
    EXPECT_TRUE(level.allow->users.empty());
    EXPECT_EQ(level.allow->gids, std::vector<std::uint32_t>{2000});
    EXPECT_EQ(level.pkeys, IntervalSet({{2, 2}}));
    EXPECT_EQ(level.location.to_string(), "file1.yaml:6:11");
}

TEST(MergePolicy, NullTakesAKeyBack)
{
    const Policy policy = good(
        read_texts({"qos-levels: [{name: DEFAULT, sl: 1, schedule: {share: 2, max-rate: 1Gbps}}]",
                    "qos-levels: [{name: DEFAULT, sl: ~, schedule: {max-rate: null}}]"}));
    EXPECT_FALSE(policy.levels.at(0).sl);
    EXPECT_EQ(policy.levels[0].schedule->rate, (RateSpec{2, std::nullopt, std::nullopt}));
    const Policy unscheduled = good(
        read_texts({"qos-levels: [{name: DEFAULT, schedule: {}}]", "qos-levels: [{name: DEFAULT, schedule: ~}]"}));
    EXPECT_FALSE(unscheduled.levels.at(0).schedule);
}

TEST(MergePolicy, RemoveTakesAnObjectBack)
{
    const Policy policy = good(read_texts({"qos-levels: [{name: DEFAULT}, {name: rpc, sl: 1}]\n"
                                           "port-groups: [{name: a, node-type: CA}]\n"
                                           "partitions: [{name: p, pkey: 1, qos-level-name: default}]\n"
                                           "scheduling-nodes: [{name: n}]\nqos-class-names: {kv: 1, x: 2}\n",
                                           "qos-levels: [{name: Rpc, remove: true}]\n"
                                           "port-groups: [{name: A, remove: true}]\n"
                                           "partitions: [{name: p, remove: true}]\n"
                                           "scheduling-nodes: [{name: n, remove: true}]\nqos-class-names: {KV: ~}\n",
                                           "qos-levels: [{name: rpc, sl: 2}]\nqos-class-names: {X: 3}\n"}));
    ASSERT_EQ(policy.levels.size(), 2U);
    EXPECT_EQ(policy.levels[1].sl, 2);
    EXPECT_TRUE(policy.groups.empty() && policy.partitions.empty() && policy.nodes.empty());
    ASSERT_EQ(policy.qos_class_names.size(), 1U);
    EXPECT_EQ(policy.find_qos_class("x"), 3);
}

TEST(MergePolicy, NamesOfPartitionsKeepTheirCase)
{
    const Policy policy = read_good("qos-levels: [{name: DEFAULT}]\npartitions:\n"
                                    "  - {name: Part, pkey: 1, qos-level-name: default}\n"
                                    "  - {name: part, pkey: 2, qos-level-name: default}\n");
    EXPECT_EQ(policy.partitions.size(), 2U);
}

TEST(MergePolicy, EveryFileNeedsItsVersion)
{
    const auto result = read_policy(
        {with_version("qos-levels: [{name: DEFAULT}]"), source("b.yaml", "qos-levels: []\n")}, fake_names());
    expect_only_error(result, "`version: 1` is missing");
    EXPECT_EQ(result.diagnostics.all().at(0).location.to_string(), "b.yaml:1:1");
}

TEST(MergePolicy, MistakesOfAllFilesAreReportedInTheirOrder)
{
    const auto result = read_texts({"qos-levels: [{name: DEFAULT, sl: 16, ls: 3}]", "qos-levels: [", "x: 1\ny: 2\n"});
    EXPECT_EQ(result.value, nullptr);
    std::vector<std::string> places;
    for (const auto& diagnostic : result.diagnostics.all()) {
        if (diagnostic.severity == Severity::Error) {
            places.push_back(diagnostic.location.to_string());
        }
    }
    EXPECT_EQ(places, (std::vector<std::string>{"file1.yaml:2:34", "file1.yaml:2:38", "file2.yaml:2:1",
                                                "file3.yaml:2:1", "file3.yaml:3:1"}))
        << shown(result);
}

TEST(MergePolicy, TheRevisionIsThatOfTheTexts)
{
    const auto revision = [](const std::string& name, const std::string& body) {
        const auto result = read_policy({with_version(body, name)}, fake_names());
        return result.value ? result.value->revision : "";
    };
    const auto first = revision("a.yaml", "qos-levels: [{name: DEFAULT}]");
    EXPECT_EQ(first.size(), 16U);
    EXPECT_EQ(first, revision("b.yaml", "qos-levels: [{name: DEFAULT}]"));
    EXPECT_NE(first, revision("a.yaml", "qos-levels: [{name: default}]"));
    // Stable over releases: people compare them.
    EXPECT_EQ(first, "eb6b6d576001dc1d");
}

TEST(MergePolicy, SectionsMayBeEmpty)
{
    read_good("port-groups:\npartitions: []\nscheduling-nodes: ~\nqos-class-names: {}\nqos-match-rules:\nqos-ulps:\n"
              "qos-setup: {}\nqos-levels: [{name: DEFAULT}]\n");
}

}    // namespace
}    // namespace rdmaqos::test
