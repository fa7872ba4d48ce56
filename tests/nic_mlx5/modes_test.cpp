// Attach modes: what the self-test finds on firmware of each kind, and what the daemon does then, with four processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/nic_mlx5/program.h"

namespace rdmaqos::test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Pair;

// Firmware of the kind a test wants; as it was afterwards.
class Mlx5Modes : public ::testing::Test {
protected:
    void TearDown() override { make_as_it_was(); }
};

// Four processes with two queue pairs each in class rpc (40 Gbit/s, fair by process).
std::vector<std::uint32_t> four_processes(const Daemon& daemon, Processes& processes)
{
    for (int process = 0; process < 4; ++process) {
        processes.start([&](const Processes::Say& say) {
            auto* program = new Program(daemon, "rpc");
            ibv_qp* first = program->make(IBV_QPT_RC);
            ibv_qp* second = program->make(IBV_QPT_UD);
            program->attach(first);
            program->attach(second);
            say(first->qp_num);
            say(second->qp_num);
        });
    }
    return processes.hear(8);
}

std::set<std::uint32_t> contexts_of_elements(const nlohmann::json& device)
{
    std::set<std::uint32_t> contexts;
    for (const auto& each : device.at("tree")) {
        contexts.insert(each.at("context").get<std::uint32_t>());
    }
    return contexts;
}

// The id of the one that a queue pair is in, requester side; 0: none.
std::uint32_t leaf_of(const nlohmann::json& device, std::uint32_t queue_pair)
{
    for (const auto& each : device.at("queue-pairs")) {
        if (each.at("qpn") == queue_pair) {
            return each.at("requester").get<std::uint32_t>();
        }
    }
    return 0;
}

TEST_F(Mlx5Modes, SharedIsOneTree)
{
    emulator("set queue-groups shared");
    const Daemon daemon(on_emulator());
    EXPECT_EQ(device_property(daemon, "AttachMode"), "shared");
    Processes processes;
    const auto numbers = four_processes(daemon, processes);
    ASSERT_EQ(numbers.size(), 8U);
    const auto device = emulated_device();
    EXPECT_EQ(contexts_of_elements(device).size(), 1U);
    EXPECT_THAT(places(device), Each(Pair(::testing::_, kPlaceOf[0])));
}

TEST_F(Mlx5Modes, IsolatedFirmwareGetsATreePerProcess)
{
    emulator("set queue-groups isolated");
    const Daemon daemon(on_emulator());
    EXPECT_EQ(device_property(daemon, "AttachMode"), "per-process");
    EXPECT_THAT(device_property(daemon, "AttachReason"), HasSubstr("its own process only"));
    EXPECT_TRUE(emulated_device().at("tree").empty()) << "nothing is made before somebody needs it";
    Processes processes;
    ASSERT_EQ(four_processes(daemon, processes).size(), 8U);
    const auto device = emulated_device();
    EXPECT_EQ(contexts_of_elements(device).size(), 4U);
    EXPECT_EQ(device.at("elements"), 4 * 3);
    EXPECT_THAT(places(device), Each(Pair(::testing::_, kPlaceOf[0]))) << "each may use the whole cap";
    processes.kill_all();
    EXPECT_TRUE(eventually([] { return emulated_device().at("elements") == 0; }));
    EXPECT_EQ(emulated_device().at("leaked"), 0);
}

// The leaves that the older commands make are in one tree, as general objects would be.
TEST_F(Mlx5Modes, WhereOnlyGeneralObjectsAreIsolatedTheOlderCommandsMakeElements)
{
    emulator("set queue-groups isolated-objects");
    const Daemon daemon(on_emulator(kThreeClasses, "version: 1\ndrift-interval: 1s\n"));
    EXPECT_EQ(device_property(daemon, "AttachMode"), "shared-legacy");
    Processes processes;
    ASSERT_EQ(four_processes(daemon, processes).size(), 8U);
    const auto device = emulated_device();
    EXPECT_EQ(contexts_of_elements(device).size(), 1U);
    for (const auto& each : device.at("tree")) {
        EXPECT_TRUE(each.value("legacy", false)) << each.dump();
    }
    EXPECT_THAT(places(device), Each(Pair(::testing::_, kPlaceOf[0])));
    // Drift is seen, and repaired, by them too.
    const auto leaf = device.at("queue-pairs").at(0).at("requester").get<std::uint32_t>();
    emulator(fmt::format("drift mlx5_0 {} 9 0", leaf));
    EXPECT_TRUE(eventually([&] { return element_of(emulated_device(), leaf).value("bw-share", 0U) == 1; }));
    processes.kill_all();
    EXPECT_TRUE(eventually([] { return emulated_device().at("queue-pairs").empty(); }));
    EXPECT_EQ(emulated_device().at("leaked"), 0);
}

