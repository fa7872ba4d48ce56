// A signal to one process. The only place that calls kill(2), which takes 0 for the caller's group and -1 for everyone:
// what fork(2) returns where it fails, and what is read of a process that has ended meanwhile.
#pragma once

#include <cerrno>
#include <csignal>

#include <sys/types.h>

namespace rdmaqos {

// False: errno says why; of no process, ESRCH.
inline bool signal_process(pid_t process, int number)
{
    if (process <= 0) {
        errno = ESRCH;
        return false;
    }
    return kill(process, number) == 0;
}

}    // namespace rdmaqos
