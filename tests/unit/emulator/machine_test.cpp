// What differs between the machines that the project runs on, x86-64 and arm64, and what must not. Checked when it is
// compiled.
#include <bit>
#include <climits>
#include <cstddef>

#include <linux/seccomp.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "tools/emulator/protocol.h"

namespace rdmaqos::emulator {
namespace {

// Mailboxes, seccomp filters and descriptions of completions take numbers from memory.
static_assert(std::endian::native == std::endian::little);
static_assert(sizeof(long) == 8 && sizeof(void*) == 8);

// Between a program and the emulator, and between libibverbs and the kernel.
static_assert(sizeof(CallHeader) == 16 && offsetof(CallHeader, address) == 8);
static_assert(sizeof(Step) == 24 && offsetof(Step, address) == 8);
static_assert(sizeof(Chunk) == 16 && sizeof(Data) == 8);
static_assert(sizeof(ib_uverbs_ioctl_hdr) == 24 && sizeof(ib_uverbs_attr) == 16);
static_assert(RDMA_VERBS_IOCTL == 0xc0181b01);

// Where filters of system calls look.
static_assert(offsetof(seccomp_data, nr) == 0 && offsetof(seccomp_data, args) == 16);

// A row: what is called by its number, because libc has no function for it, or because its function is another one
// here.
#if defined(__x86_64__)
#define NUMBER(call, x86_64, arm64) static_assert(SYS_##call == (x86_64))
#elif defined(__aarch64__)
#define NUMBER(call, x86_64, arm64) static_assert(SYS_##call == (arm64))
#else
#error "no number of a system call was looked up for this machine"
#endif
NUMBER(close, 3, 57);
NUMBER(ioctl, 16, 29);
NUMBER(capset, 126, 91);
NUMBER(gettid, 186, 178);
NUMBER(openat, 257, 56);
NUMBER(readlinkat, 267, 78);
NUMBER(kcmp, 312, 272);
NUMBER(seccomp, 317, 277);
NUMBER(userfaultfd, 323, 282);
NUMBER(statx, 332, 291);
NUMBER(pidfd_open, 434, 434);
NUMBER(clone3, 435, 435);
NUMBER(pidfd_getfd, 438, 438);
#undef NUMBER

// arm64 has only the newer ones.
#if defined(__aarch64__)
#if defined(SYS_open) || defined(SYS_stat) || defined(SYS_rename) || defined(SYS_fork)
#error "arm64 has no such system calls"
#endif
static_assert(sizeof(struct stat) == 128);
static_assert(CHAR_MIN == 0);
#else
static_assert(sizeof(struct stat) == 144);
static_assert(CHAR_MIN < 0);
#endif

}    // namespace
}    // namespace rdmaqos::emulator
