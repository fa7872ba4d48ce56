#include "tools/rdma-qosctl/request/child.h"

#include <cerrno>
#include <csignal>

#include <fmt/format.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/signal_process.h"
#include "lib/base/text.h"
#include "lib/base/try.h"

namespace rdmaqos::ctl {
namespace {

constexpr int kSignalOffset = 128;

sigset_t ending_signals()
{
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
        sigaddset(&set, signal);
    }
    return set;
}

Error system_error(int err, std::string_view what)
{
    return error_from_errno(ErrorCode::Io, err, what);
}

Result<pid_t> spawn(const std::vector<std::string>& command, const sigset_t& mask)
{
    std::vector<char*> arguments;
    for (const auto& argument : command) {
        arguments.push_back(const_cast<char*>(argument.c_str()));    // NOLINT: as posix_spawn wants it, not written to
    }
    arguments.push_back(nullptr);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attributes, &mask);
    pid_t pid = 0;
    const int result = posix_spawnp(&pid, arguments.front(), nullptr, &attributes, arguments.data(), environ);
    posix_spawnattr_destroy(&attributes);
    if (result != 0) {
        return fail(system_error(result, fmt::format("{} cannot be started", printable(command.front()))));
    }
    return pid;
}

bool add_to_poll(int poll, int fd)
{
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    return epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event) == 0;
}

}    // namespace

Result<Child> Child::start(const std::vector<std::string>& command)
{
    Child child;
    const sigset_t set = ending_signals();
    sigset_t before;
    sigprocmask(SIG_BLOCK, &set, &before);
    child.signals_ = UniqueFd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    child.poll_ = UniqueFd(epoll_create1(EPOLL_CLOEXEC));
    if (!child.signals_ || !child.poll_ || !add_to_poll(child.poll_.get(), child.signals_.get())) {
        return fail(system_error(errno, "waiting for signals"));
    }
    if (command.empty()) {
        return child;
    }
    auto pid = TRY(spawn(command, before));
    child.pid_ = pid;
    child.process_ = UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    if (!child.process_ || !add_to_poll(child.poll_.get(), child.process_.get())) {
        return fail(system_error(errno, "waiting for the command"));
    }
    return child;
}

std::optional<int> Child::handle()
{
    signalfd_siginfo info{};
    while (read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
        const auto signal = static_cast<int>(info.ssi_signo);
        if (pid_ == 0) {
            return kSignalOffset + signal;
        }
        if (info.ssi_code != SI_KERNEL) {
            signal_process(pid_, signal);
        }
    }
    if (pid_ == 0) {
        return std::nullopt;
    }
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) != pid_) {
        return std::nullopt;
    }
    return WIFSIGNALED(status) ? kSignalOffset + WTERMSIG(status) : WEXITSTATUS(status);
}

int Child::wait()
{
    while (true) {
        if (const auto status = handle()) {
            return *status;
        }
        epoll_event event{};
        epoll_wait(poll_.get(), &event, 1, -1);
    }
}

}    // namespace rdmaqos::ctl
