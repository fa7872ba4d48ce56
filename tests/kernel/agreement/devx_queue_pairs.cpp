// A queue pair made by hand through DEVX: no verb knows it.
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>
#include <infiniband/mlx5dv.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "tests/emulator/clients/prm.h"
#include "tests/kernel/agreement/handles.h"
#include "tests/kernel/agreement/transcript.h"

namespace rdmaqos::test::agreement {
namespace {

constexpr unsigned kContext = 192;
constexpr std::size_t kCommand = 320;
constexpr std::size_t kQueueBytes = 4096;

// Page, doorbell record and work queue of a queue pair.
class Parts {
public:
    explicit Parts(const Room& room)
        : memory_(std::aligned_alloc(kQueueBytes, 2 * kQueueBytes)),
          page(mlx5dv_devx_alloc_uar(room.world.context, MLX5DV_UAR_ALLOC_TYPE_NC))
    {
        std::memset(memory_, 0, 2 * kQueueBytes);
        queue = mlx5dv_devx_umem_reg(room.world.context, memory_, kQueueBytes, IBV_ACCESS_LOCAL_WRITE);
        doorbell = mlx5dv_devx_umem_reg(room.world.context, static_cast<char*>(memory_) + kQueueBytes, 64,
                                        IBV_ACCESS_LOCAL_WRITE);
    }
    ~Parts()
    {
        mlx5dv_devx_umem_dereg(doorbell);
        mlx5dv_devx_umem_dereg(queue);
        mlx5dv_devx_free_uar(page);
        std::free(memory_);
    }
    Parts(const Parts&) = delete;
    Parts& operator=(const Parts&) = delete;

private:
    void* memory_;

public:
    mlx5dv_devx_uar* page;
    mlx5dv_devx_umem* queue;
    mlx5dv_devx_umem* doorbell;
};

Bytes create_command(const Room& room, const Parts& parts)
{
    mlx5dv_pd pd{};
    mlx5dv_cq cq{};
    mlx5dv_obj objects{};
    objects.pd = {room.world.pd, &pd};
    objects.cq = {room.world.cq, &cq};
    (void)mlx5dv_init_obj(&objects, MLX5DV_OBJ_PD | MLX5DV_OBJ_CQ);
    Bytes in(kCommand);
    const auto put = [&](unsigned bit, unsigned width, std::uint32_t value) { prm_set(in.data(), bit, width, value); };
    put(0, 16, OP_CREATE_QP);
    put(kContext + 19, 2, 3);    // path migration: migrated
    put(kContext + 40, 24, pd.pdn);
    put(kContext + 73, 4, 2);
    put(kContext + 77, 3, 2);
    put(kContext + 81, 4, 2);
    put(kContext + 104, 24, parts.page->page_id);
    put(kContext + 1000, 24, cq.cqn);
    put(kContext + 1256, 24, cq.cqn);
    put(kContext + 1667, 1, 1);
    put(kContext + 1824, 32, parts.doorbell->umem_id);
    put(2112, 32, parts.queue->umem_id);
    put(2144, 1, 1);
    return in;
}

Bytes step(std::uint32_t opcode, std::uint32_t number)
{
    Bytes in(kCommand);
    const auto put = [&](unsigned bit, unsigned width, std::uint32_t value) { prm_set(in.data(), bit, width, value); };
    put(0, 16, opcode);
    put(72, 24, number);
    put(kContext + 64, 3, IBV_MTU_1024);
    put(kContext + 168, 24, number);
    put(kContext + 19, 2, 3);
    put(kContext + 192 + 296, 8, 1);    // the port
    return in;
}

struct Pair {
    const Room& room;
    std::uint32_t handle;
    std::uint32_t number;

