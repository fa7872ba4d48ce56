// The system calls that tests stop at: what a daemon does to files, descriptors, memory, devices and other processes.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <sys/syscall.h>

namespace rdmaqos::test {

// What a call can run out of.
enum class Resource : std::uint8_t { None, Descriptors, Memory };

struct WatchedCall {
    long number = 0;
    std::string_view name;
    Resource needs = Resource::None;
    int file_argument = -1;    // which of its arguments is a descriptor that says what the call is about
    bool changes = false;      // it changes something that outlives the process, or that others see
};

// Not brk: it fails with another answer than an errno, and malloc then takes mmap.
inline constexpr std::array kWatchedCalls{
    WatchedCall{SYS_openat, "openat", Resource::Descriptors, -1, true},
    WatchedCall{SYS_socket, "socket", Resource::Descriptors, -1, false},
    WatchedCall{SYS_socketpair, "socketpair", Resource::Descriptors, -1, false},
    WatchedCall{SYS_accept4, "accept4", Resource::Descriptors, -1, false},
    WatchedCall{SYS_dup, "dup", Resource::Descriptors, 0, false},
    WatchedCall{SYS_fcntl, "fcntl", Resource::Descriptors, 0, false},    // only those that make a descriptor
    WatchedCall{SYS_pipe2, "pipe2", Resource::Descriptors, -1, false},
    WatchedCall{SYS_eventfd2, "eventfd2", Resource::Descriptors, -1, false},
    WatchedCall{SYS_epoll_create1, "epoll_create1", Resource::Descriptors, -1, false},
    WatchedCall{SYS_timerfd_create, "timerfd_create", Resource::Descriptors, -1, false},
    WatchedCall{SYS_inotify_init1, "inotify_init1", Resource::Descriptors, -1, false},
    WatchedCall{SYS_pidfd_open, "pidfd_open", Resource::Descriptors, -1, false},
    WatchedCall{SYS_pidfd_getfd, "pidfd_getfd", Resource::Descriptors, -1, false},
    WatchedCall{SYS_memfd_create, "memfd_create", Resource::Descriptors, -1, true},
    WatchedCall{SYS_mmap, "mmap", Resource::Memory, 4, false},
    WatchedCall{SYS_mremap, "mremap", Resource::Memory, -1, false},
    WatchedCall{SYS_clone, "clone", Resource::Memory, -1, false},
#ifdef SYS_clone3
    WatchedCall{SYS_clone3, "clone3", Resource::Memory, -1, false},
#endif
    WatchedCall{SYS_fallocate, "fallocate", Resource::Memory, 0, false},
    WatchedCall{SYS_write, "write", Resource::None, 0, true},
    WatchedCall{SYS_writev, "writev", Resource::None, 0, true},
    WatchedCall{SYS_pwrite64, "pwrite64", Resource::None, 0, true},
    WatchedCall{SYS_ftruncate, "ftruncate", Resource::None, 0, true},
    WatchedCall{SYS_fsync, "fsync", Resource::None, 0, true},
    WatchedCall{SYS_renameat2, "renameat2", Resource::None, -1, true},
    WatchedCall{SYS_unlinkat, "unlinkat", Resource::None, -1, true},
    WatchedCall{SYS_mkdirat, "mkdirat", Resource::None, -1, true},
#ifdef SYS_renameat    // what rename() of libc calls where there is no SYS_rename, as on arm64
    WatchedCall{SYS_renameat, "renameat", Resource::None, -1, true},
#endif
#ifdef SYS_rename
    WatchedCall{SYS_rename, "rename", Resource::None, -1, true},
    WatchedCall{SYS_unlink, "unlink", Resource::None, -1, true},
    WatchedCall{SYS_mkdir, "mkdir", Resource::None, -1, true},
#endif
    WatchedCall{SYS_sendmsg, "sendmsg", Resource::None, 0, true},
    WatchedCall{SYS_sendto, "sendto", Resource::None, 0, true},
    WatchedCall{SYS_ioctl, "ioctl", Resource::None, 0, true},
};

}    // namespace rdmaqos::test
