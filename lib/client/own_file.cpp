#include "lib/client/own_file.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rdmaqos::client {

FileIdentity identity_of(int fd)
{
    FileIdentity identity;
    struct stat found {};
    if (fstat(fd, &found) != 0) {
        return identity;
    }
    identity.device = found.st_dev;
    identity.inode = found.st_ino;
    if (S_ISSOCK(found.st_mode)) {
        socklen_t size = sizeof(identity.cookie);
        if (getsockopt(fd, SOL_SOCKET, SO_COOKIE, &identity.cookie, &size) != 0) {
            identity.cookie = 0;
        }
    }
    return identity;
}

bool is_same_file(int fd, const FileIdentity& identity)
{
    const FileIdentity now = identity_of(fd);
    return now.inode != 0 && now.device == identity.device && now.inode == identity.inode &&
           now.cookie == identity.cookie;
}

int above_stdio(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO) {
        return fd;
    }
    const int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int error = errno;
    close(fd);
    errno = error;
    return moved;
}

void Descriptor::reset(int fd)
{
    if (is_ours()) {
        close(fd_);
    }
    identity_ = fd >= 0 ? identity_of(fd) : FileIdentity{};
    fd_ = fd;
}

}    // namespace rdmaqos::client
