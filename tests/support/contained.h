// The root of a container: uid 0, in the host's user namespace, with nothing else of root.
#pragma once

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rdmaqos::test {

// Gives up these capabilities (a bit each) for good, in this process and what it starts. False: it cannot.
inline bool give_up_capabilities(unsigned long long given_up)
{
    for (int capability = 0; prctl(PR_CAPBSET_READ, capability) >= 0; ++capability) {
        if ((given_up >> static_cast<unsigned>(capability) & 1U) != 0 && prctl(PR_CAPBSET_DROP, capability) != 0) {
            return false;
        }
    }
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[2] = {};
    if (syscall(SYS_capget, &header, data) != 0) {
        return false;
    }
    for (int half = 0; half < 2; ++half) {
        const auto kept = static_cast<unsigned>(~given_up >> (32U * static_cast<unsigned>(half)));
        data[half].effective &= kept;
        data[half].permitted &= kept;
        data[half].inheritable = 0;
    }
    return syscall(SYS_capset, &header, data) == 0;
}

// As `docker run --cap-drop ALL --security-opt no-new-privileges` makes it.
inline bool become_contained_root()
{
    return geteuid() == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && give_up_capabilities(~0ULL);
}

}    // namespace rdmaqos::test
