// librdmaqos-emulator-preload.so: makes /dev/infiniband/uverbsN of this process a connection to rdma-qos-emulator.
//
// Only libc is used: the library is loaded into programs of any kind. A descriptor is recognised by the name of the
// socket at its other end, so it is ours also in a process that was handed it.
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <poll.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include "tools/emulator/conversation.h"
#include "tools/emulator/protocol.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using namespace rdmaqos::emulator;

constexpr const char* kDeviceFolder = "/dev/infiniband/";
constexpr const char* kDevicePrefix = "/dev/infiniband/uverbs";
constexpr int kNetlinkRdma = 20;

// The function that this library stands before.
template <typename Function>
Function next(const char* name)
{
    return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

#define NEXT(name) static const auto real = next<decltype(&name)>(#name)

const char* directory()
{
    static const char* const value = secure_getenv(kDirectoryVariable);
    return value;
}

// -1: not a number.
int parse_index(const char* text, const char* end)
{
    if (text == end || end - text > 4) {
        return -1;
    }
    int value = 0;
    for (; text != end; ++text) {
        if (*text < '0' || *text > '9') {
            return -1;
        }
        value = value * 10 + (*text - '0');
    }
    return value;
}

// N of "/dev/infiniband/uverbsN"; -1: another path, or there is no emulator.
int index_of_path(const char* path)
{
    if (path == nullptr || directory() == nullptr || strncmp(path, kDevicePrefix, strlen(kDevicePrefix)) != 0) {
        return -1;
    }
    const char* number = path + strlen(kDevicePrefix);
    return parse_index(number, number + strlen(number));
}

bool socket_path(sockaddr_un& address, const char* name, int index)
{
    address = {};
    address.sun_family = AF_UNIX;
    const int length = index < 0 ? snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s.sock", directory(), name)
                                 : snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s%d.sock", directory(),
                                            name, index);
    return length > 0 && static_cast<size_t>(length) < sizeof(address.sun_path);
}

// "uverbs0.sock", "uevent.sock" if the descriptor is a connection to the emulator; null. `peer` is where it is.
const char* name_of_descriptor(int fd, sockaddr_un& peer)
{
    if (directory() == nullptr) {
        return nullptr;
    }
    peer = {};
    socklen_t length = sizeof(peer);
    const int saved = errno;
    const bool connected = getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) == 0;
    errno = saved;
    if (!connected || peer.sun_family != AF_UNIX) {
        return nullptr;
    }
    const size_t folder = strlen(directory());
    const bool ours = strncmp(peer.sun_path, directory(), folder) == 0 && peer.sun_path[folder] == '/';
    return ours ? peer.sun_path + folder + 1 : nullptr;
}

// "uverbs0.7.sock": uverbs0 is its node, and the device has appeared for the seventh time.
struct Socket {
    int index = -1;    // none
    int appearance = -1;
};

Socket parse_socket(const char* name)
{
    Socket socket;
    if (strncmp(name, "uverbs", 6) != 0) {
        return socket;
    }
    const char* index = name + 6;
    const char* dot = strchr(index, '.');
    const char* end = dot != nullptr ? strchr(dot + 1, '.') : nullptr;
    if (end != nullptr && strcmp(end, ".sock") == 0) {
        socket = {parse_index(index, dot), parse_index(dot + 1, end)};
    }
    return socket;
}

// Of a descriptor that is an open device of the emulator.
Socket socket_of_descriptor(int fd)
{
    sockaddr_un peer;
    const char* name = name_of_descriptor(fd, peer);
    return name != nullptr ? parse_socket(name) : Socket();
}

int index_of_descriptor(int fd)
{
    return socket_of_descriptor(fd).index;
}

bool takes_uevents(int fd)
{
    sockaddr_un peer;
    const char* name = name_of_descriptor(fd, peer);
    return name != nullptr && strcmp(name, "uevent.sock") == 0;
}

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

int open_device(int index, int flags)
{
    return connect_to("uverbs", index, (flags & O_CLOEXEC) != 0, (flags & O_NONBLOCK) != 0);
}

void fill_status(const Socket& socket, struct stat& result)
{
    constexpr ino_t kFirstInode = 0x1000;
    result.st_mode = 0666 | S_IFCHR;
    result.st_rdev = makedev(kMajor, kFirstMinor + static_cast<unsigned>(socket.index));
    result.st_ino = kFirstInode + static_cast<ino_t>(socket.appearance);
    result.st_nlink = 1;
    result.st_size = 0;
}

