// The size of a page of memory: 4 KiB on x86-64, up to 64 KiB on arm64. The kernel maps, guards and compares in these
// units, and gives programs doorbell pages of this size.
#pragma once

#include <cstddef>

#include <unistd.h>

namespace rdmaqos::emulator {

inline std::size_t page_size()
{
    static const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return size;
}

}    // namespace rdmaqos::emulator
