// What a program sees that looks at a device's node, at its own descriptors, or at those of other processes.
#include <cerrno>
#include <cstdint>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tools/emulator/preload/links.h"
#include "tools/emulator/preload/next.h"
#include "tools/emulator/preload/recognition.h"
#include "tools/emulator/protocol.h"

using namespace rdmaqos::emulator;

namespace {

void fill_status(const Socket& socket, struct stat& result)
{
    constexpr ino_t kFirstInode = 0x1000;
    result.st_mode = 0666 | S_IFCHR;
    result.st_rdev = makedev(kMajor, kFirstMinor + static_cast<unsigned>(socket.index));
    result.st_ino = kFirstInode + static_cast<ino_t>(socket.appearance);
    result.st_nlink = socket_of_node(socket.index).appearance == socket.appearance ? 1 : 0;
    result.st_size = 0;
}

// Fails as the real file would if there is no such device. The node may be there again when a descriptor is of one
// that went: as in the kernel, they have the same number and another inode.
int stat_device(int index, struct stat& result)
{
    NEXT(stat);
    sockaddr_un address{};
    const Socket socket = socket_of_node(index);
    if (socket.index < 0 || !socket_path(address, "uverbs", index) || real(address.sun_path, &result) != 0) {
        errno = ENOENT;
        return -1;
    }
    fill_status(socket, result);
    return 0;
}

// On x86-64 and arm64 both are the same.
static_assert(sizeof(struct stat) == sizeof(struct stat64));

// What a look at `path` found, at `folder` itself if it is empty. The path is another than a device's.
Socket socket_found(int folder, const char* path)
{
    return path == nullptr || *path == '\0' ? socket_of_descriptor(folder) : socket_of_link(folder, path);
}

int finish_stat(int folder, const char* path, int status, struct stat* result)
{
    if (status == 0 && S_ISSOCK(result->st_mode)) {
        if (const Socket socket = socket_found(folder, path); socket.index >= 0) {
            fill_status(socket, *result);
        }
    }
    return status;
}

}    // namespace

#define DEFINE_STAT(name, type)                                                                                        \
    EXPORT int name(const char* path, struct type* result)                                                             \
    {                                                                                                                  \
        NEXT(name);                                                                                                    \
        if (const int index = index_of_path(path); index >= 0) {                                                       \
            return stat_device(index, reinterpret_cast<struct stat&>(*result));                                        \
        }                                                                                                              \
        return finish_stat(AT_FDCWD, path, real(path, result), reinterpret_cast<struct stat*>(result));                \
    }

DEFINE_STAT(stat, stat)
DEFINE_STAT(lstat, stat)
DEFINE_STAT(stat64, stat64)
DEFINE_STAT(lstat64, stat64)

#define DEFINE_FSTAT(name, type)                                                                                       \
    EXPORT int name(int fd, struct type* result)                                                                       \
    {                                                                                                                  \
        NEXT(name);                                                                                                    \
        return finish_stat(fd, "", real(fd, result), reinterpret_cast<struct stat*>(result));                          \
    }

DEFINE_FSTAT(fstat, stat)
DEFINE_FSTAT(fstat64, stat64)

#define DEFINE_FSTATAT(name, type)                                                                                     \
    EXPORT int name(int folder, const char* path, struct type* result, int flags)                                      \
    {                                                                                                                  \
        NEXT(name);                                                                                                    \
        if (const int index = index_of_path(path); index >= 0) {                                                       \
            return stat_device(index, reinterpret_cast<struct stat&>(*result));                                        \
        }                                                                                                              \
        return finish_stat(folder, path, real(folder, path, result, flags), reinterpret_cast<struct stat*>(result));   \
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
        // A mask may leave the type out.
        const int status = real(folder, path, flags, mask | STATX_TYPE, result);
        const Socket socket = status == 0 && S_ISSOCK(result->stx_mode) ? socket_found(folder, path) : Socket();
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
    result->stx_nlink = static_cast<std::uint32_t>(device.st_nlink);
    result->stx_size = 0;
    result->stx_rdev_major = major(device.st_rdev);
    result->stx_rdev_minor = minor(device.st_rdev);
    return 0;
}

