// RDMA netlink: who owns which queue pair.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include <fmt/format.h>
#include <linux/netlink.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_netlink.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/emulator/clients/prm.h"
#include "tests/kernel/agreement/handles.h"
#include "tests/kernel/agreement/transcript.h"

namespace rdmaqos::test::agreement {
namespace {

using Attributes = std::vector<std::pair<std::uint16_t, Bytes>>;
using Names = std::map<std::uint32_t, std::string>;

void put(Bytes& message, std::uint16_t type, const void* data, std::size_t size)
{
    const nlattr header{static_cast<std::uint16_t>(sizeof(nlattr) + size), type};
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&header);
    message.insert(message.end(), bytes, bytes + sizeof(header));
    bytes = static_cast<const std::uint8_t*>(data);
    message.insert(message.end(), bytes, bytes + size);
    message.resize(NLMSG_ALIGN(message.size()));
}

Attributes parse(const Bytes& bytes, std::size_t from)
{
    Attributes all;
    while (from + sizeof(nlattr) <= bytes.size()) {
        nlattr header{};
        std::memcpy(&header, &bytes[from], sizeof(header));
        if (header.nla_len < sizeof(header) || from + header.nla_len > bytes.size()) {
            break;
        }
        all.emplace_back(header.nla_type & NLA_TYPE_MASK,
                         Bytes(bytes.begin() + static_cast<std::ptrdiff_t>(from + sizeof(header)),
                               bytes.begin() + static_cast<std::ptrdiff_t>(from + header.nla_len)));
        from += NLA_ALIGN(header.nla_len);
    }
    return all;
}

std::uint32_t number_of(const Bytes& bytes)
{
    std::uint32_t value = 0;
    std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof(value)));
    return value;
}

struct Reply {
    int error = 0;
    std::vector<Bytes> messages;    // with their headers
};

Reply ask(std::uint16_t command, std::uint16_t flags, const std::vector<std::pair<std::uint16_t, std::uint32_t>>& given)
{
    Bytes message(NLMSG_HDRLEN);
    for (const auto& [type, value] : given) {
        put(message, type, &value, sizeof(value));
    }
    nlmsghdr header{};
    header.nlmsg_len = static_cast<std::uint32_t>(message.size());
    header.nlmsg_type = static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command));
    header.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
    header.nlmsg_seq = 7;
    std::memcpy(message.data(), &header, sizeof(header));
    Reply reply;
    const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);
    if (fd < 0 || send(fd, message.data(), message.size(), 0) < 0) {
        reply.error = errno;
        close(fd);
        return reply;
    }
    for (bool more = true; more;) {
        Bytes buffer(65536);
        const ssize_t length = recv(fd, buffer.data(), buffer.size(), 0);
        if (length <= 0) {
            break;
        }
        more = (flags & NLM_F_DUMP) == NLM_F_DUMP;
        for (std::size_t at = 0; at + sizeof(header) <= static_cast<std::size_t>(length);) {
            std::memcpy(&header, &buffer[at], sizeof(header));
            if (header.nlmsg_len < sizeof(header)) {
                break;
            }
            if (header.nlmsg_type == NLMSG_ERROR) {
                nlmsgerr body{};
                std::memcpy(&body, &buffer[at + NLMSG_HDRLEN], sizeof(body));
                reply.error = -body.error;
                more = false;
            } else if (header.nlmsg_type == NLMSG_DONE) {
                int status = 0;
                std::memcpy(&status, &buffer[at + NLMSG_HDRLEN], sizeof(status));
                reply.error = -status;
                more = false;
            } else {
                reply.messages.emplace_back(buffer.begin() + static_cast<std::ptrdiff_t>(at),
                                            buffer.begin() + static_cast<std::ptrdiff_t>(at + header.nlmsg_len));
            }
            at += NLMSG_ALIGN(header.nlmsg_len);
        }
    }
    close(fd);
    return reply;
}

// ---- in words ----

