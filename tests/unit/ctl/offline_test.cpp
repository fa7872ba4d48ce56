#include "tools/rdma-qosctl/offline/offline_world.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/tree/render.h"
#include "policy/explain/explain_render.h"
#include "tests/support/golden.h"
#include "tools/rdma-qosctl/offline/files.h"
#include "tools/rdma-qosctl/offline/targets.h"
#include "tools/rdma-qosctl/rendering/path_answers.h"
#include "tools/rdma-qosctl/request/request_options.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {
namespace {

using rdmaqos::test::expect_golden;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kPolicy = R"(version: 1
scheduling-nodes:
  - {name: tenants, share: 70, max-rate: 80Gbps}
qos-levels:
  - {name: DEFAULT, sl: 0}
  - name: rpc
    sl: 3
    mtu-limit: 2048
    rate-limit: 40Gbps
    packet-life: 16
    schedule: {parent: tenants, share: 60, max-rate: 40Gbps, fair-by: process}
    allow: {user: ["root"]}
  - {name: bulk, sl: 1, schedule: {share: 30}}
qos-match-rules:
  - {use: calls, service-id: [0x10000-0x1ffff], qos-level-name: rpc}
  - {use: the other rack, destination: [rack], qos-level-name: bulk}
  - {use: second card, device: ["mlx5_1"], qos-level-name: bulk}
port-groups:
  - {name: rack, gid: ["10.2.0.0/16"]}
)";

constexpr const char* kDevices = R"(version: 1
devices:
  - {name: mlx5_0, link-speed: 100Gbps, gids: ["fd00::1"]}
  - {name: mlx5_1, link-speed: 25Gbps, mtu: 1024, netdev: ens2, pci: "0000:3b:00.1"}
)";

class Offline : public testing::Test {
protected:
    void SetUp() override
    {
        std::string pattern = testing::TempDir() + "ctl-XXXXXX";
        ASSERT_NE(mkdtemp(pattern.data()), nullptr);
        root_ = pattern;
        std::filesystem::create_directories(root_ / "etc/rdma-qos");
        write("etc/rdma-qos/policy.yaml", kPolicy);
        write("devices.yaml", kDevices);
    }
    void TearDown() override { std::filesystem::remove_all(root_); }

    std::string write(const std::string& name, const std::string& text)
    {
        std::ofstream(root_ / name) << text;
        return root_ / name;
    }
    [[nodiscard]] OfflineWorld load(const std::string& simulation = "", const IdentityOptions& identity = {}) const
    {
        auto world = load_world("", root_, simulation, identity);
        EXPECT_TRUE(world.has_value()) << (world ? "" : to_string(world.error()));
        return world.value_or(OfflineWorld{});
    }

    std::filesystem::path root_;
};

TEST_F(Offline, PolicyOfTheHostAndOfFiles)
{
    EXPECT_TRUE(load_policy({}, root_).value);
    const std::string file = root_ / "etc/rdma-qos/policy.yaml";
    const auto read = load_policy({file}, "");
    ASSERT_TRUE(read.value);
    EXPECT_EQ(read.value->sources.front()->name, file);
}

TEST_F(Offline, SeveralFilesAreMergedInOrder)
{
    const std::string more = write("more.yaml", "version: 1\nqos-levels:\n  - {name: bulk, schedule: {share: 31}}\n");
    const auto read = load_policy({root_ / "etc/rdma-qos/policy.yaml", more}, "");
    ASSERT_TRUE(read.value) << render(read.diagnostics, Colour::Off);
    EXPECT_EQ(read.value->find_level("bulk")->schedule->rate.share, 31U);
    EXPECT_EQ(read.value->find_level("bulk")->sl, 1);
}

TEST_F(Offline, EveryUnreadableFileIsTold)
{
    ASSERT_EQ(mkfifo((root_ / "fifo").c_str(), 0600), 0);
    const auto read = load_policy({root_ / "missing", root_, root_ / "fifo"}, "");
    EXPECT_FALSE(read.value);
    EXPECT_EQ(read.diagnostics.error_count(), 3U) << render(read.diagnostics, Colour::Off);
    const auto required = require_policy({root_ / "missing"}, "");
    ASSERT_FALSE(required.has_value());
    EXPECT_EQ(required.error().code, ErrorCode::InvalidPolicy);
    EXPECT_THAT(required.error().message, HasSubstr("missing"));
}

