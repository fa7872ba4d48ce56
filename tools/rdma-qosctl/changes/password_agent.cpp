#include "tools/rdma-qosctl/changes/password_agent.h"

#include <cerrno>
#include <csignal>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/helper_process.h"
#include "lib/base/signal_process.h"

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
    // Not as a fallback: polkit 122 forgets those of processes that are in no login session.
    const auto started = start_helper({"pkttyagent", "--notify-fd"}, "polkit's agent");
    if (!started) {
        return;
    }
    pid_ = started->pid;
    pollfd registered{started->socket.get(), POLLIN, 0};    // it closes its end then
    while (poll(&registered, 1, kPatienceMs) < 0 && errno == EINTR) {
    }
}

PasswordAgent::~PasswordAgent()
{
    if (pid_ == 0) {
        return;
    }
    signal_process(pid_, SIGTERM);
    signal_process(pid_, SIGCONT);    // it stops where it may not use the terminal
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

}    // namespace rdmaqos::ctl
