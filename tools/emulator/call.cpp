#include "tools/emulator/call.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "tools/emulator/protocol.h"

namespace rdmaqos::emulator {
namespace {

// For a caller to give its memory: who is stopped longer loses the call.
constexpr int kPatience = 30'000;    // milliseconds

// False: the caller is gone.
bool send_step(int socket, const Step& step, std::span<const std::uint8_t> bytes, int fd)
{
    iovec parts[2] = {{const_cast<Step*>(&step), sizeof(step)},
                      {const_cast<std::uint8_t*>(bytes.data()), bytes.size()}};
    alignas(cmsghdr) std::uint8_t control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    if (fd >= 0) {
        message.msg_control = control;
        message.msg_controllen = sizeof(control);
        cmsghdr* rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(rights), &fd, sizeof(fd));
    }
    ssize_t sent = 0;
    do {
        sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent >= 0;
}

}    // namespace

Call::Call(UniqueFd reply, const Caller& caller, std::uint64_t address, std::vector<std::uint8_t> bytes)
    : reply_(std::move(reply)), caller_(caller), address_(address)
{
    if (bytes.size() >= sizeof(header_)) {
        std::memcpy(&header_, bytes.data(), sizeof(header_));
    }
    const std::size_t expected = sizeof(header_) + header_.num_attrs * sizeof(ib_uverbs_attr);
    if (bytes.size() < expected || header_.length != expected) {
        finish(EINVAL);
        throw Failure(EINVAL);
    }
    attributes_.resize(header_.num_attrs);
    for (std::size_t index = 0; index < attributes_.size(); ++index) {
        std::memcpy(&attributes_[index], &bytes[sizeof(header_) + index * sizeof(ib_uverbs_attr)],
                    sizeof(ib_uverbs_attr));
    }
    bytes_ = std::move(bytes);
}

Call::~Call()
{
    if (!finished_) {
        finish(EIO);
    }
}

const ib_uverbs_attr* Call::find(std::uint16_t id) const
{
    const auto found = std::find_if(attributes_.begin(), attributes_.end(),
                                    [id](const ib_uverbs_attr& attribute) { return attribute.attr_id == id; });
    return found == attributes_.end() ? nullptr : &*found;
}

ib_uverbs_attr* Call::find(std::uint16_t id)
{
    return const_cast<ib_uverbs_attr*>(std::as_const(*this).find(id));
}

const ib_uverbs_attr& Call::need(std::uint16_t id) const
{
    const ib_uverbs_attr* attribute = find(id);
    if (attribute == nullptr) {
        throw Failure(EINVAL);
    }
    return *attribute;
}

std::vector<std::uint8_t> Call::in(std::uint16_t id, std::size_t at_least)
{
    const ib_uverbs_attr& attribute = need(id);
    if (attribute.len < at_least) {
        throw Failure(EINVAL);
    }
    if (attribute.len > sizeof(attribute.data)) {
        return read(attribute.data, attribute.len);
    }
    std::vector<std::uint8_t> bytes(sizeof(attribute.data));
    std::memcpy(bytes.data(), &attribute.data, sizeof(attribute.data));
    bytes.resize(attribute.len);
    return bytes;
}

std::uint64_t Call::value(std::uint16_t id) const
{
    const ib_uverbs_attr& attribute = need(id);
    if (attribute.len > sizeof(attribute.data)) {
        throw Failure(EINVAL);
    }
    std::uint64_t value = 0;
    std::memcpy(&value, &attribute.data, attribute.len);
    return value;
}

std::uint64_t Call::value_or(std::uint16_t id, std::uint64_t otherwise) const
{
    return has(id) ? value(id) : otherwise;
}

std::uint32_t Call::handle(std::uint16_t id) const
{
    const ib_uverbs_attr& attribute = need(id);
    if (attribute.len != 0 || attribute.data > INT64_MAX) {
        throw Failure(EINVAL);
    }
    if (attribute.data > UINT32_MAX) {
        throw Failure(ENOENT);
    }
    return static_cast<std::uint32_t>(attribute.data);
}

void Call::touch(std::uint64_t address)
{
    (void)read(address, 1);
}

std::span<const std::uint8_t> Call::find_memory(std::uint64_t address, std::size_t length) const
{
    std::span<const std::uint8_t> rest = std::span(bytes_).subspan(header_.length);
    Chunk chunk;
    while (rest.size() >= sizeof(chunk)) {
        std::memcpy(&chunk, rest.data(), sizeof(chunk));
        rest = rest.subspan(sizeof(chunk));
        if (chunk.length > rest.size()) {
            break;
        }
        if (chunk.address == address && chunk.length == length) {
            return rest.first(length);
        }
        rest = rest.subspan(chunk.length);
    }
    return {};
}

std::vector<std::uint8_t> Call::read(std::uint64_t address, std::size_t length)
{
    if (const auto sent = find_memory(address, length); !sent.empty()) {
        return {sent.begin(), sent.end()};
    }
    Step step;
    step.kind = StepKind::Read;
    step.address = address;
    step.length = static_cast<std::uint32_t>(length);
    if (!send_step(reply_.get(), step, {}, -1)) {
        throw Failure(EIO);
    }
    pollfd waiting{reply_.get(), POLLIN, 0};
    int ready = 0;
    do {
        ready = poll(&waiting, 1, kPatience);
    } while (ready < 0 && errno == EINTR);
    if (ready == 0) {
        throw Failure(EIO);
    }
    std::vector<std::uint8_t> answer(sizeof(Data) + length);
    ssize_t received = 0;
    do {
        received = recv(reply_.get(), answer.data(), answer.size(), MSG_TRUNC);
    } while (received < 0 && errno == EINTR);
    Data data;
    if (received < static_cast<ssize_t>(sizeof(data))) {
        throw Failure(EIO);
    }
    std::memcpy(&data, answer.data(), sizeof(data));
    if (data.error != 0 || received != static_cast<ssize_t>(answer.size())) {
        throw Failure(EFAULT);
    }
    answer.erase(answer.begin(), answer.begin() + sizeof(data));
    return answer;
}

void Call::write(std::uint64_t address, std::span<const std::uint8_t> bytes)
{
    Step step;
    step.kind = StepKind::Write;
    step.address = address;
    step.length = static_cast<std::uint32_t>(bytes.size());
    if (!send_step(reply_.get(), step, bytes, -1)) {
        throw Failure(EIO);
    }
}

void Call::install(std::uint64_t address, std::uint32_t width, int fd)
{
    Step step;
    step.kind = StepKind::Install;
    step.address = address;
    step.length = width;
    if (!send_step(reply_.get(), step, {}, fd)) {
        throw Failure(EIO);
    }
}

void Call::mark_output(ib_uverbs_attr& attribute)
{
    attribute.flags |= UVERBS_ATTR_F_VALID_OUTPUT;
    attributes_changed_ = true;
}

void Call::out(std::uint16_t id, std::span<const std::uint8_t> bytes)
{
    if (ib_uverbs_attr* attribute = find(id); attribute != nullptr) {
        write(attribute->data, bytes.first(std::min<std::size_t>(bytes.size(), attribute->len)));
        mark_output(*attribute);
    }
}

void Call::out_handle(std::uint16_t id, std::uint32_t handle)
{
    if (ib_uverbs_attr* attribute = find(id); attribute != nullptr) {
        attribute->data = handle;
        mark_output(*attribute);
    }
}

void Call::out_descriptor(std::uint16_t id, const UniqueFd& fd)
{
    const auto& attribute = need(id);
    const auto index = static_cast<std::size_t>(&attribute - attributes_.data());
    install(address_ + sizeof(header_) + index * sizeof(attribute) + offsetof(ib_uverbs_attr, data), 8, fd.get());
}

void Call::out_descriptor_at(std::uint16_t id, std::size_t offset, const UniqueFd& fd)
{
    const auto& attribute = need(id);
    if (attribute.len < offset + 4) {
        throw Failure(ENOSPC);
    }
    install(attribute.data + offset, 4, fd.get());
    mark_output(*find(id));
}

void Call::out_whole(std::uint16_t id, std::vector<std::uint8_t> bytes)
{
    bytes.resize(out_length(id));
    out(id, bytes);
}

void Call::need_out(std::uint16_t id, std::size_t at_least) const
{
    if (need(id).len < at_least) {
        throw Failure(EINVAL);
    }
}

std::size_t Call::out_length(std::uint16_t id) const
{
    const ib_uverbs_attr* attribute = find(id);
    return attribute == nullptr ? 0 : attribute->len;
}

void Call::finish(int error)
{
    finished_ = true;
    try {
        // Each by itself: a number that was installed meanwhile must stay.
        for (std::size_t index = 0; attributes_changed_ && error == 0 && index < attributes_.size(); ++index) {
            const ib_uverbs_attr& attribute = attributes_[index];
            if ((attribute.flags & UVERBS_ATTR_F_VALID_OUTPUT) != 0) {
                std::vector<std::uint8_t> bytes(sizeof(attribute));
                std::memcpy(bytes.data(), &attribute, sizeof(attribute));
                write(address_ + sizeof(header_) + index * sizeof(attribute), bytes);
            }
        }
        Step step;
        step.value = error;
        (void)send_step(reply_.get(), step, {}, -1);
    } catch (const Failure&) {
        // The caller is gone; nobody waits for an answer.
    }
}

}    // namespace rdmaqos::emulator
