// A descriptor that hangs when it is closed.
#pragma once

#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>

#include "lib/base/file.h"

namespace rdmaqos::test {

// Longer than any test: what returns has not waited for it. It ends when the Lingering does.
constexpr int kLong = 3600;

// A TCP socket whose last close waits for `seconds`: it has sent more than its peer takes.
struct Lingering {
    UniqueFd listener;
    UniqueFd peer;
    UniqueFd socket;

    explicit Lingering(int seconds = kLong)
    {
        listener = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        socket = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof(address);
        auto* raw = reinterpret_cast<sockaddr*>(&address);
        bind(listener.get(), raw, size);
        listen(listener.get(), 1);
        getsockname(listener.get(), raw, &size);
        connect(socket.get(), raw, size);
        peer = UniqueFd(accept(listener.get(), nullptr, nullptr));
        const linger wait{1, seconds};
        setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &wait, sizeof(wait));
        fcntl(socket.get(), F_SETFL, O_NONBLOCK);
        const std::vector<char> much(1U << 20U);
        while (send(socket.get(), much.data(), much.size(), MSG_NOSIGNAL) > 0) {
        }
        fcntl(socket.get(), F_SETFL, 0);
    }
};

}    // namespace rdmaqos::test
