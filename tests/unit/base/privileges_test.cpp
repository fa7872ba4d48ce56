#include "lib/base/privileges.h"

#include <csignal>

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/account.h"
#include "lib/base/signal_process.h"
#include "tests/support/contained.h"
#include "tests/support/temp_dir.h"

namespace rdmaqos {
namespace {

constexpr std::uint64_t bit(unsigned capability)
{
    return std::uint64_t{1} << capability;
}

constexpr std::uint32_t kRoot = 0;
constexpr std::uint32_t kUser = 1000;
constexpr std::uint64_t kAll = bit(41) - 1;
// Of the unit (systemd/rdma-qosd.service.in).
constexpr std::uint64_t kDaemon = bit(CAP_NET_RAW) | bit(CAP_SYS_RAWIO) | bit(CAP_SYS_PTRACE) | bit(CAP_DAC_OVERRIDE) |
                                  bit(CAP_SETUID) | bit(CAP_SETGID) | bit(CAP_KILL);
// What docker and podman give by default.
constexpr std::uint64_t kContainer = bit(CAP_CHOWN) | bit(CAP_DAC_OVERRIDE) | bit(CAP_FSETID) | bit(CAP_FOWNER) |
                                     bit(CAP_MKNOD) | bit(CAP_NET_RAW) | bit(CAP_SETGID) | bit(CAP_SETUID) |
                                     bit(CAP_SETFCAP) | bit(CAP_SETPCAP) | bit(CAP_NET_BIND_SERVICE) |
                                     bit(CAP_SYS_CHROOT) | bit(CAP_KILL) | bit(CAP_AUDIT_WRITE);

TEST(Privileges, WhoIsAnAdministrator)
{
    const struct {
        const char* what;
        std::uint32_t uid;
        Privileges privileges;
        std::uint32_t own_uid;
        std::uint64_t own;
        bool is;
    } rows[] = {
        {"root", kRoot, {{1, 1}, kAll}, kRoot, kDaemon, true},
        {"root, of a daemon that was started by hand", kRoot, {{1, 1}, kAll}, kRoot, kAll, true},
        {"a service of root with PrivateDevices=", kRoot, {{1, 1}, kAll & ~bit(CAP_SYS_RAWIO)}, kRoot, kAll, true},
        {"a service of root that has what the daemon has", kRoot, {{1, 1}, kDaemon}, kRoot, kDaemon, true},
        {"a container", kRoot, {{1, 1}, kContainer}, kRoot, kDaemon, false},
        {"a container with CAP_NET_ADMIN", kRoot, {{1, 1}, kContainer | bit(CAP_NET_ADMIN)}, kRoot, kDaemon, false},
        {"a container without capabilities", kRoot, {{1, 1}, 0}, kRoot, kDaemon, false},
        {"root of its own user namespace, with uid 0 mapped to 0", kRoot, {{1, 2}, kAll}, kRoot, kDaemon, false},
        {"a container in which the daemon runs, too", kRoot, {{1, 1}, kContainer}, kRoot, kContainer, true},
        {"a user", kUser, {{1, 1}, 0}, kRoot, kDaemon, false},
        {"a user with every capability", kUser, {{1, 1}, kAll}, kRoot, kDaemon, false},
        {"who runs the daemon", kUser, {{1, 1}, 0}, kUser, 0, true},
        {"who runs the daemon, in another user namespace", kUser, {{1, 2}, kAll}, kUser, 0, false},
        {"another user", kUser + 1, {{1, 1}, 0}, kUser, 0, false},
        {"root, of somebody's daemon", kRoot, {{1, 1}, kAll}, kUser, 0, true},
    };
    for (const auto& row : rows) {
        EXPECT_EQ(is_administrator(row.uid, row.privileges, row.own_uid, {{1, 1}, row.own}), row.is) << row.what;
    }
}

TEST(Privileges, AreReadFromProc)
{
    const test::TempDir proc;
    proc.write("7/status", "Name:\tCapPrm:\nCapInh:\t00000000000000ff\nCapPrm:\t000001ffffffffff\nCapEff:\t0\n");
    proc.write("7/ns/user", "");
    const auto read = read_privileges(proc.path(), 7);
    ASSERT_TRUE(read) << to_string(read.error());
    EXPECT_EQ(read->capabilities, kAll);
    EXPECT_NE(read->user_namespace.second, 0U);

    proc.write("8/status", "Name:\tx\nCapPrm:\t0\n");
    proc.write("8/ns/net", "");
    const auto without = read_privileges(proc.path(), 8);
    ASSERT_TRUE(without) << "a kernel without user namespaces";
    EXPECT_EQ(*without, Privileges{});

    proc.write("9/status", "Name:\tx\nCapPrm:\t0\n");
    EXPECT_FALSE(read_privileges(proc.path(), 9)) << "nothing is said of its namespaces";
    proc.write("10/status", "Name:\tx\nCapPrm:\tmany\n");
    proc.write("10/ns/user", "");
    EXPECT_FALSE(read_privileges(proc.path(), 10));
    EXPECT_FALSE(read_privileges(proc.path(), 11)) << "it is gone";
}

TEST(Privileges, ThisProcessIsItsOwnAdministrator)
{
    EXPECT_TRUE(is_administrator(getpid(), geteuid()));
    EXPECT_FALSE(is_administrator(getpid(), geteuid() + 1));
    EXPECT_FALSE(is_administrator(0, geteuid())) << "there is no such process";
}

// What a child of root makes of itself.
template <typename Become>
bool is_administrator_after(Become become)
{
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        const char answer = become() ? 'y' : 'n';
        _exit(write(ends[1], &answer, 1) == 1 && pause() == 0 ? 0 : 1);
    }
    char became = 0;
    EXPECT_EQ(read(ends[0], &became, 1), 1);
    EXPECT_EQ(became, 'y') << "the child could not become it";
    const bool is = is_administrator(child, 0);
    signal_process(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(ends[0]);
    close(ends[1]);
    return is;
}

TEST(Privileges, UidZeroAloneIsNoAdministrator)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can give up what makes it root";
    }
    const auto own = read_privileges("/proc", getpid());
    ASSERT_TRUE(own);
    if ((own->capabilities & ~kContainer) == 0) {
        GTEST_SKIP() << "this root has no more than that of a container";
    }
    EXPECT_TRUE(is_administrator_after([] { return true; }));
    EXPECT_FALSE(is_administrator_after(test::become_contained_root));
    EXPECT_FALSE(is_administrator_after([] { return test::give_up_capabilities(~kContainer); }));
    const bool has_namespaces = [] {
        const pid_t child = fork();
        if (child == 0) {
            _exit(unshare(CLONE_NEWUSER) == 0 ? 0 : 1);
        }
        int status = 0;
        return waitpid(child, &status, 0) == child && status == 0;
    }();
    if (!has_namespaces) {
        GTEST_SKIP() << "no user namespace can be made here: only the rest was tried";
    }
    EXPECT_FALSE(is_administrator_after([] { return unshare(CLONE_NEWUSER) == 0; })) << "it has all, there";
}

TEST(Accounts, ThatOfRootIsNobodysUid)
{
    EXPECT_TRUE(Account::root().is_root());
    EXPECT_FALSE(Account(0).is_root());
    EXPECT_NE(Account(0), Account::root());
    EXPECT_EQ(Account::root().uid(), 0U);
    EXPECT_EQ(Account(UINT32_MAX).uid(), UINT32_MAX);
    EXPECT_FALSE(Account(UINT32_MAX).is_root());
}

}    // namespace
}    // namespace rdmaqos
