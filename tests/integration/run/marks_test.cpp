// Service levels and traffic classes: on InfiniBand, in the environment, and in the kernel's defaults.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>

#include <fcntl.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/run/launched.h"
#include "tests/support/ctl.h"
#include "tools/rdma-qos-run/default_tos.h"
#include "tools/rdma-qos-run/marks.h"

namespace rdmaqos::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> names_and_values(const marks::Marks& marks, marks::HostLinks links)
{
    std::vector<std::string> all;
    for (const auto& each : variables_of(marks, links)) {
        all.push_back(each.name + "=" + each.value);
    }
    return all;
}

constexpr marks::HostLinks kEthernet{.infiniband = false, .ethernet = true};
constexpr marks::HostLinks kInfiniBand{.infiniband = true, .ethernet = false};

TEST(RunMarks, AreTheVariablesOfTheLibraries)
{
    EXPECT_THAT(names_and_values({"rpc", 3, false, 104}, kEthernet),
                ElementsAre("NCCL_IB_SL=3", "NCCL_IB_TC=104", "NVSHMEM_IB_SL=3", "NVSHMEM_IB_TRAFFIC_CLASS=104",
                            "UCX_IB_SL=3", "UCX_IB_TRAFFIC_CLASS=104", "MC_IB_SL=3", "MC_IB_TC=104", "MORI_RDMA_SL=3",
                            "MORI_RDMA_TC=104", "OMPI_MCA_btl_openib_ib_service_level=3",
                            "MV2_DEFAULT_SERVICE_LEVEL=3"));
    EXPECT_THAT(names_and_values({"rpc", 3, false, 104}, {.infiniband = true, .ethernet = true}),
                ElementsAre("NCCL_IB_TC=104", "NVSHMEM_IB_TRAFFIC_CLASS=104", "UCX_IB_TRAFFIC_CLASS=104",
                            "MC_IB_TC=104", "MORI_RDMA_TC=104"));
    EXPECT_THAT(names_and_values({"rpc", 3, true, {}}, kInfiniBand),
                ElementsAre("NCCL_IB_SL=3", "NVSHMEM_IB_SL=3", "UCX_IB_SL=3", "MC_IB_SL=3", "MORI_RDMA_SL=3",
                            "EP_OVERRIDE_RDMA_SL=3", "OMPI_MCA_btl_openib_ib_service_level=3",
                            "MV2_DEFAULT_SERVICE_LEVEL=3"));
    // NVSHMEM does not start on InfiniBand with a traffic class.
    EXPECT_THAT(names_and_values({"rpc", 3, false, 104}, kInfiniBand), ElementsAre());
    EXPECT_THAT(names_and_values({"rpc", {}, false, {}}, kEthernet), ElementsAre());
}

TEST(RunMarks, ArePrinted)
{
    const Daemon daemon(with_levels());
    Launched launched(daemon.root(), {"--level", "rpc", "--print-env"}, {});
    EXPECT_EQ(launched.ended(), 0);
    EXPECT_THAT(launched.output(), HasSubstr("NCCL_IB_SL=3\nNCCL_IB_TC=104\n"));
    EXPECT_THAT(launched.output(), HasSubstr("\nUCX_IB_SL=3\nUCX_IB_TRAFFIC_CLASS=104\n"));
    const TempDir nothing;
    Launched without(nothing.path(), {"--level", "rpc", "--print-env"}, {});
    EXPECT_EQ(without.ended(), 125);
}

TEST(RunMarks, GoIntoTheEnvironmentWhereTheUserHasSetNone)
{
    const Daemon daemon(with_levels());
    const Words show{"/bin/sh", "-c", "echo nccl=$NCCL_IB_TC ucx=$UCX_IB_TRAFFIC_CLASS."};
    const auto shown = [&](const Words& launcher) {
        Launched launched(daemon.root(), launcher, show, {"UCX_IB_TRAFFIC_CLASS=16"});
        EXPECT_EQ(launched.ended(), 0);
        return launched.output();
    };
    EXPECT_EQ(shown({"--level", "rpc"}), "nccl=104 ucx=16.\n");
    EXPECT_EQ(shown({"--level", "rpc", "--keep-sl"}), "nccl= ucx=16.\n");
    EXPECT_EQ(shown({}), "nccl= ucx=16.\n") << "which level a queue pair gets is not known yet";
}

// ---- InfiniBand, where the subnet manager has the say ----

std::string marks_on_infiniband(const Daemon& daemon, const char* level, std::string& output)
{
    const TempDir folder;
    Launched launched(daemon.root(), {"--level", level},
                      test::held(folder, {program("linked"), "linked", "-n", "3", "-s", "1", "-c", "8"}));
    EXPECT_TRUE(launched.ready()) << launched.output();
    std::string text;
    for (const auto& each : launched.queue_pairs()) {
        text += place_of(each.number) + ", " + each.marks + "\n";
    }
    let_go(folder);
    EXPECT_EQ(launched.ended(), 0);
    output = launched.output();
    return text;
}