// Shares and caps are in the daemon's nodes; each process has leaves of its own below them.
TEST_F(Mlx5Modes, WhereOnlyAttachingIsIsolatedNodesAreShared)
{
    emulator("set queue-groups isolated-attach");
    const Daemon daemon(on_emulator());
    EXPECT_EQ(device_property(daemon, "AttachMode"), "shared-nodes");
    const auto nodes = emulated_device().at("elements");
    EXPECT_EQ(contexts_of_elements(emulated_device()).size(), 1U);
    Processes processes;
    ASSERT_EQ(four_processes(daemon, processes).size(), 8U);
    auto device = emulated_device();
    EXPECT_EQ(contexts_of_elements(device).size(), 5U);
    EXPECT_EQ(device.at("leaves"), 4) << "one for each process in the one class that is in use";
    EXPECT_THAT(places(device), Each(Pair(::testing::_, kPlaceOf[0])));
    processes.kill_all();
    EXPECT_TRUE(eventually([&] { return emulated_device().at("elements") == nodes; })) << emulated_device().dump(2);
    EXPECT_EQ(emulated_device().at("leaked"), 0);
}

// A node, with all below it, and a leaf in a process's file.
TEST_F(Mlx5Modes, WhatSharedNodesLoseIsMadeAgain)
{
    const KnownComplaints lost(kLostElement);
    emulator("set queue-groups isolated-attach");
    const Daemon daemon(on_emulator(kThreeClasses, "version: 1\ndrift-interval: 1s\n"));
    Program one(daemon, "bulk");
    Program two(daemon, "bulk");
    const auto number = one.join(IBV_QPT_RC);
    const auto other = two.join(IBV_QPT_UD);
    const auto before = emulated_device();
    const auto is_as_before = [&](std::uint32_t lost_leaf) {
        const auto now = emulated_device();
        return places(now) == places(before) && now.at("elements") == before.at("elements") &&
               leaf_of(now, number) != lost_leaf;
    };
    const auto first_leaf = leaf_of(before, number);
    emulator(fmt::format("lose mlx5_0 {}", first_leaf));
    EXPECT_TRUE(eventually([&] { return is_as_before(first_leaf); })) << emulated_device().dump(2);
    const auto second_leaf = leaf_of(emulated_device(), number);
    const auto node = element_of(emulated_device(), second_leaf).at("parent").get<std::uint32_t>();
    emulator(fmt::format("lose mlx5_0 {}", node));
    EXPECT_TRUE(eventually([&] { return is_as_before(second_leaf); })) << emulated_device().dump(2);
    EXPECT_NE(leaf_of(emulated_device(), other), leaf_of(before, other));
    EXPECT_EQ(device_property(daemon, "State"), "ready");
}

