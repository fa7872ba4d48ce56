#include "policy/model/identity.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rdmaqos {
namespace {

namespace fs = std::filesystem;

// A /proc of our own with one process, 4711, that tests make as odd as they like.
class FakeProc : public testing::Test {
protected:
    FakeProc()
    {
        std::string pattern = (fs::temp_directory_path() / "identity_test.XXXXXX").string();
        root_ = mkdtemp(pattern.data());
        fs::create_directory(process());
        write("stat", stat("ib_write_bw"));
        write("cgroup", "0::/system.slice/job-7.scope\n");
        write("status", "Name:\tx\nUid:\t0\t0\t0\t0\nGid:\t100\t200\t300\t400\nGroups:\t27 4 200 \nVmRSS:\t1 kB\n");
        fs::create_symlink("/usr/bin/ib_write_bw", process() / "exe");
    }
    ~FakeProc() override { fs::remove_all(root_); }

    [[nodiscard]] fs::path process() const { return root_ / "4711"; }
    void write(const std::string& name, const std::string& text) const
    {
        std::ofstream(process() / name, std::ios::binary | std::ios::trunc) << text;
    }
    void link_exe(const std::string& target) const
    {
        fs::remove(process() / "exe");
        fs::create_symlink(target, process() / "exe");
    }
    static std::string stat(const std::string& command)
    {
        return "4711 (" + command + ") S 1 4711 4711 0 -1 4194560 15 0 0 0 1 2 0 0 20 0 1 0 886633 2 3 4\n";
    }
    [[nodiscard]] Result<Identity> read(std::vector<std::uint32_t> gids = {1000}) const
    {
        return read_identity(root_, {4711, 1000, std::move(gids)});
    }

