#include "policy/match/hidden_rules.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "tests/unit/match/policy_dsl.h"
#include "tests/unit/policy/reader_support.h"

namespace rdmaqos {
namespace {

using namespace test;

// "3: 1, 2" (rule 3 by rules 1 and 2), "3 = 1", "3: nobody", "3: user"
std::string in_words(const Policy& policy, const HiddenRule& hidden)
{
    const std::size_t number = policy.rules[hidden.rule].number;
    switch (hidden.how) {
    case Hidden::ByNobody:
        return fmt::format("{}: nobody", number);
    case Hidden::ByItsLevel:
        return fmt::format("{}: {}", number, hidden.key->name());
    case Hidden::ByRules:
        break;
    }
    std::vector<std::size_t> by;
    for (const std::size_t rule : hidden.by) {
        by.push_back(policy.rules[rule].number);
    }
    return fmt::format("{}{} {}", number, hidden.is_equal ? " =" : ":", fmt::join(by, ", "));
}

Fabric two_hosts()
{
    Fabric fabric;
    fabric.ports = {ca_port(1, "a HCA-1"), ca_port(2, "b HCA-1")};
    return fabric;
}

std::string hidden_in(const Policy& policy, const std::vector<LocalPort>& local = {LocalPort{}})
{
    const Matcher matcher(policy, resolve(policy, two_hosts(), local));
    std::vector<std::string> words;
    for (const auto& hidden : hidden_rules(matcher)) {
        words.push_back(in_words(policy, hidden));
    }
    return fmt::format("{}", fmt::join(words, "; "));
}

struct Case {
    std::string name;
    std::string rules;    // flow mappings, one a line, whose level is `a` unless they name one
    std::string hidden;
};

std::string policy_text(const std::string& rules)
{
    std::string text = R"(version: 1
port-groups:
  - {name: one, port-guid: [1]}
  - {name: both, port-guid: [1-2]}
  - {name: hosts, node-type: [CA]}
  - {name: rest, port-guid: [2]}
  - {name: empty, partition: [none]}
  - {name: partial, port-guid: [1], partition: [none]}
qos-levels:
  - {name: DEFAULT}
  - {name: a}
  - {name: alices, allow: {user: [alice]}}
  - {name: ours, allow: {user: [alice, bob]}}
  - {name: nobodys, allow: {user: [ghost]}}
  - {name: hpcs, allow: {group: [hpc]}}
  - {name: slurms, allow: {cgroup: ["/slurm/*"]}}
  - {name: jobs, allow: {unit: ["job-*.scope"]}}
qos-match-rules:
)";
    std::istringstream lines(rules);
    for (std::string line; std::getline(lines, line);) {
        const bool names_level = line.find("qos-level-name") != std::string::npos;
        text += fmt::format("  - {{{}{}}}\n", line, names_level ? "" : ", qos-level-name: a");
    }
    return text;
}

class HiddenRules : public testing::TestWithParam<Case> {};

TEST_P(HiddenRules, AreFound)
{
    const auto read = read_policy({source("policy.yaml", policy_text(GetParam().rules))}, fake_names());
    ASSERT_TRUE(read.value) << shown(read);
    EXPECT_EQ(hidden_in(*read.value), GetParam().hidden) << GetParam().rules;
}

INSTANTIATE_TEST_SUITE_P(
    ByOneRule, HiddenRules,
    testing::Values(Case{"none", "service-id: [1-9]\nservice-id: [0-10]\nservice-id: [20]", ""},
                    Case{"the_same", "service-id: [1-9]\nservice-id: [1-9]", "2 = 1"},
                    Case{"of_a_wider_range", "service-id: [0-10]\nservice-id: [1-3, 7]", "2: 1"},
                    Case{"of_fewer_criteria", "pkey: [1]\npkey: [1], service-id: [5]", "2: 1"},
                    Case{"not_of_more_criteria", "pkey: [1], service-id: [5]\npkey: [1]", ""},
                    Case{"by_the_membership_bit", "pkey: [0x8001]\npkey: [1]", "2 = 1"},
                    Case{"by_a_rule_without_criteria", "use: all\nservice-id: [5]\npkey: [1]", "2: 1; 3: 1"},
                    Case{"a_rule_without_criteria", "service-id: [0-0xffffffffffffffff]\nuse: all", ""},
                    Case{"not_by_a_rule_below", "service-id: [5]\nuse: all", ""},
                    Case{"in_classes_that_exist", "qos-class: [0-4095]\nqos-class: [4000-4095]", "2: 1"},
                    Case{"of_a_device", "device: ['mlx5_*']\ndevice: [mlx5_0, mlx5_1/2]", "2: 1"},
                    Case{"of_an_executable", "client: {executable: ['/opt/*']}\nclient: {executable: ['/opt/*/bin/x']}",
                         "2: 1"},
                    Case{"of_the_first_that_hides_it", "use: all\nservice-id: [5]\nservice-id: [5]", "2: 1; 3: 1"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(ByGroups, HiddenRules,
                         testing::Values(Case{"of_more_members", "source: [both]\nsource: [one]", "2: 1"},
                                         Case{"of_two_groups", "source: [one, rest]\nsource: [both]", "2 = 1"},
                                         Case{"of_the_other_end", "source: [both]\ndestination: [one]", ""},
                                         Case{"of_a_node_type", "destination: [hosts]\ndestination: [one]", "2: 1"},
                                         Case{"with_members_nobody_knows", "source: [one]\nsource: [partial]", ""},
                                         Case{"of_the_same_group", "source: [partial]\nsource: [partial]", "2 = 1"},
                                         // It has a warning of its own.
                                         Case{"without_members", "source: [one]\nsource: [empty]", ""}),
                         [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    BySeveralRules, HiddenRules,
    testing::Values(
        Case{"of_ranges", "service-id: [0-9]\nservice-id: [10-19]\nservice-id: [0-19]", "3: 1, 2"},
        Case{"without_what_is_not_needed",
             "service-id: [0-9]\nservice-id: [30]\nservice-id: [10-19]\nservice-id: [5-19]", "4: 1, 3"},
        Case{"of_ranges_and_less", "service-id: [0-9]\nservice-id: [10-19]\nservice-id: [0-19], pkey: [1]", "3: 1, 2"},
        Case{"of_groups", "source: [one]\nsource: [rest]\nsource: [hosts]", "3: 1, 2"},
        Case{"not_of_patterns", "device: ['mlx5_[0-4]']\ndevice: ['mlx5_[5-9]']\ndevice: ['mlx5_[0-9]']", ""},
        Case{"of_users", "client: {user: [alice]}\nclient: {user: [bob]}\nclient: {user: [alice, bob]}", "3: 1, 2"},
        Case{"one_level_each",
             "qos-level-name: alices, service-id: [1]\nclient: {user: [bob]}, service-id: [1]\n"
             "qos-level-name: ours, service-id: [1]",
             ""},
        Case{"not_in_two_criteria",
             "service-id: [0-9], pkey: [1]\nservice-id: [10-19], pkey: [2]\n"
             "service-id: [0-19], pkey: [1-2]",
             ""},
        Case{"of_one_that_is_hidden_itself",
             "service-id: [0-9]\nservice-id: [10-19]\nservice-id: [0-19]\n"
             "service-id: [5-15]",
             "3: 1, 2; 4: 1, 2"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    ByClientsAndLevels, HiddenRules,
    testing::Values(
        Case{"who_may_not_use_the_level_goes_on", "qos-level-name: alices\nuse: others", ""},
        Case{"who_may_does_not", "qos-level-name: alices\nclient: {user: [alice]}", "2 = 1"},
        Case{"of_the_same_level", "qos-level-name: alices\nqos-level-name: alices, service-id: [5]", "2: 1"},
        Case{"of_a_narrower_allow", "qos-level-name: ours\nqos-level-name: alices", "2: 1"},
        Case{"not_of_a_wider_allow", "qos-level-name: alices\nqos-level-name: ours", ""},
        Case{"of_client_and_allow_together", "client: {user: [alice]}\nqos-level-name: ours, client: {user: [1000, 7]}",
             "2 = 1"},
        Case{"of_a_group", "client: {group: [hpc, users]}\nclient: {group: [hpc]}, service-id: [5]", "2: 1"},
        Case{"of_the_group_of_the_level", "client: {group: [hpc]}\nqos-level-name: hpcs", "2 = 1"},
        Case{"of_a_cgroup", "client: {cgroup: ['/slurm/*']}\nqos-level-name: slurms, client: {cgroup: ['*/job_7']}",
             "2: 1"},
        Case{"of_a_unit", "client: {unit: ['job-*']}\nclient: {unit: ['job-7.scope']}", "2: 1"},
        Case{"allow_of_a_unit_means_client", "client: {unit: ['job-*']}\nqos-level-name: jobs", "2: 1"},
        // The unit could be one below a user's own manager.
        Case{"client_of_a_unit_does_not_mean_allow", "qos-level-name: jobs\nclient: {unit: ['job-7.scope']}", ""},
        Case{"a_level_for_nobody", "qos-level-name: nobodys\nuse: all", "1: nobody"},
        Case{"a_level_for_other_users", "qos-level-name: alices, client: {user: [bob]}", "1: user"},
        Case{"a_level_for_other_cgroups", "qos-level-name: slurms, client: {cgroup: ['/system.slice/*']}", "1: cgroup"},
        Case{"a_cgroup_that_may_fit", "qos-level-name: slurms, client: {cgroup: ['*/system.slice/*']}", ""},
        // One can be in both.
        Case{"a_level_for_another_group", "qos-level-name: hpcs, client: {group: [users]}", ""},
        // a.service can be inside of job-7.scope.
        Case{"a_level_for_another_unit", "qos-level-name: jobs, client: {unit: [a.service]}", ""},
        Case{"a_level_for_a_user_and_a_group_of_others", "qos-level-name: hpcs, client: {user: [alice]}", ""},
        // It has a warning of its own; and the account may come.
        Case{"an_unknown_user", "client: {user: [alice]}\nclient: {user: [ghost]}\nclient: {user: [alice, ghost]}",
             ""}),
    [](const auto& test) { return test.param.name; });

TEST(HiddenRulesOfUlps, ComeAfterAllMatchRules)
{
    const auto read = read_policy({source("policy.yaml", R"(version: 1
qos-levels: [{name: DEFAULT}, {name: a}]
qos-ulps:
  - {ulp: sdp, sl: 1}
  - {ulp: sdp, port-num: [7], sl: 2}
  - {ulp: ipoib, sl: 3}
qos-match-rules:
  - {pkey: [0xffff], qos-level-name: a}
)")},
                                  fake_names());
    ASSERT_TRUE(read.value) << shown(read);
    EXPECT_EQ(hidden_in(*read.value), "3: 2; 4 = 1");
}

TEST(HiddenRulesOfPorts, ThatAreNotKnownYetAreNotFound)
{
    const auto read = read_policy({source("policy.yaml", policy_text("source: [both]\nsource: [hosts]"))},
                                  fake_names());
    ASSERT_TRUE(read.value);
    EXPECT_EQ(hidden_in(*read.value), "2 = 1");
    EXPECT_EQ(hidden_in(*read.value, {}), "") << "the daemon starts before it has found a device";
}

TEST(HiddenRulesInGreatNumber, AreFoundAndTheFirstAreShown)
{
    TestPolicy policy;
    for (std::size_t i = 0; i < 2'000; ++i) {
        policy.rule("DEFAULT", [&](MatchRule& rule) { rule.service_id = number(i % 1'000); });
    }
    const Matcher matcher(policy.policy, policy.resolved());
    EXPECT_EQ(hidden_rules(matcher).size(), 1'000U);
    const auto warnings = warnings_of_hidden_rules(matcher);
    EXPECT_EQ(warnings.warning_count(), 21U);
    EXPECT_EQ(warnings.all().back().message, "this rule and 979 more rules can never match either");
}

}    // namespace
}    // namespace rdmaqos