std::string text_of(const std::pair<std::uint16_t, Bytes>& attribute, const Names& names)
{
    const auto& [type, bytes] = attribute;
    const std::uint32_t value = number_of(bytes);
    switch (type) {
    case RDMA_NLDEV_ATTR_DEV_INDEX:
        return "device";
    case RDMA_NLDEV_ATTR_DEV_NAME:
        return fmt::format("name={}", reinterpret_cast<const char*>(bytes.data()));
    case RDMA_NLDEV_ATTR_PORT_INDEX:
        return fmt::format("port={}", value);
    case RDMA_NLDEV_ATTR_RES_LQPN: {
        const auto found = names.find(value);
        return "qpn=" + (found == names.end() ? std::string("another") : found->second);
    }
    case RDMA_NLDEV_ATTR_RES_RQPN: {
        const auto found = names.find(value);
        return "remote=" + (found == names.end() ? std::to_string(value) : found->second);
    }
    case RDMA_NLDEV_ATTR_RES_TYPE:
        return fmt::format("type={}", value);
    case RDMA_NLDEV_ATTR_RES_STATE:
        return fmt::format("state={}", value);
    case RDMA_NLDEV_ATTR_RES_PID:
        return value == static_cast<std::uint32_t>(getpid()) ? "pid=main" : "pid=thread";
    case RDMA_NLDEV_ATTR_RES_KERN_NAME:
        return fmt::format("kernel={}", reinterpret_cast<const char*>(bytes.data()));
    case RDMA_NLDEV_ATTR_RES_RQ_PSN:
        return fmt::format("rq_psn={:#x}", value);
    case RDMA_NLDEV_ATTR_RES_SQ_PSN:
        return fmt::format("sq_psn={:#x}", value);
    case RDMA_NLDEV_ATTR_RES_PATH_MIG_STATE:
        return fmt::format("mig={}", value);
    case RDMA_NLDEV_ATTR_RES_PDN:
        return "pdn";
    case RDMA_NLDEV_ATTR_RES_CQN:
        return "cqn";
    case RDMA_NLDEV_ATTR_RES_CTXN:
        return "ctxn";
    case RDMA_NLDEV_ATTR_RES_LOCAL_DMA_LKEY:
        return "lkey";
    case RDMA_NLDEV_ATTR_RES_CQE:
        return fmt::format("cqe={}", value);
    case RDMA_NLDEV_ATTR_RES_USECNT:
        return fmt::format("users={}", value);
    default:
        return fmt::format("#{}[{}]", type, bytes.size());
    }
}

// Sorted: the order says nothing.
std::string words_of(const Attributes& attributes, const Names& names)
{
    std::vector<std::string> words;
    for (const auto& each : attributes) {
        words.push_back(text_of(each, names));
    }
    std::sort(words.begin(), words.end());
    std::string text;
    for (const auto& word : words) {
        text += (text.empty() ? "" : " ") + word;
    }
    return text;
}

std::string one(const Reply& reply, const Names& names)
{
    if (reply.error != 0) {
        return spelled(reply.error);
    }
    return reply.messages.empty() ? "nothing" : words_of(parse(reply.messages.front(), NLMSG_HDRLEN), names);
}

std::vector<Attributes> entries_of(const Reply& reply, std::uint16_t table)
{
    std::vector<Attributes> entries;
    for (const auto& message : reply.messages) {
        for (const auto& [type, bytes] : parse(message, NLMSG_HDRLEN)) {
            if (type != table) {
                continue;
            }
            for (const auto& [entry, inner] : parse(bytes, 0)) {
                entries.push_back(parse(inner, 0));
            }
        }
    }
    return entries;
}

std::uint32_t device_index()
{
    for (const auto& message : ask(RDMA_NLDEV_CMD_GET, NLM_F_DUMP, {}).messages) {
        for (const auto& [type, bytes] : parse(message, NLMSG_HDRLEN)) {
            if (type == RDMA_NLDEV_ATTR_DEV_INDEX) {
                return number_of(bytes);
            }
        }
    }
    return 0;
}

bool is_of_kernel(const Attributes& entry)
{
    return std::any_of(entry.begin(), entry.end(),
                       [](const auto& each) { return each.first == RDMA_NLDEV_ATTR_RES_KERN_NAME; });
}

void say_table(const std::string& name, std::uint16_t command, std::uint16_t table, std::uint32_t device,
               const Names& names)
{
    const Reply reply = ask(command, NLM_F_DUMP, {{RDMA_NLDEV_ATTR_DEV_INDEX, device}});
    std::size_t of_kernel = 0;
    std::vector<std::string> lines;
    for (const Attributes& entry : entries_of(reply, table)) {
        if (is_of_kernel(entry)) {
            ++of_kernel;
        } else {
            lines.push_back(words_of(entry, names));
        }
    }
    say(name, fmt::format("{}, {} of programs", spelled(reply.error), lines.size()));
    say(name + " of the kernel", of_kernel > 0 ? "some" : "none");
    for (std::size_t at = 0; at < lines.size(); ++at) {
        say(fmt::format("{} {}", name, at + 1), lines[at]);
    }
}

