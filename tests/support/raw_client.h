// A client of the direct socket that speaks D-Bus byte by byte.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "lib/base/descriptor_message.h"
#include "lib/base/file.h"
#include "tests/support/patience.h"

namespace rdmaqos::test {

class RawClient {
public:
    explicit RawClient(const std::filesystem::path& path) : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0))
    {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
        EXPECT_EQ(connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
        const timeval patience{kHung.count(), 0};
        setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    }

    void say(const std::string& bytes, int descriptor = -1) const
    {
        say_with(bytes, std::span(&descriptor, descriptor >= 0 ? 1 : 0));
    }
    void say_with(const std::string& bytes, std::span<const int> descriptors, int flags = 0) const
    {
        iovec part{const_cast<char*>(bytes.data()), bytes.size()};
        DescriptorRoom room;
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        room.put(message, descriptors);
        EXPECT_EQ(sendmsg(socket_.get(), &message, MSG_NOSIGNAL | flags), static_cast<ssize_t>(bytes.size()));
    }
    void authenticate() const
    {
        using namespace std::string_literals;
        say("\0AUTH EXTERNAL\r\nDATA\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n"s);
        std::string answer;
        while (answer.find("AGREE_UNIX_FD\r\n") == std::string::npos) {
            char byte = 0;
            ASSERT_EQ(recv(socket_.get(), &byte, 1, 0), 1) << answer;
            answer.push_back(byte);
        }
    }
    // What comes, to the end; empty if it does not come to an end.
    [[nodiscard]] bool is_closed() const
    {
        std::string buffer(65536, '\0');
        ssize_t got = 0;
        do {
            got = recv(socket_.get(), buffer.data(), buffer.size(), 0);
        } while (got > 0);
        return got == 0 || errno == ECONNRESET;
    }
    // All that comes until so many messages of this type have come, or the connection ends, or nothing comes any more.
    [[nodiscard]] std::string receive_messages(std::size_t wanted, char type) const
    {
        const std::string begin{'l', type, '\1', '\1'};
        std::string all;
        std::size_t count = 0;
        for (std::size_t at = 0; count < wanted;) {
            const auto found = all.find(begin, at);
            if (found != std::string::npos) {
                ++count;
                at = found + begin.size();
                continue;
            }
            const std::string more = receive();
            if (more.empty()) {
                break;
            }
            all += more;
        }
        return count == wanted ? all : std::string();
    }
    [[nodiscard]] std::string receive() const
    {
        std::string buffer(65536, '\0');
        const ssize_t got = recv(socket_.get(), buffer.data(), buffer.size(), 0);
        buffer.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
        return buffer;
    }

    [[nodiscard]] int fd() const { return socket_.get(); }

private:
    UniqueFd socket_;
};

// org.freedesktop.DBus.Peer.Ping at "/", serial 2; says that so many descriptors come with it.
inline std::string ping(std::uint32_t descriptors = 0)
{
    using namespace std::string_literals;
    std::string bytes = "l\1\0\1\0\0\0\0\2\0\0\0\0\0\0\0"
                        "\1\1o\0\1\0\0\0/\0\0\0\0\0\0\0"
                        "\2\1s\0\31\0\0\0org.freedesktop.DBus.Peer\0\0\0\0\0\0\0"
                        "\3\1s\0\4\0\0\0Ping\0\0\0\0"s;
    std::size_t padding = 3;
    if (descriptors > 0) {
        bytes += "\11\1u\0"s;
        bytes.append(reinterpret_cast<const char*>(&descriptors), sizeof(descriptors));
        padding = 0;
    }
    bytes[12] = static_cast<char>(bytes.size() - 16 - padding);
    return bytes;
}

}    // namespace rdmaqos::test