TEST_F(Offline, PlanAgainstAnEmptyDevice)
{
    const auto read = load_policy({}, root_);
    ASSERT_TRUE(read.value);
    const api::DevicePlan plan = plan_for(*read.value, default_target(), Settings{});
    EXPECT_EQ(plan.device, "default profile");
    std::string text = render_plan(plan.plan);
    for (const auto& operation : plan.plan.operations) {
        text += to_string(operation) + "\n";
    }
    expect_golden("ctl/plan-offline.txt", text);
}

TEST_F(Offline, RatesOfAPlanHaveRespondersAndFoldedClassesAndAddUp)
{
    const std::string file = write("deep.yaml", R"(version: 1
scheduling-nodes:
  - {name: a, share: 3, max-rate: 80Gbps}
  - {name: b, parent: a, max-rate: 70Gbps}
qos-levels:
  - {name: DEFAULT, schedule: {share: 1}}
  - {name: rpc, schedule: {parent: b, share: 2, fair-by: process, responder: {share: 1}}}
  - {name: bulk, schedule: {parent: b, share: 1}}
  - {name: other, schedule: {parent: a, share: 1}}
)");
    const auto read = load_policy({file}, "");
    ASSERT_TRUE(read.value) << render(read.diagnostics, Colour::Off);
    for (const std::uint32_t depth : {5U, 4U, 3U}) {
        Target target = default_target();
        target.capabilities.max_depth = depth;
        const auto rates = plan_for(*read.value, target, Settings{}).rates;
        EXPECT_TRUE(rates.contains(ElementPath("/a/b/rpc.responder"))) << depth;
        EXPECT_TRUE(rates.contains(ElementPath("/a/b/rpc"))) << depth;
        std::uint64_t sum = 0;
        for (const auto& [path, rate] : rates) {
            sum += rate.after->kbps();
        }
        EXPECT_NEAR(static_cast<double>(sum), 100e6, 10) << depth;
    }
}

TEST_F(Offline, TargetsOfASimulationFile)
{
    const auto targets = load_targets(root_ / "devices.yaml");
    ASSERT_TRUE(targets.has_value()) << to_string(targets.error());
    ASSERT_EQ(targets->size(), 2U);
    EXPECT_EQ((*targets)[1].device, "mlx5_1/1");
    EXPECT_EQ((*targets)[1].link_speed, Bandwidth::from_gbps(25));
    EXPECT_EQ((*targets)[1].capabilities, default_target().capabilities);
    EXPECT_EQ(load_targets("")->front().link_speed, Bandwidth::from_gbps(100));
    EXPECT_EQ(load_targets(root_ / "missing").error().code, ErrorCode::InvalidPolicy);
}

TEST_F(Offline, ALevelTheDaemonsDeviceCannotGiveIsFound)
{
    const auto read = load_policy({}, root_);
    ASSERT_TRUE(read.value);
    DeviceView device;
    device.name = "mlx5_0";
    device.link_speed = Bandwidth::from_gbps(100);
    const Compiled compiled = compile_for(*read.value, to_target(device), Settings{});
    EXPECT_FALSE(compiled.findings.empty()) << "it has no scheduling elements";
}

TEST_F(Offline, AnswersArePathRecords)
{
    RequestOptions options;
    options.service_id = "0x10064";
    options.source = {"fd00::1"};
    options.destination = {"fd00::2"};
    IdentityOptions as_root;
    as_root.user = "0";
    const auto answers = query_path_offline(load("", as_root), options);
    ASSERT_TRUE(answers.has_value()) << to_string(answers.error());
    ASSERT_EQ(answers->size(), 1U);
    const api::PathAnswer& answer = answers->front();
    EXPECT_EQ(answer.level, "rpc");
    EXPECT_EQ(answer.source, "fd00::1");
    EXPECT_EQ(answer.destination, "fd00::2");
    EXPECT_EQ(answer.mtu, 2048U);
    EXPECT_EQ(answer.rate, Bandwidth::from_gbps(40));
    EXPECT_EQ(answer.packet_life, 16U);
    EXPECT_EQ(answer.sl, 3U);
    EXPECT_FALSE(answer.pkey);
}

// `allow` keeps the rule from matching; the same request falls through to DEFAULT.
TEST_F(Offline, IdentityDecidesWhoMayBeInALevel)
{
    RequestOptions options;
    options.service_id = "0x10064";
    IdentityOptions somebody;
    somebody.user = "4242";
    const auto answers = query_path_offline(load("", somebody), options);
    ASSERT_TRUE(answers.has_value());
    EXPECT_EQ(answers->front().level, "DEFAULT");
    options.level = "rpc";
    EXPECT_EQ(query_path_offline(load("", somebody), options).error().code, ErrorCode::LevelNotAllowed);
}

