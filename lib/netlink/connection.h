// A netlink socket, and one question at a time on it.
//
// Not thread-safe.
#pragma once

#include <cerrno>
#include <cstdint>
#include <vector>

#include <sys/socket.h>

#include "lib/base/file.h"
#include "lib/netlink/message.h"

namespace rdmaqos::netlink {

class Connection {
public:
    [[nodiscard]] bool is_open() const { return static_cast<bool>(socket_); }
    // NETLINK_ROUTE and its like. 0, or an errno (EPROTONOSUPPORT: this kernel does not have it).
    [[nodiscard]] int open(int protocol);
    void close() { socket_.reset(); }

    // Sends a message with the next sequence number. `flags`: NLM_F_DUMP, or 0. `content`: what stands behind its
    // header, the family's own header included. 0, or an errno.
    [[nodiscard]] int ask(std::uint16_t type, std::uint16_t flags, const std::vector<std::uint8_t>& content);
    [[nodiscard]] std::uint32_t sequence() const { return sequence_; }
    // The next message has the number behind this one.
    void continue_after(std::uint32_t sequence) { sequence_ = sequence; }

    // Gives every datagram to `find` until it has an end; what answers an earlier question is passed over. The kernel
    // answers at once or not at all: after a second without an answer, and on an error, there is Nothing.
    template <typename Find>
    auto read(Find find) -> decltype(find(Bytes()))
    {
        buffer_.resize(kDatagram);
        while (true) {
            const ssize_t length = recv(socket_.get(), buffer_.data(), buffer_.size(), 0);
            if (length < 0 && errno == EINTR) {
                continue;
            }
            if (length <= 0) {
                decltype(find(Bytes())) nothing;
                nothing.end = AnswerEnd::Nothing;
                return nothing;
            }
            if (auto answer = find(Bytes(buffer_).first(static_cast<std::size_t>(length)));
                answer.end != AnswerEnd::More) {
                return answer;
            }
        }
    }

private:
    static constexpr std::size_t kDatagram = 32768;

    UniqueFd socket_;
    std::uint32_t sequence_ = 0;
    std::vector<std::uint8_t> buffer_;
};

}    // namespace rdmaqos::netlink