TEST(RunMarks, InfiniBandKeepsTheServiceLevelAndSaysSoOnce)
{
    const Daemon daemon(with_levels());
    std::string output;
    const std::string each = std::string(kInRpc) + ", sl 1 traffic-class 8\n";
    EXPECT_EQ(marks_on_infiniband(daemon, "rpc", output), each + each + each);
    EXPECT_THAT(output,
                HasSubstr("keeps its own SL 1, level rpc has SL 3: on InfiniBand the SL is the subnet manager's, "
                          "unless the level says `sl-source: host`"));
    const auto first = output.find("rdma-qos-run: ");
    ASSERT_NE(first, std::string::npos);
    EXPECT_EQ(output.find("rdma-qos-run: ", first + 1), std::string::npos) << output;
}

TEST(RunMarks, InfiniBandTakesTheServiceLevelOfTheHostIfTheLevelSaysSo)
{
    const Daemon daemon(with_levels());
    std::string output;
    const std::string each = std::string(kInOwn) + ", sl 6 traffic-class 8\n";
    EXPECT_EQ(marks_on_infiniband(daemon, "own", output), each + each + each);
    EXPECT_EQ(output.find("rdma-qos-run: "), std::string::npos) << output;
}

// Without a GID, as within a subnet: by DEVX, too.
TEST(RunMarks, InfiniBandConnectsToALidOfTheFabricFile)
{
    for (const char* way : {"linked", "devx"}) {
        const Daemon daemon(with_levels());
        const TempDir folder;
        Launched launched(daemon.root(), {}, test::held(folder, {program("linked"), way, "-l", "17", "-s", "1"}));
        ASSERT_TRUE(launched.ready()) << launched.output();
        ASSERT_EQ(launched.queue_pairs().size(), 1U);
        const auto number = launched.queue_pairs()[0].number;
        EXPECT_EQ(place_of(number), kInDefault) << way;
        daemon.dir().write("etc/rdma-qos/fabric.yaml", "version: 1\nports: [{guid: 0x99, lid: 16, lmc: 1}]\n");
        EXPECT_TRUE(eventually([&] { return place_of(number) == kInStorage; })) << way << ": " << daemon.log();
        let_go(folder);
        EXPECT_EQ(launched.ended(), 0);
    }
}

TEST(RunMarks, InfiniBandLeavesTheServiceLevelOutOfTheEnvironment)
{
    EXPECT_TRUE(marks::links_of_host().infiniband);
    EXPECT_FALSE(marks::links_of_host().ethernet);
    const Daemon daemon(with_levels());
    Launched kept(daemon.root(), {"--level", "rpc", "--print-env"}, {});
    EXPECT_EQ(kept.ended(), 0);
    EXPECT_EQ(kept.count("NCCL_IB_SL="), 0U) << kept.output();
    EXPECT_EQ(kept.count("NCCL_IB_TC="), 0U) << kept.output();
    EXPECT_EQ(kept.count("rdma-qos-run: traffic class 104 of level rpc is left out"), 1U) << kept.output();
    EXPECT_EQ(kept.count("rdma-qos-run: SL 3 of level rpc is left out"), 1U) << kept.output();
    Launched own(daemon.root(), {"--level", "own", "--print-env"}, {});
    EXPECT_EQ(own.ended(), 0);
    EXPECT_EQ(own.count("NCCL_IB_SL=6\n"), 1U) << own.output();
}

// ---- what the daemon reads of them ----

TEST(RunMarks, AreReadFromTheDeviceWhenSomebodyAsks)
{
    const Daemon daemon(with_levels());
    const TempDir folder;
    const auto launched = [&](const Words& launcher, const Words& command) {
        Words words = command;
        words.insert(words.end(), {"-s", "1", "-c", "8", "-i", "1"});
        return std::make_unique<Launched>(daemon.root(), launcher, test::held(folder, words));
    };
    const auto marked = launched({"--level", "rpc"}, {program("linked"), "linked", "-n", "3"});
    const auto kept = launched({"--level", "rpc", "--keep-sl"}, {program("linked"), "devx", "-n", "2"});
    ASSERT_TRUE(marked->ready()) << marked->output();
    ASSERT_TRUE(kept->ready()) << kept->output();
    std::string status;
    EXPECT_TRUE(eventually([&] {
        status = run_ctl(daemon.root(), "status").output;
        return status.find("2 of 5 queue pairs of level rpc on mlx5_0/1 do not carry its DSCP 26 but 2") !=
               std::string::npos;
    })) << status;
    EXPECT_THAT(status, HasSubstr("NCCL_IB_TC=104"));
    const auto why = [&](const Launched& of) {
        return run_ctl(daemon.root(), fmt::format("why {}", of.queue_pairs().at(0).number)).output;
    };
    EXPECT_THAT(why(*marked), HasSubstr("DSCP 26 -> "));
    EXPECT_THAT(why(*kept), HasSubstr("their packets do not carry DSCP 26 of level rpc but 2"));
    let_go(folder);
    EXPECT_EQ(marked->ended(), 0);
    EXPECT_EQ(kept->ended(), 0);
}