TEST_F(Offline, APairWithoutAPathSaysWhyAndLeavesTheOthers)
{
    RequestOptions options;
    options.destination = {"10.2.0.9", "10.3.0.9"};
    options.sl = "1";    // only bulk has it
    const auto answers = query_path_offline(load(), options);
    ASSERT_TRUE(answers.has_value()) << to_string(answers.error());
    ASSERT_EQ(answers->size(), 2U);
    EXPECT_EQ(answers->front().level, "bulk");
    const api::PathAnswer& missing = answers->back();
    EXPECT_EQ(missing.destination, "::ffff:10.3.0.9");
    EXPECT_EQ(missing.error, "org.rdmaqos1.Error.NoMatchingPath");
    EXPECT_EQ(missing.message, "SL 1 was requested; level DEFAULT has SL 0");
    EXPECT_EQ(missing.level, "");
    options.destination = {"10.3.0.9"};
    EXPECT_EQ(query_path_offline(load(), options).error().code, ErrorCode::NoMatchingPath);
    options.destination = {"10.3.0.9", "10.2.0.9"};
    options.sl = "9";
    EXPECT_EQ(query_path_offline(load(), options).error().message,
              "none of the 2 pairs has a path: anywhere to ::ffff:10.3.0.9: SL 9 was requested; level DEFAULT has SL "
              "0; anywhere to ::ffff:10.2.0.9: SL 9 was requested; level bulk has SL 1");
}

TEST_F(Offline, DeviceOfASimulationFile)
{
    const OfflineWorld world = load(root_ / "devices.yaml");
    for (const char* name : {"mlx5_1", "mlx5_1/1", "ens2", "0000:3b:00.1"}) {
        RequestOptions options;
        options.device = name;
        const auto answers = query_path_offline(world, options);
        ASSERT_TRUE(answers.has_value()) << name << ": " << to_string(answers.error());
        EXPECT_EQ(answers->front().level, "bulk") << name;
        EXPECT_EQ(answers->front().mtu, 1024U) << name;
        EXPECT_EQ(answers->front().rate, Bandwidth::from_gbps(25)) << name;
    }
    RequestOptions options;
    options.device = "mlx5_7";
    EXPECT_EQ(query_path_offline(world, options).error().code, ErrorCode::UnknownDevice);
    // The default profile has no name: whatever is said counts as it.
    options.device = "mlx5_1/1";
    EXPECT_EQ(query_path_offline(load(), options)->front().level, "bulk");
    options.device = "mlx5_1/0";
    EXPECT_EQ(query_path_offline(load(), options).error().code, ErrorCode::InvalidArgument);
    options = {};
    options.port = "1";
    EXPECT_EQ(query_path_offline(load(), options).error().code, ErrorCode::InvalidArgument);
}

TEST_F(Offline, ExplainSaysWhy)
{
    RequestOptions options;
    options.destination = {"10.2.0.9"};
    const OfflineWorld world = load();
    const auto explanation = explain_offline(world, options);
    ASSERT_TRUE(explanation.has_value());
    ASSERT_TRUE(explanation->match.has_value());
    EXPECT_EQ(explanation->match->level->name, "bulk");
    EXPECT_EQ(explanation->rules.size(), 2U);
    options.destination.emplace_back("10.2.0.10");
    EXPECT_EQ(explain_offline(world, options).error().code, ErrorCode::InvalidArgument);
}

TEST(OfflineIdentity, OfThisProcess)
{
    const auto identity = identity_of({});
    ASSERT_TRUE(identity.has_value()) << to_string(identity.error());
    EXPECT_EQ(identity->pid, getpid());
    EXPECT_EQ(identity->uid, geteuid());
    EXPECT_THAT(identity->executable, HasSubstr("ctl_test"));
    IdentityOptions options;
    options.pid = std::to_string(getpid());
    EXPECT_EQ(identity_of(options)->start_time, identity->start_time);
}

TEST(OfflineIdentity, OfSomebodyMadeUp)
{
    IdentityOptions options;
    options.user = "4242";
    options.groups = {"7", "0", "7"};
    options.named.cgroup = "/system.slice/job-7.scope";
    options.named.executable = "/usr/bin/ib_send_bw";
    const auto identity = identity_of(options);
    ASSERT_TRUE(identity.has_value());
    EXPECT_EQ(identity->pid, 0);
    EXPECT_EQ(identity->uid, 4242U);
    EXPECT_THAT(identity->gids, ElementsAre(0, 7));
    EXPECT_EQ(identity->unit, "job-7.scope");
    EXPECT_EQ(describe(*identity), "uid 4242, groups 0 7, unit job-7.scope, executable /usr/bin/ib_send_bw");
    options.named.command = "rank-0";
    EXPECT_EQ(identity_of(options)->command, "rank-0");
    options.named.unit = "other.service";
    EXPECT_EQ(identity_of(options)->unit, "other.service");
}

