// RDMA netlink: who owns which queue pair.
#include <algorithm>
#include <cerrno>
#include <thread>

#include <fmt/format.h>
#include <linux/netlink.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_netlink.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/emulator/clients/prm.h"
#include "tests/kernel/agreement/handles.h"
#include "tests/kernel/agreement/netlink_words.h"
#include "tests/kernel/agreement/transcript.h"

namespace rdmaqos::test::agreement {
namespace {

using namespace netlink;

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
                text = one(ask_queue_pair(device, number), names);
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
    say("a queue pair whose process has ended", one(ask_queue_pair(device, left.number), {{left.number, "left"}}));
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
    say("a queue pair whose process has ended: and the file",
        one(ask_queue_pair(device, left.number), {{left.number, "left"}}));
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
        say("one queue pair of a thread", one(ask_queue_pair(device, of_thread->qp_num), names));
    }).join();
    say_one(names, device, first.qp, unset.qp);
    say("one queue pair of a thread that ended", one(ask_queue_pair(device, of_ended->qp_num), names));
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
