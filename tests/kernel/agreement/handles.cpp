// UVERBS_METHOD_INFO_HANDLES: which objects a file holds.
#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "tests/kernel/agreement/handles.h"

namespace rdmaqos::test::agreement {

HandleList list_handles(int fd, std::uint64_t object, std::size_t bytes)
{
    HandleList list;
    std::vector<std::uint32_t> room(std::max<std::size_t>(bytes / 4, 1), 0xa5a5a5a5);
    std::uint32_t total = 0xa5a5a5a5;
    list.error = Ioctl(fd, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INFO_HANDLES)
                     .value(UVERBS_ATTR_INFO_OBJECT_ID, object)
                     .out(UVERBS_ATTR_INFO_TOTAL_HANDLES, &total, sizeof(total))
                     .out(UVERBS_ATTR_INFO_HANDLES_LIST, room.data(), bytes)
                     .run();
    list.total = total;
    for (const std::uint32_t each : room) {
        if (each != 0xa5a5a5a5) {
            list.handles.push_back(each);
        }
    }
    return list;
}

std::string HandleList::text(const std::map<std::uint32_t, std::string>& names) const
{
    std::string text = spelled(error);
    text += total == 0xa5a5a5a5 ? ", total untouched" : fmt::format(", total {}", total);
    for (const std::uint32_t each : handles) {
        const auto found = names.find(each);
        text += " " + (found == names.end() ? std::string("another") : found->second);
    }
    return text;
}

namespace {

constexpr std::size_t kPlenty = 256;

void say_kinds(const Room& room)
{
    const int fd = room.fd();
    ibv_qp* first = create_qp(&room.world, IBV_QPT_RC);
    ibv_qp* second = create_qp(&room.world, IBV_QPT_UD);
    ibv_qp* raw = create_qp(&room.world, IBV_QPT_RAW_PACKET);
    static char memory[4096];
    ibv_mr* region = ibv_reg_mr(room.world.pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
    ibv_srq_init_attr srq_attr{nullptr, {16, 1, 0}};
    ibv_srq* srq = ibv_create_srq(room.world.pd, &srq_attr);
    std::map<std::uint32_t, std::string> names{
        {room.world.pd->handle, "pd"}, {room.world.cq->handle, "cq"}, {room.root.handle, "root"},
        {room.node.handle, "node"},    {room.leaf.handle, "leaf"},
    };
    names[first->handle] = "first";
    names[second->handle] = "second";
    if (raw != nullptr) {
        names[raw->handle] = "raw";
    }
    if (region != nullptr) {
        names[region->handle] = "mr";
    }
    if (srq != nullptr) {
        names[srq->handle] = "srq";
    }
    struct Kind {
        const char* name;
        std::uint64_t object;
    };
    const Kind kinds[] = {
        {"queue pairs", UVERBS_OBJECT_QP},
        {"protection domains", UVERBS_OBJECT_PD},
        {"completion queues", UVERBS_OBJECT_CQ},
        {"memory regions", UVERBS_OBJECT_MR},
        {"shared receive queues", UVERBS_OBJECT_SRQ},
        {"address handles", UVERBS_OBJECT_AH},
        {"DEVX objects", MLX5_IB_OBJECT_DEVX_OBJ},
        {"DEVX memory", MLX5_IB_OBJECT_DEVX_UMEM},
        {"doorbell pages", MLX5_IB_OBJECT_UAR},
        {"pacing entries", MLX5_IB_OBJECT_PP},
        {"devices", UVERBS_OBJECT_DEVICE},
        {"DEVX", MLX5_IB_OBJECT_DEVX},
        {"no object", 0x0ff0},
        {"an object of 64 bits", 1ULL << 32},
    };
    for (const Kind& kind : kinds) {
        say(kind.name, list_handles(fd, kind.object, kPlenty).text(names));
    }
    const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    say("queue pairs, by a copy of the descriptor", list_handles(copy, UVERBS_OBJECT_QP, kPlenty).text(names));
    close(copy);
    for (const std::size_t bytes : {0U, 2U, 4U, 6U, 8U, 12U, 16U}) {
        say(fmt::format("queue pairs in {} bytes", bytes), list_handles(fd, UVERBS_OBJECT_QP, bytes).text(names));
    }
    std::uint64_t object = UVERBS_OBJECT_QP;
    std::uint32_t total = 0;
    std::uint64_t wide = 0xa5a5a5a5a5a5a5a5;
    std::uint32_t handles[4] = {};
    const auto call = [&] { return Ioctl(fd, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INFO_HANDLES); };
    say("without a list",
        spelled(call().value(UVERBS_ATTR_INFO_OBJECT_ID, object).out(UVERBS_ATTR_INFO_TOTAL_HANDLES, &total, 4).run()));
    say("without a total", spelled(call()
                                       .value(UVERBS_ATTR_INFO_OBJECT_ID, object)
                                       .out(UVERBS_ATTR_INFO_HANDLES_LIST, handles, sizeof(handles))
                                       .run()));
    const int error = call()
                          .value(UVERBS_ATTR_INFO_OBJECT_ID, object)
                          .out(UVERBS_ATTR_INFO_TOTAL_HANDLES, &wide, 8)
                          .out(UVERBS_ATTR_INFO_HANDLES_LIST, handles, sizeof(handles))
                          .run();
    say("a total of 8 bytes", fmt::format("{}, {:x}", spelled(error), wide));
    say("without an object", spelled(call()
                                         .out(UVERBS_ATTR_INFO_TOTAL_HANDLES, &total, 4)
                                         .out(UVERBS_ATTR_INFO_HANDLES_LIST, handles, sizeof(handles))
                                         .run()));
    say("an object of 4 bytes", spelled(call()
                                            .value(UVERBS_ATTR_INFO_OBJECT_ID, static_cast<std::uint32_t>(object))
                                            .out(UVERBS_ATTR_INFO_TOTAL_HANDLES, &total, 4)
                                            .out(UVERBS_ATTR_INFO_HANDLES_LIST, handles, sizeof(handles))
                                            .run()));
    ibv_destroy_qp(first);
    say("after one is destroyed", list_handles(fd, UVERBS_OBJECT_QP, kPlenty).text(names));
    (void)devx_destroy(fd, room.leaf.handle);
    say("after the leaf is destroyed", list_handles(fd, MLX5_IB_OBJECT_DEVX_OBJ, kPlenty).text(names));
    ibv_destroy_qp(second);
    if (raw != nullptr) {
        ibv_destroy_qp(raw);
    }
    if (region != nullptr) {
        ibv_dereg_mr(region);
    }
    if (srq != nullptr) {
        ibv_destroy_srq(srq);
    }
    say("after all are destroyed", list_handles(fd, UVERBS_OBJECT_QP, kPlenty).text(names));
    const int none = open((std::string("/dev/infiniband/") + room.world.context->device->dev_name).c_str(),
                          O_RDWR | O_CLOEXEC);
    say("of a file without a context", list_handles(none, UVERBS_OBJECT_QP, kPlenty).text({}));
    close(none);
}

}    // namespace

void say_handles()
{
    const Room room;
    say_kinds(room);
}

}    // namespace rdmaqos::test::agreement
