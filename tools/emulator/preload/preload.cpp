// librdmaqos-emulator-preload.so: makes /dev/infiniband/uverbsN of this process a connection to rdma-qos-emulator.
//
// Only libc is used: the library is loaded into programs of any kind. Here is what opens, uses and closes a device;
// looking.cpp has what sees one, uevents.cpp the sockets for uevents, dcb.cpp those for DCB.
#include <cerrno>
#include <cstdarg>
#include <cstdint>

#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sockios.h>
#include <linux/userfaultfd.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/emulator/conversation.h"
#include "tools/emulator/preload/connect.h"
#include "tools/emulator/preload/next.h"
#include "tools/emulator/preload/recognition.h"
#include "tools/emulator/preload/statistics.h"
#include "tools/emulator/protocol.h"

using namespace rdmaqos::emulator;

namespace rdmaqos::emulator {

int connect_to(const char* name, int index, bool close_on_exec, bool nonblocking)
{
    NEXT(socket);
    sockaddr_un address{};
    if (!socket_path(address, name, index)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    const int type = SOCK_SEQPACKET | (close_on_exec ? SOCK_CLOEXEC : 0);
    const int fd = real(AF_UNIX, type, 0);
    if (fd < 0) {
        return -1;
    }
    if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
        const int failure = errno;
        close(fd);
        errno = failure == ECONNREFUSED ? ENXIO : failure;    // as a device that is gone
        return -1;
    }
    if (nonblocking) {
        fcntl(fd, F_SETFL, O_NONBLOCK);
    }
    return fd;
}

}    // namespace rdmaqos::emulator

namespace {

constexpr int kNetlinkRdma = 20;

int open_device(int index, int flags)
{
    return connect_to("uverbs", index, (flags & O_CLOEXEC) != 0, (flags & O_NONBLOCK) != 0);
}

}    // namespace

// ---- opening ----

#define DEFINE_OPEN(name)                                                                                              \
    EXPORT int name(const char* path, int flags, ...)                                                                  \
    {                                                                                                                  \
        NEXT(name);                                                                                                    \
        if (const int index = index_of_path(path); index >= 0) {                                                       \
            return open_device(index, flags);                                                                          \
        }                                                                                                              \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        const mode_t mode = va_arg(rest, mode_t);                                                                      \
        va_end(rest);                                                                                                  \
        return real(path, flags, mode);                                                                                \
    }

DEFINE_OPEN(open)
DEFINE_OPEN(open64)

#define DEFINE_OPENAT(name)                                                                                            \
    EXPORT int name(int folder, const char* path, int flags, ...)                                                      \
    {                                                                                                                  \
        NEXT(name);                                                                                                    \
        if (const int index = index_of_path(path); index >= 0) {                                                       \
            return open_device(index, flags);                                                                          \
        }                                                                                                              \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        const mode_t mode = va_arg(rest, mode_t);                                                                      \
        va_end(rest);                                                                                                  \
        return real(folder, path, flags, mode);                                                                        \
    }

DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)

// What fortified programs call; no header declares them without fortification.
extern "C" int __open_2(const char* path, int flags);
extern "C" int __open64_2(const char* path, int flags);

#define DEFINE_OPEN_2(name)                                                                                            \
    EXPORT int name(const char* path, int flags)                                                                       \
    {                                                                                                                  \
        NEXT(name);                                                                                                    \
        const int index = index_of_path(path);                                                                         \
        return index >= 0 ? open_device(index, flags) : real(path, flags);                                             \
    }

DEFINE_OPEN_2(__open_2)
DEFINE_OPEN_2(__open64_2)
// ---- closing ----

namespace {

// Found before the program starts: it closes descriptors between fork and exec, where looking for a symbol could wait
// for ever for a lock of a thread that is not there.
int (*next_close)(int) = nullptr;

__attribute__((constructor)) void find_close()
{
    next_close = next<decltype(&close)>("close");
}

// Whether one of the first descriptors of the process is of the same file: then this one is not the last.
bool has_a_twin(int fd)
{
    constexpr int kLookedAt = 48;
    const std::uint64_t number = socket_number(fd);
    for (int other = 0; other < kLookedAt; ++other) {
        if (other != fd && socket_number(other) == number) {
            return true;
        }
    }
    return false;
}

}    // namespace

// The last one blocks until the emulator has destroyed everything. That of a process that ends does not, and other
// ways to close (close_range, dup2 over a descriptor) do not either, nor does one that races with the close of a twin.
EXPORT int close(int fd)
{
    if (next_close == nullptr) {
        find_close();
    }
    return index_of_descriptor(fd) >= 0 && !has_a_twin(fd) ? close_file(fd, next_close) : next_close(fd);
}

// ---- using ----