    fs::path root_;
};

TEST_F(FakeProc, AThreadHasTheCredentialsOfItsProcess)
{
    write("status", "Name:\tx\nTgid:\t4711\nUid:\t1\t1000\t3\t4\nGid:\t100\t200\t300\t400\nGroups:\t27 \n");
    fs::create_directory(root_ / "4712");
    std::ofstream(root_ / "4712" / "status") << "Tgid:\t4711\nUid:\t0\t0\t0\t0\n";
    for (const pid_t thread : {4711, 4712}) {
        const auto identity = read_identity_of_thread(root_, thread);
        ASSERT_TRUE(identity) << to_string(identity.error());
        EXPECT_EQ(identity->pid, 4711);
        EXPECT_EQ(identity->uid, 1000U) << "the effective one";
        EXPECT_EQ(identity->gids, (std::vector<std::uint32_t>{27, 200}));
    }
    write("status", "Name:\tx\n");
    EXPECT_FALSE(read_identity_of_thread(root_, 4711)) << "no credentials, no identity";
    EXPECT_FALSE(read_identity_of_thread(root_, 4713));
}

TEST_F(FakeProc, Everything)
{
    const auto identity = read({1000, 27, 1000, 4});
    ASSERT_TRUE(identity);
    EXPECT_EQ(identity->pid, 4711);
    EXPECT_EQ(identity->start_time, 886633U);
    EXPECT_EQ(identity->uid, 1000U) << "the credentials' word, not that of status";
    EXPECT_EQ(identity->gids, (std::vector<std::uint32_t>{4, 27, 1000})) << "sorted, once each";
    EXPECT_EQ(identity->cgroup, "/system.slice/job-7.scope");
    EXPECT_EQ(identity->unit, "job-7.scope");
    EXPECT_EQ(identity->executable, "/usr/bin/ib_write_bw");
    EXPECT_EQ(identity->command, "ib_write_bw");
    EXPECT_EQ(read_start_time(root_, 4711).value(), 886633U);
}

TEST_F(FakeProc, GroupsOfStatusWhereTheTransportKnowsNone)
{
    EXPECT_EQ(read({})->gids, (std::vector<std::uint32_t>{4, 27, 200}))
        << "the effective one and the supplementary ones";
    write("status", "Gid:\t1\t2\t3\t4\nGroups:\t\n");
    EXPECT_EQ(read({})->gids, (std::vector<std::uint32_t>{2}));
}

TEST_F(FakeProc, ThousandsOfGroups)
{
    std::string status = "Gid:\t1\t1\t1\t1\nGroups:\t";
    for (std::uint32_t gid = 100'000; gid < 110'000; ++gid) {
        status += std::to_string(gid) + " ";
    }
    write("status", status + "\n");
    const auto identity = read({});
    ASSERT_TRUE(identity);
    EXPECT_EQ(identity->gids.size(), 10'001U);
    EXPECT_EQ(identity->gids.back(), 109'999U);
}

TEST_F(FakeProc, OddCommands)
{
    for (const auto* name : {"a b", "x) S 1 (y", ")(", "tmux: server", "((sd-pam))", ""}) {
        write("stat", stat(name));
        const auto identity = read();
        ASSERT_TRUE(identity) << name;
        EXPECT_EQ(identity->start_time, 886633U) << name;
        EXPECT_EQ(identity->command, name);
    }
    write("stat", stat("evil\x1b[2J\xff"));
    EXPECT_EQ(read()->command, "evil\\x1b[2J\\xff");
}

TEST_F(FakeProc, BrokenStat)
{
    for (const std::string text : {"", "4711", "4711 (x", "4711 (x)", "4711 (x) S 1 2 3", ")(",
                                   "4711 (x) S a b c d e f g h i j k l m n o p q r s t u"}) {
        write("stat", text);
        const auto identity = read();
        ASSERT_FALSE(identity) << text;
        EXPECT_EQ(identity.error().code, ErrorCode::Io);
        EXPECT_EQ(identity.error().message, "process 4711: unexpected format of stat (see proc(5))");
    }
}

TEST_F(FakeProc, Executables)
{
    link_exe("/opt/old/bin/app (deleted)");
    EXPECT_EQ(read()->executable, "/opt/old/bin/app") << "an upgrade does not change a running program's class";
    link_exe("/tmp/\n\x01");
    EXPECT_EQ(read()->executable, "/tmp/\\x0a\\x01");
    fs::remove(process() / "exe");
    EXPECT_EQ(read()->executable, "");
}

struct CgroupCase {
    const char* name;
    const char* file;
    const char* cgroup;
    const char* unit;
};

class Cgroups : public FakeProc, public testing::WithParamInterface<CgroupCase> {};

TEST_P(Cgroups, Path)
{
    write("cgroup", GetParam().file);
    const auto identity = read();
    ASSERT_TRUE(identity);
    EXPECT_EQ(identity->cgroup, GetParam().cgroup);
    EXPECT_EQ(identity->unit, GetParam().unit);
}

INSTANTIATE_TEST_SUITE_P(
    Table, Cgroups,
    testing::Values(
        CgroupCase{"v2", "0::/a.slice/b.service\n", "/a.slice/b.service", "b.service"},
        CgroupCase{"v2_without_newline", "0::/a.service", "/a.service", "a.service"},
        CgroupCase{"v2_root", "0::/\n", "/", ""},
        CgroupCase{"hybrid", "4:memory:/m\n1:name=systemd:/s.service\n0::/u.service\n", "/u.service", "u.service"},
        CgroupCase{"v1_of_systemd_where_v2_is_unused", "1:name=systemd:/s.service\n0::/\n", "/s.service", "s.service"},
        CgroupCase{"v1_alone", "3:cpu,cpuacct:/c\n1:name=systemd:/user.slice/session-2.scope\n",
                   "/user.slice/session-2.scope", "session-2.scope"},
        CgroupCase{"v1_without_systemd", "3:cpu:/c\n2:memory:/m\n", "", ""},
        CgroupCase{"a_path_with_colons", "0::/machine.slice/a:b.service\n", "/machine.slice/a:b.service",
                   "a:b.service"},
        CgroupCase{"removed", "0::/a.service (deleted)\n", "/a.service", "a.service"},
        CgroupCase{"control_characters", "0::/a\x01.service\n", "/a\\x01.service", "a\\x01.service"},
        CgroupCase{"empty", "", "", ""}, CgroupCase{"nonsense", "::\n:\nx\n\n", "", ""}),
    [](const auto& test) { return test.param.name; });

TEST_F(FakeProc, AKernelWithoutCgroups)
{
    fs::remove(process() / "cgroup");
    const auto identity = read();
    ASSERT_TRUE(identity);
    EXPECT_EQ(identity->cgroup, "");
}

TEST_F(FakeProc, AnEndlessCgroupFileIsCutOff)
{
    write("cgroup", "0::/" + std::string(1'000'000, 'x'));
    const auto identity = read();
    ASSERT_TRUE(identity);
    EXPECT_LE(identity->cgroup.size(), 16384U);
}

TEST_F(FakeProc, ProcessesThatAreNotThere)
{
    for (const pid_t pid : {4712, 0, -1}) {
        const auto identity = read_identity(root_, {pid, 1000, {1000}});
        ASSERT_FALSE(identity);
        EXPECT_EQ(identity.error().code, ErrorCode::Io);
        EXPECT_EQ(read_start_time(root_, pid).error().code, ErrorCode::Io);
    }
    EXPECT_EQ(read_identity(root_, {4712, 1000, {}}).error().sys_errno, ENOENT);
    fs::remove(process() / "stat");
    EXPECT_EQ(read().error().sys_errno, ENOENT);
    EXPECT_EQ(read_start_time(root_, 4711).error().sys_errno, ENOENT);
}

TEST(UnitOfCgroup, Table)
{
    struct {
        const char* cgroup;
        const char* unit;
        const char* system_unit;
    } const cases[] = {
        {"", "", ""},
        {"/", "", ""},
        {"/init.scope", "init.scope", "init.scope"},
        {"/system.slice", "", ""},
        {"/system.slice/a.service", "a.service", "a.service"},
        {"/system.slice/a.service/sub", "a.service", "a.service"},
        {"/system.slice/a.service/inner.scope", "inner.scope", "a.service"},
        {"/system.slice/system-getty.slice/getty@tty1.service", "getty@tty1.service", "getty@tty1.service"},
        {"/user.slice/user-1000.slice/session-2.scope", "session-2.scope", "session-2.scope"},
        {"/user.slice/user-1000.slice/user@1000.service/app.slice/app.service", "app.service", "user@1000.service"},
        {"/user.slice/user-1000.slice/user@1000.service/init.scope", "init.scope", "user@1000.service"},
        {"/system.slice/_cpu.service", "cpu.service", "cpu.service"},
        {"/system.slice/__x.service", "_x.service", "_x.service"},
        {"/system.slice/a\\x2db.service", "a\\x2db.service", "a\\x2db.service"},
        {"/system.slice/.service", "", ""},
        {"/system.slice/a.socket", "", ""},
        {"/lxc/c1/system.slice/a.service", "a.service", ""},
        {"/slurm/uid_1000/job_5", "", ""},
    };
    for (const auto& c : cases) {
        EXPECT_EQ(unit_of_cgroup(c.cgroup), c.unit) << c.cgroup;
        EXPECT_EQ(system_unit_of_cgroup(c.cgroup), c.system_unit) << c.cgroup;
    }
}

TEST(RealProc, Self)
{
    const auto identity = read_identity("/proc", {getpid(), geteuid(), {}});
    ASSERT_TRUE(identity) << to_string(identity.error());
    EXPECT_GT(identity->start_time, 0U);
    EXPECT_EQ(identity->start_time, read_start_time("/proc", getpid()).value());
    EXPECT_EQ(identity->executable, fs::read_symlink("/proc/self/exe").string());
    EXPECT_TRUE(std::binary_search(identity->gids.begin(), identity->gids.end(), getegid()));
    EXPECT_FALSE(identity->command.empty());
}

// Of a thread whose number is not that of its process.
TEST(RealProc, AThreadIsItsProcess)
{
    std::promise<pid_t> thread_is;
    std::promise<void> enough;
    std::thread thread([&] {
        thread_is.set_value(static_cast<pid_t>(syscall(SYS_gettid)));
        enough.get_future().wait();
    });
    const pid_t number = thread_is.get_future().get();
    const auto of_thread = read_identity_of_thread("/proc", number);
    enough.set_value();
    thread.join();
    EXPECT_NE(number, getpid());
    ASSERT_TRUE(of_thread) << to_string(of_thread.error());
    EXPECT_EQ(*of_thread, *read_identity("/proc", {getpid(), geteuid(), {}}));
    EXPECT_FALSE(read_identity_of_thread("/proc", number)) << "it has ended";
}

TEST(RealProc, AProcessThatHasEnded)
{
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        _exit(0);
    }
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    const auto identity = read_identity("/proc", {child, 0, {}});
    ASSERT_FALSE(identity);
    EXPECT_EQ(identity.error().code, ErrorCode::Io);
}

}    // namespace
}    // namespace rdmaqos
