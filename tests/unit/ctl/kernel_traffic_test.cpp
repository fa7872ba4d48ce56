// What the policy's rules make of the kernel's own traffic, and what is said of it.
#include "tools/rdma-qosctl/offline/kernel_traffic.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/load/policy_reader.h"
#include "policy/match/resolve.h"
#include "tests/support/golden.h"
#include "tests/support/temp_dir.h"

namespace rdmaqos::ctl {
namespace {

namespace fs = std::filesystem;
using rdmaqos::test::expect_golden;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kKernelPolicy = R"(version: 1
qos-levels:
  - {name: DEFAULT}
  - {name: storage, dscp: 26}
  - {name: backup, dscp: 34}
  - {name: plain}
  - {name: private, dscp: 46, allow: {user: [4711]}}
qos-match-rules:
  - {ulp-port: {space: tcp, port: [987]}, device: [mlx5_1], qos-level-name: backup}
  - {ulp-port: {space: tcp, port: [3260]}, client: {unit: ["*.service"]}, qos-level-name: backup}
  - {ulp-port: {space: tcp, port: [5640]}, qos-level-name: private}
qos-ulps:
  - {ulp: nvme-of, qos-level-name: storage}
  - {ulp: nfs-rdma, qos-level-name: storage}
  - {ulp: rds, qos-level-name: backup}
  - {ulp: any, service-id: [0x10601bd], qos-level-name: plain}
)";

Policy kernel_policy()
{
    const auto read = read_policy({std::make_shared<const SourceFile>(SourceFile{"policy.yaml", kKernelPolicy})},
                                  NameService{});
    EXPECT_TRUE(read.value) << render(read.diagnostics, Colour::Off);
    return read.value ? *read.value : Policy{};
}

std::vector<KernelTraffic> traffic_of(const Policy& policy, const Request& path, const std::set<std::string>& loaded)
{
    const Matcher matcher(policy, resolve(policy, Fabric{}, {}));
    return kernel_traffic(matcher, path, loaded);
}

const KernelTraffic& of_module(const std::vector<KernelTraffic>& all, std::string_view module)
{
    return *std::ranges::find_if(all, [&](const KernelTraffic& each) { return each.protocol->module == module; });
}

TEST(KernelTraffic, HasTheLevelThatTheRulesGiveItsService)
{
    const Policy rules = kernel_policy();
    const auto all = traffic_of(rules, {}, {});
    const auto& nvme = of_module(all, "nvme_rdma").services;
    ASSERT_EQ(nvme.size(), 1U);
    EXPECT_EQ(nvme.front().level, "storage");
    EXPECT_EQ(nvme.front().traffic_class, 104);
    EXPECT_THAT(nvme.front().why, HasSubstr("service-id 0x1061144 (verified)"));
    EXPECT_EQ(of_module(all, "ib_iser").services.front().level, "DEFAULT") << "it is in no unit";
    EXPECT_EQ(of_module(all, "9pnet_rdma").services.front().level, "DEFAULT") << "it may not use `private`";
    EXPECT_EQ(of_module(all, "rds_rdma").services.front().level, "backup");
    EXPECT_EQ(of_module(all, "rds_rdma").services.back().level, "DEFAULT") << "IPv6 has another port";
    EXPECT_EQ(of_module(all, "cifs").services.front().level, "plain");
    EXPECT_THAT(of_module(all, "smc").services, IsEmpty());
}

TEST(KernelTraffic, GoesByTheDeviceToo)
{
    const Policy rules = kernel_policy();
    Request path;
    path.device = DeviceNames{"mlx5_0", 1, "eth0", "", LinkLayer::Ethernet, {}};
    EXPECT_EQ(of_module(traffic_of(rules, path, {}), "ko2iblnd").services.front().level, "DEFAULT");
    path.device->device = "mlx5_1";
    EXPECT_EQ(of_module(traffic_of(rules, path, {}), "ko2iblnd").services.front().level, "backup");
}

TEST(KernelTraffic, WithoutALevelSaysWhy)
{
    const auto read = read_policy({std::make_shared<const SourceFile>(SourceFile{"policy.yaml", R"(version: 1
qos-levels:
  - {name: DEFAULT, allow: {user: [4711]}}
)"})},
                                  NameService{});
    ASSERT_TRUE(read.value) << render(read.diagnostics, Colour::Off);
    const auto all = traffic_of(*read.value, {}, {});
    EXPECT_EQ(of_module(all, "rpcrdma").services.front().level, "");
    EXPECT_THAT(of_module(all, "rpcrdma").services.front().why, HasSubstr("you may not use the default"));
    EXPECT_THAT(render_kernel_traffic(all, {}, ""),
                AllOf(HasSubstr("port 20049: no level: no rule that you may use matched"),
                      HasSubstr("default_roce_tos: this host has no RoCE port\n")));
    EXPECT_THAT(render_kernel_traffic(all, {}, "there is no /x/sys"),
                HasSubstr("default_roce_tos: there is no /x/sys\n"));
}

TEST(KernelTraffic, Screen)
{
    const Policy rules = kernel_policy();
    port_lint::FoundPort first;
    first.interface.name = "eth0";
    first.interface.rdma.device = "mlx5_0";
    first.interface.rdma.default_tos = 104;
    port_lint::FoundPort second = first;
    second.interface.name = "eth1";
    second.interface.rdma.device = "mlx5_1";
    second.interface.rdma.default_tos.reset();
    expect_golden("ctl/explain-kernel.txt",
                  render_kernel_traffic(traffic_of(rules, {}, {"nvme_rdma", "rpcrdma"}), {first, second}, ""));
}

// Only what nothing else can mark, where the level has a DSCP, and once for each level.
TEST(KernelTraffic, ForTheLint)
{
    const Policy rules = kernel_policy();
    const auto all = traffic_of(rules, {}, {"nvme_rdma", "rpcrdma", "nvmet_rdma", "rds_rdma", "cifs", "smc"});
    const auto by_default = by_default_of_port(all);
    ASSERT_EQ(by_default.size(), 1U);
    EXPECT_EQ(by_default.front().module, "rpcrdma");
    EXPECT_EQ(by_default.front().level, "storage");
    EXPECT_EQ(by_default.front().traffic_class, 104);
    EXPECT_THAT(
        unseen_marks(all),
        ElementsAre("NVMe over Fabrics, host (nvme_rdma): whether its connections have DSCP 26 cannot be seen "
                    "here; they are marked by nvme connect --tos=104; without it, by default_roce_tos of the port",
                    "RDS (rds_rdma): whether its connections have DSCP 34 cannot be seen here; they are marked by "
                    "the programs that use it: ioctl(SIOCRDSSETTOS) with 136, before its first message; "
                    "without it 0, whatever default_roce_tos is"));
    EXPECT_THAT(by_default_of_port(traffic_of(rules, {}, {})), IsEmpty()) << "nothing is loaded";
}

TEST(KernelTraffic, IsLoadedWhatSysfsHas)
{
    const rdmaqos::test::TempDir root;
    EXPECT_THAT(loaded_protocols(root.path()), IsEmpty());
    fs::create_directories(root.path() / "sys/module/nvme_rdma");
    fs::create_directories(root.path() / "sys/module/9pnet_rdma/parameters");
    fs::create_directories(root.path() / "sys/module/mlx5_ib");
    EXPECT_THAT(loaded_protocols(root.path()), ElementsAre("9pnet_rdma", "nvme_rdma"));
}

}    // namespace
}    // namespace rdmaqos::ctl
