// What the structures of the C interface say, copied: no pointer of the program is kept, and the size of a structure
// says which of its parts the program knows.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include <sys/stat.h>
#include <systemd/sd-bus.h>

#include "lib/client/failure.h"
#include "lib/client/rdmaqos.h"

namespace rdmaqos::client {

// A structure of a program that may be older or newer than this library. Newer: what this library does not know must be
// 0.
template <typename T>
Failure take(const T* from, T& into)
{
    std::memset(&into, 0, sizeof(T));
    if (from == nullptr) {
        into.size = sizeof(T);
        return {};
    }
    if (from->size < sizeof(std::size_t)) {
        return {EINVAL, "a structure was passed without its size: call its init function first"};
    }
    const auto* bytes = reinterpret_cast<const unsigned char*>(from);
    if (from->size > sizeof(T) &&
        std::any_of(bytes + sizeof(T), bytes + from->size, [](auto byte) { return byte != 0; })) {
        return {EOPNOTSUPP, "this librdmaqos is older than the program and does not know what was asked for"};
    }
    std::memcpy(static_cast<void*>(&into), from, std::min(from->size, sizeof(T)));
    return {};
}

// As much of it as the program knows.
template <typename T>
Failure give(const T& from, T* into)
{
    if (into == nullptr || into->size < sizeof(std::size_t)) {
        return {EINVAL, "a structure was passed without its size: call its init function first"};
    }
    const std::size_t size = into->size;
    std::memcpy(static_cast<void*>(into), &from, std::min(size, sizeof(T)));
    into->size = size;
    return {};
}

// A struct rdmaqos_request.
class Request {
public:
    Request() = default;
    // Nothing may be asked for by what this library does not know.
    static Failure copy(const rdmaqos_request* from, Request& into);

    // The entries of an a{sv} that is open: "sv" each. Not `device` where that is another's business (a queue pair).
    [[nodiscard]] int append(sd_bus_message* message, bool with_device, bool with_components) const;

private:
    std::optional<std::string> level_;
    std::optional<std::string> qos_class_name_;
    std::optional<std::string> device_;
    std::optional<std::string> source_;
    std::optional<std::string> destination_;
    std::optional<std::string> port_space_;
    rdmaqos_request numbers_{};
};

// A queue pair as the daemon has to know it. Its descriptor is the program's: which file it was is remembered,
// for it may be closed and its number used again.
struct QueuePair {
    std::string device;    // "mlx5_0", "mlx5_0/1"
    std::uint32_t number = 0;
    std::uint32_t handle = 0;
    std::uint32_t type = RDMAQOS_QP_RC;
    std::uint32_t sq_number = 0;
    int fd = -1;
    dev_t file_device = 0;
    ino_t file = 0;
    dev_t node = 0;

    static Failure copy(const rdmaqos_queue_pair* from, QueuePair& into);
    static Failure describe(ibv_qp* from, QueuePair& into);
    // Whether the descriptor is still of the file it was.
    [[nodiscard]] bool is_open() const;
    // One a{sv}.
    [[nodiscard]] int append(sd_bus_message* message, const Request* own, bool with_descriptor) const;

private:
    Failure look_at_file();
};

// As the daemon's requests name it: "mlx5_0/2" where the device has several ports.
[[nodiscard]] std::string device_name(const std::string& device, std::uint32_t port);

[[nodiscard]] int append_text(sd_bus_message* message, const char* key, const std::string& value);
template <typename T>
[[nodiscard]] int append_number(sd_bus_message* message, const char* key, const char* type, T value)
{
    return sd_bus_message_append(message, "{sv}", key, type, value);
}

}    // namespace rdmaqos::client
