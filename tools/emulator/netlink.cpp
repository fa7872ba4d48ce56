#include "tools/emulator/netlink.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include <fmt/format.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/emulator/uverbs_file.h"

namespace rdmaqos::emulator {
namespace {

using Datagram = std::vector<std::uint8_t>;

constexpr std::size_t kDatagram = 8192;    // where a dump goes on in another one

// Netlink attributes, appended to a message.
class Writer {
public:
    Writer(std::uint16_t type, std::uint16_t flags, const nlmsghdr& request)
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
    Datagram finish()
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
    Datagram bytes_;
};

Datagram error_answer(const nlmsghdr& request, int error)
{
    Writer writer(NLMSG_ERROR, 0, request);
    nlmsgerr body{};
    body.error = -error;
    body.msg = request;
    writer.append(&body, sizeof(body));
    return writer.finish();
}

Datagram done(const nlmsghdr& request)
{
    Writer writer(NLMSG_DONE, NLM_F_MULTI, request);
    const int status = 0;
    writer.append(&status, sizeof(status));
    return writer.finish();
}

std::optional<std::uint32_t> find_u32(std::span<const std::uint8_t> attributes, std::uint16_t type)
{
    while (attributes.size() >= sizeof(nlattr)) {
        nlattr header{};
        std::memcpy(&header, attributes.data(), sizeof(header));
        if (header.nla_len < sizeof(header) || header.nla_len > attributes.size()) {
            return std::nullopt;
        }
        if ((header.nla_type & NLA_TYPE_MASK) == type && header.nla_len == sizeof(header) + 4) {
            std::uint32_t value = 0;
            std::memcpy(&value, attributes.data() + sizeof(header), sizeof(value));
            return value;
        }
        attributes = attributes.subspan(std::min<std::size_t>(NLA_ALIGN(header.nla_len), attributes.size()));
    }
    return std::nullopt;
}

std::uint16_t answer_type(std::uint16_t command)
{
    return static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command));
}

bool is_alive(const Creator& creator)
{
    return access(fmt::format("/proc/{}/task/{}", creator.process, creator.thread).c_str(), F_OK) == 0;
}

void put_device(Writer& writer, const Device& device)
{
    writer.put(RDMA_NLDEV_ATTR_DEV_INDEX, device.index());
    writer.put(RDMA_NLDEV_ATTR_DEV_NAME, device.name());
}

std::vector<Datagram> list_devices(const nlmsghdr& request, const std::vector<std::shared_ptr<Device>>& devices)
{
    std::vector<Datagram> answers;
    for (const auto& device : devices) {
        if (device->firmware().presence() != DevicePresence::Present) {
            continue;
        }
        Writer writer(answer_type(RDMA_NLDEV_CMD_GET), NLM_F_MULTI, request);
        put_device(writer, *device);
        writer.put(RDMA_NLDEV_ATTR_PORT_INDEX, static_cast<std::uint32_t>(device->ports().size()));
        answers.push_back(writer.finish());
    }
    answers.push_back(done(request));
    return answers;
}

void put_queue_pair(Writer& writer, const QueuePairOwner& owner)
{
    if (owner.port != 0) {
        writer.put(RDMA_NLDEV_ATTR_PORT_INDEX, owner.port);
    }
    writer.put(RDMA_NLDEV_ATTR_RES_LQPN, owner.number);
    if (owner.protection_domain != 0) {
        writer.put(RDMA_NLDEV_ATTR_RES_PDN, owner.protection_domain);
    }
    writer.put_byte(RDMA_NLDEV_ATTR_RES_TYPE, owner.verbs_type);
    writer.put_byte(RDMA_NLDEV_ATTR_RES_STATE, static_cast<std::uint8_t>(owner.state));
    if (owner.thread != 0) {
        writer.put(RDMA_NLDEV_ATTR_RES_PID, static_cast<std::uint32_t>(owner.thread));
    }
}

std::vector<Datagram> list_queue_pairs(const nlmsghdr& request, const Device& device)
{
    std::vector<Datagram> answers;
    const auto owners = owners_of(device);
    for (auto next = owners.begin(); next != owners.end();) {
        Writer writer(answer_type(RDMA_NLDEV_CMD_RES_QP_GET), NLM_F_MULTI, request);
        put_device(writer, device);
        const auto table = writer.begin_nested(RDMA_NLDEV_ATTR_RES_QP);
        for (; next != owners.end() && writer.size() < kDatagram; ++next) {
            const auto entry = writer.begin_nested(RDMA_NLDEV_ATTR_RES_QP_ENTRY);
            put_queue_pair(writer, *next);
            writer.end_nested(entry);
        }
        writer.end_nested(table);
        answers.push_back(writer.finish());
    }
    answers.push_back(done(request));
    return answers;
}

// Of one, without the tables that a dump nests: as kernels since 5.1 answer, and only to who knows its port.
Datagram one_queue_pair(const nlmsghdr& request, const Device& device, std::uint32_t port, std::uint32_t number)
{
    for (const auto& owner : owners_of(device)) {
        if (owner.number == number) {
            if (owner.port != port) {
                return error_answer(request, EAGAIN);
            }
            Writer writer(answer_type(RDMA_NLDEV_CMD_RES_QP_GET), 0, request);
            put_device(writer, device);
            put_queue_pair(writer, owner);
            return writer.finish();
        }
    }
    return error_answer(request, ENOENT);
}

