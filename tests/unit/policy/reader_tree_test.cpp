#include "tests/unit/policy/reader_support.h"

namespace rdmaqos::test {
namespace {

TEST(ReadTree, ParentsComeBeforeChildren)
{
    const Policy policy = read_good(R"(
scheduling-nodes:
  - {name: c, parent: b}
  - {name: b, parent: A}
  - {name: a}
  - {name: d, parent: a}
qos-levels:
  - {name: DEFAULT}
  - {name: x, schedule: {parent: c}}
  - {name: y, schedule: {parent: d}}
)");
    ASSERT_EQ(policy.nodes.size(), 4U);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < policy.nodes.size(); ++i) {
        const auto& node = policy.nodes[i];
        names.push_back(node.name + (node.parent ? "<" + policy.nodes[*node.parent].name : ""));
        EXPECT_TRUE(!node.parent || *node.parent < i);
    }
    EXPECT_EQ(names, (std::vector<std::string>{"a", "b<a", "d<a", "c<b"}));
    EXPECT_EQ(policy.nodes.at(*policy.levels[1].schedule->parent).name, "c");
}

TEST(ReadTree, SiblingsWithoutAMinRateShareTheRemainder)
{
    read_good("qos-levels:\n  - {name: DEFAULT}\n"
              "  - {name: a, schedule: {min-rate: 10Gbps}, allow: {user: alice}}\n"
              "  - {name: b, schedule: {share: 3}}\n  - {name: c, schedule: {}}\n");
}

TEST(ReadTree, StrictIsOfAChildOfTheRoot)
{
    const Policy policy = read_good(R"(
scheduling-nodes:
  - {name: control, strict: true, max-rate: 1Gbps}
  - {name: tenants, strict: no}
qos-levels:
  - {name: DEFAULT}
  - {name: sync, schedule: {strict: yes, max-rate: 10%}}
  - {name: a, schedule: {parent: control}}
  - {name: b, schedule: {parent: tenants, strict: no}}
)");
    EXPECT_TRUE(policy.nodes.at(0).strict);
    EXPECT_FALSE(policy.nodes.at(1).strict);
    EXPECT_TRUE(policy.levels.at(1).schedule->strict);
    EXPECT_FALSE(policy.levels.at(3).schedule->strict);
    const auto uncapped = read_body("qos-levels: [{name: DEFAULT}, {name: a, schedule: {strict: true}}]\n");
    EXPECT_NE(shown(uncapped).find("`strict` of `a` can take the whole link"), std::string::npos) << shown(uncapped);
}

struct TreeCase {
    std::string body;
    std::string message;    // empty: all is well
};

class ReadTreeCases : public testing::TestWithParam<TreeCase> {};

TEST_P(ReadTreeCases, AreToldApart)
{
    const std::string body = "qos-levels:\n  - {name: DEFAULT}\n" + GetParam().body;
    if (GetParam().message.empty()) {
        read_good(body);
    } else {
        expect_error(body, GetParam().message);
    }
}

const std::string kAlice = ", allow: {user: alice}}\n";

INSTANTIATE_TEST_SUITE_P(
    Cases, ReadTreeCases,
    testing::Values(
        // Exactly as much as there is.
        TreeCase{"  - {name: a, schedule: {parent: n, min-rate: 6Gbps}" + kAlice +
                     "  - {name: b, schedule: {parent: n, min-rate: 4Gbps}" + kAlice +
                     "scheduling-nodes: [{name: n, max-rate: 10Gbps}]\n",
                 ""},
        TreeCase{"  - {name: a, schedule: {parent: n, min-rate: 6Gbps}" + kAlice +
                     "  - {name: b, schedule: {parent: n, min-rate: 4001Mbps}" + kAlice +
                     "scheduling-nodes: [{name: n, max-rate: 10Gbps}]\n",
                 "the min-rates below `n` add up to 10.001 Gbit/s, more than its `max-rate` 10 Gbit/s"},
        // Through a node without rates of its own.
        TreeCase{"  - {name: a, schedule: {parent: m, min-rate: 11Gbps}" + kAlice +
                     "scheduling-nodes: [{name: n, max-rate: 10Gbps}, {name: m, parent: n}]\n",
                 "the min-rates below `n` add up to 11 Gbit/s, more than its `max-rate` 10 Gbit/s"},
        // A node's own guarantee counts if it is more than that of those below.
        TreeCase{"  - {name: a, schedule: {parent: m, min-rate: 1Gbps}" + kAlice +
                     "scheduling-nodes: [{name: n, max-rate: 10Gbps}, {name: m, parent: n, min-rate: 11Gbps}]\n",
                 "the min-rates below `n` add up to 11 Gbit/s, more than its `max-rate` 10 Gbit/s"},
        TreeCase{"  - {name: a, schedule: {min-rate: 2Gbps, max-rate: 2Gbps}" + kAlice, ""},
        TreeCase{"  - {name: a, schedule: {min-rate: 2001Mbps, max-rate: 2Gbps}" + kAlice,
                 "`min-rate` 2.001 Gbit/s is above `max-rate` 2 Gbit/s"},
        // The same name is fine with another parent, or without a place in the tree.
        TreeCase{"  - {name: n, schedule: {parent: n}}\nscheduling-nodes: [{name: n}]\n", ""},
        TreeCase{"  - {name: n}\n  - {name: m, schedule: {parent: n}}\nscheduling-nodes: [{name: n}]\n", ""},
        TreeCase{"  - {name: N, schedule: {}}\n  - {name: m, schedule: {parent: n}}\nscheduling-nodes: [{name: n}]\n",
                 "qos-level `N` has the name of a scheduling-node with the same parent"},
        TreeCase{"  - {name: a, schedule: {parent: n}}\nscheduling-nodes: [{name: n, parent: n}]\n",
                 "scheduling-node `n` is its own ancestor"},
        TreeCase{"  - {name: a, schedule: {parent: n, strict: true, max-rate: 1Gbps}}\nscheduling-nodes: [{name: n}]\n",
                 "`strict` of `a` needs a traffic class, and it has a `parent`"},
        TreeCase{"  - {name: a, schedule: {parent: m}}\n"
                 "scheduling-nodes: [{name: n}, {name: m, parent: n, strict: true, max-rate: 1Gbps}]\n",
                 "`strict` of `m` needs a traffic class, and it has a `parent`"}),
    [](const auto& test) { return std::to_string(test.index); });

TEST(ReadTree, DevicesPartsOfTheLinkAndPrincipals)
{
    const Policy policy = read_good(R"(
scheduling-nodes:
  - {name: compute, min-rate: 12.5%, max-rate: 90 %, devices: {speed: ">=200Gbps"}}
qos-levels:
  - {name: DEFAULT}
  - {name: jobs, schedule: {parent: compute, fair-by: Slurm-Job}}
  - {name: pods, schedule: {fair-by: kubernetes-pod, responder: {max-rate: 10%}}, devices: [mlx5_0, {link-layer: InfiniBand}]}
  - {name: batch, schedule: {fair-by: {cgroup: "*/batch/*"}, min-rate: 50%}, allow: {slurm-job: "*"}}
qos-match-rules:
  - {device: mlx5_1, qos-level-name: jobs}
)");
    EXPECT_EQ(policy.nodes[0].rate.min_part->hundredths(), 1250U);
    EXPECT_EQ(policy.nodes[0].rate.max_part->hundredths(), 9000U);
    EXPECT_FALSE(policy.nodes[0].rate.min_rate || policy.nodes[0].rate.max_rate);
    EXPECT_EQ(to_string(policy.nodes[0].devices), "speed >= 200 Gbit/s");
    EXPECT_EQ(policy.levels[1].schedule->fair_by, FairBy::SlurmJob);
    EXPECT_EQ(policy.levels[2].schedule->fair_by, FairBy::KubernetesPod);
    EXPECT_EQ(policy.levels[2].schedule->responder->max_part->hundredths(), 1000U);
    EXPECT_EQ(to_string(policy.levels[2].devices), "mlx5_0, link-layer infiniband");
    EXPECT_EQ(policy.levels[3].schedule->fair_by, FairBy::Cgroup);
    EXPECT_EQ(policy.levels[3].schedule->fair_cgroup, "*/batch/*");
    EXPECT_TRUE(policy.levels[3].schedule->rate.has_guarantee());
    EXPECT_EQ(policy.levels[3].allow->slurm_jobs, std::vector<std::string>{"*"});
    EXPECT_EQ(to_string(policy.rules[0].devices), "mlx5_1");
}

}    // namespace
}    // namespace rdmaqos::test
