#include "policy/explain/part_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/policy/reader_support.h"

namespace rdmaqos {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// With the levels a, b and DEFAULT. Warnings are welcome.
Policy policy_with(const std::string& rest)
{
    const auto read = test::read_body("qos-levels: [{name: DEFAULT}, {name: a}, {name: b}]\n" + rest);
    EXPECT_TRUE(read.value) << test::shown(read);
    return read.value ? *read.value : Policy{};
}

std::vector<std::string> changed_parts(const std::string& before, const std::string& after)
{
    std::vector<std::string> texts;
    for (const auto& [part, name, kind, words] : part_changes(policy_with(before), policy_with(after))) {
        texts.push_back(std::string(to_string(part)) + " " + name + ": " + words);
    }
    return texts;
}

std::string rules(const std::vector<std::string>& lines)
{
    std::string text = "qos-match-rules:\n";
    for (const auto& line : lines) {
        text += "  - {" + line + "}\n";
    }
    return text;
}

const std::string kA = "qos-class: 1, qos-level-name: a";
const std::string kB = "qos-class: 2, qos-level-name: b";
const std::string kC = "qos-class: 3, qos-level-name: a";
const std::string kD = "qos-class: 4, qos-level-name: a";

TEST(PartChanges, ARuleIsKnownByWhatItAsksFor)
{
    EXPECT_THAT(changed_parts(rules({kA, kB}), rules({kA + ", use: words", kB})), IsEmpty());
    // The numbers of all behind it change, and nothing else of them.
    EXPECT_THAT(changed_parts(rules({kA, kB, kC}), rules({kD, kA, kB, kC})),
                ElementsAre("match rule 1: new (qos-class 4: level a)"));
    EXPECT_THAT(changed_parts(rules({kA, kB, kC}), rules({kA, kC})),
                ElementsAre("match rule 2: removed (qos-class 2: level b)"));
    EXPECT_THAT(changed_parts(rules({kA, kB}), rules({kA, "qos-class: 2, qos-level-name: a"})),
                ElementsAre("match rule 2: level b -> level a (qos-class 2)"));
    EXPECT_THAT(changed_parts(rules({kA}), rules({kA + ", adopt: no"})),
                ElementsAre("match rule 1: new (qos-class 1, adopt no: level a)",
                            "match rule 1: removed (qos-class 1: level a)"));
    EXPECT_THAT(changed_parts(rules({"qos-level-name: a"}), rules({"qos-level-name: b"})),
                ElementsAre("match rule 1: level a -> level b (everything)"));
}

TEST(PartChanges, TheFewestRulesMove)
{
    EXPECT_THAT(changed_parts(rules({kA, kB, kC, kD}), rules({kD, kA, kB, kC})),
                ElementsAre("match rule 1: was match rule 4 (qos-class 4)"));
    EXPECT_THAT(changed_parts(rules({kA, kB, kC}), rules({kB, kC, kA})),
                ElementsAre("match rule 3: was match rule 1 (qos-class 1)"));
    // Two that are the same are told apart by their order.
    EXPECT_THAT(changed_parts(rules({kA, kB, kA}), rules({kA, kB, kA})), IsEmpty());
}

TEST(PartChanges, UlpsGroupsAndPartitions)
{
    const std::string before =
        "port-groups: [{name: g, port-guid: [7], node-type: [CA]}, {name: old, gid: [\"fd00::/16\"]}]\n"
        "partitions: [{name: p, pkey: 1}, {name: q, pkey: 2}]\n"
        "qos-ulps: [{ulp: sdp, sl: 3}, {ulp: iser, qos-level-name: a}]\n";
    const std::string after = "port-groups: [{name: G, port-guid: [7, 8], port-name: [n/P1]}, {name: new, pkey: [5]}]\n"
                              "partitions: [{name: p, pkey: 1, qos-level-name: b}, {name: Q, pkey: 2}]\n"
                              "qos-ulps: [{ulp: sdp, sl: 4}, {ulp: nvme-of, qos-level-name: a}]\n";
    EXPECT_THAT(changed_parts(before, before), IsEmpty());
    EXPECT_THAT(changed_parts(before, after),
                ElementsAre("ulp rule 1: sl 3 -> sl 4 (sdp)", "ulp rule 2: new (nvme-of: level a)",
                            "ulp rule 2: removed (iser: level a)",
                            "port-group G: port-guid 0x7 -> 0x7-0x8, port-name none -> n/P1, node-type CA -> none",
                            "port-group new: new (pkey 0x5)", "port-group old: removed",
                            "partition p: qos-level-name none -> b", "partition Q: new (pkey 0x0002)",
                            "partition q: removed"));
}

TEST(PartChanges, LongListsAreCutShort)
{
    std::string guids = "1";
    for (int i = 3; i < 200; i += 2) {
        guids += ", " + std::to_string(i);
    }
    EXPECT_THAT(changed_parts("port-groups: [{name: g, port-guid: [" + guids + "]}]\n",
                              "port-groups: [{name: g, port-guid: [" + guids + ", 9999]}]\n"),
                ElementsAre("port-group g: port-guid differs"));
}

// Thousands of rules in another order take no longer than they must.
TEST(PartChanges, ManyRules)
{
    std::string before = "qos-match-rules:\n";
    std::string after = before;
    constexpr int kRules = 4000;
    for (int i = 0; i < kRules; ++i) {
        before += "  - {service-id: [" + std::to_string(i) + "], qos-level-name: a}\n";
        after += "  - {service-id: [" + std::to_string(kRules - 1 - i) + "], qos-level-name: a}\n";
    }
    EXPECT_EQ(changed_parts(before, after).size(), kRules - 1U);
}

}    // namespace
}    // namespace rdmaqos