// Fails as the real file would if there is no such device. The node may be there again when a descriptor is of one
// that went: as in the kernel, they have the same number and another inode.
int stat_device(int index, struct stat& result)
{
    NEXT(stat);
    sockaddr_un address{};
    char target[64] = {};
    if (!socket_path(address, "uverbs", index) || real(address.sun_path, &result) != 0 ||
        readlink(address.sun_path, target, sizeof(target) - 1) <= 0) {
        errno = ENOENT;
        return -1;
    }
    fill_status(parse_socket(target), result);
    return 0;
}

// On x86-64 and arm64 both are the same.
static_assert(sizeof(struct stat) == sizeof(struct stat64));

int finish_fstat(int fd, int status, struct stat* result)
{
    if (status == 0 && S_ISSOCK(result->st_mode)) {
        if (const Socket socket = socket_of_descriptor(fd); socket.index >= 0) {
            fill_status(socket, *result);
        }
    }
    return status;
}

}    // namespace

// ---- opening ----

#define DEFINE_OPEN(name)                                                                                             \
    EXPORT int name(const char* path, int flags, ...)                                                                 \
    {                                                                                                                 \
        NEXT(name);                                                                                                   \
        if (const int index = index_of_path(path); index >= 0) {                                                      \
            return open_device(index, flags);                                                                         \
        }                                                                                                             \
        va_list rest;                                                                                                 \
        va_start(rest, flags);                                                                                        \
        const mode_t mode = va_arg(rest, mode_t);                                                                     \
        va_end(rest);                                                                                                 \
        return real(path, flags, mode);                                                                               \
    }

DEFINE_OPEN(open)
DEFINE_OPEN(open64)

#define DEFINE_OPENAT(name)                                                                                           \
    EXPORT int name(int folder, const char* path, int flags, ...)                                                     \
    {                                                                                                                 \
        NEXT(name);                                                                                                   \
        if (const int index = index_of_path(path); index >= 0) {                                                      \
            return open_device(index, flags);                                                                         \
        }                                                                                                             \
        va_list rest;                                                                                                 \
        va_start(rest, flags);                                                                                        \
        const mode_t mode = va_arg(rest, mode_t);                                                                     \
        va_end(rest);                                                                                                 \
        return real(folder, path, flags, mode);                                                                       \
    }

DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)

// What fortified programs call; no header declares them without fortification.
extern "C" int __open_2(const char* path, int flags);
extern "C" int __open64_2(const char* path, int flags);

#define DEFINE_OPEN_2(name)                                                                                           \
    EXPORT int name(const char* path, int flags)                                                                      \
    {                                                                                                                 \
        NEXT(name);                                                                                                   \
        const int index = index_of_path(path);                                                                        \
        return index >= 0 ? open_device(index, flags) : real(path, flags);                                            \
    }

DEFINE_OPEN_2(__open_2)
DEFINE_OPEN_2(__open64_2)

// ---- looking ----

#define DEFINE_STAT(name, type)                                                                                       \
    EXPORT int name(const char* path, struct type* result)                                                            \
    {                                                                                                                 \
        NEXT(name);                                                                                                   \
        const int index = index_of_path(path);                                                                        \
        return index >= 0 ? stat_device(index, reinterpret_cast<struct stat&>(*result)) : real(path, result);         \
    }

DEFINE_STAT(stat, stat)
DEFINE_STAT(lstat, stat)
DEFINE_STAT(stat64, stat64)
DEFINE_STAT(lstat64, stat64)

#define DEFINE_FSTAT(name, type)                                                                                      \
    EXPORT int name(int fd, struct type* result)                                                                      \
    {                                                                                                                 \
        NEXT(name);                                                                                                   \
        return finish_fstat(fd, real(fd, result), reinterpret_cast<struct stat*>(result));                            \
    }

DEFINE_FSTAT(fstat, stat)
DEFINE_FSTAT(fstat64, stat64)