// ---- the kernel's default for rdma_cm ----

TEST(RunDefaultTos, IsParsed)
{
    const auto good = run::parse_default_tos("mlx5_0/2=0x68");
    ASSERT_TRUE(good);
    EXPECT_EQ(good->device, "mlx5_0");
    EXPECT_EQ(good->port, 2U);
    EXPECT_EQ(good->tos, 104);
    for (const char* wrong : {"", "mlx5_0", "mlx5_0=4", "mlx5_0/1", "mlx5_0/1=", "mlx5_0/0=4", "mlx5_0/1=256", "/1=4",
                              "mlx5_0/1=-1", "mlx5_0/x=1", "../a/1=1", "mlx5_0/1=4x"}) {
        EXPECT_FALSE(run::parse_default_tos(wrong)) << wrong;
    }
}

class RunDefaultTosOf : public ::testing::Test {
protected:
    RunDefaultTosOf()
    {
        root.write("sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_tos", "32\n");
        root.write("sys/kernel/config/rdma_cm/mlx5_1/ports/1/default_roce_tos", "0\n");
    }
    [[nodiscard]] std::string tos(const std::string& device) const
    {
        std::string text;
        std::getline(std::ifstream(root.path() / "sys/kernel/config/rdma_cm" / device / "ports/1/default_roce_tos"),
                     text);
        return text;
    }

    TempDir root;
};

TEST_F(RunDefaultTosOf, IsSetWhileTheProgramRuns)
{
    const std::string file = root.path() / "sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_tos";
    Launched launched(root.path(), {"--default-roce-tos", "mlx5_0/1=104", "--default-roce-tos", "mlx5_1/1=8"},
                      {"/bin/sh", "-c", "cat " + file + "; exit 5"});
    EXPECT_EQ(launched.ended(), 5);
    EXPECT_EQ(launched.output(), "104\n");
    EXPECT_TRUE(eventually([&] { return tos("mlx5_0") == "32" && tos("mlx5_1") == "0"; }));
}

// What it keeps open is then where the standard input would be.
TEST_F(RunDefaultTosOf, IsSetForAProgramWithoutStandardInput)
{
    const int input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 100);
    close(STDIN_FILENO);
    Launched launched(root.path(), {"--default-roce-tos", "mlx5_0/1=104"}, {"/bin/sleep", "60"});
    const bool is_set = eventually([&] { return tos("mlx5_0") == "104"; });
    EXPECT_TRUE(is_set) << launched.output();
    EXPECT_FALSE(eventually([&] { return tos("mlx5_0") != "104"; }, std::chrono::milliseconds(200)))
        << "it is restored too soon";
    launched.child().signal(SIGKILL);
    launched.ended();
    EXPECT_TRUE(eventually([&] { return tos("mlx5_0") == "32"; }));
    dup2(input, STDIN_FILENO);
}

TEST_F(RunDefaultTosOf, IsRestoredWhenTheProgramIsKilled)
{
    Launched launched(root.path(), {"--default-roce-tos", "mlx5_0/1=104"}, {"/bin/sleep", "60"});
    ASSERT_TRUE(eventually([&] { return tos("mlx5_0") == "104"; }));
    launched.child().signal(SIGKILL);
    EXPECT_EQ(launched.ended(), 128 + SIGKILL);
    EXPECT_TRUE(eventually([&] { return tos("mlx5_0") == "32"; }));
}

// Also before the program itself runs.
TEST_F(RunDefaultTosOf, IsRestoredHoweverSoonItIsKilled)
{
    for (int round = 0; round < 20 && !HasFailure(); ++round) {
        Launched launched(root.path(), {"--default-roce-tos", "mlx5_0/1=104"}, {"/bin/sleep", "60"});
        const auto until = std::chrono::steady_clock::now() + kHung;
        while (tos("mlx5_0") != "104" && std::chrono::steady_clock::now() < until) {
        }
        ASSERT_EQ(tos("mlx5_0"), "104") << launched.output();
        launched.child().signal(SIGKILL);
        launched.ended();
        EXPECT_TRUE(eventually([&] { return tos("mlx5_0") == "32"; })) << round;
    }
}

TEST_F(RunDefaultTosOf, OneThatCannotBeSetLeavesAllAsTheyWere)
{
    Launched launched(root.path(), {"--default-roce-tos", "mlx5_0/1=104", "--default-roce-tos", "mlx5_7/1=8"},
                      {"/bin/echo", "it ran"});
    EXPECT_EQ(launched.ended(), 0);
    EXPECT_EQ(tos("mlx5_0"), "32");
    EXPECT_EQ(launched.count("the default type of service is not set: "), 1U) << launched.output();
    EXPECT_EQ(launched.count("it ran"), 1U);
    Launched required(root.path(), {"--required", "--default-roce-tos", "mlx5_7/1=8"}, {"/bin/echo", "it ran"});
    EXPECT_EQ(required.ended(), 125);
}

}    // namespace
}    // namespace rdmaqos::test
