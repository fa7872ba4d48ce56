#include "tools/rdma-qosctl/commands/password_agent.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <string>

#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>

#include "lib/base/file.h"

namespace rdmaqos::ctl {
namespace {

constexpr int kPatienceMs = 5000;

}    // namespace

bool PasswordAgent::has_somebody_to_ask()
{
    return geteuid() != 0 && isatty(STDIN_FILENO) == 1;
}

PasswordAgent::PasswordAgent()
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return;
    }
    const UniqueFd ready(ends[0]);
    UniqueFd agents(ends[1]);
    // It closes this descriptor when it is registered. Not as a fallback: polkit 122 forgets those of processes that are in
    // no login session.
    std::string number = std::to_string(agents.get());
    std::string program = "pkttyagent";
    std::string notify = "--notify-fd";
    char* arguments[] = {program.data(), notify.data(), number.data(), nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, agents.get(), agents.get());    // kept open in it
    pid_t pid = 0;
    const int result = posix_spawnp(&pid, program.c_str(), &actions, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (result != 0) {
        return;
    }
    pid_ = pid;
    agents.reset();
    pollfd registered{ready.get(), POLLIN, 0};
    while (poll(&registered, 1, kPatienceMs) < 0 && errno == EINTR) {
    }
}

PasswordAgent::~PasswordAgent()
{
    if (pid_ == 0) {
        return;
    }
    kill(pid_, SIGTERM);
    kill(pid_, SIGCONT);    // it stops where it may not use the terminal
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

}    // namespace rdmaqos::ctl
