#include "tools/emulator/preload/links.h"

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rdmaqos::emulator {
namespace {

constexpr const char* kSocketPrefix = "socket:[";

// Closes without the emulator's wait: a descriptor that was only looked at.
class Borrowed {
public:
    explicit Borrowed(long fd) : fd_(static_cast<int>(fd)) {}
    ~Borrowed()
    {
        if (fd_ >= 0) {
            syscall(SYS_close, fd_);
        }
    }
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;

    int get() const { return fd_; }

private:
    int fd_;
};

long read_link(int folder, const char* path, char* text, size_t room)
{
    const long length = syscall(SYS_readlinkat, folder, path, text, room - 1);
    text[length > 0 ? length : 0] = '\0';
    return length;
}

// Moves `end` before the last part of the path that ends there. Null: there is none.
const char* last_part(const char* text, const char*& end)
{
    const char* part = end;
    while (part > text && part[-1] != '/') {
        --part;
    }
    if (part == text) {
        return nullptr;
    }
    end = part - 1;
    return part;
}

// PID of ".../PID/fd" and ".../PID/task/TID/fd"; -1.
int process_of(const char* folder)
{
    const char* end = folder + strlen(folder);
    const char* name = last_part(folder, end);
    if (name == nullptr || strcmp(name, "fd") != 0) {
        return -1;
    }
    const char* number_end = end;
    const char* number = last_part(folder, end);
    constexpr const char* kTask = "/task";
    const size_t task = strlen(kTask);
    if (number != nullptr && end - folder >= static_cast<long>(task) && strncmp(end - task, kTask, task) == 0) {
        end -= task;
        number_end = end;
        number = last_part(folder, end);
    }
    return number != nullptr ? parse_number(number, number_end, INT_MAX) : -1;
}

// The process whose descriptors are in the folder of `path`, which ends at `slash`. However the path gets there, by way
// of /proc/self or of the working directory, the kernel tells where it is.
int process_of_folder(int folder, const char* path, const char* slash)
{
    char name[PATH_MAX];
    const size_t length = slash != nullptr ? static_cast<size_t>(slash - path) : 0;
    if (length >= sizeof(name)) {
        return -1;
    }
    memcpy(name, path, length);
    name[length] = '\0';
    const char* opened = slash == nullptr ? "." : length == 0 ? "/" : name;
    const Borrowed place(syscall(SYS_openat, folder, opened, O_PATH | O_DIRECTORY | O_CLOEXEC, 0));
    char link[64];
    char target[PATH_MAX];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", place.get());
    return read_link(AT_FDCWD, link, target, sizeof(target)) > 0 ? process_of(target) : -1;
}

Socket socket_of(int process, int descriptor, std::uint64_t number)
{
    if (process == getpid()) {
        return socket_number(descriptor) == number ? socket_of_descriptor(descriptor) : Socket();
    }
    const Borrowed pidfd(syscall(SYS_pidfd_open, process, 0));
    const Borrowed taken(pidfd.get() < 0 ? -1 : syscall(SYS_pidfd_getfd, pidfd.get(), descriptor, 0));
    // The number may be another file's by now, and the process another one.
    return taken.get() >= 0 && socket_number(taken.get()) == number ? socket_of_descriptor(taken.get()) : Socket();
}

}    // namespace

Socket socket_of_link(int folder, const char* path)
{
    if (directory() == nullptr || path == nullptr) {
        return {};
    }
    const KeptErrno kept;
    char text[64];
    const size_t prefix = strlen(kSocketPrefix);
    if (read_link(folder, path, text, sizeof(text)) <= 0 || strncmp(text, kSocketPrefix, prefix) != 0) {
        return {};
    }
    const char* slash = strrchr(path, '/');
    const char* name = slash != nullptr ? slash + 1 : path;
    const int descriptor = parse_number(name, name + strlen(name), INT_MAX);
    const int process = descriptor >= 0 ? process_of_folder(folder, path, slash) : -1;
    return process > 0 ? socket_of(process, descriptor, strtoull(text + prefix, nullptr, 10)) : Socket();
}

long finish_readlink(int folder, const char* path, char* text, long length, unsigned long room)
{
    const size_t prefix = strlen(kSocketPrefix);
    const size_t seen = static_cast<size_t>(length) < prefix ? static_cast<size_t>(length) : prefix;
    if (length <= 0 || memcmp(text, kSocketPrefix, seen) != 0) {
        return length;
    }
    const Socket socket = socket_of_link(folder, path);
    if (socket.index < 0) {
        return length;
    }
    char device[64];
    const bool there = socket_of_node(socket.index).appearance == socket.appearance;
    const auto whole = static_cast<unsigned long>(
        snprintf(device, sizeof(device), "%s%d%s", kDevicePrefix, socket.index, there ? "" : " (deleted)"));
    const unsigned long shown = whole < room ? whole : room;
    memcpy(text, device, shown);
    return static_cast<long>(shown);
}

}    // namespace rdmaqos::emulator
