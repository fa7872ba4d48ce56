#include "policy/explain/changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/policy/reader_support.h"

namespace rdmaqos {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Warnings are welcome: what has no effect is compared all the same.
Policy policy(const std::string& levels)
{
    const auto read = test::read_body("scheduling-nodes:\n  - {name: tenants, share: 70}\nqos-levels:\n" + levels);
    EXPECT_TRUE(read.value) << test::shown(read);
    return read.value ? *read.value : Policy{};
}

std::vector<std::string> sentences(const Policy& before, const Policy& after)
{
    std::vector<std::string> texts;
    for (const auto& [level, kind, words] : level_changes(before, after)) {
        texts.push_back("level " + level + ": " + words);
    }
    return texts;
}

TEST(LevelChanges, EveryPropertyIsNamed)
{
    const auto before = policy("  - {name: DEFAULT, sl: 0}\n"
                               "  - name: rpc\n    sl: 3\n    mtu-limit: 4096\n    dscp: 26\n    pkey: [0x1234]\n"
                               "    schedule: {parent: tenants, share: 60, max-rate: 40Gbps, fair-by: process, "
                               "max-rate-each: 5Gbps, leaf-budget: 64, responder: {share: 20}}\n"
                               "    per-queue-pair: {max-rate: 5Gbps, max-burst: 64KiB}\n"
                               "    message-model: low-latency\n");
    const auto after = policy(
        "  - {name: DEFAULT, sl: 0}\n"
        "  - name: rpc\n    sl: 4\n    rate-limit: 40Gbps\n    packet-life: 16\n    pkey: [0x1234]\n"
        "    schedule: {share: 60, min-rate: 10Gbps, strict: yes, fair-by: user, "
        "responder: {share: 20, max-rate: 20Gbps}}\n"
        "    per-queue-pair: {max-rate: 4Gbps}\n"
        "    allow: {user: [alice]}\n    mode: monitor\n    log: yes\n    adopt: no\n");
    EXPECT_THAT(
        sentences(before, after),
        ElementsAre(
            "level rpc: sl 3 -> 4, traffic-class 104 -> none, mtu-limit 4096 -> none, "
            "rate-limit none -> 40 Gbit/s, packet-life none -> 16, parent tenants -> the root, "
            "min-rate none -> 10 Gbit/s, max-rate 40 Gbit/s -> none, strict no -> yes, fair-by process -> user, "
            "max-rate-each 5 Gbit/s -> none, leaf-budget 64 -> none, responder max-rate none -> 20 Gbit/s, "
            "per-queue-pair max-rate 5 Gbit/s -> 4 Gbit/s, per-queue-pair max-burst 65536 -> none, "
            "message-model low-latency -> none, allow everyone -> user alice, mode enforce -> monitor, log no -> yes, "
            "adopt yes -> no"));
    EXPECT_THAT(sentences(after, after), IsEmpty());
}

TEST(LevelChanges, NewAndGoneLevels)
{
    const auto before = policy("  - {name: DEFAULT, sl: 0}\n  - {name: old, sl: 1}\n");
    const auto after = policy("  - {name: Default, sl: 0}\n"
                              "  - {name: backup, sl: 5, schedule: {share: 10, max-rate: 20Gbps}}\n"
                              "  - {name: bare}\n");
    EXPECT_THAT(sentences(before, after),
                ElementsAre("level backup: new (sl 5, parent the root, share 10, max-rate 20 Gbit/s)",
                            "level bare: new", "level old: removed"));
    EXPECT_EQ(level_changes(before, after).front().kind, PolicyChangeKind::New);
    EXPECT_EQ(level_changes(before, after).back(), (LevelChange{"old", PolicyChangeKind::Removed, "removed"}));
}

TEST(LevelChanges, RenamedLevels)
{
    const auto before = policy("  - {name: DEFAULT, sl: 0}\n  - {name: old, sl: 1}\n  - {name: older, sl: 2}\n"
                               "  - {name: stays, sl: 3}\n  - {name: melts, sl: 3}\n");
    const auto after = policy(
        "  - {name: DEFAULT, sl: 0}\n  - {name: new, sl: 1, renamed-from: [OLD, never]}\n"
        "  - {name: newer, sl: 4, renamed-from: older}\n"
        "  - {name: stays, sl: 3, renamed-from: melts}\n  - {name: fresh, renamed-from: nobody}\n");
    EXPECT_THAT(sentences(before, after),
                ElementsAre("level new: renamed from old", "level newer: renamed from older (sl 2 -> 4)",
                            "level stays: renamed-from none -> melts", "level fresh: new (renamed-from nobody)",
                            "level melts: becomes level stays"));
    EXPECT_EQ(level_changes(before, after).front().kind, PolicyChangeKind::Renamed);
    EXPECT_EQ(level_changes(before, after).back().kind, PolicyChangeKind::Renamed);
    EXPECT_THAT(sentences(after, after), IsEmpty());
    EXPECT_THAT(sentences(after, before),
                ElementsAre("level old: new (sl 1)", "level older: new (sl 2)",
                            "level stays: renamed-from melts -> none", "level melts: new (sl 3)", "level new: removed",
                            "level newer: removed", "level fresh: removed"));
}

TEST(LevelChanges, AnotherNameIsSeenWhereEverythingElseIsTheSame)
{
    const auto before = policy("  - {name: DEFAULT, sl: 0}\n  - {name: old, sl: 1}\n  - {name: bare}\n"
                               "  - {name: moved, renamed-from: older}\n");
    const auto same = [&](const std::string& gone, const std::string& levels) {
        const Policy after = policy("  - {name: DEFAULT, sl: 0}\n" + levels);
        const QosLevel* found = same_under_another_name(before, *before.find_level(gone), after);
        return found == nullptr ? std::string("none") : found->name;
    };
    EXPECT_EQ(same("old", "  - {name: new, sl: 1}\n"), "new");
    EXPECT_EQ(same("old", "  - {name: new, sl: 1, renamed-from: other}\n"), "new");
    EXPECT_EQ(same("old", "  - {name: new, sl: 2}\n"), "none");
    EXPECT_EQ(same("old", "  - {name: new, sl: 1}\n  - {name: newer, sl: 1}\n"), "none") << "which one?";
    EXPECT_EQ(same("old", "  - {name: bare, sl: 1}\n"), "none") << "it was there before";
    EXPECT_EQ(same("bare", "  - {name: new}\n"), "none") << "it says nothing that could be the same";
    EXPECT_EQ(same("moved", "  - {name: new}\n"), "none") << "what it was called before says nothing of what it gives";
}

TEST(LevelChanges, ALevelThatJoinsTheTree)
{
    const auto before = policy("  - {name: DEFAULT, sl: 0}\n");
    const auto after = policy("  - {name: DEFAULT, sl: 0, schedule: {share: 5}}\n");
    EXPECT_THAT(sentences(before, after), ElementsAre("level DEFAULT: parent none -> the root, share none -> 5"));
}

}    // namespace
}    // namespace rdmaqos
