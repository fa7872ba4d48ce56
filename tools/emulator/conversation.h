// The caller's side of protocol.h: sends a call and serves the emulator's steps on this process's memory. Only libc,
// for the preload library.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstring>

#include <rdma/rdma_user_ioctl_cmds.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tools/emulator/protocol.h"

namespace rdmaqos::emulator {

// A message, and the descriptor that comes with it (-1: none). Its length; negative: there is none.
template <size_t Parts>
ssize_t receive_message(int socket, iovec (&parts)[Parts], int& fd)
{
    fd = -1;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = Parts;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    ssize_t length = 0;
    do {
        length = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    } while (length < 0 && errno == EINTR);
    if (const cmsghdr* header = CMSG_FIRSTHDR(&message);
        length >= 0 && header != nullptr && header->cmsg_type == SCM_RIGHTS) {
        memcpy(&fd, CMSG_DATA(header), sizeof(fd));
    }
    return length;
}

class Conversation {
public:
    explicit Conversation(int socket) : socket_(socket) {}

    // The errno of the call.
    int run()
    {
        for (;;) {
            Step step;
            if (!receive(step)) {
                return EIO;
            }
            switch (step.kind) {
            case StepKind::Read:
                if (!answer_read(step)) {
                    return EIO;
                }
                break;
            case StepKind::Write:
                note(copy(step.address, step.length, true));
                break;
            case StepKind::Install:
                note(install(step));
                break;
            case StepKind::Done:
                return step.value != 0 ? step.value : failure_;
            default:
                return EIO;
            }
        }
    }

private:
    bool receive(Step& step)
    {
        iovec parts[2] = {{&step, sizeof(step)}, {buffer_, sizeof(buffer_)}};
        const ssize_t length = receive_message(socket_, parts, received_fd_);
        return length >= static_cast<ssize_t>(sizeof(step)) &&
               (step.kind != StepKind::Write || step.length == static_cast<size_t>(length) - sizeof(step));
    }

    // Between this process's memory and the buffer; EFAULT where the address is bad.
    int copy(std::uint64_t address, size_t length, bool to_user)
    {
        if (length > sizeof(buffer_)) {
            return EINVAL;
        }
        if (length == 0) {
            return 0;
        }
        iovec here{buffer_, length};
        iovec there{reinterpret_cast<void*>(address), length};    // NOLINT: a user address
        const ssize_t moved = to_user ? process_vm_writev(getpid(), &here, 1, &there, 1, 0)
                                      : process_vm_readv(getpid(), &here, 1, &there, 1, 0);
        if (moved < 0 && (errno == ENOSYS || errno == EPERM)) {
            // Where it is forbidden (containers), a bad pointer is a crash of the caller.
            memcpy(to_user ? there.iov_base : here.iov_base, to_user ? here.iov_base : there.iov_base, length);
            return 0;
        }
        return moved == static_cast<ssize_t>(length) ? 0 : EFAULT;
    }

    bool answer_read(const Step& step)
    {
        Data data;
        data.error = copy(step.address, step.length, false);
        data.length = data.error == 0 ? step.length : 0;
        iovec parts[2] = {{&data, sizeof(data)}, {buffer_, data.length}};
        msghdr message{};
        message.msg_iov = parts;
        message.msg_iovlen = 2;
        ssize_t sent = 0;
        do {
            sent = sendmsg(socket_, &message, MSG_NOSIGNAL);
        } while (sent < 0 && errno == EINTR);
        return sent >= 0;
    }

    int install(const Step& step)
    {
        if (received_fd_ < 0) {
            return EMFILE;
        }
        const std::int64_t wide = received_fd_;
        const std::int32_t narrow = received_fd_;
        const size_t width = step.length == sizeof(wide) ? sizeof(wide) : sizeof(narrow);
        memcpy(buffer_, width == sizeof(wide) ? static_cast<const void*>(&wide) : &narrow, width);
        const int failure = copy(step.address, width, true);
        if (failure != 0) {
            close(received_fd_);
        }
        return failure;
    }