// What the device allows with each kind of leaf, on each kind of firmware: INIT, RTR, RTS.
TEST_F(Mlx5Modes, TheMatrix)
{
    const std::map<std::string, std::string> expected{
        {"shared", "shared leaf: yes no yes\n"
                   "shared leaf, legacy: yes no yes\n"
                   "shared node: yes no yes\n"
                   "shared node, legacy: yes no yes\n"
                   "own tree: yes no yes\n"},
        {"isolated", "shared leaf: no no no\n"
                     "shared leaf, legacy: no no no\n"
                     "shared node: not made\n"
                     "shared node, legacy: not made\n"
                     "own tree: yes no yes\n"},
        {"isolated-objects", "shared leaf: no no no\n"
                             "shared leaf, legacy: yes no yes\n"
                             "shared node: not made\n"
                             "shared node, legacy: yes no yes\n"
                             "own tree: yes no yes\n"},
        {"isolated-attach", "shared leaf: no no no\n"
                            "shared leaf, legacy: no no no\n"
                            "shared node: yes no yes\n"
                            "shared node, legacy: yes no yes\n"
                            "own tree: yes no yes\n"},
    };
    for (const auto& [isolation, matrix] : expected) {
        SCOPED_TRACE(isolation);
        emulator("set queue-groups " + isolation);
        const Daemon daemon(on_emulator());
        std::map<std::pair<std::string, std::string>, bool> passed;
        const auto properties = device_properties(daemon);
        const auto* const steps = properties.find("SelfTest");
        ASSERT_NE(steps, nullptr);
        for (const auto& step : *steps->as<std::vector<bus::Dict>>()) {
            passed[{text_of(step, "row"), text_of(step, "name")}] = text_of(step, "passed") == "true";
        }
        std::string found;
        for (const char* row :
             {"shared leaf", "shared leaf, legacy", "shared node", "shared node, legacy", "own tree"}) {
            found += std::string(row) + ":";
            if (passed.at({row, "create elements"})) {
                for (const char* state : {"INIT", "RTR", "RTS"}) {
                    found += passed.at({row, std::string("attach in ") + state}) ? " yes" : " no";
                }
                EXPECT_TRUE(passed.at({row, "change"}) && passed.at({row, "read back"}) && passed.at({row, "destroy"}));
            } else {
                found += " not made";
            }
            found += "\n";
        }
        EXPECT_EQ(found, matrix);
    }
}

// What a device of isolated firmware lost in one process's tree.
TEST_F(Mlx5Modes, WhatIsLostInAProcessIsMadeAgain)
{
    const KnownComplaints lost(kLostElement);
    emulator("set queue-groups isolated");
    const Daemon daemon(on_emulator(kThreeClasses, "version: 1\ndrift-interval: 1s\n"));
    Program one(daemon, "rpc");
    Program two(daemon, "rpc");
    Program three(daemon, "storage");
    const auto number = one.join(IBV_QPT_RC);
    two.join(IBV_QPT_UD);
    const auto stored = three.join(IBV_QPT_UC);
    const auto before = places(emulated_device());
    const auto elements = emulated_device().at("elements");
    const auto is_as_before = [&] {
        const auto now = emulated_device();
        return places(now) == before && now.at("elements") == elements;
    };
    for (const std::uint32_t each : {number, stored}) {
        const std::uint32_t lost_leaf = leaf_of(emulated_device(), each);
        emulator(fmt::format("lose mlx5_0 {}", lost_leaf));
        // The check for drift may come before anybody can look: what shows the loss is another leaf.
        EXPECT_TRUE(eventually([&] { return is_as_before() && leaf_of(emulated_device(), each) != lost_leaf; }))
            << emulated_device().dump(2);
    }
    // At once, when it is asked for.
    auto client = daemon.direct();
    emulator(fmt::format("lose mlx5_0 {}", leaf_of(emulated_device(), number)));
    const auto drifts = manage(client, "Reconcile", "mlx5_0");
    ASSERT_TRUE(drifts.has_value()) << to_string(drifts.error());
    EXPECT_TRUE(eventually(is_as_before)) << emulated_device().dump(2);
    EXPECT_EQ(device_property(daemon, "State"), "ready");
}

TEST_F(Mlx5Modes, CapsCanBeDividedAmongProcesses)
{
    emulator("set queue-groups isolated");
    const Daemon daemon(on_emulator(kThreeClasses, "version: 1\ncap-mode: divide\n"));
    Processes processes;
    ASSERT_EQ(four_processes(daemon, processes).size(), 8U);
    EXPECT_THAT(places(emulated_device()), Each(Pair(::testing::_, "rate 0 share 1 < rate 10000 share 60 < root")));
    // One more: five parts. It goes: four again.
    {
        Program fifth(daemon, "rpc");
        fifth.join(IBV_QPT_UC);
        EXPECT_THAT(places(emulated_device()), Each(Pair(::testing::_, "rate 0 share 1 < rate 8000 share 60 < root")));
    }
    EXPECT_TRUE(eventually([] {
        const auto all = places(emulated_device());
        return std::all_of(all.begin(), all.end(), [](const auto& each) {
            return each.second == "rate 0 share 1 < rate 10000 share 60 < root";
        });
    }));
}

