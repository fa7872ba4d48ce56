// Whether this machine lets a process have namespaces of its own.
#pragma once

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rdmaqos::test {

// Why a process cannot have these (CLONE_NEW*), as in a chroot; empty: it can.
inline std::string why_no_namespaces(int namespaces)
{
    const pid_t child = fork();
    if (child == 0) {
        _exit(unshare(namespaces) == 0 ? 0 : errno);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
        throw std::runtime_error("no child to try namespaces in");
    }
    return WEXITSTATUS(status) == 0 ? "" : std::strerror(WEXITSTATUS(status));
}

}    // namespace rdmaqos::test
