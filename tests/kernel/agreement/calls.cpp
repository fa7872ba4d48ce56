// How a call must look before the kernel does anything with it.
#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "tests/emulator/clients/prm.h"
#include "tests/kernel/agreement/transcript.h"

namespace rdmaqos::test::agreement {
namespace {

Ioctl query_of(const Room& room, Bytes& out)
{
    Ioctl call(room.fd(), MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_QUERY);
    call.handle(MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE, room.leaf.handle)
        .in(MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN, element_command(OP_QUERY_GENERAL_OBJECT, room.leaf.id))
        .out(MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT, out.data(), out.size());
    return call;
}

void say_forms(const Room& room)
{
    Bytes out(kElementOut);
    constexpr std::uint16_t kNobody = 0x0fff;
    say("as it should be", spelled(query_of(room, out).run()));
    say("a longer header", spelled(query_of(room, out).length_change(16).run()));
    say("a shorter header", spelled(query_of(room, out).length_change(-16).run()));
    say("the reserved word is set", spelled(query_of(room, out).header_reserved(1).run()));
    say("another driver", spelled(query_of(room, out).driver(RDMA_DRIVER_MLX4).run()));
    say("no driver", spelled(query_of(room, out).driver(0).run()));
    say("an unknown mandatory attribute", spelled(query_of(room, out).value(kNobody, 1U).run()));
    say("an unknown optional attribute", spelled(query_of(room, out).value(kNobody, 1U).optional().run()));
    say("an attribute twice",
        spelled(query_of(room, out).handle(MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE, room.leaf.handle).run()));
    say("the reserved byte of an attribute is set", spelled(query_of(room, out).reserved(1).run()));
    say("an outbox that cannot be written",
        spelled(Ioctl(room.fd(), MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_QUERY)
                    .handle(MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE, room.leaf.handle)
                    .in(MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN, element_command(OP_QUERY_GENERAL_OBJECT, room.leaf.id))
                    .out(MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT, nullptr, kElementOut)
                    .run()));
    say("an inbox that cannot be read", spelled(Ioctl(room.fd(), MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_QUERY)
                                                    .handle(MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE, room.leaf.handle)
                                                    .in_pointer(MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN, nullptr, 16)
                                                    .out(MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT, out.data(), out.size())
                                                    .run()));
    for (const std::uint16_t missing : {MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE, MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN,
                                        MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT}) {
        Ioctl call(room.fd(), MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_QUERY);
        if (missing != MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE) {
            call.handle(MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE, room.leaf.handle);
        }
        if (missing != MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN) {
            call.in(MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN, element_command(OP_QUERY_GENERAL_OBJECT, room.leaf.id));
        }
        if (missing != MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT) {
            call.out(MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT, out.data(), out.size());
        }
        say(fmt::format("without attribute {}", missing - MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE), spelled(call.run()));
    }
    say("an unknown object", spelled(Ioctl(room.fd(), kNobody, 0).run()));
    say("an unknown method", spelled(Ioctl(room.fd(), MLX5_IB_OBJECT_DEVX_OBJ, kNobody).run()));
    errno = 0;
    say("another ioctl", spelled(ioctl(room.fd(), FIONREAD, nullptr) == 0 ? 0 : errno));
}

void say_files(const Room& room)
{
    Bytes out(kElementOut);
    const auto query = [&](int fd) {
        return devx_query(fd, room.leaf.handle, element_command(OP_QUERY_GENERAL_OBJECT, room.leaf.id), kElementOut)
            .text();
    };
    int pipes[2] = {-1, -1};
    if (pipe2(pipes, O_CLOEXEC) == 0) {
        say("on a pipe", query(pipes[0]));
        close(pipes[0]);
        close(pipes[1]);
        say("on a closed descriptor", query(pipes[0]));
    }
    say("on the file of events", query(room.world.context->async_fd));
    const int copy = fcntl(room.fd(), F_DUPFD_CLOEXEC, 0);
    say("on a copy of the descriptor", query(copy));
    close(copy);
}

// A file of its own, without libibverbs.
int open_device(const Room& room, int flags)
{
    const std::string path = std::string("/dev/infiniband/") + room.world.context->device->dev_name;
    return open(path.c_str(), flags | O_CLOEXEC);
}

int get_context(int fd, std::uint32_t flags, std::uint32_t* vectors)
{
    mlx5_ib_alloc_ucontext_req_v2 request{};
    request.total_num_bfregs = 16;
    request.num_low_latency_bfregs = 4;
    request.flags = flags;
    request.max_cqe_version = 1;
    request.lib_caps = MLX5_LIB_CAP_4K_UAR | MLX5_LIB_CAP_DYN_UAR;
    mlx5_ib_alloc_ucontext_resp answer{};
    std::uint64_t support = 0;
    return Ioctl(fd, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT)
        .out(UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, vectors, sizeof(*vectors))
        .out(UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, &support, sizeof(support))
        .in(UVERBS_ATTR_UHW_IN, Bytes(reinterpret_cast<const std::uint8_t*>(&request),
                                      reinterpret_cast<const std::uint8_t*>(&request) + sizeof(request)))
        .out(UVERBS_ATTR_UHW_OUT, &answer, sizeof(answer))
        .run();
}

void say_capabilities(int fd, const std::string& which)
{
    Bytes in(16);
    prm_query_capability(in.data(), 0xc);
    const Answer answer = devx_other(fd, in, CAPABILITY_OUT);
    say("QUERY_HCA_CAP " + which, spelled(answer.error));
}

void say_contexts(const Room& room)
{
    std::uint32_t vectors = 0;
    const int none = open_device(room, O_RDWR);
    say("without a context", devx_create(none, create_element(kTsar, 0)).text());
    say("without a context: query",
        devx_query(none, 0, element_command(OP_QUERY_GENERAL_OBJECT, room.leaf.id), kElementOut).text());
    say("without a context: destroy", spelled(devx_destroy(none, 0)));
    say_capabilities(none, "without a context");
    say("a context without DEVX", spelled(get_context(none, 0, &vectors)));
    say("a second context", spelled(get_context(none, MLX5_IB_ALLOC_UCTX_DEVX, &vectors)));
    say("without DEVX: create", devx_create(none, create_element(kTsar, 0)).text());
    say("without DEVX: query",
        devx_query(none, 0, element_command(OP_QUERY_GENERAL_OBJECT, room.leaf.id), kElementOut).text());
    say("without DEVX: destroy", spelled(devx_destroy(none, 0)));
    say_capabilities(none, "without DEVX");
    close(none);

    const int unknown = open_device(room, O_RDWR);
    say("unknown flags of a context", spelled(get_context(unknown, 0x80, &vectors)));
    close(unknown);
    const int devx = open_device(room, O_RDWR);
    say("a context with DEVX", spelled(get_context(devx, MLX5_IB_ALLOC_UCTX_DEVX, &vectors)));
    const Answer first = devx_create(devx, create_element(kTsar, 0));
    const Answer second = devx_create(devx, create_element(kTsar, first.id()));
    const Answer third = devx_create(devx, create_element(kQueueGroup, second.id()));
    say("handles count from 0", fmt::format("{} {} {}", first.handle, second.handle, third.handle));
    say("a handle is free after destroy", spelled(devx_destroy(devx, third.handle)));
    say("and is used again",
        fmt::format("{}", devx_create(devx, create_element(kQueueGroup, second.id())).handle == third.handle));
    close(devx);

    const int reading = open_device(room, O_RDONLY);
    say("opened for reading: a context", spelled(get_context(reading, MLX5_IB_ALLOC_UCTX_DEVX, &vectors)));
    say("opened for reading: create", spelled(devx_create(reading, create_element(kTsar, 0)).error));
    close(reading);
}

}    // namespace

void say_headers()
{
    const Room room;
    say_forms(room);
    say_files(room);
    say_contexts(room);
}

}    // namespace rdmaqos::test::agreement