    [[nodiscard]] std::string modify(const Bytes& in) const { return devx_modify(room.fd(), handle, in).text(); }
    [[nodiscard]] std::string state() const
    {
        const Answer answer = devx_query(room.fd(), handle, queue_command(kQueryQp, number), kQueryQueuePairOut);
        return answer.error != 0 ? answer.text()
                                 : fmt::format("state {} service {}", prm_get(answer.out.data(), kContext, 4),
                                               prm_get(answer.out.data(), kContext + 8, 8));
    }
};

void say_life(const Pair& pair)
{
    struct Step {
        const char* name;
        std::uint32_t opcode;
    };
    const auto say_moves = [&](const std::string& where) {
        for (const std::uint32_t opcode : {OP_INIT2INIT_QP, OP_RTS2RTS_QP}) {
            say(fmt::format("{}: moved by {:#x}", where, opcode),
                joined({pair.modify(attach(opcode, pair.number, pair.room.leaf.id, pair.room.leaf.id)),
                        "then " + pair.modify(attach(opcode, pair.number, 0, 0))}));
        }
    };
    say("in RESET", pair.state());
    say_moves("in RESET");
    say("RTR2RTS_QP in RESET", pair.modify(step(0x504, pair.number)));
    for (const Step& each : {Step{"RST2INIT_QP", 0x502}, {"INIT2RTR_QP", 0x503}, {"RTR2RTS_QP", 0x504}}) {
        say(each.name, joined({pair.modify(step(each.opcode, pair.number)), "then " + pair.state()}));
        say_moves(std::string("after ") + each.name);
    }
    (void)pair.modify(attach(OP_RTS2RTS_QP, pair.number, pair.room.leaf.id, pair.room.leaf.id));
    say("its leaf is destroyed", spelled(devx_destroy(pair.room.fd(), pair.room.leaf.handle)));
    say("2ERR_QP", joined({pair.modify(queue_command(0x507, pair.number)), "then " + pair.state()}));
    say_moves("after 2ERR_QP");
    say("2RST_QP", joined({pair.modify(queue_command(0x50a, pair.number)), "then " + pair.state()}));
}

// Of UCX's queue pairs, which end when it has been told that nothing comes any more.
void say_events(const Room& room, const Parts& parts)
{
    for (const std::uint32_t flags : {0U, 1U, 2U}) {
        errno = 0;
        auto* const channel = mlx5dv_devx_create_event_channel(
            room.world.context, static_cast<mlx5dv_devx_create_event_channel_flags>(flags));
        say(fmt::format("an event channel, flags {}", flags), spelled(channel == nullptr ? errno : 0));
        if (channel != nullptr) {
            mlx5dv_devx_destroy_event_channel(channel);
        }
    }
    auto* const channel = mlx5dv_devx_create_event_channel(room.world.context,
                                                           MLX5DV_DEVX_CREATE_EVENT_CHANNEL_FLAGS_OMIT_EV_DATA);
    const Bytes in = create_command(room, parts);
    Bytes out(16);
    auto* const pair = mlx5dv_devx_obj_create(room.world.context, in.data(), in.size(), out.data(), out.size());
    if (channel == nullptr || pair == nullptr) {
        say("subscribe", "there is no channel or no queue pair");
        return;
    }
    const auto subscribe = [&](mlx5dv_devx_obj* object, std::vector<std::uint16_t> types) {
        return spelled(mlx5dv_devx_subscribe_devx_event(
            channel, object, static_cast<std::uint16_t>(types.size() * sizeof(std::uint16_t)), types.data(), 7));
    };
    constexpr std::uint16_t kPathMigrated = 0x1;
    constexpr std::uint16_t kPortChange = 0x9;
    constexpr std::uint16_t kLastWqe = 0x13;
    say("subscribe to one of its events", subscribe(pair, {kLastWqe}));
    say("again", subscribe(pair, {kLastWqe}));
    say("subscribe to two", subscribe(pair, {kPathMigrated, kLastWqe}));
    say("subscribe to none", subscribe(pair, {}));
    say("subscribe to an event of the device for it", subscribe(pair, {kPortChange}));
    say("subscribe to an event of the device", subscribe(nullptr, {kPortChange}));
    say("subscribe to an event of a queue pair for no object", subscribe(nullptr, {kLastWqe}));
    say("subscribe to 33", subscribe(pair, std::vector<std::uint16_t>(33, kLastWqe)));
    say("destroy it while it is subscribed", spelled(mlx5dv_devx_obj_destroy(pair)));
    mlx5dv_devx_destroy_event_channel(channel);
}

}    // namespace

void say_devx_queue_pairs()
{
    const Room room;
    const Parts parts(room);
    const Answer made = devx_create(room.fd(), create_command(room, parts));
    say("create", fmt::format("{}, {}", spelled(made.error), made.error == 0 ? "a number" : spelled(made.out)));
    if (made.error != 0) {
        return;
    }
    const Pair pair{room, made.handle, prm_get(made.out.data(), 72, 24)};
    say("listed among queue pairs", list_handles(room.fd(), UVERBS_OBJECT_QP, 64).text({}));
    say("listed among DEVX objects", list_handles(room.fd(), MLX5_IB_OBJECT_DEVX_OBJ, 64)
                                         .text({{pair.handle, "pair"},
                                                {room.root.handle, "root"},
                                                {room.node.handle, "node"},
                                                {room.leaf.handle, "leaf"}}));
    say("listed among DEVX memory",
        fmt::format("{} objects", list_handles(room.fd(), MLX5_IB_OBJECT_DEVX_UMEM, 64).handles.size()));
    say_life(pair);
    say("destroy", spelled(devx_destroy(room.fd(), pair.handle)));
    say("query it", pair.state());
    say_events(room, parts);
}

}    // namespace rdmaqos::test::agreement
