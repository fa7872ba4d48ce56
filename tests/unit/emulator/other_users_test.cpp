// What programs of other users can reach by an emulator, and programs that others have executed.
#include <csignal>
#include <cstring>
#include <filesystem>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/process.h"
#include "tests/support/temp_dir.h"
#include "tests/support/uverbs_client.h"
#include "tools/emulator/datapath/client_memory.h"

namespace rdmaqos::emulator {
namespace {

namespace fs = std::filesystem;
using test::Child;
using test::EmulatorInProcess;
using test::eventually;

constexpr uid_t kNobody = 65534;

// Becomes another program, of which nothing is known.
void become_sleep(const char* program)
{
    execl(program, "sleep", "3600", nullptr);
    _exit(1);
}

class ProgramMemory : public testing::Test {
protected:
    // At the same place in each child.
    std::uint8_t* shown = static_cast<std::uint8_t*>(
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));

    [[nodiscard]] std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(shown); }
};

TEST_F(ProgramMemory, IsThatOfTheProgramWhichCalled)
{
    *shown = 7;
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    Child child([&] {
        char byte = 0;
        *shown = 8;
        (void)!read(ends[0], &byte, 1);
        become_sleep("/bin/sleep");
    });
    const auto process = std::make_shared<const ClientProcess>(MemoryOwner{child.pid(), geteuid()});
    const ClientMemory memory(process);
    std::uint8_t byte = 0;
    ASSERT_TRUE(eventually([&] { return memory.read(address(), {&byte, 1}) && byte == 8; }));
    byte = 9;
    EXPECT_TRUE(memory.write(address(), {&byte, 1}));
    byte = 0;
    EXPECT_TRUE(memory.read(address(), {&byte, 1}));
    EXPECT_EQ(byte, 9);
    EXPECT_FALSE(memory.read(0, {&byte, 1})) << "nothing is there";
    EXPECT_FALSE(memory.is_gone());

    ASSERT_EQ(write(ends[1], "x", 1), 1);
    EXPECT_TRUE(eventually([&] { return memory.is_gone(); })) << "it is another program";
    EXPECT_FALSE(child.has_ended());
    EXPECT_FALSE(memory.read(address(), {&byte, 1}));
    EXPECT_FALSE(memory.write(address(), {&byte, 1}));
    close(ends[0]);
    close(ends[1]);
}

// The caller may execute it before the emulator looks.
TEST_F(ProgramMemory, OfASetuidProgramIsNobodysBusiness)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can make a program setuid root";
    }
    const test::TempDir folder;
    fs::permissions(folder.path(), fs::perms::owner_all | fs::perms::others_read | fs::perms::others_exec);
    const fs::path program = folder.path() / "sleep";
    fs::copy_file(fs::canonical("/bin/sleep"), program);
    for (const bool is_setuid : {false, true}) {
        ASSERT_EQ(chmod(program.c_str(), is_setuid ? 04755 : 0755), 0);
        Child child([&] {
            if (setgid(kNobody) == 0 && setuid(kNobody) == 0) {
                become_sleep(program.c_str());
            }
        });
        const auto is_it = [&] {
            std::error_code none;
            return fs::read_symlink("/proc/" + std::to_string(child.pid()) + "/exe", none) == program;
        };
        ASSERT_TRUE(eventually(is_it));
        const MemoryOwner owner{child.pid(), kNobody};
        EXPECT_EQ(why_not_usable(owner), is_setuid ? EPERM : 0);
        EXPECT_EQ(static_cast<bool>(ClientProcess(owner).memory), !is_setuid);
    }
}

TEST(OtherUsers, CannotConnectUnlessTheyMay)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can be several users";
    }
    EmulatorInProcess emulator;
    const fs::path netlink = emulator.path() / "netlink.sock";
    EXPECT_EQ(fs::status(netlink).permissions(), fs::perms::owner_read | fs::perms::owner_write);
    // Were the modes of files wider, the kernel would still say who connects.
    fs::permissions(emulator.path(), fs::perms::all);
    fs::permissions(netlink, fs::perms::all);
    const auto is_served = [&](uid_t user) {
        Child child([&] {
            if (setgid(user) != 0 || setuid(user) != 0) {
                _exit(2);
            }
            sockaddr_un address{};
            address.sun_family = AF_UNIX;
            std::strncpy(address.sun_path, netlink.c_str(), sizeof(address.sun_path) - 1);
            const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
            const timeval moment{1, 0};
            setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &moment, sizeof(moment));
            char byte = 0;
            if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
                _exit(3);
            }
            _exit(recv(fd, &byte, 1, 0) < 0 && errno == EAGAIN ? 0 : 1);    // else it was closed
        });
        return child.wait();
    };
    EXPECT_EQ(is_served(0), 0);
    EXPECT_EQ(is_served(kNobody), 1 << 8);
}

TEST(Channels, AreThoseThatTheEmulatorMade)
{
    EmulatorInProcess emulator;
    UverbsFile file(emulator.server().devices().front(), UniqueFd(open("/dev/null", O_RDWR | O_CLOEXEC)), 1, getpid());
    const UniqueFd theirs = file.open_channel();
    struct stat status {};
    ASSERT_EQ(fstat(theirs.get(), &status), 0);
    UniqueFd kept = file.channel(status.st_dev, status.st_ino);
    ASSERT_TRUE(kept);
    EXPECT_EQ(write(kept.get(), "12345678", 8), 8);
    char event[8];
    EXPECT_EQ(read(theirs.get(), event, sizeof(event)), 8);
    EXPECT_NE(fcntl(kept.get(), F_GETFL) & O_NONBLOCK, 0) << "a program that does not read holds nobody up";

    const test::TempDir folder;
    const fs::path other = folder.path() / "of-root";
    folder.write("of-root", "unchanged");
    ASSERT_EQ(stat(other.c_str(), &status), 0);
    EXPECT_FALSE(file.channel(status.st_dev, status.st_ino)) << "whatever a program has opened";
}

}    // namespace
}    // namespace rdmaqos::emulator
