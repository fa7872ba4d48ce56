// Files of ours in somebody else's process. It may close all that it does not know, as daemons do, and use their
// numbers for files of its own: a number is ours only as long as the file behind it is the one that we put there.
#pragma once

#include <atomic>
#include <cstdint>

#include <sys/types.h>

namespace rdmaqos::client {

// Which file a descriptor is of. What the kernel makes of anonymous inodes (epoll, eventfd, timerfd) has the same
// identity: PollSet tells them apart.
struct FileIdentity {
    dev_t device = 0;
    ino_t inode = 0;
    std::uint64_t cookie = 0;    // of a socket; 0: none
};

[[nodiscard]] FileIdentity identity_of(int fd);
[[nodiscard]] bool is_same_file(int fd, const FileIdentity& identity);

// The same file under a number above those of stdin, stdout and stderr, which a program may have closed, and still
// writes to. Takes -1, and then keeps errno; closes `fd` if it fails itself.
[[nodiscard]] int above_stdio(int fd);

// A descriptor that is closed in the end, if it is still ours.
class Descriptor {
public:
    Descriptor() = default;
    ~Descriptor() { reset(-1); }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;

    void reset(int fd);
    // It is not ours any more, or that is not known.
    void forget() { fd_ = -1; }
    [[nodiscard]] int get() const { return fd_; }
    [[nodiscard]] bool is_ours() const { return fd_ >= 0 && is_same_file(fd_, identity_); }

private:
    std::atomic<int> fd_ = -1;    // a thread may poll it while another one replaces it
    FileIdentity identity_;
};

}    // namespace rdmaqos::client
