// What the kernel makes of a firmware that refuses, and of calls that meet on one object.
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include <fmt/format.h>

#include "tests/emulator/clients/prm.h"
#include "tests/kernel/agreement/transcript.h"

namespace rdmaqos::test::agreement {
namespace {

using namespace std::chrono_literals;

// All that a mlx5 firmware has, and one that it does not have.
constexpr unsigned kStatuses[] = {0x1, 0x2, 0x3,  0x4,  0x5,  0x6,  0x8,  0x9, 0xa,
                                  0xb, 0xf, 0x10, 0x30, 0x40, 0x50, 0x51, 0x7f};

void say_statuses(const Room& room)
{
    const QueuePair pair(room, IBV_QPT_RC, IBV_QPS_RTS);
    const int fd = room.fd();
    for (const unsigned status : kStatuses) {
        const std::string at = fmt::format("status {:#04x}", status);
        const auto fail = [&](const char* kind) { control(fmt::format("fail {} 1 {:#x}", kind, status)); };
        fail("create");
        Answer made = devx_create(fd, create_element(kQueueGroup, room.node.id));
        say("create, " + at, made.text());
        if (made.error == 0) {
            (void)devx_destroy(fd, made.handle);
        }
        fail("modify");
        say("modify, " + at,
            devx_modify(fd, room.leaf.handle, modify_element(room.leaf.id, kSelectShare, 5, 0)).text());
        fail("query");
        say("query, " + at,
            devx_query(fd, room.leaf.handle, element_command(OP_QUERY_GENERAL_OBJECT, room.leaf.id), kElementOut)
                .text());
        fail("attach");
        say("attach, " + at,
            joined({devx_modify(fd, pair.qp->handle, attach(OP_RTS2RTS_QP, pair.qp->qp_num, room.leaf.id, room.leaf.id))
                        .text(),
                    "in " + room.place_of(pair.qp)}));
        fail("query-queue-pair");
        say("query of a queue pair, " + at,
            spelled(
                devx_query(fd, pair.qp->handle, queue_command(kQueryQp, pair.qp->qp_num), kQueryQueuePairOut).error));
        control("clear");
        const Element leaf = room.make(kQueueGroup, room.node.id, 4);
        name_element(leaf.id, "another leaf");
        fail("destroy");
        say("destroy, " + at, joined({spelled(devx_destroy(fd, leaf.handle)), "then " + room.state_of(leaf),
                                      "then " + spelled(devx_destroy(fd, leaf.handle))}));
        control("clear");
    }
    say("the leaf is as before", room.state_of(room.leaf));
}

// ---- calls that meet ----

// `second` while `first` is on its way, and the answers of both. The firmware must take kLong for the first.
constexpr auto kLong = 1000ms;

void meet(const std::string& name, const std::function<std::string()>& first,
          const std::function<std::string()>& second)
{
    std::string of_first;
    std::atomic<bool> begun = false;
    std::atomic<bool> ended = false;
    std::thread thread([&] {
        begun = true;
        of_first = first();
        ended = true;
    });
    while (!begun) {
        std::this_thread::yield();
    }
    std::this_thread::sleep_for(200ms);
    const std::string of_second = second();
    const bool after_it = ended;
    thread.join();
    say(name, fmt::format("{}{}, the first {}", of_second, after_it ? " after it" : "", of_first));
}

void slow_down(const char* kind)
{
    control(fmt::format("delay {} {}", kind, kLong.count()));
}

struct Calls {
    std::function<std::string()> modify;
    std::function<std::string()> query;
    std::function<std::string()> attach;
    std::function<std::string()> query_pair;
    std::function<std::string()> verbs_query;
    std::function<std::string()> verbs_modify;
};

Calls calls_of(const Room& room, const QueuePair& pair)
{
    const int fd = room.fd();
    Calls calls;
    calls.modify = [&room, fd] {
        return spelled(devx_modify(fd, room.leaf.handle, modify_element(room.leaf.id, kSelectShare, 5, 0)).error);
    };
    calls.query = [&room, fd] {
        return spelled(
            devx_query(fd, room.leaf.handle, element_command(OP_QUERY_GENERAL_OBJECT, room.leaf.id), 144).error);
    };
    calls.attach = [&room, &pair, fd] {
        return spelled(
            devx_modify(fd, pair.qp->handle, attach(OP_RTS2RTS_QP, pair.qp->qp_num, room.leaf.id, room.leaf.id)).error);
    };
    calls.query_pair = [&pair, fd] {
        return spelled(devx_query(fd, pair.qp->handle, queue_command(kQueryQp, pair.qp->qp_num), 272).error);
    };
    calls.verbs_query = [&pair] {
        ibv_qp_attr attr{};
        ibv_qp_init_attr init{};
        return spelled(ibv_query_qp(pair.qp, &attr, IBV_QP_STATE, &init));
    };
    calls.verbs_modify = [&pair] {
        ibv_qp_attr attr{};
        attr.qp_state = IBV_QPS_RTS;
        return spelled(ibv_modify_qp(pair.qp, &attr, IBV_QP_STATE));
    };
    return calls;
}

void say_meetings(const Room& room)
{
    const int fd = room.fd();
    const QueuePair pair(room, IBV_QPT_RC, IBV_QPS_RTS);
    const Calls calls = calls_of(room, pair);
    slow_down("modify");
    meet("modify while it is modified", calls.modify, calls.modify);
    meet("query while it is modified", calls.modify, calls.query);
    meet("destroy while it is modified", calls.modify, [&] { return spelled(devx_destroy(fd, room.leaf.handle)); });
    meet(
        "create below it while it is modified",
        [&] {
            return spelled(devx_modify(fd, room.node.handle, modify_element(room.node.id, kSelectShare, 5, 0)).error);
        },
        [&] {
            const Answer made = devx_create(fd, create_element(kQueueGroup, room.node.id));
            return joined({spelled(made.error), spelled(devx_destroy(fd, made.handle))});
        });
    control("clear");
    slow_down("query");
    meet("destroy while it is queried", calls.query, [&] { return spelled(devx_destroy(fd, room.leaf.handle)); });
    meet("modify while it is queried", calls.query, calls.modify);
    control("clear");
    slow_down("attach");
    meet("ibv_query_qp while it is moved", calls.attach, calls.verbs_query);
    meet("ibv_modify_qp while it is moved", calls.attach, calls.verbs_modify);
    meet("QUERY_QP while it is moved", calls.attach, calls.query_pair);
    meet("move while it is moved", calls.attach, calls.attach);
    {
        const QueuePair second(room, IBV_QPT_RC, IBV_QPS_RTS);
        meet(
            "ibv_destroy_qp while it is moved",
            [&] {
                return spelled(
                    devx_modify(fd, second.qp->handle, attach(OP_RTS2RTS_QP, second.qp->qp_num, 0, 0)).error);
            },
            [&] {
                const int error = ibv_destroy_qp(second.qp);
                if (error == 0) {
                    const_cast<QueuePair&>(second).qp = nullptr;
                }
                return spelled(error);
            });
    }
    control("clear");
    (void)devx_modify(fd, pair.qp->handle, attach(OP_RTS2RTS_QP, pair.qp->qp_num, 0, 0));
    for (const char* other : {"query", "modify", "destroy"}) {
        const Element leaf = room.make(kQueueGroup, room.node.id, 4);
        slow_down("destroy");
        meet(
            std::string(other) + " while it is destroyed", [&] { return spelled(devx_destroy(fd, leaf.handle)); },
            [&] {
                if (*other == 'q') {
                    return spelled(
                        devx_query(fd, leaf.handle, element_command(OP_QUERY_GENERAL_OBJECT, leaf.id), 144).error);
                }
                return *other == 'd' ? spelled(devx_destroy(fd, leaf.handle))
                                     : spelled(devx_modify(fd, leaf.handle, modify_element(leaf.id, 1, 5, 0)).error);
            });
        control("clear");
    }
}

}    // namespace

void say_refusals()
{
    const Room room;
    say_statuses(room);
}

void say_busy()
{
    const Room room;
    say_meetings(room);
}

}    // namespace rdmaqos::test::agreement