// What a process in a pid namespace of its own reads, where the queue pair's thread is not.
std::string from_a_namespace(std::uint32_t device, std::uint32_t number, const Names& names)
{
    int ends[2];
    if (pipe(ends) != 0) {
        return "no pipe";
    }
    const pid_t pid = fork();
    if (pid == 0) {
        std::string text = "not asked, " + spelled(EPERM);
        if (unshare(CLONE_NEWPID) == 0) {
            const pid_t inner = fork();
            if (inner == 0) {
                text = one(ask(RDMA_NLDEV_CMD_RES_QP_GET, 0,
                               {{RDMA_NLDEV_ATTR_DEV_INDEX, device},
                                {RDMA_NLDEV_ATTR_PORT_INDEX, 1},
                                {RDMA_NLDEV_ATTR_RES_LQPN, number}}),
                           names);
                (void)!write(ends[1], text.c_str(), text.size());
                _exit(0);
            }
            waitpid(inner, nullptr, 0);
        } else {
            (void)!write(ends[1], text.c_str(), text.size());
        }
        _exit(0);
    }
    close(ends[1]);
    char text[1024] = {};
    const ssize_t length = read(ends[0], text, sizeof(text) - 1);
    close(ends[0]);
    waitpid(pid, nullptr, 0);
    return length > 0 ? text : "nothing";
}

// A file that outlives the process which opened it, as the daemon holds one.
void say_inherited(const Room& room, std::uint32_t device)
{
    const Inherited left = inherit();
    const auto move = [&](std::uint32_t requester) {
        return devx_modify(left.fd, left.handle, attach(OP_INIT2INIT_QP, left.number, requester, 0)).text();
    };
    say("a queue pair whose process has ended", one(ask(RDMA_NLDEV_CMD_RES_QP_GET, 0,
                                                        {{RDMA_NLDEV_ATTR_DEV_INDEX, device},
                                                         {RDMA_NLDEV_ATTR_PORT_INDEX, 1},
                                                         {RDMA_NLDEV_ATTR_RES_LQPN, left.number}}),
                                                    {{left.number, "left"}}));
    say("a queue pair whose process has ended: its file has",
        list_handles(left.fd, UVERBS_OBJECT_QP, 64).text({{left.handle, "left"}}));
    say("a queue pair whose process has ended: moved into a leaf of this process", move(room.leaf.id));
    const Answer root = devx_create(left.fd, create_element(kTsar, 0));
    const Answer leaf = devx_create(left.fd, create_element(kQueueGroup, root.id()));
    say("a queue pair whose process has ended: elements in its file",
        joined({spelled(root.error), spelled(leaf.error)}));
    say("a queue pair whose process has ended: moved into them", joined({move(leaf.id()), "then " + move(0)}));
    say("a queue pair whose process has ended: by its handle in this file",
        devx_modify(room.fd(), left.handle, attach(OP_INIT2INIT_QP, left.number, 0, 0)).text());
    close(left.fd);
    say("a queue pair whose process has ended: and the file", one(ask(RDMA_NLDEV_CMD_RES_QP_GET, 0,
                                                                      {{RDMA_NLDEV_ATTR_DEV_INDEX, device},
                                                                       {RDMA_NLDEV_ATTR_PORT_INDEX, 1},
                                                                       {RDMA_NLDEV_ATTR_RES_LQPN, left.number}}),
                                                                  {{left.number, "left"}}));
}

void say_one(const Names& names, std::uint32_t device, const ibv_qp* first, const ibv_qp* unset)
{
    constexpr std::uint16_t kDevice = RDMA_NLDEV_ATTR_DEV_INDEX;
    constexpr std::uint16_t kPort = RDMA_NLDEV_ATTR_PORT_INDEX;
    constexpr std::uint16_t kNumber = RDMA_NLDEV_ATTR_RES_LQPN;
    const auto get = [&](const std::string& name, const std::vector<std::pair<std::uint16_t, std::uint32_t>>& given) {
        say(name, one(ask(RDMA_NLDEV_CMD_RES_QP_GET, 0, given), names));
    };
    get("one queue pair", {{kDevice, device}, {kPort, 1}, {kNumber, first->qp_num}});
    get("one queue pair without a port", {{kDevice, device}, {kNumber, first->qp_num}});
    get("one queue pair of port 0", {{kDevice, device}, {kPort, 0}, {kNumber, first->qp_num}});
    get("one queue pair of port 2", {{kDevice, device}, {kPort, 2}, {kNumber, first->qp_num}});
    get("one queue pair in RESET", {{kDevice, device}, {kPort, 1}, {kNumber, unset->qp_num}});
    get("one queue pair without a number", {{kDevice, device}, {kPort, 1}});
    get("no such queue pair", {{kDevice, device}, {kPort, 1}, {kNumber, 0xfffffe}});
    get("one queue pair without a device", {{kPort, 1}, {kNumber, first->qp_num}});
    get("one queue pair of another device", {{kDevice, 0xffff}, {kPort, 1}, {kNumber, first->qp_num}});
}

}    // namespace

