// The policies of config/examples/clusters: each is good, says what it wants in few lines, gives everybody the level
// and the bandwidth that it is meant to give.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/support/ctl.h"
#include "tests/support/golden.h"
#include "tests/support/temp_dir.h"

namespace rdmaqos::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

constexpr auto kMostLines = 40;

struct Client {
    const char* device;
    const char* options;    // of explain
    const char* level;
};

struct Cluster {
    const char* name;
    std::vector<Client> clients;
};

constexpr const char* kJob = "--as-cgroup /system.slice/slurmstepd.scope/job_4711/step_0/user/task_0";
constexpr const char* kGuaranteed =
    "--as-cgroup /kubepods.slice/kubepods-pod1f0c3bd4_7a65.slice/cri-containerd-3b8e.scope";
constexpr const char* kBurstable = "--as-cgroup /kubepods.slice/kubepods-burstable.slice/"
                                   "kubepods-burstable-pod1f0c3bd4_7a65.slice/cri-containerd-3b8e.scope";
constexpr const char* kBestEffort = "--as-cgroup /kubepods/besteffort/pod1f0c3bd4-7a65/3b8e";
constexpr const char* kGuest = "--as-unit 'machine-qemu\\x2d1\\x2dvm1.scope'";
constexpr const char* kMigration =
    "--as-unit 'machine-qemu\\x2d1\\x2dvm1.scope' --port-space tcp --destination-port 49153";

const std::vector<Cluster>& clusters()
{
    static const std::vector<Cluster> kClusters{
        {"slurm-training",
         {{"mlx5_0", kJob, "collectives"},
          {"mlx5_bond_0", kJob, "checkpoints"},
          {"mlx5_1", "--as-unit slurmd.service", "control"},
          {"mlx5_bond_0", "--as-unit stage-in@data1.service", "staging"},
          {"mlx5_0", "--as-user nobody", "DEFAULT"}}},
        {"hyperconverged",
         {{"mlx5_bond_0", "--as-unit ceph-osd@3.service", "osd"},
          {"mlx5_bond_0", "--port-space tcp --destination-port 4420", "nvme"},
          {"mlx5_bond_0", kGuest, "guests"},
          {"mlx5_bond_0", kMigration, "migration"},
          {"mlx5_bond_0", "--as-unit ssh.service", "DEFAULT"}}},
        {"kubernetes",
         {{"mlx5_0", kGuaranteed, "guaranteed"},
          {"mlx5_0", kBurstable, "burstable"},
          {"mlx5_1", kBestEffort, "best-effort"},
          {"mlx5_0", "--as-user root", "node"},
          {"mlx5_0", "--as-user nobody", "DEFAULT"}}},
        {"opensm-site",
         {{"mlx5_0", "--as-group users --qos-class 8 --pkey 0x9234", "low-latency"},
          // The ulp ipoib is its P_Key, as in OpenSM.
          {"mlx5_0", "--as-user nobody --qos-class 8 --pkey 0x9234", "SimpleQoSLevel_SL4"},
          {"mlx5_0", "--destination 0x10000000000001 --service-id 0x10C8", "wholesale"},
          {"mlx5_0", "--port-space tcp --destination-port 10001", "DEFAULT"},
          {"mlx5_0", "--service-id 0x12711", "servers"}}},
        {"inference",
         {{"mlx5_0", "--as-unit decode@1.service --qos-class expert", "expert"},
          {"mlx5_0", "--as-unit decode@1.service", "kv-cache"},
          {"mlx5_1", "--as-unit prefill@2.service", "kv-cache"},
          {"mlx5_1", "--as-unit load-model@llm.service", "weights"},
          {"mlx5_1", "--as-unit mine.service --qos-class expert", "DEFAULT"}}},
    };
    return kClusters;
}

class Clusters : public testing::TestWithParam<Cluster> {
protected:
    Clusters()
    {
        const std::filesystem::path folder = source_dir() + "/config/examples/clusters/" + GetParam().name;
        for (const auto* file : {"policy.yaml", "devices.yaml", "loads.yaml"}) {
            dir_.write(file, read_text(folder / file));
        }
    }
    [[nodiscard]] Outcome run(const std::string& words) const { return run_ctl(dir_.path(), words); }

    TempDir dir_;
};

TEST_P(Clusters, IsGoodAndShort)
{
    const std::string policy = read_text(dir_.path() / "policy.yaml");
    EXPECT_LE(std::ranges::count(policy, '\n'), kMostLines);
    const Outcome checked = run("check --devices devices.yaml policy.yaml");
    EXPECT_EQ(checked.status, 0) << checked.output << checked.error;
    EXPECT_THAT(checked.output, HasSubstr("ok: "));
    EXPECT_THAT(checked.output, Not(HasSubstr("warning")));
    const Json plan = Json::parse(run("plan --json --devices devices.yaml policy.yaml").output);
    for (const auto& device : plan.at("plans")) {
        EXPECT_TRUE(device.at("findings").empty()) << device.at("findings");
    }
}

TEST_P(Clusters, GivesEverybodyHisLevel)
{
    ASSERT_FALSE(GetParam().clients.empty());
    for (const Client& client : GetParam().clients) {
        const Outcome outcome = run(fmt::format("explain --json --devices devices.yaml --device {} {} policy.yaml",
                                                client.device, client.options));
        ASSERT_EQ(outcome.status, 0) << client.options << ": " << outcome.error;
        EXPECT_EQ(Json::parse(outcome.output).at("explanation").at("match").at("level"), client.level)
            << client.options;
    }
}

TEST_P(Clusters, GivesTheBandwidthThatIsWritten)
{
    const Outcome simulated = run("simulate --devices devices.yaml --loads loads.yaml --check policy.yaml");
    EXPECT_EQ(simulated.status, 0) << simulated.error;
    expect_golden(fmt::format("clusters/{}.txt", GetParam().name), simulated.output);
    const Json json = Json::parse(
        run("simulate --json --devices devices.yaml --loads loads.yaml --check policy.yaml").output);
    ASSERT_FALSE(json.at("devices").empty());
    for (const auto& device : json.at("devices")) {
        for (const auto& step : device.at("steps")) {
            EXPECT_LE(step.at("check").at("percent").get<double>(), 1.0);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, Clusters, testing::ValuesIn(clusters()), [](const auto& param) {
    std::string name = param.param.name;
    std::ranges::replace(name, '-', '_');
    return name;
});

// Every folder has its clients here.
TEST(ClusterExamples, AreAllTested)
{
    std::size_t folders = 0;
    for (const auto& folder : std::filesystem::directory_iterator(source_dir() + "/config/examples/clusters")) {
        ++folders;
        EXPECT_TRUE(std::ranges::any_of(clusters(), [&](const Cluster& cluster) {
            return folder.path().filename() == cluster.name;
        })) << folder.path();
    }
    EXPECT_EQ(folders, clusters().size());
}

}    // namespace
}    // namespace rdmaqos::test
