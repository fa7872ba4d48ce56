// Two daemons and the same devices: the second finds out, and ends before it does anything to them.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "tests/nic_mlx5/program.h"
#include "tests/support/golden.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

constexpr int kDevicesTaken = 69;    // rdma-qosd(8)

// A daemon that is expected to end by itself.
class Second {
public:
    Second() : child_({RDMAQOS_DAEMON, "--root", dir_.path().string(), "--host-devices"}, {}, dir_.path() / "log")
    {
        status_ = child_.wait();
    }
    // Its exit status; -1: it runs on, or was killed.
    [[nodiscard]] int status() const { return status_ && WIFEXITED(*status_) ? WEXITSTATUS(*status_) : -1; }
    [[nodiscard]] std::string log() const { return read_text(dir_.path() / "log"); }
    [[nodiscard]] bool left_something() const { return fs::exists(dir_.path() / "var"); }

private:
    TempDir dir_;
    Child child_;
    std::optional<int> status_;
};

// The files that daemons lock, of the devices that there are.
std::vector<fs::path> lock_files()
{
    std::vector<fs::path> files;
    for (const auto& device : fs::directory_iterator(fs::path(getenv("SYSFS_PATH")) /
                                                     "class/infiniband")) {    // NOLINT(concurrency-mt-unsafe)
        files.push_back(device.path() / "device/resource0");
    }
    return files;
}

std::string place_after_joining(Program& program, ibv_qp_type type)
{
    const auto number = program.join(type);
    return places(emulated_device()).at(number);
}

class SecondDaemon : public ::testing::Test {
protected:
    void SetUp() override
    {
        if (on_kernel()) {
            GTEST_SKIP() << "opens the files of the emulator's sysfs";
        }
    }
    void TearDown() override { make_as_it_was(); }

    // While the first manages a queue pair: the second ends, and nothing of all that happens to devices is its doing.
    static void expect_that_a_second_ends(Daemon& first)
    {
        Program program(first, "rpc");
        const auto number = program.join(IBV_QPT_RC);
        const auto before = emulated_device();
        Trace trace;
        const Second second;
        EXPECT_EQ(second.status(), kDevicesTaken) << second.log();
        EXPECT_THAT(second.log(), HasSubstr("mlx5_0 is managed by another rdma-qosd, process " +
                                            std::to_string(first.process().pid())));
        EXPECT_FALSE(second.left_something()) << "files of a daemon that never began";
        EXPECT_THAT(trace.writes(), ::testing::IsEmpty());
        for (const auto& call : trace.calls()) {
            EXPECT_EQ(call.at("pid"), first.process().pid()) << call;
        }
        EXPECT_EQ(emulated_device().at("tree"), before.at("tree"));
        EXPECT_EQ(places(emulated_device()).at(number), places(before).at(number));
        EXPECT_THAT(first.log(), Not(HasSubstr("another rdma-qosd")));
        // And the first serves as before.
        EXPECT_EQ(place_after_joining(program, IBV_QPT_UD), kPlaceOf[0]);
    }
};

TEST_F(SecondDaemon, EndsByTheLockBeforeItOpensADevice)
{
    Daemon first(on_emulator());
    expect_that_a_second_ends(first);
}

// As where both are in network namespaces of their own, which do not share sysfs: here, because a lock that others
// could take is not taken.
TEST_F(SecondDaemon, EndsWithoutALockByWhatNetlinkTells)
{
    for (const auto& file : lock_files()) {
        fs::permissions(file, fs::perms::owner_read | fs::perms::others_read);
    }
    {
        Daemon first(on_emulator());
        expect_that_a_second_ends(first);
    }
    for (const auto& file : lock_files()) {
        fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
    }
}

TEST_F(SecondDaemon, MayBeginWhenTheFirstHasEndedHoweverItDid)
{
    {
        Daemon first(on_emulator());
        ASSERT_EQ(Second().status(), kDevicesTaken);
        ASSERT_TRUE(first.stop());
        Daemon second(on_emulator());
        EXPECT_FALSE(emulated_device().at("tree").empty());
        EXPECT_EQ(Second().status(), kDevicesTaken);
        second.kill();
    }
    Daemon third(on_emulator());
    Program program(third, "rpc");
    EXPECT_EQ(place_after_joining(program, IBV_QPT_RC), kPlaceOf[0]);
}

// After release, another daemon may take the device, and keeps it until it ends or releases it.
TEST_F(SecondDaemon, GetsADeviceThatTheFirstHasReleased)
{
    Daemon first(on_emulator());
    auto client = first.direct();
    for (const char* device : {"mlx5_0", "mlx5_1"}) {
        const auto released = manage(client, "Release", device);
        ASSERT_TRUE(released) << to_string(released.error());
    }
    Daemon second(on_emulator());
    Program program(second, "rpc");
    EXPECT_EQ(place_after_joining(program, IBV_QPT_RC), kPlaceOf[0]);
    const auto results = manage(client, "Enable", "mlx5_0");
    const std::string said = results ? first.log() : to_string(results.error()) + first.log();
    EXPECT_THAT(said, HasSubstr("is managed by another rdma-qosd, process " + std::to_string(second.process().pid())));
}

}    // namespace
}    // namespace rdmaqos::test