void say_netlink()
{
    const Room room;
    const std::uint32_t device = device_index();
    QueuePair first(room, IBV_QPT_RC, IBV_QPS_RTS);
    const QueuePair unset(room, IBV_QPT_UC, IBV_QPS_RESET);
    const QueuePair datagram(room, IBV_QPT_UD, IBV_QPS_INIT);
    const QueuePair raw(room, IBV_QPT_RAW_PACKET, IBV_QPS_RTS);
    ibv_qp* of_thread = nullptr;
    ibv_qp* of_ended = nullptr;
    Names names{{first.qp->qp_num, "first"}, {unset.qp->qp_num, "unset"}, {datagram.qp->qp_num, "datagram"}};
    if (raw.qp != nullptr) {
        names[raw.qp->qp_num] = "raw";
    }
    std::thread([&] { of_ended = create_qp(&room.world, IBV_QPT_RC); }).join();
    names[of_ended->qp_num] = "of a thread that ended";
    (void)drive_qp(of_ended, IBV_QPS_INIT);
    std::thread([&] {
        of_thread = create_qp(&room.world, IBV_QPT_RC);
        (void)drive_qp(of_thread, IBV_QPS_INIT);
        names[of_thread->qp_num] = "of this thread";
        say("one queue pair of a thread", one(ask(RDMA_NLDEV_CMD_RES_QP_GET, 0,
                                                  {{RDMA_NLDEV_ATTR_DEV_INDEX, device},
                                                   {RDMA_NLDEV_ATTR_PORT_INDEX, 1},
                                                   {RDMA_NLDEV_ATTR_RES_LQPN, of_thread->qp_num}}),
                                              names));
    }).join();
    say_one(names, device, first.qp, unset.qp);
    say("one queue pair of a thread that ended", one(ask(RDMA_NLDEV_CMD_RES_QP_GET, 0,
                                                         {{RDMA_NLDEV_ATTR_DEV_INDEX, device},
                                                          {RDMA_NLDEV_ATTR_PORT_INDEX, 1},
                                                          {RDMA_NLDEV_ATTR_RES_LQPN, of_ended->qp_num}}),
                                                     names));
    say("one queue pair, asked from another pid namespace", from_a_namespace(device, first.qp->qp_num, names));
    say_inherited(room, device);
    say_table("queue pairs", RDMA_NLDEV_CMD_RES_QP_GET, RDMA_NLDEV_ATTR_RES_QP, device, names);
    say_table("protection domains", RDMA_NLDEV_CMD_RES_PD_GET, RDMA_NLDEV_ATTR_RES_PD, device, names);
    say_table("completion queues", RDMA_NLDEV_CMD_RES_CQ_GET, RDMA_NLDEV_ATTR_RES_CQ, device, names);
    say_table("contexts", RDMA_NLDEV_CMD_RES_CTX_GET, RDMA_NLDEV_ATTR_RES_CTX, device, names);
    say("queue pairs of no device",
        spelled(ask(RDMA_NLDEV_CMD_RES_QP_GET, NLM_F_DUMP, {{RDMA_NLDEV_ATTR_DEV_INDEX, 0xffff}}).error));
    say("queue pairs without a device", spelled(ask(RDMA_NLDEV_CMD_RES_QP_GET, NLM_F_DUMP, {}).error));
    say("the device", one(ask(RDMA_NLDEV_CMD_GET, 0, {{RDMA_NLDEV_ATTR_DEV_INDEX, device}}), names));
    const Reply all = ask(RDMA_NLDEV_CMD_GET, NLM_F_DUMP, {});
    say("all devices", fmt::format("{}: {}", all.messages.size(), one(all, names)));
    const Reply plain = ask(RDMA_NLDEV_CMD_RES_QP_GET, NLM_F_ACK, {{RDMA_NLDEV_ATTR_DEV_INDEX, device}});
    say("queue pairs without NLM_F_DUMP", spelled(plain.error));
    say("no such device", one(ask(RDMA_NLDEV_CMD_GET, 0, {{RDMA_NLDEV_ATTR_DEV_INDEX, 0xffff}}), names));
    say("its port",
        one(ask(RDMA_NLDEV_CMD_PORT_GET, 0, {{RDMA_NLDEV_ATTR_DEV_INDEX, device}, {RDMA_NLDEV_ATTR_PORT_INDEX, 1}}),
            names));
    say("an unknown command", spelled(ask(0x3f, 0, {{RDMA_NLDEV_ATTR_DEV_INDEX, device}}).error));
    ibv_destroy_qp(of_thread);
    ibv_destroy_qp(of_ended);
}

}    // namespace rdmaqos::test::agreement
