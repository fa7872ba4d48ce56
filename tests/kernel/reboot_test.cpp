// The machine is reset, without a word to anybody, and boots again with the disk as it is: what rdma-qosd is in force
// then. The machine runs this program in each boot; a file on the disk says which boot it is.
#include <chrono>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "tests/nic_mlx5/program.h"
#include "tests/support/ctl.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

// What a host keeps of the daemon: /etc and /var. /run does not survive a boot.
const fs::path kDisk = "/disk";
const fs::path kRoot = kDisk / "host";
const fs::path kPolicy = kRoot / "etc/rdma-qos/policy.yaml";

std::string policy_with(int share)
{
    return fmt::format(
        "version: 1\nqos-levels:\n  - {{name: DEFAULT, sl: 0}}\n  - {{name: rpc, schedule: {{share: {}}}}}\n", share);
}
constexpr const char* kBroken = "version: 1\nqos-levels:\n  - {name: DEFAULT, sl: 99}\n";

int boot_number()
{
    std::ifstream file(kDisk / "boot");
    int number = 1;
    file >> number;
    return number;
}

// Whatever is not on the disk now is lost.
void reset_machine()
{
    std::ofstream("/proc/sysrq-trigger") << 'b' << std::flush;
    std::this_thread::sleep_for(60s);
    throw std::runtime_error("the machine runs on");
}

class DaemonOnDisk {
public:
    DaemonOnDisk()
    {
        fs::remove_all(kRoot / "run");
        fs::remove(kLog);
        process_ = std::make_unique<Child>(
            std::vector<std::string>{RDMAQOS_DAEMON, "--root", kRoot.string(), "--host-devices"},
            std::vector<std::string>{}, kLog);
        if (!eventually([this] { return log().find("ready: ") != std::string::npos; })) {
            throw std::runtime_error("rdma-qosd does not become ready: " + log());
        }
    }
    [[nodiscard]] std::string log() const
    {
        std::ifstream file(kLog);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    [[nodiscard]] Outcome ctl(const std::string& words) const { return run_ctl(kRoot, words); }
    [[nodiscard]] bus::Client direct() const
    {
        auto client = bus::Client::connect_direct(kRoot / "run/rdma-qos/bus");
        if (!client) {
            throw std::runtime_error(to_string(client.error()));
        }
        return std::move(*client);
    }

private:
    const fs::path kLog = "/tmp/reboot-test.log";

    std::unique_ptr<Child> process_;
};

// Where a queue pair of the level is: what the policy in force gives it.
std::string place_in_rpc(const DaemonOnDisk& daemon)
{
    Program program(daemon.direct(), "rpc");
    return place_of(program.join(IBV_QPT_RC));
}

class KernelReboot : public ::testing::Test {
protected:
    // The next boot goes on with the next part, also if this one fails in the middle.
    void SetUp() override
    {
        ASSERT_TRUE(fs::exists(kDisk)) << "the machine has no disk";
        boot_ = boot_number();
        ASSERT_TRUE(replace_file(kDisk / "boot", std::to_string(boot_ + 1)));
        printf("boot %d\n", boot_);
        fflush(stdout);
    }

    int boot_ = 0;
};

TEST_F(KernelReboot, ATrialIsOverAndABrokenFileIsNotUsed)
{
    if (boot_ == 1) {
        fs::create_directories(kPolicy.parent_path());
        ASSERT_TRUE(replace_file(kPolicy, policy_with(60)));
        ASSERT_TRUE(replace_file(kRoot / "tried.yaml", policy_with(61)));
        const DaemonOnDisk daemon;
        ASSERT_EQ(place_in_rpc(daemon), "rate 0 share 60 < root");
        const auto tried = daemon.ctl("try tried.yaml --timeout 1h");
        ASSERT_EQ(tried.status, 0) << tried.error;
        ASSERT_EQ(place_in_rpc(daemon), "rate 0 share 61 < root");
        reset_machine();
    }
    if (boot_ == 2) {
        const DaemonOnDisk daemon;
        ASSERT_EQ(place_in_rpc(daemon), "rate 0 share 60 < root") << "nobody has confirmed the other one";
        const auto status = daemon.ctl("status");
        ASSERT_EQ(status.status, 0) << status.error;
        ASSERT_THAT(status.output, Not(HasSubstr("refused")));
        const auto confirmed = daemon.ctl("confirm");
        ASSERT_NE(confirmed.status, 0);
        ASSERT_THAT(confirmed.error, HasSubstr("no policy is being tried"));
        // Whoever was told that a device is disabled, or that a policy is in force, may rely on it.
        ASSERT_EQ(daemon.ctl("disable mlx5_1").status, 0);
        ASSERT_TRUE(replace_file(kPolicy, policy_with(62)));
        const auto reloaded = daemon.ctl("reload");
        ASSERT_EQ(reloaded.status, 0) << reloaded.error;
        reset_machine();
    }
    ASSERT_EQ(boot_, 3) << "an earlier boot has failed: see the machine's console";
    ASSERT_TRUE(replace_file(kPolicy, kBroken));
    const DaemonOnDisk daemon;
    EXPECT_EQ(place_in_rpc(daemon), "rate 0 share 62 < root");
    EXPECT_THAT(daemon.log(), HasSubstr("warning: the policy cannot be used; the last good one (revision "));
    EXPECT_THAT(daemon.log(), HasSubstr("policy.yaml:3:25: error: `sl` must be from 0 to 15, not 99"));
    const auto status = daemon.ctl("status --check");
    EXPECT_EQ(status.status, 3);
    EXPECT_THAT(status.output, HasSubstr("policy.yaml:3:25: error:"));
    const auto devices = nlohmann::json::parse(daemon.ctl("devices --json").output).at("devices");
    std::vector<std::string> states;
    for (const auto& device : devices) {
        states.push_back(device.at("device").get<std::string>() + " " + device.at("state").get<std::string>());
    }
    EXPECT_THAT(states, ElementsAre("mlx5_0/1 ready", "mlx5_1/1 disabled"));
}

}    // namespace
}    // namespace rdmaqos::test
