#include "tools/rdma-qosctl/world/problems.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/ctl/sample.h"

namespace rdmaqos::ctl {
namespace {

using namespace rdmaqos::ctl::test;
using testing::HasSubstr;

TEST(Problems, NoneInAGoodWorld)
{
    EXPECT_TRUE(find_problems(sample_world()).empty());
}

Diagnostics an_error(const char* file)
{
    Diagnostics diagnostics;
    diagnostics.error({std::make_shared<SourceFile>(SourceFile{file, ""}), 0, 0}, "y");
    return diagnostics;
}

// One change to a good world, and what it is told as.
struct Case {
    const char* name;
    void (*change)(World&);
    bool is_error;
    const char* what;
};

constexpr Case kCases[] = {
    {"no policy", [](World& world) { world.manager.policy_revision.clear(); }, true, "no policy is running"},
    {"fabric", [](World& world) { world.manager.fabric_diagnostics = an_error("fabric.yaml"); }, true,
     "the fabric file cannot be used:\nfabric.yaml: error: y"},
    {"reload",
     [](World& world) {
         world.manager.last_reload.accepted = false;
         world.manager.last_reload.diagnostics = an_error("x");
     },
     true, "the last reload was refused:\nx: error: y"},
    {"trial",
     [](World& world) { world.manager.trial = api::Trial{"abc", "def", "123", 42, 0, 17, "rdma-qosctl", "root"}; },
     false, "policy abc is being tried: it goes back by itself in 42 seconds"},
    {"monitor", [](World& world) { world.manager.mode = "monitor"; }, false, "mode is monitor"},
    {"no device", [](World& world) { world.devices.clear(); }, false, "there is no device"},
    {"degraded", [](World& world) { world.devices[1].state = "degraded"; }, true, "mlx5_1/1 is degraded"},
    {"gone", [](World& world) { world.devices[1].state = "gone"; }, true, "mlx5_1/1 is gone"},
    {"disabled", [](World& world) { world.devices[1].state = "disabled"; }, false, "mlx5_1/1 is disabled"},
    {"released", [](World& world) { world.manager.released_devices = {"mlx5_2/1"}; }, false, "mlx5_2/1 is released"},
    {"edited files", [](World& world) { world.files = FilesView{"fedcba98"}; }, false,
     "the policy's files say something else by now, revision fedcba98, than the policy in force, "},
    {"broken files", [](World& world) { world.files = FilesView{}; }, false,
     "the policy's files have errors by now; policy "},
    {"refused", [](World& world) { world.manager.refused_devices = {{.device = "mlx5_3/1", .reason = "no DEVX"}}; },
     true, "mlx5_3/1 is not managed: no DEVX"},
    {"state",
     [](World& world) {
         world.manager.state_failures = {{"/var/lib/rdma-qos/x.json", "is full", true}};
     },
     true, "/var/lib/rdma-qos/x.json: is full"},
    {"link", [](World& world) { world.devices[0].link_up = false; }, false, "mlx5_0/1: the link is down"},
    {"per-process", [](World& world) { world.devices[0].attach_mode = "per-process"; }, false, "attaches per process"},
    {"not adaptive",
     [](World& world) {
         world.devices[0].attach_mode = "per-process";
         world.devices[0].cap_mode = "divide";
         world.devices[0].cap_reason = "nothing counts";
     },
     false, "caps do not follow what is measured (`cap-mode: adaptive`), and are divided: nothing counts"},
    {"none", [](World& world) { world.devices[0].attach_mode = "none"; }, false, "cannot attach queue pairs"},
    {"shaper",
     [](World& world) {
         world.devices[0].shapers = {{"ETS divides ens1", "dcb ets show dev ens1"}};
     },
     false, "mlx5_0/1: ETS divides ens1"},
    {"failure", [](World& world) { world.devices[0].failures = {{.message = "create /x: no"}}; }, true,
     "mlx5_0/1: create /x: no"},
    {"finding", [](World& world) { world.devices[0].findings = {{.message = "asked much"}}; }, false,
     "mlx5_0/1: asked much"},
    {"degraded by a finding",
     [](World& world) {
         world.devices[0].state = "degraded";
         world.devices[0].reason = "/x: asked much";
         world.devices[0].findings = {{.message = "/x: asked much"}};
     },
     true, "mlx5_0/1 is degraded: /x: asked much"},
    {"draining", [](World& world) { world.devices[0].tree[1].draining = true; }, false,
     "/bulk is draining: 1 queue pair"},
    {"full", [](World& world) { world.devices[0].leaves_free = 0; }, false, "leaves are in use"},
    {"monitored level",
     [](World& world) {
         world.manager.levels[1].mode = "monitor";
         world.sessions[0].queue_pairs[0].enforced = false;
         world.sessions[0].queue_pairs[0].cause = "level-monitor";
     },
     false, "level rpc is only monitored, for 2 queue pairs of 1 session"},
    {"monitored level of programs that did not register",
     [](World& world) {
         world.manager.levels[1].mode = "monitor";
         world.manager.levels[1].queue_pairs = 10;
         world.manager.levels[1].unregistered = 8;
     },
     false, "level rpc is only monitored, for 2 queue pairs of 1 session and 8 queue pairs of programs that did not"},
    {"detached", [](World& world) { world.sessions[0].state = "detached"; }, false, "session 3 (pid 4711"},
    {"not-attached-again", [](World& world) { world.sessions[0].grant.returned_devices = {"mlx5_0/1"}; }, false,
     "has not attached its queue pairs of mlx5_0/1 again"},
    {"unenforced", [](World& world) { world.sessions[0].queue_pairs[0].enforced = false; }, false,
     "1 queue pair not held to what its level says"},
};

TEST(Problems, NoneWhereCapsFollowWhatIsMeasured)
{
    World world = test::sample_world();
    const std::size_t before = find_problems(world).size();
    world.devices[0].attach_mode = "per-process";
    world.devices[0].cap_mode = "adaptive";
    EXPECT_EQ(find_problems(world).size(), before);
}

TEST(Problems, EachIsToldOnceWithAdvice)
{
    for (const auto& [name, change, is_error, what] : kCases) {
        World world = sample_world();
        change(world);
        const auto problems = find_problems(world);
        ASSERT_EQ(problems.size(), 1U) << name;
        EXPECT_EQ(problems[0].is_error, is_error) << name;
        EXPECT_THAT(problems[0].what, HasSubstr(what)) << name;
        EXPECT_FALSE(problems[0].advice.empty()) << name;
    }
}

TEST(Problems, OfAFileThatCannotBeUsedTheDaemonSaysWhatToDo)
{
    World world = sample_world();
    world.manager.state_failures = {{"/var/lib/rdma-qos/x.json.unusable", "is damaged: remove it", false}};
    const auto problems = find_problems(world);
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_TRUE(problems[0].is_error);
    EXPECT_EQ(problems[0].what, "/var/lib/rdma-qos/x.json.unusable: is damaged: remove it");
    EXPECT_EQ(problems[0].advice, "");
}

TEST(Problems, ErrorsComeFirst)
{
    const auto problems = find_problems(troubled_world());
    bool seen_note = false;
    for (const auto& problem : problems) {
        EXPECT_FALSE(seen_note && problem.is_error) << problem.what;
        seen_note = seen_note || !problem.is_error;
    }
    EXPECT_TRUE(seen_note);
}

// `dcb` shows what the daemon has set on the port: to end that would be undone by it.
TEST(Problems, ClassesThatTheDaemonKeepsAreNobodyElses)
{
    World world = sample_world();
    world.devices[0].shapers = {{"ETS divides ens1", "dcb ets show dev ens1", true},
                                {"the queueing discipline htb of ens1 is offloaded to the NIC", "tc qdisc show"}};
    EXPECT_EQ(find_problems(world).size(), 2U);
    auto& care = world.devices[0].port_classes.care.emplace();
    care.keeping = PortKeeping::Kept;
    ASSERT_EQ(find_problems(world).size(), 1U);
    EXPECT_THAT(find_problems(world)[0].what, HasSubstr("htb"));
    care.keeping = PortKeeping::LeftAlone;
    EXPECT_EQ(find_problems(world).size(), 2U);
}

// Without one tree for all, and where there is none, they are what divides the port.
TEST(Problems, ClassesOfAPortAreInTheWayOfOneTreeForAllOnly)
{
    World world = sample_world();
    DeviceView& device = world.devices[0];
    device.shapers = {{"ETS divides ens1", "dcb ets show dev ens1", true}};
    const auto is_told = [&world] {
        return std::ranges::any_of(find_problems(world), [](const Problem& problem) {
            return problem.what.find("ETS divides ens1") != std::string::npos;
        });
    };
    EXPECT_TRUE(is_told());
    for (const char* mode : {"per-process", "none"}) {
        device.attach_mode = mode;
        EXPECT_FALSE(is_told()) << mode;
    }
    device.attach_mode = "shared";
    device.state = "disabled";
    EXPECT_FALSE(is_told());
    device.state = "ready";
    device.tree.clear();
    EXPECT_FALSE(is_told());
}

// A level without a place in the tree enforces nothing, and need not.
TEST(Problems, QueuePairsOfUnscheduledLevelsAreNoProblem)
{
    World world = sample_world();
    world.sessions[0].queue_pairs = {{.number = 1, .level = "DEFAULT", .cause = "nothing-asked"}};
    EXPECT_EQ(find_unenforced(world).queue_pairs, 0U);
    EXPECT_TRUE(find_problems(world).empty());
}

// A limit needs no place in the tree; one that is not held is told, with the reason of most.
TEST(Problems, LimitsThatAreNotHeldAreToldWithoutASchedule)
{
    World world = sample_world();
    const auto unheld = [](std::uint32_t number, const char* cause, const char* reason) {
        return api::QueuePair{.number = number, .level = "DEFAULT", .cause = cause, .reason = reason};
    };
    world.sessions[0].queue_pairs = {unheld(1, "pacing-type", "no pacing of rc"),
                                     unheld(2, "pacing-table", "table full"),
                                     unheld(3, "pacing-type", "no pacing of rc")};
    const auto problems = find_problems(world);
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_EQ(problems[0].what, "3 queue pairs not held to what their level says: 2 of them: no pacing of rc");
}

}    // namespace
}    // namespace rdmaqos::ctl
