// The helper of the self-test: a queue pair like any program's, in a process that may do nothing special.
#include <cerrno>

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/descriptor_message.h"
#include "lib/nic_mlx5/context.h"
#include "lib/nic_mlx5/self_test.h"
#include "lib/nic_mlx5/self_test_devx.h"
#include "lib/nic_mlx5/self_test_protocol.h"

namespace rdmaqos::mlx5 {
namespace {

int drop_capabilities()
{
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct none[2]{};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || syscall(SYS_capset, &header, none) != 0) {
        return errno;
    }
    return 0;
}

struct Objects {
    Context context;
    ibv_pd* pd = nullptr;
    ibv_cq* cq = nullptr;
    ibv_qp* qp = nullptr;
    DevxQueuePair devx;

    ~Objects()
    {
        devx.reset();
        if (qp != nullptr) {
            ibv_destroy_qp(qp);
        }
        if (cq != nullptr) {
            ibv_destroy_cq(cq);
        }
        if (pd != nullptr) {
            ibv_dealloc_pd(pd);
        }
    }
};

int make(Objects& objects, const std::string& device, std::uint8_t port)
{
    auto context = open_context(device);
    if (!context) {
        return context.error().sys_errno != 0 ? context.error().sys_errno : ENODEV;
    }
    objects.context = std::move(*context);
    objects.pd = ibv_alloc_pd(objects.context.get());
    objects.cq = objects.pd == nullptr ? nullptr : ibv_create_cq(objects.context.get(), 2, nullptr, nullptr, 0);
    if (objects.cq == nullptr) {
        return errno != 0 ? errno : EIO;
    }
    ibv_qp_init_attr initial{};
    initial.send_cq = initial.recv_cq = objects.cq;
    initial.qp_type = IBV_QPT_RC;
    initial.cap = {1, 1, 1, 1, 0};
    objects.qp = ibv_create_qp(objects.pd, &initial);
    if (objects.qp == nullptr) {
        return errno != 0 ? errno : EIO;
    }
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = port;
    return ibv_modify_qp(objects.qp, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

// Connected to itself: nothing is ever sent.
int to_rtr(const Objects& objects, std::uint8_t port)
{
    ibv_port_attr own{};
    if (const int error = ibv_query_port(objects.context.get(), port, &own); error != 0) {
        return error;
    }
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTR;
    attributes.path_mtu = IBV_MTU_256;
    attributes.dest_qp_num = objects.qp->qp_num;
    attributes.min_rnr_timer = 12;
    attributes.ah_attr.port_num = port;
    attributes.ah_attr.dlid = own.lid;
    if (own.link_layer == IBV_LINK_LAYER_ETHERNET) {
        attributes.ah_attr.is_global = 1;
        attributes.ah_attr.grh.hop_limit = 1;
        if (const int error = ibv_query_gid(objects.context.get(), port, 0, &attributes.ah_attr.grh.dgid); error != 0) {
            return errno;
        }
    }
    return ibv_modify_qp(objects.qp, &attributes,
                         IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                             IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

int to_rts(const Objects& objects)
{
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTS;
    attributes.timeout = 14;
    attributes.retry_cnt = 7;
    attributes.rnr_retry = 7;
    return ibv_modify_qp(objects.qp, &attributes,
                         IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                             IBV_QP_MAX_QP_RD_ATOMIC);
}

bool send_hello(int socket, const HelperHello& hello, int fd)
{
    iovec part{const_cast<HelperHello*>(&hello), sizeof(hello)};
    DescriptorRoom room;
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    room.put(message, std::span(&fd, fd >= 0 ? 1 : 0));
    return sendmsg(socket, &message, MSG_NOSIGNAL) == sizeof(hello);
}

HelperDevx make_devx(Objects& objects, std::uint8_t port)
{
    const auto made = objects.devx.make(*objects.pd, *objects.cq, port);
    if (!made) {
        return {made.error().sys_errno, made.error().status, made.error().syndrome, 0, 0};
    }
    return {0, 0, 0, made->handle, made->id};
}

template <typename T>
bool answer(int socket, const T& value)
{
    return send(socket, &value, sizeof(value), MSG_NOSIGNAL) == sizeof(value);
}

}    // namespace

int self_test_client(const std::string& device, std::uint32_t port, int socket)
{
    HelperHello hello;
    Objects objects;
    hello.error = drop_capabilities();
    if (hello.error == 0) {
        hello.error = make(objects, device, static_cast<std::uint8_t>(port));
    }
    if (hello.error != 0) {
        send_hello(socket, hello, -1);
        return 1;
    }
    hello.handle = objects.qp->handle;
    hello.number = objects.qp->qp_num;
    if (!send_hello(socket, hello, objects.context->cmd_fd)) {
        return 1;
    }
    HelperRequest request{};
    const auto number = static_cast<std::uint8_t>(port);
    bool answered = true;
    while (answered && recv(socket, &request, sizeof(request), 0) == sizeof(request)) {
        switch (request) {
        case HelperRequest::ReadyToReceive:
            answered = answer(socket, std::int32_t{to_rtr(objects, number)});
            break;
        case HelperRequest::ReadyToSend:
            answered = answer(socket, std::int32_t{to_rts(objects)});
            break;
        case HelperRequest::MakeDevx:
            answered = answer(socket, make_devx(objects, number));
            break;
        default:
            answered = false;
        }
    }
    return answered ? 0 : 1;
}

}    // namespace rdmaqos::mlx5
