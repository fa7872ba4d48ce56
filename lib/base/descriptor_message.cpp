#include "lib/base/descriptor_message.h"

#include <cstring>

#include <sys/ioctl.h>

namespace rdmaqos {

void DescriptorRoom::put(msghdr& message, std::span<const int> descriptors)
{
    if (descriptors.empty()) {
        return;
    }
    bytes.fill(0);
    message.msg_control = bytes.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    auto* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
}

void DescriptorRoom::offer(msghdr& message)
{
    message.msg_control = bytes.data();
    message.msg_controllen = bytes.size();
}

std::vector<UniqueFd> take_descriptors(msghdr& message)
{
    std::vector<UniqueFd> result;
    for (auto* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t index = 0; index < count; ++index) {
            int fd = -1;
            std::memcpy(&fd, CMSG_DATA(header) + index * sizeof(int), sizeof(fd));
            result.emplace_back(fd);
        }
    }
    return result;
}

namespace {

msghdr message_into(iovec& part, std::span<char> control)
{
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    return message;
}

}    // namespace

Received receive(int socket, std::span<char> buffer)
{
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred)) + sizeof(DescriptorRoom::bytes)> control;
    iovec part{buffer.data(), buffer.size()};
    msghdr message = message_into(part, control);
    Received received;
    received.length = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (received.length < 0) {
        return received;
    }
    received.incomplete = (message.msg_flags & MSG_CTRUNC) != 0;
    received.descriptors = take_descriptors(message);
    for (auto* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_CREDENTIALS) {
            ucred credentials{};
            std::memcpy(&credentials, CMSG_DATA(header), sizeof(credentials));
            received.sender = credentials.pid;
        }
    }
    return received;
}

namespace {

Peeked peek(int socket, std::span<char> buffer, std::span<char> control)
{
    iovec part{buffer.data(), buffer.size()};
    msghdr message = message_into(part, control);
    // Without room for descriptors: the kernel says that there are some, and leaves them where they are.
    Peeked seen;
    seen.length = recvmsg(socket, &message, MSG_PEEK | MSG_DONTWAIT);
    if (seen.length <= 0) {
        return seen;
    }
    seen.descriptors = (message.msg_flags & MSG_CTRUNC) != 0;
    return seen;
}

}    // namespace

Peeked peek(int socket, std::span<char> buffer)
{
    return peek(socket, buffer, {});
}

Peeked peek_with_sender(int socket, std::span<char> buffer)
{
    // Credentials come first and leave no room.
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> control{};
    return peek(socket, buffer, control);
}

bool may_hold_descriptors(int socket)
{
    int unread = 0;
    if (ioctl(socket, FIONREAD, &unread) != 0) {
        return true;
    }
    std::array<char, 4096> bytes;    // NOLINT(cppcoreguidelines-pro-type-member-init): only written
    if (unread == 0 || static_cast<std::size_t>(unread) > bytes.size()) {
        return unread != 0;
    }
    const Peeked seen = peek(socket, bytes);
    return seen.length != unread || seen.descriptors;
}

}    // namespace rdmaqos