    void note(int failure) { failure_ = failure_ == 0 ? failure : failure_; }

    int socket_;
    int received_fd_ = -1;
    int failure_ = 0;
    char buffer_[kMaxTransfer];
};

// Copies memory that may not be there; false if it is not.
inline bool copy_memory(void* to, std::uint64_t from, size_t length)
{
    iovec here{to, length};
    iovec there{reinterpret_cast<void*>(from), length};
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == static_cast<ssize_t>(length);
}

// What the pointers of the attributes name, in or out: nobody here knows which.
inline size_t gather(char (&buffer)[kMaxChunks], const ib_uverbs_ioctl_hdr* argument)
{
    size_t used = 0;
    const size_t count = (argument->length - sizeof(*argument)) / sizeof(ib_uverbs_attr);
    for (size_t index = 0; index < count; ++index) {
        const ib_uverbs_attr& attribute = argument->attrs[index];
        const Chunk chunk{attribute.data, attribute.len};
        if (chunk.length <= sizeof(attribute.data) || used + sizeof(chunk) + chunk.length > sizeof(buffer)) {
            continue;
        }
        if (copy_memory(buffer + used + sizeof(chunk), chunk.address, chunk.length)) {
            memcpy(buffer + used, &chunk, sizeof(chunk));
            used += sizeof(chunk) + chunk.length;
        }
    }
    return used;
}

// Begins a conversation: `fds` travel with the message.
template <size_t Parts, size_t Fds>
bool send_opening(int file, iovec (&parts)[Parts], const int (&fds)[Fds])
{
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(fds))] = {};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = Parts;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(fds));
    memcpy(CMSG_DATA(rights), &fds, sizeof(fds));
    ssize_t sent = 0;
    do {
        sent = sendmsg(file, &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent >= 0;
}

inline bool send_call(int file, int reply, const ib_uverbs_ioctl_hdr* argument)
{
    CallHeader header;
    header.thread = static_cast<std::uint32_t>(syscall(SYS_gettid));
    header.address = reinterpret_cast<std::uint64_t>(argument);
    char chunks[kMaxChunks];
    iovec parts[3] = {{&header, sizeof(header)},
                      {const_cast<ib_uverbs_ioctl_hdr*>(argument), argument->length},
                      {chunks, gather(chunks, argument)}};
    return send_opening(file, parts, {reply});
}

// The ioctl on a connection to the emulator; its errno.
inline int call(int file, void* argument)
{
    const auto* header = static_cast<const ib_uverbs_ioctl_hdr*>(argument);
    if (header->length < sizeof(*header) || header->length > kMaxIoctl) {
        return EINVAL;
    }
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        return errno;
    }
    const bool sent = send_call(file, ends[1], header);
    const int failure = errno;
    close(ends[1]);
    int result = failure == EFAULT ? EFAULT : EIO;
    if (sent) {
        result = Conversation(ends[0]).run();
    }
    close(ends[0]);
    return result;
}

// close() of a connection to the emulator by `close_descriptor`: as close(), it sets errno, and may be called in a
// signal handler. Where the emulator cannot be asked (it is gone, there are no more descriptors) it closes and does not
// wait.
inline int close_file(int file, int (*close_descriptor)(int))
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        return close_descriptor(file);
    }
    CallHeader header;
    header.magic = kCloseMagic;
    header.thread = static_cast<std::uint32_t>(syscall(SYS_gettid));
    iovec parts[1] = {{&header, sizeof(header)}};
    const bool sent = send_opening(file, parts, {ends[1], file});
    close_descriptor(ends[1]);
    const int result = close_descriptor(file);
    const int failure = errno;
    char byte = 0;
    if (sent && send(ends[0], &byte, sizeof(byte), MSG_NOSIGNAL) >= 0) {
        while (recv(ends[0], &byte, sizeof(byte), 0) < 0 && errno == EINTR) {
        }
    }
    close_descriptor(ends[0]);
    errno = failure;
    return result;
}

}    // namespace rdmaqos::emulator
