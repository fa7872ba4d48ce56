#include "lib/base/helper_process.h"

#include <cerrno>
#include <csignal>

#include <fmt/format.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

namespace rdmaqos {
namespace {

constexpr int kSocketOfHelper = 3;

// 0, or an errno.
int spawn(std::vector<std::string>& command, const UniqueFd& socket, pid_t& pid)
{
    std::vector<char*> arguments;
    arguments.reserve(command.size() + 1);
    for (auto& word : command) {
        arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, socket.get(), kSocketOfHelper);
    // The helper gets nothing else of ours, whatever was inherited or opened by a library. Its copies are closed when
    // it has become another program: before, this thread waits for it, and a copy may by then be the last of a
    // descriptor that hangs when it is closed.
    close_range(kSocketOfHelper, ~0U, CLOSE_RANGE_CLOEXEC);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t no_signals;
    sigemptyset(&no_signals);
    posix_spawnattr_setsigmask(&attributes, &no_signals);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    const int error = posix_spawnp(&pid, arguments.front(), &actions, &attributes, arguments.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

}    // namespace

Result<HelperProcess> start_helper(std::vector<std::string> command, std::string_view what)
{
    const auto cannot = [what](int error) {
        return fail(error_from_errno(ErrorCode::Io, error, fmt::format("{} cannot be started", what)));
    };
    int ends[2];
    if (command.empty()) {
        return cannot(ENOENT);
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        return cannot(errno);
    }
    HelperProcess helper;
    helper.socket = UniqueFd(ends[0]);
    const UniqueFd theirs(ends[1]);
    command.push_back(std::to_string(kSocketOfHelper));
    if (const int error = spawn(command, theirs, helper.pid); error != 0) {
        return cannot(error);
    }
    return helper;
}

}    // namespace rdmaqos
