#include "lib/nic_mlx5/uverbs.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "lib/mlx5/ioctl.h"

namespace rdmaqos::mlx5 {
namespace {

struct CommandStatus {
    std::uint8_t code;
    const char* name;
    int sys_errno;    // as libmlx5 and the kernel's driver translate it
};

constexpr std::array kStatuses{
    CommandStatus{0x01, "internal error", EIO},
    CommandStatus{0x02, "bad operation", EINVAL},
    CommandStatus{0x03, "bad parameter", EINVAL},
    CommandStatus{0x04, "bad system state", EIO},
    CommandStatus{0x05, "bad resource", EINVAL},
    CommandStatus{0x06, "resource busy", EBUSY},
    CommandStatus{0x08, "exceeds a limit", ENOMEM},
    CommandStatus{0x09, "bad resource state", EINVAL},
    CommandStatus{0x0a, "bad index", EINVAL},
    CommandStatus{0x0f, "no resources", EAGAIN},
    CommandStatus{0x10, "bad queue pair state", EINVAL},
};

const CommandStatus* status_of(std::uint8_t code)
{
    const auto* found = std::ranges::find(kStatuses, code, &CommandStatus::code);
    return found == kStatuses.end() ? nullptr : found;
}

tl::unexpected<Failure> failed(int error, const Mailbox& answer)
{
    return tl::unexpected(Failure{error, static_cast<std::uint8_t>(get(answer, prm::kStatus)),
                                  static_cast<std::uint32_t>(get(answer, prm::kSyndrome))});
}

}    // namespace

std::string to_string(const Failure& failure)
{
    const char* name = strerrorname_np(failure.sys_errno);
    std::string text = name == nullptr ? fmt::format("errno {}", failure.sys_errno) : name;
    if (failure.status != 0) {
        const CommandStatus* status = status_of(failure.status);
        text += fmt::format(", status {:#x}{}, syndrome {:#x}", failure.status,
                            status == nullptr ? "" : fmt::format(" ({})", status->name), failure.syndrome);
    }
    return text;
}

int errno_of(const Failure& failure)
{
    const CommandStatus* status = status_of(failure.status);
    return status == nullptr ? failure.sys_errno : status->sys_errno;
}

bool is_gone(const Failure& failure)
{
    return failure.status == 0 &&
           (failure.sys_errno == EIO || failure.sys_errno == ENODEV || failure.sys_errno == ENXIO);
}

Answer<Mailbox> devx_command(int fd, const Mailbox& command, std::size_t answer_bytes)
{
    Mailbox answer(answer_bytes);
    Ioctl call(MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_OTHER);
    call.in(MLX5_IB_ATTR_DEVX_OTHER_CMD_IN, command).out(MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT, answer);
    if (const int error = call.run(fd); error != 0) {
        return failed(error, answer);
    }
    return answer;
}

bool answers(int fd)
{
    const auto answer = devx_command(fd, query_capabilities(prm::kGeneralCapabilities), prm::kCapabilityBytes);
    return answer || !is_gone(answer.error());
}

bool is_attached(int fd)
{
    std::uint32_t number = 0;
    Ioctl call(MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_QUERY_EQN);
    call.in_value(MLX5_IB_ATTR_DEVX_QUERY_EQN_USER_VEC, std::uint32_t{0})
        .out_value(MLX5_IB_ATTR_DEVX_QUERY_EQN_DEV_EQN, number);
    const int error = call.run(fd);
    return error == 0 || !is_gone({error, 0, 0});
}

Answer<Created> devx_create(int fd, const Mailbox& command, const ElementCommands& by)
{
    Mailbox answer(by.created_bytes);
    Ioctl call(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_CREATE);
    call.handle(MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE)
        .in(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN, command)
        .out(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT, answer);
    if (const int error = call.run(fd); error != 0) {
        return failed(error, answer);
    }
    return Created{static_cast<std::uint32_t>(call.value(MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE)),
                   static_cast<std::uint32_t>(get(answer, by.created_id))};
}

Answer<ElementAnswer> read_element(int fd, const Created& element, const ElementCommands& by)
{
    const auto answer = devx_query(fd, element.handle, query_element(ObjectId{element.id}, by), by.read_bytes);
    if (!answer) {
        return tl::unexpected(answer.error());
    }
    return decode_element(*answer, by);
}

Answer<Created> make_element(int fd, ElementKind kind, ObjectId parent, const ElementAttributes& attributes,
                             const ElementCommands& by)
{
    constexpr std::uint32_t kHighestLeaf = 0xffff;
    auto created = devx_create(fd, create_element(kind, parent, attributes, by), by);
    if (created && kind == ElementKind::Leaf && created->id > kHighestLeaf) {
        static_cast<void>(devx_destroy(fd, created->handle));
        return tl::unexpected(Failure{EOVERFLOW, 0, 0});
    }
    return created;
}

Answer<void> devx_modify(int fd, std::uint32_t handle, const Mailbox& command)
{
    Mailbox answer(prm::kHeaderBytes);
    Ioctl call(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_MODIFY);
    call.handle(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE, handle)
        .in(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN, command)
        .out(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT, answer);
    if (const int error = call.run(fd); error != 0) {
        return failed(error, answer);
    }
    return {};
}

Answer<Mailbox> devx_query(int fd, std::uint32_t handle, const Mailbox& command, std::size_t answer_bytes)
{
    Mailbox answer(answer_bytes);
    Ioctl call(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_QUERY);
    call.handle(MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE, handle)
        .in(MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN, command)
        .out(MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT, answer);
    if (const int error = call.run(fd); error != 0) {
        return failed(error, answer);
    }
    return answer;
}

Answer<void> devx_destroy(int fd, std::uint32_t handle)
{
    Ioctl call(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_DESTROY);
    call.handle(MLX5_IB_ATTR_DEVX_OBJ_DESTROY_HANDLE, handle);
    if (const int error = call.run(fd); error != 0) {
        return tl::unexpected(Failure{error, 0, 0});
    }
    return {};
}

namespace {

// 0, or an errno.
int query_queue_pair(int fd, std::uint32_t handle, std::uint32_t wanted, ib_uverbs_query_qp_resp& answer)
{
    ib_uverbs_query_qp request{};
    request.qp_handle = handle;
    request.attr_mask = wanted;
    Ioctl call(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
    call.in_value(UVERBS_ATTR_WRITE_CMD, std::uint64_t{IB_USER_VERBS_CMD_QUERY_QP})
        .in_value(UVERBS_ATTR_CORE_IN, request)
        .out_value(UVERBS_ATTR_CORE_OUT, answer);
    const int error = call.run(fd);
    return error == 0 && answer.qp_state > IBV_QPS_ERR ? EPROTO : error;
}

QueuePairState state_of(const ib_uverbs_query_qp_resp& answer)
{
    static_assert(static_cast<int>(QueuePairState::Error) == IBV_QPS_ERR &&
                  static_cast<int>(QueuePairState::Sqd) == IBV_QPS_SQD);
    return static_cast<QueuePairState>(answer.qp_state);
}

}    // namespace

Answer<QueuePairState> query_state(int fd, std::uint32_t handle)
{
    ib_uverbs_query_qp_resp answer{};
    if (const int error = query_queue_pair(fd, handle, IBV_QP_STATE, answer); error != 0) {
        return tl::unexpected(Failure{error, 0, 0});
    }
    return state_of(answer);
}

Answer<VerbsQueuePair> query_verbs(int fd, std::uint32_t handle)
{
    constexpr std::uint32_t kWanted = IBV_QP_STATE | IBV_QP_AV | IBV_QP_DEST_QPN | IBV_QP_PORT | IBV_QP_PKEY_INDEX;
    ib_uverbs_query_qp_resp answer{};
    if (const int error = query_queue_pair(fd, handle, kWanted, answer); error != 0) {
        return tl::unexpected(Failure{error, 0, 0});
    }
    const ib_uverbs_qp_dest& address = answer.dest;
    VerbsQueuePair found;
    found.state = state_of(answer);
    found.remote = answer.dest_qp_num;
    found.port = answer.port_num;
    found.pkey_index = answer.pkey_index;
    found.is_global = address.is_global != 0;
    static_assert(sizeof(address.dgid) == sizeof(found.destination.bytes));
    std::memcpy(found.destination.bytes.data(), address.dgid, sizeof(address.dgid));
    found.destination_lid = address.dlid;
    found.source_index = address.sgid_index;
    found.sl = address.sl;
    found.traffic_class = address.traffic_class;
    return found;
}

namespace {

Answer<std::vector<std::uint32_t>> handles_of(int fd, std::uint64_t object)
{
    // A length has 16 bits. Of more handles than that the kernel gives the newest.
    constexpr std::size_t kMost = 0xffff / sizeof(std::uint32_t);
    for (std::size_t room = 256;; room = std::min(room * 8, kMost)) {
        std::vector<std::uint32_t> handles(room);
        std::uint32_t total = 0;
        Ioctl call(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INFO_HANDLES);
        call.in_value(UVERBS_ATTR_INFO_OBJECT_ID, object)
            .out_value(UVERBS_ATTR_INFO_TOTAL_HANDLES, total)
            .out(UVERBS_ATTR_INFO_HANDLES_LIST,
                 {reinterpret_cast<std::uint8_t*>(handles.data()), handles.size() * sizeof(handles.front())});
        if (const int error = call.run(fd); error != 0) {
            return tl::unexpected(Failure{error, 0, 0});
        }
        // The kernel counts no more than there is room for.
        if (total < room || room == kMost) {
            handles.resize(std::min<std::size_t>(total, room));
            return handles;
        }
    }
}

}    // namespace

Answer<std::vector<std::uint32_t>> queue_pair_handles(int fd)
{
    return handles_of(fd, UVERBS_OBJECT_QP);
}

Answer<std::vector<std::uint32_t>> devx_handles(int fd)
{
    return handles_of(fd, MLX5_IB_OBJECT_DEVX_OBJ);
}

Answer<void> modify_rate(int fd, std::uint32_t handle, const std::optional<RateLimit>& rate)
{
    constexpr std::uint64_t kModifyQpEx = IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_MODIFY_QP;
    ib_uverbs_ex_modify_qp request{};
    request.base.qp_handle = handle;
    request.base.attr_mask = IBV_QP_RATE_LIMIT;
    mlx5_ib_modify_qp vendor{};
    if (rate) {
        request.rate_limit = static_cast<std::uint32_t>(rate->rate.kbps());
        vendor.burst_info.max_burst_sz = static_cast<std::uint32_t>(rate->max_burst.value_or(0));
        vendor.burst_info.typical_pkt_sz = static_cast<std::uint16_t>(rate->typical_packet.value_or(0));
    }
    ib_uverbs_ex_modify_qp_resp answer{};
    Ioctl call(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
    call.in_value(UVERBS_ATTR_CORE_IN, request)
        .out_value(UVERBS_ATTR_CORE_OUT, answer)
        .in_value(UVERBS_ATTR_WRITE_CMD, kModifyQpEx)
        .in_value(UVERBS_ATTR_UHW_IN, vendor);
    if (const int error = call.run(fd); error != 0) {
        return tl::unexpected(Failure{error, 0, 0});
    }
    return {};
}

}    // namespace rdmaqos::mlx5
