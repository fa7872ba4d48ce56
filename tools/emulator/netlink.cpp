#include "tools/emulator/netlink.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/emulator/interface_counters.h"
#include "tools/emulator/netlink_message.h"
#include "tools/emulator/protocol.h"
#include "tools/emulator/tasks.h"
#include "tools/emulator/uverbs_file.h"

namespace rdmaqos::emulator {
namespace {

constexpr std::uint16_t kCommandMask = 0x3ff;
constexpr int kReaderPatience = 1000;    // ms, with a reader
// RDMA_NLDEV_SYS_ATTR_PRIVILEGED_QKEY_MODE, which Debian 12's headers have since 6.1.190 only.
constexpr std::uint16_t kPrivilegedQkeyMode = 96;

bool is_alive(const Creator& creator)
{
    return access(fmt::format("/proc/{}/task/{}", creator.process, creator.thread).c_str(), F_OK) == 0;
}

// A living thread as the reader counts; 0: it is not in the reader's pid namespace.
pid_t seen_by(pid_t reader, const Creator& creator)
{
    if (reader == 0 || creator.thread == 0) {
        return creator.thread;
    }
    const auto theirs = numbers_of(fmt::format("/proc/{}", reader));
    const auto its = numbers_of(fmt::format("/proc/{}/task/{}", creator.process, creator.thread));
    if (its.size() < theirs.size()) {
        return 0;
    }
    std::error_code none;
    const auto space = [&](pid_t pid) {
        return std::filesystem::read_symlink(fmt::format("/proc/{}/ns/pid", pid), none).string();
    };
    const bool same = its.size() > theirs.size() || space(reader) == space(creator.process);
    return same ? its[theirs.size() - 1] : 0;
}

void put_pid(Writer& writer, const Creator& creator)
{
    if (const pid_t seen = seen_by(writer.reader(), creator); seen != 0) {
        writer.put(RDMA_NLDEV_ATTR_RES_PID, static_cast<std::uint32_t>(seen));
    }
}

void put_device(Writer& writer, const Device& device)
{
    writer.put(RDMA_NLDEV_ATTR_DEV_INDEX, device.appearance());
    writer.put(RDMA_NLDEV_ATTR_DEV_NAME, device.name());
}

void put_properties(Writer& writer, const Device& device)
{
    constexpr std::uint64_t kCapabilities = 0x21361c36;
    const SimulatedDevice& first = device.ports().front();
    put_device(writer, device);
    writer.put(RDMA_NLDEV_ATTR_PORT_INDEX, static_cast<std::uint32_t>(device.ports().size()));
    writer.put_long(RDMA_NLDEV_ATTR_CAP_FLAGS, kCapabilities);
    writer.put(RDMA_NLDEV_ATTR_FW_VERSION, std::string("22.35.1012"));
    writer.put_long(RDMA_NLDEV_ATTR_NODE_GUID, first.node_guid.value);
    writer.put_long(RDMA_NLDEV_ATTR_SYS_IMAGE_GUID, first.node_guid.value);
    writer.put_byte(RDMA_NLDEV_ATTR_DEV_NODE_TYPE, RDMA_NODE_IB_CA);
    writer.put_byte(RDMA_NLDEV_ATTR_DEV_DIM, 1);
    writer.put(RDMA_NLDEV_ATTR_DEV_PROTOCOL, std::string(first.infiniband ? "ib" : "roce"));
}

NetlinkDatagram one_device(const Request& request, const Device& device, std::uint16_t flags)
{
    Writer writer(answer_type(RDMA_NLDEV_CMD_GET), flags, request);
    put_properties(writer, device);
    return writer.finish();
}

NetlinkDatagram one_port(const Request& request, const Device& device, std::uint32_t number)
{
    if (number == 0 || number > device.ports().size()) {
        return error_answer(request, EINVAL);
    }
    const bool up = device.port_is_up(number);
    Writer writer(answer_type(RDMA_NLDEV_CMD_PORT_GET), 0, request);
    put_device(writer, device);
    writer.put(RDMA_NLDEV_ATTR_PORT_INDEX, number);
    if (device.ports()[number - 1].infiniband) {
        writer.put_long(RDMA_NLDEV_ATTR_CAP_FLAGS, 0x04010000);
        writer.put_long(RDMA_NLDEV_ATTR_SUBNET_PREFIX, 0xfe80000000000000);
        writer.put(RDMA_NLDEV_ATTR_LID, number + 1);
        writer.put(RDMA_NLDEV_ATTR_SM_LID, 1U);
        writer.put_byte(RDMA_NLDEV_ATTR_LMC, 0);
    }
    writer.put_byte(RDMA_NLDEV_ATTR_PORT_STATE, up ? 4 : 1);
    writer.put_byte(RDMA_NLDEV_ATTR_PORT_PHYS_STATE, up ? 5 : 3);
    return writer.finish();
}

void put_queue_pair(Writer& writer, const QueuePairOwner& owner)
{
    if (owner.port != 0) {
        writer.put(RDMA_NLDEV_ATTR_PORT_INDEX, owner.port);
    }
    writer.put(RDMA_NLDEV_ATTR_RES_LQPN, owner.number);
    if (owner.verbs_type == IB_UVERBS_QPT_RC || owner.verbs_type == IB_UVERBS_QPT_UC) {
        writer.put(RDMA_NLDEV_ATTR_RES_RQPN, owner.remote);
        writer.put(RDMA_NLDEV_ATTR_RES_RQ_PSN, owner.receive_psn);
        writer.put_byte(RDMA_NLDEV_ATTR_RES_PATH_MIG_STATE, owner.path_migration);
    }
    writer.put(RDMA_NLDEV_ATTR_RES_SQ_PSN, owner.send_psn);
    writer.put(RDMA_NLDEV_ATTR_RES_PDN, owner.domain);
    writer.put_byte(RDMA_NLDEV_ATTR_RES_TYPE, owner.verbs_type);
    writer.put_byte(RDMA_NLDEV_ATTR_RES_STATE, static_cast<std::uint8_t>(owner.state));
    put_pid(writer, {owner.process, owner.thread});
}

// What a dump lists: its command, and how its answer nests them.
struct Table {
    std::uint16_t command = 0;
    std::uint16_t table = 0;
    std::uint16_t entry = 0;
};

template <typename Row>
std::vector<NetlinkDatagram> list_rows(const Request& request, const Device& device, const Table& as,
                                       const std::vector<Row>& rows, void (*put_row)(Writer&, const Row&))
{
    std::vector<NetlinkDatagram> answers;
    for (auto next = rows.begin(); next != rows.end();) {
        Writer writer(answer_type(as.command), NLM_F_MULTI, request);
        put_device(writer, device);
        const auto table = writer.begin_nested(as.table);
        for (; next != rows.end() && writer.size() < kNetlinkDatagram; ++next) {
            const auto entry = writer.begin_nested(as.entry);
            put_row(writer, *next);
            writer.end_nested(entry);
        }
        writer.end_nested(table);
        answers.push_back(writer.finish());
    }
    answers.push_back(done(request));
    return answers;
}

// An object of a program, with the number of its file as that of its context.
struct Resource {
    std::shared_ptr<Object> object;    // null: the context itself
    std::uint32_t context = 0;
    Creator creator;
};

std::vector<Resource> resources_of(const Device& device, std::optional<ObjectType> type)
{
    std::vector<Resource> all;
    for (const auto& file : device.files()) {
        const auto number = static_cast<std::uint32_t>(file->number());
        if (!type && file->context()) {
            all.push_back({nullptr, number, {file->opener(), file->opener()}});
        }
        for (const auto& object : file->objects()) {
            if (object->type == type) {
                all.push_back({object, number, object->creator});
            }
        }
    }
    return all;
}

void put_creator(Writer& writer, const Creator& creator)
{
    if (is_alive(creator)) {
        put_pid(writer, creator);
    }
}

void put_domain(Writer& writer, const Resource& domain)
{
    writer.put(RDMA_NLDEV_ATTR_RES_PDN, domain.object->number);
    writer.put(RDMA_NLDEV_ATTR_RES_CTXN, domain.context);
    writer.put(RDMA_NLDEV_ATTR_RES_LOCAL_DMA_LKEY, 0U);
    writer.put_long(RDMA_NLDEV_ATTR_RES_USECNT, static_cast<std::uint64_t>(domain.object->users.load()));
    put_creator(writer, domain.creator);
}

void put_completion_queue(Writer& writer, const Resource& queue)
{
    const auto* data = std::get_if<CompletionQueueData>(&queue.object->data);
    writer.put(RDMA_NLDEV_ATTR_RES_CQN, queue.object->number);
    writer.put(RDMA_NLDEV_ATTR_RES_CQE, data != nullptr ? data->entries.load() : 0U);
    writer.put(RDMA_NLDEV_ATTR_RES_CTXN, queue.context);
    writer.put_byte(RDMA_NLDEV_ATTR_DEV_DIM, 0);
    writer.put_long(RDMA_NLDEV_ATTR_RES_USECNT, static_cast<std::uint64_t>(queue.object->users.load()));
    put_creator(writer, queue.creator);
}

void put_context(Writer& writer, const Resource& context)
{
    writer.put(RDMA_NLDEV_ATTR_RES_CTXN, context.context);
    put_creator(writer, context.creator);
}

constexpr Table kQueuePairs{RDMA_NLDEV_CMD_RES_QP_GET, RDMA_NLDEV_ATTR_RES_QP, RDMA_NLDEV_ATTR_RES_QP_ENTRY};
constexpr Table kDomains{RDMA_NLDEV_CMD_RES_PD_GET, RDMA_NLDEV_ATTR_RES_PD, RDMA_NLDEV_ATTR_RES_PD_ENTRY};
constexpr Table kCompletionQueues{RDMA_NLDEV_CMD_RES_CQ_GET, RDMA_NLDEV_ATTR_RES_CQ, RDMA_NLDEV_ATTR_RES_CQ_ENTRY};
constexpr Table kContexts{RDMA_NLDEV_CMD_RES_CTX_GET, RDMA_NLDEV_ATTR_RES_CTX, RDMA_NLDEV_ATTR_RES_CTX_ENTRY};

std::vector<NetlinkDatagram> dump(const Request& request, std::uint16_t command, const Device& device)
{
    switch (command) {
    case RDMA_NLDEV_CMD_RES_PD_GET:
        return list_rows(request, device, kDomains, resources_of(device, ObjectType::ProtectionDomain), put_domain);
    case RDMA_NLDEV_CMD_RES_CQ_GET:
        return list_rows(request, device, kCompletionQueues, resources_of(device, ObjectType::CompletionQueue),
                         put_completion_queue);
    case RDMA_NLDEV_CMD_RES_CTX_GET:
        return list_rows(request, device, kContexts, resources_of(device, std::nullopt), put_context);
    default:
        return list_rows(request, device, kQueuePairs, owners_of(device), put_queue_pair);
    }
}

// ---- counts ----

// How many the kernel tracks of each kind, in its order.
NetlinkDatagram counts_of(const Request& request, const Device& device, std::uint16_t flags)
{
    using enum ObjectType;
    std::map<ObjectType, std::size_t> objects;
    std::size_t contexts = 0;
    for (const auto& file : device.files()) {
        contexts += file->context() ? 1 : 0;
        for (const auto& object : file->objects()) {
            ++objects[object->type];
        }
    }
    const std::pair<const char*, std::size_t> counts[] = {
        {"pd", objects[ProtectionDomain]},    {"cq", objects[CompletionQueue]},
        {"qp", objects[QueuePair]},           {"cm_id", 0},
        {"mr", objects[MemoryRegion]},        {"ctx", contexts},
        {"srq", objects[SharedReceiveQueue]},
    };
    Writer writer(answer_type(RDMA_NLDEV_CMD_RES_GET), flags, request);
    put_device(writer, device);
    const auto table = writer.begin_nested(RDMA_NLDEV_ATTR_RES_SUMMARY);
    for (const auto& [name, number] : counts) {
        const auto entry = writer.begin_nested(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY);
        writer.put(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME, std::string(name));
        writer.put_long(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR, number);
        writer.end_nested(entry);
    }
    writer.end_nested(table);
    return writer.finish();
}

// What holds for all devices: they are those of every network namespace; memory may be registered before a fork.
NetlinkDatagram system_settings(const Request& request)
{
    Writer writer(answer_type(RDMA_NLDEV_CMD_SYS_GET), 0, request);
    writer.put_byte(RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 1);
    writer.put_byte(kPrivilegedQkeyMode, 0);
    writer.put_byte(RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK, 1);
    return writer.finish();
}

// ---- one of them ----

// Of one, without the tables that a dump nests: as kernels since 5.1 answer, and only to who knows its port.
NetlinkDatagram one_queue_pair(const Request& request, const Device& device, std::uint32_t port, std::uint32_t number)
{
    const auto found = owners_of(device, number);
    if (found.empty()) {
        return error_answer(request, ENOENT);
    }
    if (found.front().port != port) {
        return error_answer(request, EAGAIN);
    }
    Writer writer(answer_type(RDMA_NLDEV_CMD_RES_QP_GET), 0, request);
    put_device(writer, device);
    put_queue_pair(writer, found.front());
    return writer.finish();
}

// A protection domain or a context, by the number that its queue pairs or domains give.
NetlinkDatagram one_resource(const Request& request, std::uint16_t command, const Device& device,
                             std::span<const std::uint8_t> attributes)
{
    const bool is_domain = command == RDMA_NLDEV_CMD_RES_PD_GET;
    const auto number = find_u32(attributes, is_domain ? RDMA_NLDEV_ATTR_RES_PDN : RDMA_NLDEV_ATTR_RES_CTXN);
    if (!number || find_u32(attributes, RDMA_NLDEV_ATTR_PORT_INDEX)) {
        return error_answer(request, EINVAL);
    }
    const auto type = is_domain ? std::optional(ObjectType::ProtectionDomain) : std::nullopt;
    for (const auto& resource : resources_of(device, type)) {
        if ((is_domain ? resource.object->number : resource.context) == *number) {
            Writer writer(answer_type(command), 0, request);
            put_device(writer, device);
            (is_domain ? put_domain : put_context)(writer, resource);
            return writer.finish();
        }
    }
    return error_answer(request, ENOENT);
}

// A message for each device, of RDMA_NLDEV_CMD_GET or _RES_GET.
std::vector<NetlinkDatagram> list_devices(const Request& request, std::uint16_t command,
                                          const std::vector<std::shared_ptr<Device>>& devices)
{
    std::vector<NetlinkDatagram> answers;
    for (const auto& device : devices) {
        if (device->firmware().presence() == DevicePresence::Present) {
            answers.push_back(command == RDMA_NLDEV_CMD_GET ? one_device(request, *device, NLM_F_MULTI)
                                                            : counts_of(request, *device, NLM_F_MULTI));
        }
    }
    answers.push_back(done(request));
    return answers;
}

std::shared_ptr<Device> device_of(std::span<const std::uint8_t> attributes,
                                  const std::vector<std::shared_ptr<Device>>& devices)
{
    const auto index = find_u32(attributes, RDMA_NLDEV_ATTR_DEV_INDEX);
    const auto found = std::find_if(devices.begin(), devices.end(), [&](const auto& device) {
        return index == device->appearance() && device->firmware().presence() == DevicePresence::Present;
    });
    return found == devices.end() ? nullptr : *found;
}

// About the device that the request names.
std::vector<NetlinkDatagram> answer_device(const Request& request, std::uint16_t command, bool is_dump,
                                           std::span<const std::uint8_t> attributes,
                                           const std::vector<std::shared_ptr<Device>>& devices)
{
    const auto number = find_u32(attributes, RDMA_NLDEV_ATTR_RES_LQPN);
    const auto device = device_of(attributes, devices);
    if (device == nullptr) {
        return {error_answer(request, EINVAL)};
    }
    if (is_dump) {
        return dump(request, command, *device);
    }
    const std::uint32_t port = find_u32(attributes, RDMA_NLDEV_ATTR_PORT_INDEX).value_or(0);
    if (command == RDMA_NLDEV_CMD_GET) {
        return {one_device(request, *device, 0)};
    }
    if (command == RDMA_NLDEV_CMD_RES_GET) {
        return {counts_of(request, *device, 0)};
    }
    if (command == RDMA_NLDEV_CMD_PORT_GET) {
        return {one_port(request, *device, port)};
    }
    if (command == RDMA_NLDEV_CMD_RES_PD_GET || command == RDMA_NLDEV_CMD_RES_CTX_GET) {
        return {one_resource(request, command, *device, attributes)};
    }
    if (!number || port == 0 || port > device->ports().size()) {
        return {error_answer(request, EINVAL)};
    }
    return {one_queue_pair(request, *device, port, *number)};
}

}    // namespace

std::vector<QueuePairOwner> owners_of(const Device& device, std::optional<std::uint32_t> number)
{
    std::vector<QueuePairOwner> owners;
    for (const auto& file : device.files()) {
        for (const auto& object : file->objects()) {
            if (object->type != ObjectType::QueuePair || (number && object->number != *number)) {
                continue;
            }
            const auto record = file->device().firmware().queue_pair(object->number);
            auto& data = *std::get<std::unique_ptr<QueuePairData>>(object->data);
            const std::lock_guard lock(data.mutex);
            const auto& kept = data.attributes;
            const auto domain = std::find_if(object->uses.begin(), object->uses.end(), [](const auto& used) {
                return used->type == ObjectType::ProtectionDomain;
            });
            owners.push_back({object->number, data.port, object->creator.process,
                              is_alive(object->creator) ? object->creator.thread : 0, data.verbs_type,
                              record ? record->state : QueuePairState::Error,
                              domain == object->uses.end() ? 0 : (*domain)->number, kept.dest_qp_num, kept.rq_psn,
                              kept.sq_psn, kept.path_mig_state});
        }
    }
    return owners;
}

std::vector<NetlinkDatagram> netlink_answer(std::span<const std::uint8_t> request,
                                            const std::vector<std::shared_ptr<Device>>& devices, pid_t reader,
                                            const TellDcb& tell, KernelCounters counters)
{
    Request header{};
    header.process = reader;
    header.reader = numbers_of(fmt::format("/proc/{}", reader)).size() > 1 ? reader : 0;
    if (request.size() < sizeof(nlmsghdr)) {
        return {};
    }
    std::memcpy(static_cast<nlmsghdr*>(&header), request.data(), sizeof(nlmsghdr));
    if (header.nlmsg_len < sizeof(nlmsghdr) || header.nlmsg_len > request.size()) {
        return {error_answer(header, EINVAL)};
    }
    if (header.nlmsg_type == RTM_GETDCB || header.nlmsg_type == RTM_SETDCB) {
        auto answer = dcb_answer(header, request.subspan(NLMSG_HDRLEN, header.nlmsg_len - NLMSG_HDRLEN), devices, tell);
        if (answer.empty()) {
            return {};
        }
        return {std::move(answer)};
    }
    if (header.nlmsg_type == kInterfaceCounters) {
        return {interface_answer(header, request.subspan(NLMSG_HDRLEN, header.nlmsg_len - NLMSG_HDRLEN), devices)};
    }
    const bool is_dump = (header.nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
    const auto command = static_cast<std::uint16_t>(header.nlmsg_type & kCommandMask);
    if (header.nlmsg_type != answer_type(command) || command >= RDMA_NLDEV_NUM_OPS) {
        return {error_answer(header, EINVAL)};
    }
    const auto attributes = request.subspan(NLMSG_HDRLEN, header.nlmsg_len - NLMSG_HDRLEN);
    if (is_stat(command)) {
        const auto device = device_of(attributes, devices);
        return device == nullptr ? std::vector<NetlinkDatagram>{error_answer(header, EINVAL)}
                                 : stat_answer({header, command, is_dump, attributes}, *device, counters);
    }
    switch (command) {
    case RDMA_NLDEV_CMD_GET:
    case RDMA_NLDEV_CMD_RES_GET:
        return is_dump ? list_devices(header, command, devices)
                       : answer_device(header, command, is_dump, attributes, devices);
    case RDMA_NLDEV_CMD_SYS_GET:
        return {is_dump ? error_answer(header, EINVAL) : system_settings(header)};
    case RDMA_NLDEV_CMD_RES_QP_GET:
    case RDMA_NLDEV_CMD_RES_PD_GET:
    case RDMA_NLDEV_CMD_RES_CTX_GET:
        return answer_device(header, command, is_dump, attributes, devices);
    case RDMA_NLDEV_CMD_PORT_GET:
        if (!is_dump) {
            return answer_device(header, command, is_dump, attributes, devices);
        }
        break;
    case RDMA_NLDEV_CMD_RES_CQ_GET:
        if (is_dump) {
            return answer_device(header, command, is_dump, attributes, devices);
        }
        break;
    default:
        break;
    }
    return {error_answer(header, EOPNOTSUPP)};
}

bool answer_netlink(int socket, const NetlinkHost& host)
{
    NetlinkDatagram request(kNetlinkDatagram);
    const ssize_t length = recv(socket, request.data(), request.size(), MSG_DONTWAIT);
    if (length <= 0) {
        return length < 0 && (errno == EAGAIN || errno == EINTR);
    }
    nlmsghdr header{};
    std::memcpy(&header, request.data(), std::min(sizeof(header), static_cast<std::size_t>(length)));
    if (header.nlmsg_type == kJoinDcb) {
        host.join();
        return true;
    }
    ucred peer{};
    socklen_t size = sizeof(peer);
    const bool known = getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
    for (const auto& answer : netlink_answer({request.data(), static_cast<std::size_t>(length)}, host.devices,
                                             known ? peer.pid : 0, host.tell, host.counters)) {
        // As a dump of the kernel goes on when its reader reads; who does not read does not get the rest.
        pollfd room{socket, POLLOUT, 0};
        if (poll(&room, 1, kReaderPatience) <= 0 ||
            send(socket, answer.data(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
            return false;
        }
    }
    return true;
}

}    // namespace rdmaqos::emulator
