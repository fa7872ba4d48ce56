// Tests below qemu-user, which runs the programs of another machine on this kernel (tests/arm64/run.sh, which sets
// RDMAQOS_QEMU_USER): what it does not do, each with the tests that need it. They skip there and print why.
#pragma once

#include <cstdlib>

namespace rdmaqos::test::qemu_user {

// Found with qemu 7.2 of Debian 12.
constexpr const char* kNoSeccomp =
    "qemu-user takes no filter of system calls: prctl(PR_SET_SECCOMP) fails, and seccomp() is missing";
constexpr const char* kNoProcessMemory = "qemu-user has no process_vm_readv() and process_vm_writev()";

[[nodiscard]] inline bool is_below()
{
    return std::getenv("RDMAQOS_QEMU_USER") != nullptr;    // NOLINT(concurrency-mt-unsafe): nobody sets it
}

}    // namespace rdmaqos::test::qemu_user

// At the beginning of a test, or of SetUp().
#define RDMAQOS_NOT_BELOW_QEMU_USER(reason)                                                                            \
    if (rdmaqos::test::qemu_user::is_below())                                                                          \
    GTEST_SKIP() << rdmaqos::test::qemu_user::reason