// Only of one, and by the number that its queue pairs or domains give.
Datagram answer_surrounding(const nlmsghdr& request, std::uint16_t command, std::span<const std::uint8_t> attributes,
                            const std::vector<std::shared_ptr<Device>>& devices)
{
    const bool is_domain = command == RDMA_NLDEV_CMD_RES_PD_GET;
    const auto index = find_u32(attributes, RDMA_NLDEV_ATTR_DEV_INDEX);
    const auto number = find_u32(attributes, is_domain ? RDMA_NLDEV_ATTR_RES_PDN : RDMA_NLDEV_ATTR_RES_CTXN);
    const auto found = std::ranges::find_if(devices, [&](const auto& device) {
        return index == device->index() && device->firmware().presence() == DevicePresence::Present;
    });
    if (found == devices.end() || !number || find_u32(attributes, RDMA_NLDEV_ATTR_PORT_INDEX)) {
        return error_answer(request, EINVAL);
    }
    const auto answer = [&](const UverbsFile& file, const Creator& creator) {
        Writer writer(answer_type(command), 0, request);
        put_device(writer, **found);
        if (is_domain) {
            writer.put(RDMA_NLDEV_ATTR_RES_PDN, *number);
        }
        writer.put(RDMA_NLDEV_ATTR_RES_CTXN, static_cast<std::uint32_t>(file.number()));
        if (is_alive(creator)) {
            writer.put(RDMA_NLDEV_ATTR_RES_PID, static_cast<std::uint32_t>(creator.thread));
        }
        return writer.finish();
    };
    for (const auto& file : (*found)->files()) {
        if (!is_domain && file->number() == *number) {
            return answer(*file, {file->opener(), file->opener()});
        }
        for (const auto& object : file->objects()) {
            if (is_domain && object->type == ObjectType::ProtectionDomain && object->number == *number) {
                return answer(*file, object->creator);
            }
        }
    }
    return error_answer(request, ENOENT);
}

std::vector<Datagram> answer_queue_pairs(const nlmsghdr& request, std::span<const std::uint8_t> attributes,
                                         const std::vector<std::shared_ptr<Device>>& devices)
{
    const bool dump = (request.nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
    const auto index = find_u32(attributes, RDMA_NLDEV_ATTR_DEV_INDEX);
    const auto number = find_u32(attributes, RDMA_NLDEV_ATTR_RES_LQPN);
    const auto found = std::find_if(devices.begin(), devices.end(), [&](const auto& device) {
        return index == device->index() && device->firmware().presence() == DevicePresence::Present;
    });
    if (found == devices.end()) {
        return {error_answer(request, EINVAL)};
    }
    if (dump) {
        return list_queue_pairs(request, **found);
    }
    const std::uint32_t port = find_u32(attributes, RDMA_NLDEV_ATTR_PORT_INDEX).value_or(0);
    if (!number || port == 0 || port > (*found)->ports().size()) {
        return {error_answer(request, EINVAL)};
    }
    return {one_queue_pair(request, **found, port, *number)};
}

}    // namespace

std::vector<QueuePairOwner> owners_of(const Device& device)
{
    std::vector<QueuePairOwner> owners;
    for (const auto& file : device.files()) {
        for (const auto& object : file->objects()) {
            if (object->type != ObjectType::QueuePair) {
                continue;
            }
            const auto record = file->device().firmware().queue_pair(object->number);
            auto& data = *std::get<std::unique_ptr<QueuePairData>>(object->data);
            const std::lock_guard lock(data.mutex);
            const auto domain = std::ranges::find(object->uses, ObjectType::ProtectionDomain, &Object::type);
            owners.push_back({object->number, data.port, object->creator.process,
                              is_alive(object->creator) ? object->creator.thread : 0,
                              domain == object->uses.end() ? 0 : (*domain)->number, data.verbs_type,
                              record ? record->state : QueuePairState::Error});
        }
    }
    return owners;
}

std::vector<Datagram> netlink_answer(std::span<const std::uint8_t> request,
                                     const std::vector<std::shared_ptr<Device>>& devices)
{
    nlmsghdr header{};
    if (request.size() < sizeof(header)) {
        return {};
    }
    std::memcpy(&header, request.data(), sizeof(header));
    if (header.nlmsg_len < sizeof(header) || header.nlmsg_len > request.size()) {
        return {error_answer(header, EINVAL)};
    }
    const bool dump = (header.nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
    if (header.nlmsg_type == answer_type(RDMA_NLDEV_CMD_GET) && dump) {
        return list_devices(header, devices);
    }
    if (header.nlmsg_type == answer_type(RDMA_NLDEV_CMD_RES_QP_GET)) {
        return answer_queue_pairs(header, request.subspan(NLMSG_HDRLEN, header.nlmsg_len - NLMSG_HDRLEN), devices);
    }
    for (const std::uint16_t command : {RDMA_NLDEV_CMD_RES_PD_GET, RDMA_NLDEV_CMD_RES_CTX_GET}) {
        if (header.nlmsg_type == answer_type(command) && !dump) {
            return {answer_surrounding(header, command, request.subspan(NLMSG_HDRLEN, header.nlmsg_len - NLMSG_HDRLEN),
                                       devices)};
        }
    }
    return {error_answer(header, EOPNOTSUPP)};
}

bool answer_netlink(int socket, const std::vector<std::shared_ptr<Device>>& devices)
{
    Datagram request(kDatagram);
    const ssize_t length = recv(socket, request.data(), request.size(), MSG_DONTWAIT);
    if (length <= 0) {
        return length < 0 && (errno == EAGAIN || errno == EINTR);
    }
    for (const auto& answer : netlink_answer({request.data(), static_cast<std::size_t>(length)}, devices)) {
        if (send(socket, answer.data(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
            return false;    // who does not read does not get the rest
        }
    }
    return true;
}

}    // namespace rdmaqos::emulator
