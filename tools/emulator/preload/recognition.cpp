#include "tools/emulator/preload/recognition.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools/emulator/protocol.h"

namespace rdmaqos::emulator {
namespace {

constexpr int kMostIndex = 9999;

// "uverbs0.sock", "uevent.sock" if the descriptor is a connection to the emulator; null. `peer` is where it is.
const char* name_of_descriptor(int fd, sockaddr_un& peer)
{
    if (directory() == nullptr) {
        return nullptr;
    }
    peer = {};
    socklen_t length = sizeof(peer);
    const KeptErrno kept;
    const bool connected = getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) == 0;
    if (!connected || peer.sun_family != AF_UNIX) {
        return nullptr;
    }
    const size_t folder = strlen(directory());
    const bool ours = strncmp(peer.sun_path, directory(), folder) == 0 && peer.sun_path[folder] == '/';
    return ours ? peer.sun_path + folder + 1 : nullptr;
}

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
        socket = {parse_number(index, dot, kMostIndex), parse_number(dot + 1, end, kMostIndex)};
    }
    return socket;
}

}    // namespace

KeptErrno::KeptErrno() : kept_(errno) {}

KeptErrno::~KeptErrno()
{
    errno = kept_;
}

const char* directory()
{
    static const char* const value = secure_getenv(kDirectoryVariable);
    return value;
}

int parse_number(const char* text, const char* end, int most)
{
    long value = text == end ? -1 : 0;
    for (; text != end; ++text) {
        if (*text < '0' || *text > '9') {
            return -1;
        }
        value = value * 10 + (*text - '0');
        if (value > most) {
            return -1;
        }
    }
    return static_cast<int>(value);
}

int index_of_path(const char* path)
{
    if (path == nullptr || directory() == nullptr || strncmp(path, kDevicePrefix, strlen(kDevicePrefix)) != 0) {
        return -1;
    }
    const char* number = path + strlen(kDevicePrefix);
    return parse_number(number, number + strlen(number), kMostIndex);
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

Socket socket_of_descriptor(int fd)
{
    sockaddr_un peer;
    const char* name = name_of_descriptor(fd, peer);
    return name != nullptr ? parse_socket(name) : Socket();
}

bool takes_uevents(int fd)
{
    sockaddr_un peer;
    const char* name = name_of_descriptor(fd, peer);
    return name != nullptr && strcmp(name, "uevent.sock") == 0;
}

bool is_netlink(int fd)
{
    sockaddr_un peer;
    const char* name = name_of_descriptor(fd, peer);
    return name != nullptr && (strcmp(name, "netlink.sock") == 0 || strcmp(name, "uevent.sock") == 0);
}

Socket socket_of_node(int index)
{
    sockaddr_un address{};
    char target[64] = {};
    const KeptErrno kept;
    if (!socket_path(address, "uverbs", index) ||
        syscall(SYS_readlinkat, AT_FDCWD, address.sun_path, target, sizeof(target) - 1) <= 0) {
        return {};
    }
    return parse_socket(target);
}

std::uint64_t socket_number(int fd)
{
    struct statx status;
    const KeptErrno kept;
    // Not this library's own statx(), which would make a device of it.
    const bool good = syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_INO | STATX_TYPE, &status) == 0 &&
                      S_ISSOCK(status.stx_mode);
    return good ? status.stx_ino : 0;
}

}    // namespace rdmaqos::emulator
