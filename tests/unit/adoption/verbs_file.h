// Programs with device files of RDMA, for which /dev/null and /dev/zero stand: by what /sys says, which is made up,
// they are the files of two RDMA devices.
#pragma once

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/adoption/ability.h"
#include "daemon/adoption/program.h"
#include "lib/base/signal_process.h"
#include "tests/support/temp_dir.h"

namespace rdmaqos::test {

inline UniqueFd open_device(const char* path)
{
    return UniqueFd(open(path, O_RDWR | O_CLOEXEC));
}

inline dev_t number_of(const char* path)
{
    struct stat status {};
    return stat(path, &status) == 0 ? status.st_rdev : 0;
}

// This process, or a child.
inline std::shared_ptr<const Identity> identity_of(pid_t pid)
{
    auto identity = std::make_shared<Identity>();
    identity->pid = pid;
    identity->start_time = read_start_time("/proc", pid).value_or(0);
    identity->uid = 1000;
    return identity;
}

// A child that does nothing until it is told to end.
class IdleChild {
public:
    // `prepare` is run in it, first.
    explicit IdleChild(const std::function<void()>& prepare = {})
    {
        int ready[2] = {-1, -1};
        EXPECT_EQ(pipe(ready), 0);
        pid_ = fork();
        if (pid_ == 0) {
            if (prepare) {
                prepare();
            }
            static_cast<void>(!write(ready[1], "r", 1));
            while (true) {
                pause();
            }
        }
        char byte = 0;
        EXPECT_EQ(read(ready[0], &byte, 1), 1);
        close(ready[0]);
        close(ready[1]);
    }
    ~IdleChild() { end(); }
    IdleChild(const IdleChild&) = delete;
    IdleChild& operator=(const IdleChild&) = delete;

    [[nodiscard]] pid_t pid() const { return pid_; }
    // It is dead then, and with `reaped` nobody has its pid.
    void end(bool reaped = true)
    {
        if (pid_ <= 0) {
            return;
        }
        signal_process(pid_, SIGKILL);
        siginfo_t info{};
        waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | (reaped ? 0 : WNOWAIT));
        pid_ = reaped ? -1 : pid_;
    }

private:
    pid_t pid_ = -1;
};

// The exit status of `function`, called in a child as an ordinary user; -1: there cannot be one.
inline int as_ordinary_user(const std::function<int()>& function)
{
    const pid_t child = fork();
    if (child == 0) {
        _exit(setresuid(65534, 65534, 65534) == 0 ? function() : 99);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class VerbsFiles : public ::testing::Test {
protected:
    void SetUp() override
    {
        if (const auto why = why_not(adoption_ability()); !why.empty()) {
            GTEST_SKIP() << why;
        }
        sys_.write("class/infiniband_verbs/uverbs0/dev", "1:3\n");
        sys_.write("class/infiniband_verbs/uverbs1/dev", "1:5\n");
        setenv("SYSFS_PATH", sys_.path().c_str(), 1);
        ASSERT_EQ(number_of("/dev/null"), makedev(1, 3));
    }
    void TearDown() override { unsetenv("SYSFS_PATH"); }

    static std::shared_ptr<const Program> program(pid_t pid = getpid())
    {
        auto opened = Program::open(identity_of(pid));
        EXPECT_TRUE(opened);
        return opened ? *opened : nullptr;
    }

private:
    TempDir sys_;
};

}    // namespace rdmaqos::test