EXPORT int ioctl(int fd, unsigned long request, ...)
{
    NEXT(ioctl);
    va_list rest;
    va_start(rest, request);
    void* argument = va_arg(rest, void*);
    va_end(rest);
    if (request == RDMA_VERBS_IOCTL && argument != nullptr && index_of_descriptor(fd) >= 0) {
        const int error = call(fd, argument);
        if (error != 0) {
            errno = error;
        }
        return error == 0 ? 0 : -1;
    }
    if (request == SIOCETHTOOL && argument != nullptr && directory() != nullptr) {
        const int connection = connect_to("netlink", -1, true, false);
        const int error = connection < 0 ? -1 : answer_statistics(connection, argument);
        if (connection >= 0) {
            close(connection);
        }
        if (error == 0) {
            return 0;
        }
        if (error > 0) {
            errno = error;
            return -1;
        }
    }
    if (index_of_descriptor(fd) >= 0) {
        errno = ENOTTY;
        return -1;
    }
    return real(fd, request, argument);
}

// ---- mapping ----

namespace {

// By which the emulator learns of the first store after it has guarded the page; -1.
int watch_stores(void* page, size_t length)
{
    const int fd = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY));
    uffdio_api api{};
    api.api = UFFD_API;
    api.features = UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_WP_HUGETLBFS_SHMEM;
    uffdio_register range{};
    range.range = {reinterpret_cast<std::uint64_t>(page), length};
    range.mode = UFFDIO_REGISTER_MODE_WP;
    if (fd >= 0 &&
        (syscall(SYS_ioctl, fd, UFFDIO_API, &api) != 0 || syscall(SYS_ioctl, fd, UFFDIO_REGISTER, &range) != 0)) {
        close(fd);
        return -1;
    }
    return fd;
}

void send_watcher(int conversation, void* page, size_t length)
{
    std::uint64_t address = reinterpret_cast<std::uint64_t>(page);
    iovec parts[1] = {{&address, sizeof(address)}};
    *static_cast<volatile char*>(page) = 0;    // what is not there cannot be guarded
    const int watcher = watch_stores(page, length);
    if (watcher >= 0) {
        send_opening(conversation, parts, {watcher});
        close(watcher);
    } else {
        send(conversation, &address, sizeof(address), MSG_NOSIGNAL);
    }
}

// Doorbells are memory that the emulator has, too; the clock page is nobody's. `map` does it.
template <typename Map>
void* map_page(int file, std::uint64_t offset, size_t length, Map map)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        return MAP_FAILED;
    }
    CallHeader header;
    header.magic = kMapMagic;
    header.address = offset;
    iovec parts[1] = {{&header, sizeof(header)}};
    const bool sent = send_opening(file, parts, {ends[1]});
    close(ends[1]);
    char byte = 0;
    iovec answer[1] = {{&byte, sizeof(byte)}};
    int memory = -1;
    if (sent) {
        receive_message(ends[0], answer, memory);
    }
    void* const mapped = map(memory);
    if (memory >= 0) {
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);    // its memory is read and written as a device does
        close(memory);
        if (mapped != MAP_FAILED) {
            send_watcher(ends[0], mapped, length);
        }
    }
    close(ends[0]);
    return mapped;
}

}    // namespace

#define DEFINE_MMAP(name, offset_type)                                                                                 \
    EXPORT void* name(void* address, size_t length, int protection, int flags, int fd, offset_type offset)             \
    {                                                                                                                  \
        NEXT(name);                                                                                                    \
        if (fd >= 0 && (flags & MAP_ANONYMOUS) == 0 && index_of_descriptor(fd) >= 0) {                                 \
            return map_page(fd, static_cast<std::uint64_t>(offset), length, [&](int memory) {                          \
                return memory < 0 ? real(address, length, protection, flags | MAP_ANONYMOUS, -1, 0)                    \
                                  : real(address, length, protection, flags, memory, 0);                               \
            });                                                                                                        \
        }                                                                                                              \
        return real(address, length, protection, flags, fd, offset);                                                   \
    }

DEFINE_MMAP(mmap, off_t)
DEFINE_MMAP(mmap64, off64_t)

EXPORT int socket(int domain, int type, int protocol)
{
    NEXT(socket);
    const char* name = protocol == kNetlinkRdma ? "netlink" : protocol == NETLINK_KOBJECT_UEVENT ? "uevent" : nullptr;
    if (domain == AF_NETLINK && name != nullptr && directory() != nullptr) {
        const int fd = connect_to(name, -1, (type & SOCK_CLOEXEC) != 0, (type & SOCK_NONBLOCK) != 0);
        if (fd < 0) {
            errno = EPROTONOSUPPORT;
        }
        return fd;
    }
    return real(domain, type, protocol);
}
