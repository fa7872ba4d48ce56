// Queue pairs of every type in every state: what verbs say of them, and which DEVX commands move them.
#include <cerrno>

#include <fmt/format.h>
#include <infiniband/mlx5dv.h>

#include "tests/emulator/clients/prm.h"
#include "tests/kernel/agreement/transcript.h"

namespace rdmaqos::test::agreement {
namespace {

constexpr ibv_qp_type kTypes[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_RAW_PACKET};
constexpr ibv_qp_state kStates[] = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
                                    IBV_QPS_SQD,   IBV_QPS_SQE,  IBV_QPS_ERR};
constexpr std::uint32_t kSqerr2Rts = 0x506;
constexpr std::uint32_t kQuerySq = 0x907;

std::string attributes_of(ibv_qp* qp)
{
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    constexpr int kAll = (IBV_QP_DEST_QPN << 1) - 1;
    if (const int error = ibv_query_qp(qp, &attr, kAll, &init); error != 0) {
        return spelled(error);
    }
    return fmt::format(
        "state {} cur {} mtu {} mig {} qkey {:#x} rq_psn {:#x} sq_psn {:#x} dest {} access {:#x} "
        "pkey {} port {} rd {} {} rnr {} {} timeout {} retry {} sq_sig {} global {} gid_index {} hops {}",
        name_of_state(attr.qp_state), name_of_state(attr.cur_qp_state), static_cast<int>(attr.path_mtu),
        static_cast<int>(attr.path_mig_state), attr.qkey, attr.rq_psn, attr.sq_psn,
        attr.dest_qp_num == qp->qp_num ? "itself" : std::to_string(attr.dest_qp_num), attr.qp_access_flags,
        attr.pkey_index, attr.port_num, attr.max_rd_atomic, attr.max_dest_rd_atomic, attr.min_rnr_timer, attr.rnr_retry,
        attr.timeout, attr.retry_cnt, init.sq_sig_all, attr.ah_attr.is_global, attr.ah_attr.grh.sgid_index,
        attr.ah_attr.grh.hop_limit);
}

std::string short_answer(const Answer& answer)
{
    return fmt::format("{} {:02x}/{:x}", spelled(answer.error),
                       answer.out[0] == kUntouched ? 0xa5 : prm_status(answer.out.data()),
                       answer.out[0] == kUntouched ? 0 : prm_syndrome(answer.out.data()));
}

// What QUERY_QP says of a few fields that the driver, not we, wrote.
std::string context_of(const Answer& answer)
{
    if (answer.error != 0) {
        return answer.text();
    }
    const auto field = [&](unsigned bit, unsigned width) { return prm_get(answer.out.data(), 192 + bit, width); };
    return fmt::format("ok, state {} service {} mtu {} port {} qkey {:#x}", field(0, 4), field(8, 8), field(64, 3),
                       field(192 + 296, 8), field(1344, 32));
}

void move_about(const Room& room, QueuePair& pair, const std::string& where)
{
    const int fd = room.fd();
    const bool raw = pair.qp->qp_type == IBV_QPT_RAW_PACKET;
    const std::uint32_t number = pair.qp->qp_num;
    struct Way {
        const char* name;
        std::uint32_t opcode;
    };
    for (const Way& way : {Way{"INIT2INIT_QP", OP_INIT2INIT_QP}, {"RTS2RTS_QP", OP_RTS2RTS_QP}}) {
        const Answer in = devx_modify(fd, pair.qp->handle, attach(way.opcode, number, room.leaf.id, room.leaf.id));
        const std::string place = room.place_of(pair.qp);
        const Answer out = devx_modify(fd, pair.qp->handle, attach(way.opcode, number, 0, 0));
        say(fmt::format("{} by {}", where, way.name),
            fmt::format("{}, in {}; out {}, in {}", in.text(), place, short_answer(out), room.place_of(pair.qp)));
    }
    const Answer recovered = devx_modify(fd, pair.qp->handle, queue_command(kSqerr2Rts, number));
    say(where + " by SQERR2RTS_QP", recovered.text());
    if (raw) {
        const std::uint32_t queue = send_queue_of(pair.qp);
        const Answer in = devx_modify(fd, pair.qp->handle, move_send_queue(queue, room.leaf.id));
        const std::string place = room.place_of(pair.qp);
        const Answer out = devx_modify(fd, pair.qp->handle, move_send_queue(queue, 0));
        say(where + " by MODIFY_SQ",
            fmt::format("{}, in {}; out {}, in {}", in.text(), place, short_answer(out), room.place_of(pair.qp)));
        const Answer query = devx_query(fd, pair.qp->handle, queue_command(kQuerySq, queue), 272);
        say(where + ": QUERY_SQ",
            query.error != 0 ? query.text() : fmt::format("ok, state {}", prm_get(query.out.data(), 256 + 8, 4)));
    }
}

void say_state(const Room& room, ibv_qp_type type, ibv_qp_state state)
{
    const std::string where = fmt::format("{} in {}", name_of_type(type), name_of_state(state));
    QueuePair pair(room, type, state);
    if (pair.qp == nullptr || pair.why_not != 0) {
        say(where, "not reached, " + spelled(pair.why_not));
        return;
    }
    say(where, attributes_of(pair.qp));
    say(where + ": QUERY_QP", context_of(devx_query(room.fd(), pair.qp->handle,
                                                    queue_command(kQueryQp, pair.qp->qp_num), kQueryQueuePairOut)));
    move_about(room, pair, where);
    say(where + ": then", name_of_state(state_of_qp(pair.qp)));
    say(where + ": destroy", spelled(ibv_destroy_qp(pair.qp)));
    pair.qp = nullptr;
}

// ---- who may name a queue pair ----

void say_opcodes(const Room& room, ibv_qp_type type)
{
    const QueuePair pair(room, type, IBV_QPS_RTS);
    std::string text;
    for (std::uint32_t opcode = 0x500; opcode <= 0x50f; ++opcode) {
        // These would change the state.
        if (opcode != 0x507 && opcode != 0x50a) {
            const int modified = devx_modify(room.fd(), pair.qp->handle, queue_command(opcode, pair.qp->qp_num)).error;
            const int queried = devx_query(room.fd(), pair.qp->handle, queue_command(opcode, pair.qp->qp_num), 272)
                                    .error;
            text += fmt::format("{}{:x} {} {}", text.empty() ? "" : ", ", opcode, spelled(modified), spelled(queried));
        }
    }
    say(fmt::format("{}: modified and queried by opcode", name_of_type(type)), text);
}

void say_numbers(const Room& room, const Room& other)
{
    const QueuePair pair(room, IBV_QPT_RC, IBV_QPS_RTS);
    const QueuePair second(room, IBV_QPT_RC, IBV_QPS_RTS);
    const QueuePair foreign(other, IBV_QPT_RC, IBV_QPS_RTS);
    const QueuePair raw(room, IBV_QPT_RAW_PACKET, IBV_QPS_RTS);
    const int fd = room.fd();
    const auto move = [&](std::uint32_t handle, std::uint32_t number, std::uint32_t leaf) {
        return devx_modify(fd, handle, attach(OP_RTS2RTS_QP, number, leaf, leaf)).text();
    };
    const auto query = [&](std::uint32_t handle, std::uint32_t number) {
        return spelled(devx_query(fd, handle, queue_command(kQueryQp, number), kQueryQueuePairOut).error);
    };
    say("moved by another's number", move(pair.qp->handle, second.qp->qp_num, room.leaf.id));
    say("moved by another file's number", move(pair.qp->handle, foreign.qp->qp_num, room.leaf.id));
    say("moved by no number", move(pair.qp->handle, 0, room.leaf.id));
    say("moved by no handle", move(0xfffff, pair.qp->qp_num, room.leaf.id));
    say("moved by the leaf's handle", move(room.leaf.handle, pair.qp->qp_num, room.leaf.id));
    say("moved by the CQ's handle", move(room.world.cq->handle, pair.qp->qp_num, room.leaf.id));
    say("queried by another's number", query(pair.qp->handle, second.qp->qp_num));
    say("queried by another file's number", query(pair.qp->handle, foreign.qp->qp_num));
    say("queried by no handle", query(0xfffff, pair.qp->qp_num));
    say("queried by the leaf's handle", query(room.leaf.handle, pair.qp->qp_num));
    say("destroyed by DEVX", spelled(devx_destroy(fd, pair.qp->handle)));
    say("moved into the root", move(pair.qp->handle, pair.qp->qp_num, room.root.id));
    say("moved into a node", move(pair.qp->handle, pair.qp->qp_num, room.node.id));
    say("moved into nothing", move(pair.qp->handle, pair.qp->qp_num, 0x00ffffff));
    say("moved into an id above 16 bits", move(pair.qp->handle, pair.qp->qp_num, room.leaf.id | 0x10000));
    say("moved into another file's leaf", move(pair.qp->handle, pair.qp->qp_num, other.leaf.id));
    say("and is in", room.place_of(pair.qp));
    (void)move(pair.qp->handle, pair.qp->qp_num, 0);
    say("moved into two leaves",
        joined({devx_modify(fd, pair.qp->handle, attach(OP_RTS2RTS_QP, pair.qp->qp_num, room.leaf.id, 0)).text(),
                "in " + room.place_of(pair.qp)}));
    say("a leaf with a queue pair is destroyed", spelled(devx_destroy(fd, room.leaf.handle)));
    say("and the queue pair is in", room.place_of(pair.qp));
    Bytes plain = attach(OP_RTS2RTS_QP, pair.qp->qp_num, 0, 0);
    prm_set(plain.data(), 64, 1, 0);
    say("RTS2RTS_QP without the extension",
        joined({devx_modify(fd, pair.qp->handle, plain).text(), "in " + room.place_of(pair.qp)}));
    for (const std::size_t length : {16U, 64U, 256U, 464U}) {
        Bytes shorter = attach(OP_RTS2RTS_QP, pair.qp->qp_num, room.leaf.id, room.leaf.id);
        shorter.resize(length);
        say(fmt::format("RTS2RTS_QP of {} bytes", length),
            joined({devx_modify(fd, pair.qp->handle, shorter).text(), "in " + room.place_of(pair.qp)}));
    }
    if (raw.qp == nullptr) {
        return;
    }
    const std::uint32_t queue = send_queue_of(raw.qp);
    say("the send queue of a raw packet queue pair has its number", queue == raw.qp->qp_num ? "yes" : "no");
    const auto move_raw = [&](std::uint32_t handle, std::uint32_t number, std::uint32_t leaf) {
        return joined({devx_modify(fd, handle, move_send_queue(number, leaf)).text(), "in " + room.place_of(raw.qp)});
    };
    say("MODIFY_SQ of no number", move_raw(raw.qp->handle, 0, room.leaf.id));
    say("MODIFY_SQ by another's handle", move_raw(pair.qp->handle, queue, room.leaf.id));
    say("MODIFY_SQ of another's number", move_raw(raw.qp->handle, pair.qp->qp_num, room.leaf.id));
    say("MODIFY_SQ into a node", move_raw(raw.qp->handle, queue, room.node.id));
    say("MODIFY_SQ into nothing", move_raw(raw.qp->handle, queue, 0xfff0));
    say("MODIFY_SQ into another file's leaf", move_raw(raw.qp->handle, queue, other.leaf.id));
}

// ---- libmlx5 ----

void say_library(const Room& room)
{
    Room own;
    own.destroy_elements();
    const mlx5dv_sched_attr root_attr = element_attr(nullptr, 0, 0);
    mlx5dv_sched_node* root = mlx5dv_sched_node_create(own.world.context, &root_attr);
    const mlx5dv_sched_attr leaf_attr = element_attr(root, 5, 100);
    mlx5dv_sched_leaf* leaf = mlx5dv_sched_leaf_create(own.world.context, &leaf_attr);
    say("mlx5dv_sched_leaf_create", spelled(leaf != nullptr ? 0 : errno));
    if (leaf == nullptr) {
        return;
    }
    for (const ibv_qp_type type : kTypes) {
        for (const ibv_qp_state state : kStates) {
            QueuePair pair(own, type, state);
            if (pair.qp == nullptr || pair.why_not != 0) {
                continue;
            }
            const int in = mlx5dv_modify_qp_sched_elem(pair.qp, leaf, leaf);
            const bool is_in = own.place_of(pair.qp) != "-/-";
            const int out = mlx5dv_modify_qp_sched_elem(pair.qp, nullptr, nullptr);
            say(fmt::format("mlx5dv_modify_qp_sched_elem of {} in {}", name_of_type(type), name_of_state(state)),
                fmt::format("{} ({}), {}", spelled(in), is_in ? "in" : "out", spelled(out)));
        }
    }
    const QueuePair foreign(room, IBV_QPT_RC, IBV_QPS_RTS);
    say("mlx5dv_modify_qp_sched_elem into another context's leaf",
        spelled(mlx5dv_modify_qp_sched_elem(foreign.qp, leaf, nullptr)));
    if (foreign.qp != nullptr) {
        (void)mlx5dv_modify_qp_sched_elem(foreign.qp, nullptr, nullptr);
    }
    const mlx5dv_sched_attr too_much = element_attr(root, 101, 100);
    say("mlx5dv_sched_leaf_modify to share 101", spelled(mlx5dv_sched_leaf_modify(leaf, &too_much)));
    say("mlx5dv_sched_node_destroy with a leaf in it", spelled(mlx5dv_sched_node_destroy(root)));
    say("mlx5dv_sched_leaf_destroy", spelled(mlx5dv_sched_leaf_destroy(leaf)));
    say("mlx5dv_sched_node_destroy", spelled(mlx5dv_sched_node_destroy(root)));
}

// ---- transitions by verbs ----

void say_transitions(const Room& room, ibv_qp_type type, ibv_qp_state from)
{
    std::string text;
    for (const ibv_qp_state to : kStates) {
        QueuePair pair(room, type, from);
        if (pair.qp == nullptr || pair.why_not != 0) {
            return;
        }
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name_of_state(to), spelled(step_qp(pair.qp, to, 0)));
        text += state_of_qp(pair.qp) == to ? "" : fmt::format(" ({})", name_of_state(state_of_qp(pair.qp)));
    }
    say(fmt::format("{} from {}", name_of_type(type), name_of_state(from)), text);
}