// Programs built against glibc before 2.33.
extern "C" int __xstat(int version, const char* path, struct stat* result);
extern "C" int __lxstat(int version, const char* path, struct stat* result);
extern "C" int __fxstat(int version, int fd, struct stat* result);
extern "C" int __fxstatat(int version, int folder, const char* path, struct stat* result, int flags);
extern "C" int __xstat64(int version, const char* path, struct stat64* result);
extern "C" int __lxstat64(int version, const char* path, struct stat64* result);
extern "C" int __fxstat64(int version, int fd, struct stat64* result);
extern "C" int __fxstatat64(int version, int folder, const char* path, struct stat64* result, int flags);

#define DEFINE_XSTAT(name, type)                                                                                       \
    EXPORT int name(int version, const char* path, struct type* result)                                                \
    {                                                                                                                  \
        NEXT(name);                                                                                                    \
        if (const int index = index_of_path(path); index >= 0) {                                                       \
            return stat_device(index, reinterpret_cast<struct stat&>(*result));                                        \
        }                                                                                                              \
        return finish_stat(AT_FDCWD, path, real(version, path, result), reinterpret_cast<struct stat*>(result));       \
    }

DEFINE_XSTAT(__xstat, stat)
DEFINE_XSTAT(__lxstat, stat)
DEFINE_XSTAT(__xstat64, stat64)
DEFINE_XSTAT(__lxstat64, stat64)

#define DEFINE_FXSTAT(name, type)                                                                                      \
    EXPORT int name(int version, int fd, struct type* result)                                                          \
    {                                                                                                                  \
        NEXT(name);                                                                                                    \
        return finish_stat(fd, "", real(version, fd, result), reinterpret_cast<struct stat*>(result));                 \
    }

DEFINE_FXSTAT(__fxstat, stat)
DEFINE_FXSTAT(__fxstat64, stat64)

#define DEFINE_FXSTATAT(name, type)                                                                                    \
    EXPORT int name(int version, int folder, const char* path, struct type* result, int flags)                         \
    {                                                                                                                  \
        NEXT(name);                                                                                                    \
        if (const int index = index_of_path(path); index >= 0) {                                                       \
            return stat_device(index, reinterpret_cast<struct stat&>(*result));                                        \
        }                                                                                                              \
        return finish_stat(folder, path, real(version, folder, path, result, flags),                                   \
                           reinterpret_cast<struct stat*>(result));                                                    \
    }

DEFINE_FXSTATAT(__fxstatat, stat)
DEFINE_FXSTATAT(__fxstatat64, stat64)

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

// ---- links ----

EXPORT ssize_t readlink(const char* path, char* text, size_t room)
{
    NEXT(readlink);
    return finish_readlink(AT_FDCWD, path, text, real(path, text, room), room);
}

EXPORT ssize_t readlinkat(int folder, const char* path, char* text, size_t room)
{
    NEXT(readlinkat);
    return finish_readlink(folder, path, text, real(folder, path, text, room), room);
}

// What fortified programs call; no header declares them without fortification.
extern "C" ssize_t __readlink_chk(const char* path, char* text, size_t room, size_t size);
extern "C" ssize_t __readlinkat_chk(int folder, const char* path, char* text, size_t room, size_t size);

EXPORT ssize_t __readlink_chk(const char* path, char* text, size_t room, size_t size)
{
    NEXT(__readlink_chk);
    return finish_readlink(AT_FDCWD, path, text, real(path, text, room, size), room);
}

EXPORT ssize_t __readlinkat_chk(int folder, const char* path, char* text, size_t room, size_t size)
{
    NEXT(__readlinkat_chk);
    return finish_readlink(folder, path, text, real(folder, path, text, room, size), room);
}
