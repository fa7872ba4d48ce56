// The running kernel's version, as far as its interfaces depend on it.
#pragma once

#include <cstdio>
#include <string>
#include <utility>

#include <sys/utsname.h>

namespace rdmaqos::test {

// {6, 12} of "6.12.118+deb13-amd64".
inline std::pair<unsigned, unsigned> kernel_version()
{
    utsname names{};
    std::pair<unsigned, unsigned> version;
    if (uname(&names) == 0) {
        (void)std::sscanf(names.release, "%u.%u", &version.first, &version.second);
    }
    return version;
}

// Whether a socket gives the very process that connected, and not its number alone: since Linux 6.5.
inline bool kernel_tells_who_connected()
{
    return kernel_version() >= std::pair(6U, 5U);
}

}    // namespace rdmaqos::test
