// A kernel before Linux 6.5, as far as this project notices: a unix socket does not give the pidfd of its peer.
#pragma once

#include <cerrno>
#include <cstddef>
#include <stdexcept>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

namespace rdmaqos::test {

// For this thread from now on, and for all that it starts.
inline void play_old_kernel()
{
    constexpr unsigned kPeerPidfd = 77;    // SO_PEERPIDFD
    constexpr auto kOption = offsetof(seccomp_data, args) + 2 * sizeof(seccomp_data::args[0]);
    sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_getsockopt, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kOption),    // the lower half, on the machines we know
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kPeerPidfd, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOPROTOOPT),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{static_cast<unsigned short>(sizeof(steps) / sizeof(steps[0])), steps};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        throw std::runtime_error("no filter for system calls");
    }
}

}    // namespace rdmaqos::test