void say_needed(const Room& room, ibv_qp_type type, ibv_qp_state to)
{
    const auto before = static_cast<ibv_qp_state>(to - 1);
    std::string text;
    for (int bit = 1; bit <= IBV_QP_RATE_LIMIT; bit <<= 1) {
        QueuePair pair(room, type, before);
        if (pair.qp == nullptr || pair.why_not != 0) {
            return;
        }
        const int needed = needed_for(pair.qp, to);
        ibv_qp_attr attr = values_for(pair.qp);
        attr.qp_state = to;
        const int mask = bit == IBV_QP_STATE ? needed : ((needed | IBV_QP_STATE) ^ bit);
        text += fmt::format("{}{:x} {}", text.empty() ? "" : ", ", bit, spelled(ibv_modify_qp(pair.qp, &attr, mask)));
    }
    say(fmt::format("{} to {} with one attribute less or more", name_of_type(type), name_of_state(to)), text);
}

}    // namespace

void say_queue_pairs()
{
    const Room room;
    const Room other;
    name_element(other.leaf.id, "another file's leaf");
    name_element(other.node.id, "another file's node");
    name_element(room.root.id, "root");
    name_element(room.node.id, "node");
    name_element(room.leaf.id, "leaf");
    for (const ibv_qp_type type : kTypes) {
        for (const ibv_qp_state state : kStates) {
            say_state(room, type, state);
        }
    }
    say_opcodes(room, IBV_QPT_RC);
    say_opcodes(room, IBV_QPT_RAW_PACKET);
    say_numbers(room, other);
    say_library(room);
}

void say_states()
{
    const Room room;
    for (const ibv_qp_type type : kTypes) {
        for (const ibv_qp_state state : kStates) {
            say_transitions(room, type, state);
        }
        for (const ibv_qp_state to : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
            say_needed(room, type, to);
        }
    }
}

}    // namespace rdmaqos::test::agreement
