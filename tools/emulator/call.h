// One ioctl in progress: its attributes, the caller's memory behind them, and the answer.
//
// As in the kernel, input of up to 8 bytes stands in the attribute itself, longer input and all output behind a
// pointer, and handles and descriptors have length 0.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sys/types.h>

#include "lib/base/file.h"

namespace rdmaqos::emulator {

// Ends a call with this errno.
class Failure : public std::exception {
public:
    explicit Failure(int error) : error_(error) {}
    [[nodiscard]] int error() const { return error_; }
    [[nodiscard]] const char* what() const noexcept override { return "the call failed"; }

private:
    int error_;
};

// struct ib_uverbs_ioctl_hdr without the attributes that follow it.
struct CallHead {
    std::uint16_t length = 0;
    std::uint16_t object_id = 0;
    std::uint16_t method_id = 0;
    std::uint16_t num_attrs = 0;
    std::uint64_t reserved1 = 0;
    std::uint32_t driver_id = 0;
    std::uint32_t reserved2 = 0;
};
static_assert(sizeof(CallHead) == sizeof(ib_uverbs_ioctl_hdr));

struct Caller {
    pid_t pid = 0;
    uid_t uid = 0;
    std::uint32_t thread = 0;
    bool traced = false;    // somebody wants its notes
};

// What the trace says of a call, in order.
struct Note {
    std::string name;
    std::variant<bool, std::int64_t, std::string> value;
};
using Notes = std::vector<Note>;

class Call {
public:
    // `bytes`: the ioctl's argument, and the memory that came with it. Throws Failure if it is no well-formed ioctl.
    Call(UniqueFd reply, const Caller& caller, std::uint64_t address, std::vector<std::uint8_t> bytes);
    // A call without an end ends with EIO.
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    [[nodiscard]] const Caller& caller() const { return caller_; }
    [[nodiscard]] const CallHead& header() const { return header_; }
    [[nodiscard]] std::span<const ib_uverbs_attr> attributes() const { return attributes_; }
    [[nodiscard]] bool has(std::uint16_t id) const { return find(id) != nullptr; }

    // ---- input; EINVAL where the attribute is missing or shorter than it must be, EFAULT for a bad pointer ----

    [[nodiscard]] std::vector<std::uint8_t> in(std::uint16_t id, std::size_t at_least = 0);
    // A structure: what the caller did not send is 0, what he sent beyond it must be 0 (E2BIG as in the kernel's copy).
    template <typename T>
    [[nodiscard]] T in_as(std::uint16_t id, std::size_t at_least = sizeof(T));
    // The part of the driver, which may be missing or shorter.
    template <typename T>
    [[nodiscard]] T vendor_in_as()
    {
        return has(UVERBS_ATTR_UHW_IN) ? in_as<T>(UVERBS_ATTR_UHW_IN, 0) : T{};
    }
    [[nodiscard]] std::uint64_t value(std::uint16_t id) const;
    [[nodiscard]] std::uint64_t value_or(std::uint16_t id, std::uint64_t otherwise) const;
    [[nodiscard]] std::uint32_t handle(std::uint16_t id) const;
    // Touches a byte of the caller's memory: EFAULT.
    void touch(std::uint64_t address);

    // ---- output; an attribute that is not there is not wanted ----

    void out(std::uint16_t id, std::span<const std::uint8_t> bytes);
    // All that the caller has room for; what `bytes` do not fill is 0.
    void out_whole(std::uint16_t id, std::vector<std::uint8_t> bytes);
    // EINVAL: it is missing, or shorter.
    void need_out(std::uint16_t id, std::size_t at_least) const;
    template <typename T>
    void out_as(std::uint16_t id, const T& value);
    void out_handle(std::uint16_t id, std::uint32_t handle);
    void out_descriptor(std::uint16_t id, const UniqueFd& fd);                           // the attribute is the number
    void out_descriptor_at(std::uint16_t id, std::size_t offset, const UniqueFd& fd);    // a u32 behind the pointer
    [[nodiscard]] std::size_t out_length(std::uint16_t id) const;

    void finish(int error);

    // ---- for the trace ----

    template <typename T>
    void note(std::string_view name, const T& value)
    {
        if (!caller_.traced) {
            return;
        }
        if constexpr (std::is_same_v<T, bool>) {
            notes_.push_back({std::string(name), value});
        } else if constexpr (std::is_integral_v<T>) {
            notes_.push_back({std::string(name), static_cast<std::int64_t>(value)});
        } else {
            notes_.push_back({std::string(name), std::string(value)});
        }
    }
    void note(Notes notes)
    {
        if (caller_.traced) {
            std::move(notes.begin(), notes.end(), std::back_inserter(notes_));
        }
    }
    [[nodiscard]] Notes take_notes() { return std::move(notes_); }

private:
    [[nodiscard]] const ib_uverbs_attr* find(std::uint16_t id) const;
    ib_uverbs_attr* find(std::uint16_t id);
    [[nodiscard]] const ib_uverbs_attr& need(std::uint16_t id) const;
    std::vector<std::uint8_t> read(std::uint64_t address, std::size_t length);
    // Of what came with the call; empty if it has to be asked for.
    [[nodiscard]] std::span<const std::uint8_t> find_memory(std::uint64_t address, std::size_t length) const;
    void write(std::uint64_t address, std::span<const std::uint8_t> bytes);
    void install(std::uint64_t address, std::uint32_t width, int fd);
    void mark_output(ib_uverbs_attr& attribute);

    UniqueFd reply_;
    Caller caller_;
    std::uint64_t address_;
    CallHead header_;
    std::vector<ib_uverbs_attr> attributes_;
    std::vector<std::uint8_t> bytes_;    // as they came; the memory is behind the ioctl
    bool attributes_changed_ = false;
    bool finished_ = false;
    Notes notes_;
};

template <typename T>
T Call::in_as(std::uint16_t id, std::size_t at_least)
{
    static_assert(std::is_trivially_copyable_v<T>);
    const auto bytes = in(id, at_least);
    for (std::size_t beyond = sizeof(T); beyond < bytes.size(); ++beyond) {
        if (bytes[beyond] != 0) {
            throw Failure(E2BIG);
        }
    }
    T value{};
    if (!bytes.empty()) {
        std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof(T)));
    }
    return value;
}

template <typename T>
void Call::out_as(std::uint16_t id, const T& value)
{
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<std::uint8_t> bytes(sizeof(T));
    std::memcpy(bytes.data(), &value, sizeof(T));
    out(id, bytes);
}

}    // namespace rdmaqos::emulator
