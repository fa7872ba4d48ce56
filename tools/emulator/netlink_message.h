// Messages of RDMA netlink as the kernel writes them.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <linux/netlink.h>
#include <sys/types.h>

namespace rdmaqos::emulator {

using NetlinkDatagram = std::vector<std::uint8_t>;
inline constexpr std::size_t kNetlinkDatagram = 8192;    // where a dump goes on in another one

struct Request : nlmsghdr {
    pid_t reader = 0;     // who gets the answer; 0: one of our pid namespace
    pid_t process = 0;    // who asks, as we count; 0: not known
};

// Netlink attributes, appended to a message.
class Writer {
public:
    Writer(std::uint16_t type, std::uint16_t flags, const Request& request) : reader_(request.reader)
    {
        nlmsghdr header{};
        header.nlmsg_type = type;
        header.nlmsg_flags = flags;
        header.nlmsg_seq = request.nlmsg_seq;
        header.nlmsg_pid = request.nlmsg_pid;
        append(&header, sizeof(header));
    }

    void put(std::uint16_t type, const void* data, std::size_t size)
    {
        nlattr attribute{};
        attribute.nla_type = type;
        attribute.nla_len = static_cast<std::uint16_t>(sizeof(attribute) + size);
        append(&attribute, sizeof(attribute));
        append(data, size);
    }
    void put(std::uint16_t type, std::uint32_t value) { put(type, &value, sizeof(value)); }
    void put_byte(std::uint16_t type, std::uint8_t value) { put(type, &value, sizeof(value)); }
    void put_long(std::uint16_t type, std::uint64_t value) { put(type, &value, sizeof(value)); }
    void put(std::uint16_t type, const std::string& text) { put(type, text.c_str(), text.size() + 1); }

    std::size_t begin_nested(std::uint16_t type)
    {
        const std::size_t start = bytes_.size();
        put(static_cast<std::uint16_t>(type | NLA_F_NESTED), nullptr, 0);
        return start;
    }
    void end_nested(std::size_t start)
    {
        const auto length = static_cast<std::uint16_t>(bytes_.size() - start);
        std::memcpy(&bytes_[start], &length, sizeof(length));
    }

    [[nodiscard]] std::size_t size() const { return bytes_.size(); }
    [[nodiscard]] pid_t reader() const { return reader_; }
    NetlinkDatagram finish()
    {
        const auto length = static_cast<std::uint32_t>(bytes_.size());
        std::memcpy(bytes_.data(), &length, sizeof(length));
        return std::move(bytes_);
    }

    void append(const void* data, std::size_t size)
    {
        const auto* from = static_cast<const std::uint8_t*>(data);
        bytes_.insert(bytes_.end(), from, from + size);
        bytes_.resize(NLMSG_ALIGN(bytes_.size()));
    }

private:
    pid_t reader_;
    NetlinkDatagram bytes_;
};

[[nodiscard]] NetlinkDatagram error_answer(const Request& request, int error);
[[nodiscard]] NetlinkDatagram done(const Request& request);
[[nodiscard]] std::uint16_t answer_type(std::uint16_t command);

// The first attribute of this type and of 4 bytes.
[[nodiscard]] std::optional<std::uint32_t> find_u32(std::span<const std::uint8_t> attributes, std::uint16_t type);
// The entries of 4 bytes of the first table of this type. Empty: there is none, or it does not say that it is one
// (NLA_F_NESTED), which the kernel requires in requests that change something.
[[nodiscard]] std::optional<std::vector<std::uint32_t>> find_numbers(std::span<const std::uint8_t> attributes,
                                                                     std::uint16_t type);

}    // namespace rdmaqos::emulator
