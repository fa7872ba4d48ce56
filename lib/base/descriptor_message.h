// Descriptors that go with a message over a local socket.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include <sys/socket.h>

#include "lib/base/file.h"

namespace rdmaqos {

constexpr std::size_t kMostDescriptors = 253;    // SCM_MAX_FD, which D-Bus programs keep to

// Room for the descriptors of one message.
struct DescriptorRoom {
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kMostDescriptors)> bytes;

    // For a message that is to be sent with these descriptors, at most kMostDescriptors; none: nothing is added.
    void put(msghdr& message, std::span<const int> descriptors);
    // For a message that is to be received.
    void offer(msghdr& message);
};
// Those that came with a message.
[[nodiscard]] std::vector<UniqueFd> take_descriptors(msghdr& message);

// What was read from a unix socket, with everything that came with it.
struct Received {
    ssize_t length = 0;                   // as recvmsg() returns it, errno included
    std::vector<UniqueFd> descriptors;    // closing one may wait
    bool incomplete = false;              // more descriptors came than this process may hold
    pid_t sender = 0;                     // that sent all of it, if the socket has SO_PASSCRED; 0: not known
};
// Without waiting.
[[nodiscard]] Received receive(int socket, std::span<char> buffer);

// What a unix socket has received, without taking anything of it. A hint at what receive() would get, no more:
//
// * It says that descriptors came although only the bytes behind these have some, where these end with a write.
// * A byte sent with MSG_OOB is passed over here, and taken (with its descriptors) by a read. SO_OOBINLINE makes it a
//   byte like any other for both; a socket that is read after a look at it needs that.
struct Peeked {
    ssize_t length = 0;          // as recvmsg() returns it, errno included
    bool descriptors = false;    // may have come with these bytes; they end where descriptors come
};
[[nodiscard]] Peeked peek(int socket, std::span<char> buffer);
// Of a socket with SO_PASSCRED, and of no other: there it would take descriptors. Bytes end where another process's
// begin.
[[nodiscard]] Peeked peek_with_sender(int socket, std::span<char> buffer);
// Whether descriptors may be among what a unix socket has received and nobody has read. False is certain, for what had
// arrived when it was asked.
[[nodiscard]] bool may_hold_descriptors(int socket);

}    // namespace rdmaqos
