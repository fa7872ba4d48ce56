#include "tools/rdma-qosctl/output/pager.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rdmaqos::ctl {
namespace {

// Where there is no pager: what comes, as it comes.
[[noreturn]] void copy_input()
{
    std::array<char, 4096> buffer{};
    for (;;) {
        const ssize_t count = read(STDIN_FILENO, buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0 || write(STDOUT_FILENO, buffer.data(), static_cast<std::size_t>(count)) != count) {
            _exit(count == 0 ? 0 : 1);
        }
    }
}

[[noreturn]] void run_pager(const char* command)
{
    // F: end if all fits; R: colours; S: long lines are cut; X: leave the text there; M: say how far; K: end by ctrl-c.
    setenv("LESS", "FRSXMK", 0);
    if (getenv("SUDO_UID") != nullptr) {
        setenv("LESSSECURE", "1", 1);
    }
    if (command != nullptr) {
        execl("/bin/sh", "sh", "-c", command, nullptr);
    }
    execlp("less", "less", nullptr);
    execlp("more", "more", nullptr);
    copy_input();
}

}    // namespace

Pager::Pager()
{
    const char* command = std::getenv("PAGER");
    const bool unwanted = command != nullptr && (*command == '\0' || std::string_view(command) == "cat");
    std::array<int, 2> ends{};
    if (unwanted || isatty(STDOUT_FILENO) != 1 || pipe2(ends.data(), O_CLOEXEC) != 0) {
        return;
    }
    const UniqueFd for_pager(ends[0]);
    const UniqueFd for_us(ends[1]);
    UniqueFd terminal(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
    pid_ = terminal ? fork() : -1;
    if (pid_ == 0) {
        dup2(for_pager.get(), STDIN_FILENO);
        run_pager(command);
    }
    if (pid_ < 0) {
        pid_ = 0;
        return;
    }
    terminal_ = std::move(terminal);
    dup2(for_us.get(), STDOUT_FILENO);
}

Pager::~Pager()
{
    if (pid_ == 0) {
        return;
    }
    std::fflush(stdout);
    dup2(terminal_.get(), STDOUT_FILENO);    // the pager's input ends
    std::signal(SIGINT, SIG_IGN);            // it is the pager's now
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

}    // namespace rdmaqos::ctl