#define DEFINE_FSTATAT(name, type)                                                                                    \
    EXPORT int name(int folder, const char* path, struct type* result, int flags)                                     \
    {                                                                                                                 \
        NEXT(name);                                                                                                   \
        if (const int index = index_of_path(path); index >= 0) {                                                      \
            return stat_device(index, reinterpret_cast<struct stat&>(*result));                                       \
        }                                                                                                             \
        const int status = real(folder, path, result, flags);                                                         \
        const bool of_descriptor = (flags & AT_EMPTY_PATH) != 0 && path != nullptr && *path == '\0';                   \
        return of_descriptor ? finish_fstat(folder, status, reinterpret_cast<struct stat*>(result)) : status;         \
    }

DEFINE_FSTATAT(fstatat, stat)
DEFINE_FSTATAT(fstatat64, stat64)

// coreutils and Rust programs ask this way.
EXPORT int statx(int folder, const char* path, int flags, unsigned mask, struct statx* result)
{
    NEXT(statx);
    const int index = index_of_path(path);
    struct stat device {};
    if (index < 0) {
        const int status = real(folder, path, flags, mask, result);
        const bool of_descriptor = (flags & AT_EMPTY_PATH) != 0 && path != nullptr && *path == '\0';
        const Socket socket = status == 0 && of_descriptor && S_ISSOCK(result->stx_mode) ? socket_of_descriptor(folder)
                                                                                         : Socket();
        if (socket.index < 0) {
            return status;
        }
        device.st_uid = result->stx_uid;
        device.st_gid = result->stx_gid;
        fill_status(socket, device);
    } else if (stat_device(index, device) != 0) {
        return -1;
    } else {
        *result = {};
    }
    result->stx_mask |= STATX_TYPE | STATX_MODE | STATX_UID | STATX_GID | STATX_INO;
    result->stx_ino = device.st_ino;
    result->stx_mode = static_cast<std::uint16_t>(device.st_mode);
    result->stx_uid = device.st_uid;
    result->stx_gid = device.st_gid;
    result->stx_nlink = 1;
    result->stx_size = 0;
    result->stx_rdev_major = major(device.st_rdev);
    result->stx_rdev_minor = minor(device.st_rdev);
    return 0;
}

// Programs built against glibc before 2.33.
extern "C" int __xstat(int version, const char* path, struct stat* result);
extern "C" int __lxstat(int version, const char* path, struct stat* result);
extern "C" int __fxstat(int version, int fd, struct stat* result);
extern "C" int __xstat64(int version, const char* path, struct stat64* result);
extern "C" int __lxstat64(int version, const char* path, struct stat64* result);
extern "C" int __fxstat64(int version, int fd, struct stat64* result);

#define DEFINE_XSTAT(name, type)                                                                                      \
    EXPORT int name(int version, const char* path, struct type* result)                                               \
    {                                                                                                                 \
        NEXT(name);                                                                                                   \
        const int index = index_of_path(path);                                                                        \
        return index >= 0 ? stat_device(index, reinterpret_cast<struct stat&>(*result))                               \
                          : real(version, path, result);                                                              \
    }

DEFINE_XSTAT(__xstat, stat)
DEFINE_XSTAT(__lxstat, stat)
DEFINE_XSTAT(__xstat64, stat64)
DEFINE_XSTAT(__lxstat64, stat64)

#define DEFINE_FXSTAT(name, type)                                                                                     \
    EXPORT int name(int version, int fd, struct type* result)                                                         \
    {                                                                                                                 \
        NEXT(name);                                                                                                   \
        return finish_fstat(fd, real(version, fd, result), reinterpret_cast<struct stat*>(result));                   \
    }

DEFINE_FXSTAT(__fxstat, stat)
DEFINE_FXSTAT(__fxstat64, stat64)

EXPORT int access(const char* path, int mode)
{
    NEXT(access);
    if (const int index = index_of_path(path); index >= 0) {
        struct stat ignored {};
        return stat_device(index, ignored);
    }
    // There need not be such a folder on a machine without RDMA.
    if (directory() != nullptr && path != nullptr && strncmp(path, kDeviceFolder, strlen(kDeviceFolder) - 1) == 0 &&
        strlen(path) <= strlen(kDeviceFolder)) {
        return 0;
    }
    return real(path, mode);
}

// ---- closing ----

