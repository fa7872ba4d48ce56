#include "tests/kernel/agreement/transcript.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>
#include <sys/ioctl.h>

#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "tests/emulator/clients/prm.h"

namespace rdmaqos::test::agreement {
namespace {

std::string area;

}    // namespace

// ---- lines ----

void begin_area(const std::string& name)
{
    area = name;
}

void say(std::string_view name, std::string_view text)
{
    fmt::print("{}.{} -> {}\n", area, name, text);
    std::fflush(stdout);
}

std::string joined(std::initializer_list<std::string> parts)
{
    std::string text;
    for (const auto& part : parts) {
        text += (text.empty() ? "" : ", ") + part;
    }
    return text;
}

std::string spelled(int error)
{
    if (error == 0) {
        return "ok";
    }
    const char* name = strerrorname_np(error);
    return name == nullptr ? std::to_string(error) : name;
}

std::string spelled(const Bytes& outbox)
{
    std::size_t end = outbox.size();
    while (end > 0 && outbox[end - 1] == kUntouched) {
        --end;
    }
    if (end == 0) {
        return fmt::format("out {} untouched", outbox.size());
    }
    std::string text = fmt::format("out {}", outbox.size());
    if (end < outbox.size()) {
        text += fmt::format(" ({} written)", end);
    }
    for (std::size_t at = 0; at + 4 <= end; at += 4) {
        if (const auto word = prm_get(outbox.data(), static_cast<unsigned>(at * 8), 32); word != 0) {
            text += fmt::format(" @{}={:08x}", at, word);
        }
    }
    return text;
}

// ---- raw calls ----

Ioctl::Ioctl(int fd, std::uint16_t object, std::uint16_t method)
    : fd_(fd), object_(object), method_(method), driver_(RDMA_DRIVER_MLX5)
{
}

Ioctl::Attribute& Ioctl::add(std::uint16_t id, std::uint16_t length, std::uint64_t data)
{
    attributes_.push_back({id, length, UVERBS_ATTR_F_MANDATORY, {}, data});
    return attributes_.back();
}

Ioctl& Ioctl::handle(std::uint16_t id, std::uint64_t number)
{
    add(id, 0, number);
    return *this;
}

Ioctl& Ioctl::in(std::uint16_t id, const Bytes& bytes)
{
    if (bytes.size() > sizeof(std::uint64_t)) {
        kept_.push_back(bytes);
        return in_pointer(id, kept_.back().data(), bytes.size());
    }
    Attribute& attribute = add(id, static_cast<std::uint16_t>(bytes.size()), 0);
    std::memcpy(&attribute.data, bytes.data(), bytes.size());
    return *this;
}

Ioctl& Ioctl::in_pointer(std::uint16_t id, const void* data, std::size_t length)
{
    add(id, static_cast<std::uint16_t>(length), reinterpret_cast<std::uintptr_t>(data));
    return *this;
}

Ioctl& Ioctl::out(std::uint16_t id, void* data, std::size_t length)
{
    return in_pointer(id, data, length);
}

Ioctl& Ioctl::optional()
{
    attributes_.back().flags = 0;
    return *this;
}

Ioctl& Ioctl::reserved(std::uint8_t byte)
{
    attributes_.back().reserved[1] = byte;
    return *this;
}

Ioctl& Ioctl::driver(std::uint32_t id)
{
    driver_ = id;
    return *this;
}

Ioctl& Ioctl::header_reserved(std::uint64_t value)
{
    header_reserved_ = value;
    return *this;
}

Ioctl& Ioctl::length_change(int bytes)
{
    length_change_ = bytes;
    return *this;
}

int Ioctl::run()
{
    static_assert(sizeof(Attribute) == sizeof(ib_uverbs_attr));
    ib_uverbs_ioctl_hdr header{};
    const std::size_t attributes = attributes_.size() * sizeof(Attribute);
    header.length = static_cast<std::uint16_t>(static_cast<int>(sizeof(header) + attributes) + length_change_);
    header.object_id = object_;
    header.method_id = method_;
    header.num_attrs = static_cast<std::uint16_t>(attributes_.size());
    header.reserved1 = header_reserved_;
    header.driver_id = driver_;
    constexpr std::size_t kMostAttributes = 32;
    const std::size_t count = std::min(attributes_.size(), kMostAttributes);
    std::array<std::uint64_t, (sizeof(header) + kMostAttributes * sizeof(Attribute)) / sizeof(std::uint64_t)> call{};
    auto* behind = reinterpret_cast<Attribute*>(call.data() + sizeof(header) / sizeof(std::uint64_t));
    std::memcpy(call.data(), &header, sizeof(header));
    std::copy_n(attributes_.begin(), count, behind);
    const int error = ioctl(fd_, RDMA_VERBS_IOCTL, call.data()) == 0 ? 0 : errno;
    std::copy_n(behind, count, attributes_.begin());
    return error;
}

std::uint32_t Ioctl::data_of(std::uint16_t id) const
{
    const auto found = std::find_if(attributes_.begin(), attributes_.end(),
                                    [id](const Attribute& each) { return each.id == id; });
    return found == attributes_.end() ? 0 : static_cast<std::uint32_t>(found->data);
}

std::uint32_t Answer::id() const
{
    return out.size() >= 12 ? prm_object_id(out.data()) : 0;
}

Answer devx_create(int fd, const Bytes& in, std::size_t out)
{
    Answer answer{0, Bytes(out, kUntouched), 0};
    Ioctl call(fd, MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_CREATE);
    call.handle(MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE, 0).in(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN, in);
    answer.error = call.out(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT, answer.out.data(), out).run();
    answer.handle = call.data_of(MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE);
    return answer;
}

Answer devx_modify(int fd, std::uint64_t handle, const Bytes& in, std::size_t out)
{
    Answer answer{0, Bytes(out, kUntouched), 0};
    answer.error = Ioctl(fd, MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_MODIFY)
                       .handle(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE, handle)
                       .in(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN, in)
                       .out(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT, answer.out.data(), out)
                       .run();
    return answer;
}

Answer devx_query(int fd, std::uint64_t handle, const Bytes& in, std::size_t out)
{
    Answer answer{0, Bytes(out, kUntouched), 0};
    answer.error = Ioctl(fd, MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_QUERY)
                       .handle(MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE, handle)
                       .in(MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN, in)
                       .out(MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT, answer.out.data(), out)
                       .run();
    return answer;
}

Answer devx_other(int fd, const Bytes& in, std::size_t out)
{
    Answer answer{0, Bytes(out, kUntouched), 0};
    answer.error = Ioctl(fd, MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_OTHER)
                       .in(MLX5_IB_ATTR_DEVX_OTHER_CMD_IN, in)
                       .out(MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT, answer.out.data(), out)
                       .run();
    return answer;
}

int devx_destroy(int fd, std::uint64_t handle)
{
    return Ioctl(fd, MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_DESTROY)
        .handle(MLX5_IB_ATTR_DEVX_OBJ_DESTROY_HANDLE, handle)
        .run();
}

// ---- commands ----

Bytes create_element(std::uint32_t type, std::uint32_t parent, std::uint32_t share, std::uint32_t rate)
{
    Bytes in(ELEMENT_IN);
    const prm_element element{type, parent, share, rate};
    prm_create_element(in.data(), &element);
    return in;
}

Bytes modify_element(std::uint32_t id, std::uint32_t select, std::uint32_t share, std::uint32_t rate)
{
    Bytes in(ELEMENT_IN);
    prm_modify_element(in.data(), id, select, share, rate);
    return in;
}

Bytes element_command(std::uint32_t opcode, std::uint32_t id)
{
    Bytes in(ELEMENT_IN);
    prm_element_command(in.data(), opcode, id);
    in.resize(16);
    return in;
}

Bytes attach(std::uint32_t opcode, std::uint32_t number, std::uint32_t requester, std::uint32_t responder)
{
    Bytes in(MODIFY_QP_IN);
    prm_attach(in.data(), opcode, number, requester, responder);
    return in;
}

Bytes move_send_queue(std::uint32_t number, std::uint32_t leaf)
{
    constexpr std::uint32_t kReady = 1;
    constexpr unsigned kContext = 256;
    Bytes in(0x110);
    prm_set(in.data(), 0, 16, kModifySq);
    prm_set(in.data(), 64, 4, kReady);
    prm_set(in.data(), 72, 24, number);
    prm_set(in.data(), 128 + 32, 32, 4);    // selects the queue group
    prm_set(in.data(), kContext + 8, 4, kReady);
    prm_set(in.data(), kContext + 272, 16, leaf);
    return in;
}

Bytes queue_command(std::uint32_t opcode, std::uint32_t number)
{
    Bytes in(16);
    prm_set(in.data(), 0, 16, opcode);
    prm_set(in.data(), 72, 24, number);
    return in;
}

}    // namespace rdmaqos::test::agreement
