// Layouts of cgroups as the kernel shows them: each is made in a cgroup namespace of its own, with a process in each
// place, and the daemon's reader of /proc is asked who that is.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/signal_process.h"
#include "policy/model/identity.h"
#include "policy/model/lower.h"
#include "tests/support/cgroup_layouts.h"
#include "tests/support/temp_dir.h"

namespace rdmaqos {
namespace {

namespace fs = std::filesystem;

constexpr int kPassed = 0;
constexpr int kFailed = 1;
constexpr int kCannot = 2;
constexpr int kNotHere = 3;

// What the child, which lives in namespaces of its own, has to say.
class Notes {
public:
    Notes()
    {
        if (pipe(ends_.data()) != 0) {
            throw std::runtime_error("pipe");
        }
    }
    void write(const std::string& text) const { static_cast<void>(!::write(ends_[1], text.data(), text.size())); }
    std::string read()
    {
        close(ends_[1]);
        std::string all;
        std::array<char, 4096> buffer{};
        for (ssize_t count = 0; (count = ::read(ends_[0], buffer.data(), buffer.size())) > 0;) {
            all.append(buffer.data(), static_cast<std::size_t>(count));
        }
        close(ends_[0]);
        return all;
    }

private:
    std::array<int, 2> ends_{};
};

bool enter(const fs::path& cgroup, pid_t pid)
{
    std::ofstream procs(cgroup / "cgroup.procs");
    procs << pid << std::flush;
    return procs.good();
}

bool mount_hierarchy(const std::string& hierarchy, const fs::path& at)
{
    fs::create_directories(at);
    return hierarchy == "v2" ? mount("none", at.c_str(), "cgroup2", 0, nullptr) == 0
                             : mount("none", at.c_str(), "cgroup", 0, "none,name=rdmaqos-test") == 0;
}

// Stays in its cgroup until it is killed.
pid_t start_in(const fs::path& cgroup)
{
    const pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) {
            pause();
        }
    }
    return enter(cgroup, pid) ? pid : -1;
}

std::string principal_of(const Identity& identity)
{
    for (const FairBy fair_by : {FairBy::SlurmJob, FairBy::KubernetesPod}) {
        auto segment = principal_segment(fair_by, "", identity, QueuePairId{1});
        if (!segment.starts_with("pid:")) {
            return segment;
        }
    }
    return "-";
}

void remove_cgroups(const fs::path& root)
{
    std::vector<fs::path> folders;
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
        if (entry.is_directory()) {
            folders.push_back(entry.path());
        }
    }
    std::sort(folders.rbegin(), folders.rend());
    for (const auto& folder : folders) {
        rmdir(folder.c_str());
    }
}

// In the child. The new namespace begins at a cgroup of the test's own, so that paths are those of a whole host.
int play(const test::CgroupLayout& layout, const fs::path& folder, const Notes& notes)
{
    const auto cannot = [&](const char* what) {
        notes.write(fmt::format("{}: {}", what, std::strerror(errno)));
        return kCannot;
    };
    if (unshare(CLONE_NEWNS) != 0) {
        return cannot("a mount namespace");
    }
    if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
        if (errno != EINVAL) {
            return cannot("a mount namespace");
        }
        notes.write("the root is no mount point, as in a chroot, so mounts could be seen outside");
        return kNotHere;
    }
    const fs::path whole = folder / "whole";
    if (!mount_hierarchy(layout.hierarchy, whole)) {
        return cannot("a hierarchy of cgroups");
    }
    const fs::path own = whole / fmt::format("rdmaqos-test-{}", getpid());
    if (mkdir(own.c_str(), 0755) != 0 || !enter(own, getpid())) {
        return cannot("a cgroup");
    }
    if (unshare(CLONE_NEWCGROUP) != 0) {
        return cannot("a cgroup namespace");
    }
    int result = layout.processes.empty() ? kFailed : kPassed;
    for (const auto& process : layout.processes) {
        const fs::path cgroup = own / fs::path(process.path).relative_path();
        fs::create_directories(cgroup);
        const pid_t pid = start_in(cgroup);
        const auto identity = pid < 0 ? fail(ErrorCode::Io, "no process in the cgroup")
                                      : read_identity("/proc", {pid, 0, {0}});
        const std::string seen = identity ? principal_of(*identity) : to_string(identity.error());
        const std::string path = identity && layout.hierarchy == "v2" ? identity->cgroup : process.path;
        if (seen != process.principal || path != process.path) {
            notes.write(fmt::format("{}: {} instead of {} at {}\n", process.path, seen, process.principal, path));
            result = kFailed;
        }
        if (pid > 0) {
            signal_process(pid, SIGKILL);
            waitpid(pid, nullptr, 0);
        }
    }
    enter(whole, getpid());
    remove_cgroups(own);
    rmdir(own.c_str());
    return result;
}

class CgroupLayouts : public testing::TestWithParam<const char*> {};

TEST_P(CgroupLayouts, AreKnownAsTheKernelShowsThem)
{
    const auto layout = test::read_layout(GetParam());
    const test::TempDir folder;
    Notes notes;
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        _exit(play(layout, folder.path(), notes));
    }
    const std::string said = notes.read();
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << said;
    if (WEXITSTATUS(status) == kCannot && geteuid() != 0) {
        GTEST_SKIP() << "only root can make " << said;
    }
    if (WEXITSTATUS(status) == kNotHere) {
        GTEST_SKIP() << said;
    }
    EXPECT_EQ(WEXITSTATUS(status), kPassed) << said;
}

INSTANTIATE_TEST_SUITE_P(All, CgroupLayouts, testing::ValuesIn(test::kCgroupLayouts), [](const auto& param) {
    std::string name = param.param;
    std::ranges::replace(name, '-', '_');
    return name;
});

}    // namespace
}    // namespace rdmaqos