namespace {

// Found before the program starts: it closes descriptors between fork and exec, where looking for a symbol could wait for
// ever for a lock of a thread that is not there.
int (*next_close)(int) = nullptr;

__attribute__((constructor)) void find_close()
{
    next_close = next<decltype(&close)>("close");
}

// The number of the socket behind a descriptor, as other descriptors of the same one have it; 0: not open.
std::uint64_t socket_number(int fd)
{
    struct statx status;
    const int saved = errno;
    // Not this library's own statx(), which would make a device of it.
    const bool good = syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_INO | STATX_TYPE, &status) == 0 &&
                      S_ISSOCK(status.stx_mode);
    errno = saved;
    return good ? status.stx_ino : 0;
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
    if (index_of_descriptor(fd) >= 0) {
        errno = ENOTTY;
        return -1;
    }
    return real(fd, request, argument);
}

// Doorbells, the clock page: memory that nobody looks at.
#define DEFINE_MMAP(name, offset_type)                                                                                \
    EXPORT void* name(void* address, size_t length, int protection, int flags, int fd, offset_type offset)            \
    {                                                                                                                 \
        NEXT(name);                                                                                                   \
        if (fd >= 0 && (flags & MAP_ANONYMOUS) == 0 && index_of_descriptor(fd) >= 0) {                                \
            return real(address, length, protection, flags | MAP_ANONYMOUS, -1, 0);                                   \
        }                                                                                                             \
        return real(address, length, protection, flags, fd, offset);                                                  \
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

// ---- a socket for uevents: what libudev does with one, and looks at before it believes a message ----

namespace {

int subscribe(int fd, std::uint32_t groups)
{
    constexpr int kPatience = 5000;    // milliseconds
    char answer[kSubscribed];
    pollfd readable{fd, POLLIN, 0};
    if (send(fd, &groups, sizeof(groups), MSG_NOSIGNAL) != sizeof(groups) || poll(&readable, 1, kPatience) != 1 ||
        recv(fd, answer, sizeof(answer), MSG_DONTWAIT) != sizeof(answer)) {
        errno = ENOBUFS;
        return -1;
    }
    return 0;
}

// As if the kernel, or udevd, had sent it by netlink as root.
void set_sender(msghdr* message)
{
    const bool from_udev = message->msg_iovlen > 0 && message->msg_iov[0].iov_len >= 8 &&
                           memcmp(message->msg_iov[0].iov_base, "libudev", 8) == 0;
    sockaddr_nl sender{};
    sender.nl_family = AF_NETLINK;
    sender.nl_groups = from_udev ? 2 : 1;
    sender.nl_pid = from_udev ? 1 : 0;
    memcpy(message->msg_name, &sender, sizeof(sender));
    message->msg_namelen = sizeof(sender);
    for (cmsghdr* each = CMSG_FIRSTHDR(message); each != nullptr; each = CMSG_NXTHDR(message, each)) {
        if (each->cmsg_level == SOL_SOCKET && each->cmsg_type == SCM_CREDENTIALS) {
            const ucred root{static_cast<pid_t>(sender.nl_pid), 0, 0};
            memcpy(CMSG_DATA(each), &root, sizeof(root));
        }
    }
}

}    // namespace

EXPORT int bind(int fd, const sockaddr* address, socklen_t length)
{
    NEXT(bind);
    sockaddr_nl local{};
    if (address != nullptr && length >= sizeof(local) && address->sa_family == AF_NETLINK && takes_uevents(fd)) {
        memcpy(&local, address, sizeof(local));
        return subscribe(fd, local.nl_groups);
    }
    return real(fd, address, length);
}

EXPORT int getsockname(int fd, sockaddr* address, socklen_t* length)
{
    NEXT(getsockname);
    if (address == nullptr || length == nullptr || !takes_uevents(fd)) {
        return real(fd, address, length);
    }
    sockaddr_nl local{};
    local.nl_family = AF_NETLINK;
    local.nl_pid = static_cast<std::uint32_t>(getpid());
    memcpy(address, &local, *length < sizeof(local) ? *length : sizeof(local));
    *length = sizeof(local);
    return 0;
}

EXPORT ssize_t recvmsg(int fd, msghdr* message, int flags)
{
    NEXT(recvmsg);
    const bool asks_sender = message != nullptr && message->msg_name != nullptr &&
                             message->msg_namelen >= sizeof(sockaddr_nl) && directory() != nullptr;
    const ssize_t length = real(fd, message, flags);
    if (length > 0 && asks_sender && static_cast<sockaddr*>(message->msg_name)->sa_family == AF_UNIX &&
        takes_uevents(fd)) {
        set_sender(message);
    }
    return length;
}