TEST_F(Mlx5Modes, FirmwareThatRefusesAllLeavesQueuePairsAlone)
{
    emulator("fail attach 1 0x2 times 1000000");
    const Daemon daemon(on_emulator(kThreeClasses, "version: 1\non-unsupported: degrade\n"));
    EXPECT_EQ(device_property(daemon, "AttachMode"), "none");
    EXPECT_THAT(device_property(daemon, "AttachReason"), AllOf(HasSubstr("attach in INIT"), HasSubstr("status 0x2")));
    emulator("clear");
    Processes processes;
    ASSERT_EQ(four_processes(daemon, processes).size(), 8U);
    EXPECT_THAT(places(emulated_device()), Each(Pair(::testing::_, "")));
    EXPECT_EQ(emulated_device().at("elements"), 0);
}

TEST_F(Mlx5Modes, SettingsForceAMode)
{
    {
        const Daemon daemon(on_emulator(kThreeClasses, "version: 1\nattach-mode: per-process\n"));
        EXPECT_EQ(device_property(daemon, "AttachMode"), "per-process");
        EXPECT_THAT(device_property(daemon, "AttachReason"), HasSubstr("forced"));
        Program program(daemon, "rpc");
        const std::uint32_t number = program.join(IBV_QPT_RC);
        EXPECT_EQ(places(emulated_device()).at(number), kPlaceOf[0]);
        EXPECT_EQ(emulated_device().at("elements"), 3);
    }
    const Daemon daemon(on_emulator(kThreeClasses, "version: 1\nattach-mode: none\n"));
    EXPECT_EQ(device_property(daemon, "AttachMode"), "none");
    EXPECT_EQ(emulated_device().at("elements"), 0);
}

TEST_F(Mlx5Modes, TheAnswerIsKeptForCardFirmwareAndKernel)
{
    emulator("set queue-groups shared");
    emulator("set busy-leaf released");
    if (!on_kernel()) {
        emulator("set mailbox-on-error no");
    }
    Daemon daemon(on_emulator());
    EXPECT_EQ(device_property(daemon, "AttachMode"), "shared");
    const auto folder = daemon.root() / "var/lib/rdma-qos/self-test";
    ASSERT_TRUE(std::filesystem::is_directory(folder));
    std::vector<std::filesystem::path> kept;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        kept.push_back(entry.path().filename());
    }
    ASSERT_EQ(kept.size(), 1U) << "two devices of one kind, one answer";
    EXPECT_THAT(kept[0].string(),
                AllOf(HasSubstr(on_kernel() ? "FAK0000000001" : "MT_0000000359"), HasSubstr("22.35.1012")));
    const auto answer = nlohmann::json::parse(std::ifstream(folder / kept[0]));
    const auto& steps = answer.at("steps");
    const auto busy = std::ranges::find_if(
        steps, [](const auto& step) { return step.at("name") == "busy leaf refuses to be destroyed"; });
    ASSERT_NE(busy, steps.end());
    EXPECT_EQ(busy->at("passed"), false);
}

// A share of 0 that reads back as 1 would look like a change by somebody else, with every write.
TEST_F(Mlx5Modes, WhatIsNotReadBackIsBelieved)
{
    emulator("set default-share 1");
    Daemon daemon(on_emulator());
    Program program(daemon, "bulk");
    program.join(IBV_QPT_RC);
    EXPECT_EQ(device_property(daemon, "State"), "ready");
    auto client = daemon.direct();
    const auto drifts = manage(client, "Verify", "mlx5_0");
    ASSERT_TRUE(drifts.has_value()) << to_string(drifts.error());
    ASSERT_EQ(drifts->size(), 1U);
    EXPECT_EQ(text_of(drifts->front(), "kind"), "unreadable");
    EXPECT_THAT(text_of(drifts->front(), "found"), HasSubstr("read back a node without a share"));

    std::string policy = kThreeClasses;
    policy.replace(policy.find("share: 20"), 9, "share: 30");
    daemon.dir().write("etc/rdma-qos/policy.yaml", policy);
    Trace trace;
    ASSERT_TRUE(client.call(bus::names::kRoot, bus::names::kManager, "Reload", {}).has_value());
    EXPECT_EQ(trace.writes().size(), 1U);
    EXPECT_EQ(device_property(daemon, "State"), "ready");
}

}    // namespace
}    // namespace rdmaqos::test
