// How a function of libc is stood before. What is exported here calls the next one of its name.
#pragma once

#include <dlfcn.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace rdmaqos::emulator {

template <typename Function>
Function next(const char* name)
{
    return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}    // namespace rdmaqos::emulator

#define NEXT(name) static const auto real = rdmaqos::emulator::next<decltype(&name)>(#name)
