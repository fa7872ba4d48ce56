#include "lib/base/signal_process.h"
#include "lib/nic_mlx5/device_lock.h"

#include <csignal>
#include <filesystem>

#include <gtest/gtest.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/temp_dir.h"

namespace rdmaqos::mlx5 {
namespace {

namespace fs = std::filesystem;

TEST(HolderIn, FindsTheLineOfTheFile)
{
    constexpr const char* kLocks = "1: POSIX  ADVISORY  WRITE 11 00:16:700 0 EOF\n"
                                   "2: FLOCK  ADVISORY  WRITE 4711 00:16:700 0 EOF\n"
                                   "2: -> FLOCK  ADVISORY  WRITE 4712 00:16:700 0 EOF\n"
                                   "3: FLOCK  ADVISORY  READ  4713 08:101:70 0 EOF\n"
                                   "4: OFDLCK ADVISORY  READ  -1 00:06:1032 0 EOF\n"
                                   "5: FLOCK  ADVISORY  WRITE 4714 00:16:9";
    EXPECT_EQ(holder_in(kLocks, makedev(0, 0x16), 700), 4711);
    EXPECT_EQ(holder_in(kLocks, makedev(8, 0x101), 70), 4713);
    EXPECT_EQ(holder_in(kLocks, makedev(0, 0x16), 70), std::nullopt) << "another file system's";
    EXPECT_EQ(holder_in(kLocks, makedev(0, 0x16), 9), 4714) << "cut off behind it";
    EXPECT_EQ(holder_in("1: FLOCK  ADVISORY  WRITE 0 00:16:700 0 EOF\n", makedev(0, 0x16), 700), std::nullopt)
        << "not of this process namespace";
    EXPECT_EQ(holder_in("", makedev(0, 0x16), 700), std::nullopt);
    EXPECT_EQ(holder_in("nonsense\n\n1: FLOCK", makedev(0, 0x16), 700), std::nullopt);
}

// sysfs as far as the lock needs it: PCI functions, devices on them, a subfunction on one.
class DeviceLockTest : public ::testing::Test {
protected:
    DeviceLockTest()
    {
        make_function("devices/0000:08:00.0");
        make_function("devices/0000:09:00.0");
        fs::create_directories(sys / "devices/0000:08:00.0/mlx5_core.sf.2");
        fs::create_directories(sys / "devices/nothing");
        make_device("mlx5_0", "devices/0000:08:00.0");
        make_device("mlx5_1", "devices/0000:09:00.0");
        make_device("mlx5_2", "devices/0000:08:00.0/mlx5_core.sf.2");
        make_device("bare", "devices/nothing");
    }
    void make_function(const fs::path& place)
    {
        dir.write(place.string() + "/resource0", "");
        fs::permissions(sys / place / "resource0", fs::perms::owner_read | fs::perms::owner_write);
    }
    void make_device(const std::string& name, const fs::path& place)
    {
        fs::create_directories(sys / "class/infiniband" / name);
        fs::create_symlink(sys / place, sys / "class/infiniband" / name / "device");
    }

    // Another process that has the lock of the device; dead when the test ends.
    class Rival {
    public:
        Rival(const fs::path& sys, const std::string& device)
        {
            int ready[2];
            EXPECT_EQ(pipe(ready), 0);
            pid_ = fork();
            if (pid_ == 0) {
                DeviceLocks locks(sys);
                const auto lock = locks.take(device);
                const char said = lock && *lock ? 'y' : 'n';
                const auto written = write(ready[1], &said, 1);
                pause();
                _exit(written == 1 ? 0 : 1);
            }
            char said = 0;
            EXPECT_EQ(read(ready[0], &said, 1), 1);
            EXPECT_EQ(said, 'y');
            close(ready[0]);
            close(ready[1]);
        }
        ~Rival() { end(); }
        Rival(const Rival&) = delete;
        Rival& operator=(const Rival&) = delete;
        void end()
        {
            if (pid_ > 0) {
                signal_process(pid_, SIGKILL);
                waitpid(pid_, nullptr, 0);
                pid_ = -1;
            }
        }
        [[nodiscard]] pid_t pid() const { return pid_; }

    private:
        pid_t pid_ = -1;
    };

    test::TempDir dir;
    const fs::path sys = dir.path();
};

TEST_F(DeviceLockTest, KeepsOthersOffOneDeviceAndNamesItsHolder)
{
    const Rival rival(sys, "mlx5_0");
    DeviceLocks locks(sys);
    const auto refused = locks.take("mlx5_0");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().process, rival.pid());
    EXPECT_FALSE(refused.error().ending);
    EXPECT_FALSE(locks.take("mlx5_2")) << "a subfunction has the lock of its function";
    const auto other = locks.take("mlx5_1");
    ASSERT_TRUE(other);
    EXPECT_NE(*other, nullptr);
}

TEST_F(DeviceLockTest, IsFreeWhenItsHolderWasKilled)
{
    Rival rival(sys, "mlx5_0");
    DeviceLocks locks(sys);
    ASSERT_FALSE(locks.take("mlx5_0"));
    rival.end();
    const auto lock = locks.take("mlx5_0");
    ASSERT_TRUE(lock);
    EXPECT_NE(*lock, nullptr);
}

TEST_F(DeviceLockTest, IsSharedInOneProcessAndGoesWithTheLast)
{
    DeviceLocks locks(sys);
    auto first = locks.take("mlx5_0");
    auto second = locks.take("mlx5_2");
    ASSERT_TRUE(first);
    ASSERT_TRUE(second);
    EXPECT_EQ(*first, *second);
    first->reset();
    DeviceLocks others(sys);    // as of another process: the files are others
    EXPECT_FALSE(others.take("mlx5_0"));
    second->reset();
    const auto free = others.take("mlx5_0");
    ASSERT_TRUE(free);
    EXPECT_NE(*free, nullptr);
}

// Where it would say nothing, it is not there: a device without such a file, and one that others may open, who could
// keep every daemon from the device.
TEST_F(DeviceLockTest, CannotBeTakenWhereOthersCouldTakeIt)
{
    DeviceLocks locks(sys);
    for (const char* device : {"bare", "gone"}) {
        const auto lock = locks.take(device);
        ASSERT_TRUE(lock) << device;
        EXPECT_EQ(*lock, nullptr) << device;
    }
    const auto file = sys / "devices/0000:08:00.0/resource0";
    for (const auto perms : {fs::perms::group_read, fs::perms::others_read, fs::perms::others_write}) {
        fs::permissions(file, fs::perms::owner_read | perms);
        const auto lock = locks.take("mlx5_0");
        ASSERT_TRUE(lock);
        EXPECT_EQ(*lock, nullptr);
    }
    if (geteuid() == 0) {
        fs::permissions(file, fs::perms::owner_read);
        ASSERT_EQ(chown(file.c_str(), 65534, 65534), 0);
        const auto lock = locks.take("mlx5_0");
        ASSERT_TRUE(lock);
        EXPECT_EQ(*lock, nullptr) << "its owner is neither root nor we";
    }
}

}    // namespace
}    // namespace rdmaqos::mlx5