TEST(OfflineIdentity, UsersByNameAreInTheirGroups)
{
    IdentityOptions options;
    options.user = "root";
    const auto identity = identity_of(options);
    ASSERT_TRUE(identity.has_value()) << to_string(identity.error());
    EXPECT_EQ(identity->uid, 0U);
    EXPECT_THAT(identity->gids, testing::Contains(0U));
}

TEST(OfflineIdentity, Mistakes)
{
    const std::pair<std::string IdentityOptions::*, const char*> cases[] = {
        {&IdentityOptions::user, "no-such-user-here"},
        {&IdentityOptions::user, "4294967295"},
        {&IdentityOptions::pid, "0"},
        {&IdentityOptions::pid, "x"},
        {&IdentityOptions::pid, "2147483647"},
    };
    for (const auto& [member, value] : cases) {
        IdentityOptions options;
        options.*member = value;
        const auto identity = identity_of(options);
        ASSERT_FALSE(identity.has_value()) << value;
        EXPECT_EQ(identity.error().code, ErrorCode::InvalidArgument) << value;
    }
    IdentityOptions options;
    options.groups = {"no-such-group-here"};
    EXPECT_FALSE(identity_of(options).has_value());
}

// What a library must be set to is in the answer: the traffic class of packets, and its upper six bits.
TEST_F(Offline, MarksOfALevelAreTold)
{
    write("etc/rdma-qos/policy.yaml", "version: 1\nqos-levels:\n  - {name: DEFAULT, sl: 3, sl-source: host, "
                                      "traffic-class: 106}\n");
    const OfflineWorld world = load();
    const auto answers = query_path_offline(world, {});
    ASSERT_TRUE(answers);
    const std::string text = render_answers(*answers, Colour::Off);
    EXPECT_THAT(text, HasSubstr("SL   TC  DSCP"));
    EXPECT_THAT(text, HasSubstr("3  106    26"));
    EXPECT_EQ(answers->front().sl_source, "host");
    const auto explained = explain_offline(world, {});
    ASSERT_TRUE(explained);
    EXPECT_THAT(
        render_explanation(*world.policy, *explained),
        AllOf(HasSubstr("  DSCP         26 "), HasSubstr("traffic class 106 of the level; of packets on Ethernet\n")));
}

// Without a device, and of ports elsewhere, nothing is known but what the fabric file says.
TEST_F(Offline, WhatIsAssumedIsTold)
{
    write("etc/rdma-qos/fabric.yaml", "version: 1\nports:\n  - {guid: 0x51, rate: 20Gbps}\n  - {guid: 0x21, rate: "
                                      "40Gbps, mtu: 2048}\n");
    const auto told = [this](const RequestOptions& options) {
        return render_answers(*query_path_offline(load(), options), Colour::Off);
    };
    RequestOptions options;
    EXPECT_THAT(told(options), HasSubstr("\nassumed: MTU, rate; of neither port it is known\n"));
    options.source = {"0x51"};
    options.destination = {"0x52"};
    EXPECT_THAT(told(options), HasSubstr("20 Gbit/s"));
    EXPECT_THAT(told(options), HasSubstr("\nassumed: MTU; of neither port it is known\n"));
    options.destination = {"0x21"};
    EXPECT_THAT(told(options), HasSubstr("2048"));
    EXPECT_EQ(told(options).find("assumed"), std::string::npos);
    options.rate = "=20Gbps";
    EXPECT_THAT(told(options), HasSubstr("20 Gbit/s"));
}

// SLs that OpenSM's `qos_sl2vl` maps to VL15.
TEST_F(Offline, NoPathHasAnSlOfVl15)
{
    write("etc/rdma-qos/policy.yaml", "version: 1\nqos-levels:\n  - {name: DEFAULT, sl: 3}\n");
    EXPECT_TRUE(query_path_offline(load(), {}));
    write("etc/rdma-qos/fabric.yaml", "version: 1\nvl15-sls: [3, 15]\n");
    const auto answers = query_path_offline(load(), {});
    ASSERT_FALSE(answers);
    EXPECT_THAT(answers.error().message, HasSubstr("SL 3 of level DEFAULT cannot be used on this path"));
}

}    // namespace
}    // namespace rdmaqos::ctl
