#include "lib/nic_mlx5/errors.h"

#include <cerrno>

#include <fmt/format.h>

namespace rdmaqos::mlx5 {
namespace {

constexpr const char* kNoAnswer =
    "the device does not answer through this file: it was reset or removed, or its firmware failed";

// Status bytes of the command interface (the programmer's reference manual, "command interface statuses").
enum Status : std::uint8_t {
    kBadOperation = 0x02,
    kBadParameter = 0x03,
    kBadResource = 0x05,
    kBusy = 0x06,
    kExceedsLimit = 0x08,
    kBadResourceState = 0x09,
    kBadIndex = 0x0a,
    kNoResources = 0x0f,
    kBadQueuePairState = 0x10,
};

struct Meaning {
    ErrorCode code;
    const char* text;
    int sys_errno;
};

bool is_element_command(Command command)
{
    return command == Command::CreateElement || command == Command::ModifyElement || command == Command::QueryElement ||
           command == Command::DestroyElement;
}

Meaning in_use(Command command)
{
    switch (command) {
    case Command::DestroyElement:
        return {ErrorCode::Busy, "the element still has children or queue pairs", EBUSY};
    case Command::Place:
    case Command::SetRate:
    case Command::QueryQueuePair:
        return {ErrorCode::Busy, "another call on the queue pair is in flight: try again", EBUSY};
    default:
        return {ErrorCode::Busy, "another command is in flight: try again", EBUSY};
    }
}

Meaning no_room(Command command)
{
    switch (command) {
    case Command::SetRate:
        return {
            ErrorCode::NoSpace,
            "the device's table of rates is full: use fewer different `per-queue-pair` rates and bursts (`pacing` in "
            "`rdma-qosctl devices DEVICE` says how many there can be)",
            ENOSPC};
    case Command::CreateElement:
        return {
            ErrorCode::NoSpace,
            "the device has no room left: use fewer classes or a smaller `leaf-budget`, or stop what else draws from "
            "the same pool (tc-HTB offload, other programs with scheduling elements)",
            ENOSPC};
    default:
        return {ErrorCode::NoSpace, "the device or the kernel is out of resources for a command: try again", ENOSPC};
    }
}

Meaning not_offered(Command command, int error)
{
    switch (command) {
    case Command::Place:
        return {ErrorCode::Unsupported,
                "the firmware cannot schedule this type of queue pair (capability nic_qp_scheduling with "
                "qpc_extension; for "
                "raw packets nic_sq_scheduling): update it, or set `attach-mode: none`",
                error};
    case Command::SetRate:
        return {ErrorCode::Unsupported,
                "the device or the kernel cannot pace this type of queue pair (`pacing` in `rdma-qosctl devices "
                "DEVICE`): put "
                "`max-rate` into `schedule` instead of `per-queue-pair`",
                error};
    case Command::CreateElement:
    case Command::ModifyElement:
        return {
            ErrorCode::Unsupported,
            "the firmware does not offer it (capabilities nic_element_type, nic_bw_share for shares, nic_rate_limit "
            "for caps): update it, or leave `share` or `max-rate` out",
            error};
    default:
        return {ErrorCode::Unsupported, "the firmware does not know the command: update it", error};
    }
}

Meaning refused_values(Command command)
{
    switch (command) {
    case Command::QueryElement:
    case Command::DestroyElement:
        return {ErrorCode::InvalidArgument, "the device does not know the element (any more)", ENOENT};
    case Command::Place:
        return {ErrorCode::InvalidArgument,
                "the device does not know the leaf, or lets queue pairs use only leaves of their own process: set "
                "`attach-mode: per-process` in rdma-qosd.yaml",
                EINVAL};
    case Command::SetRate:
        return {ErrorCode::InvalidArgument,
                "the device refuses the rate, burst, packet size or this type of queue pair: keep `per-queue-pair` "
                "within what `pacing` in "
                "`rdma-qosctl devices DEVICE` says",
                EINVAL};
    case Command::QueryQueuePair:
        return {ErrorCode::BadQueuePair, "the device does not know the queue pair (any more)", EINVAL};
    case Command::CreateElement:
    case Command::ModifyElement:
        return {ErrorCode::InvalidArgument,
                "the device refuses the share, the cap or the parent: keep `share` within what `scheduling` in "
                "`rdma-qosctl "
                "devices DEVICE` says",
                EINVAL};
    case Command::QueryCapabilities:
        break;
    }
    return {ErrorCode::InvalidArgument, "the device refuses to say what it can: update its firmware", EINVAL};
}

// What the firmware said.
Meaning of_status(Command command, std::uint8_t status)
{
    switch (status) {
    case kBadOperation:
        return not_offered(command, EOPNOTSUPP);
    case kBusy:
        return in_use(command);
    case kExceedsLimit:
    case kNoResources:
        return no_room(command);
    case kBadQueuePairState:
    case kBadResourceState:
        if (is_element_command(command) || command == Command::QueryCapabilities) {
            break;
        }
        return {ErrorCode::BadState,
                "the queue pair is in a state that does not allow it: bring it to RTS, then try again", EINVAL};
    case kBadResource:
    case kBadIndex:
        if (command == Command::ModifyElement) {
            return refused_values(Command::QueryElement);
        }
        return refused_values(command);
    case kBadParameter:
        return refused_values(command);
    default:
        break;
    }
    return {ErrorCode::DeviceFailed,
            "the firmware failed: if it stays so, update it and report this line with `rdma-qosctl hardware-report`",
            EIO};
}

Meaning not_allowed(Command command, int error)
{
    if (is_element_command(command) || command == Command::QueryCapabilities) {
        return {ErrorCode::Unsupported,
                "the kernel wants a capability that rdma-qosd does not have: add CAP_NET_RAW to "
                "CapabilityBoundingSet= of rdma-qosd.service",
                error};
    }
    return {ErrorCode::Unsupported,
            "the kernel wants a capability that the program did not have when it opened the device (CAP_NET_RAW)",
            error};
}

// On kernels that do not pass on a status this is all there is, and the errno may be a translated status.
Meaning not_there(Command command)
{
    if (is_element_command(command)) {
        return {ErrorCode::InvalidArgument, "there is no such element (any more)", ENOENT};
    }
    return {ErrorCode::BadQueuePair,
            "there is no such queue pair in its owner's file: it was destroyed, or the handle is another's", ENOENT};
}

Meaning of_errno(Command command, int error)
{
    switch (error) {
    case EIO:
    case ENODEV:
    case ENXIO:
        return {ErrorCode::DeviceGone, kNoAnswer, error};
    case EBUSY:
        return in_use(command);
    case ENOENT:
        return not_there(command);
    case EPERM:
    case EACCES:
        return not_allowed(command, error);
    case EOPNOTSUPP:
        if (command == Command::Place || command == Command::SetRate) {
            return not_offered(command, error);
        }
        [[fallthrough]];
    case ENOSYS:
    case EPROTONOSUPPORT:
    case ENOTTY:
        return {ErrorCode::Unsupported,
                "the kernel's mlx5_ib driver does not offer this: use Linux 5.1 or newer with "
                "CONFIG_INFINIBAND_USER_ACCESS (capability: DEVX)",
                error};
    case EMFILE:
    case ENFILE:
        return {ErrorCode::Busy,
                "rdma-qosd has no descriptor left for it: try again (LimitNOFILE= of rdma-qosd.service)", error};
    case ENOMEM:
    case ENOSPC:
    case EAGAIN: {
        Meaning meaning = no_room(command);
        meaning.sys_errno = error;
        return meaning;
    }
    case EOVERFLOW:
        return {ErrorCode::DeviceFailed,
                "the firmware gave a leaf an id above 65535, which send queues of raw packets cannot be told: report "
                "this line with `rdma-qosctl hardware-report`",
                error};
    case EINVAL:
        if (command == Command::QueryQueuePair) {
            return {ErrorCode::BadQueuePair,
                    "the kernel refuses it: handle and number do not belong together, or the program opened the device "
                    "without DEVX (mlx5dv_open_device(3))",
                    error};
        }
        return refused_values(command);
    default:
        break;
    }
    return {ErrorCode::DeviceFailed,
            "it failed, and the kernel does not pass on why: if it stays so, report this line with `rdma-qosctl "
            "hardware-report`",
            error};
}

const char* what_to_do(QueuePairState state, bool raw)
{
    switch (state) {
    case QueuePairState::Reset:
        return raw ? "attach it when it has been brought to RTS" : "attach it when it has been brought to INIT";
    case QueuePairState::Init:
    case QueuePairState::Rtr:
        return "attach it when it is in RTS";
    case QueuePairState::Sqd:
        return "its send queue is being drained: attach it when it is in RTS again";
    case QueuePairState::Sqe:
        return "its send queue has failed: bring it back to RTS, then attach it";
    case QueuePairState::Error:
        return "it has failed: reset it, bring it up again, then attach it";
    case QueuePairState::Rts:
        return "try again";
    }
    return "";
}

}    // namespace

std::string_view to_string(Command command)
{
    switch (command) {
    case Command::CreateElement:
        return "create element";
    case Command::ModifyElement:
        return "modify element";
    case Command::QueryElement:
        return "query element";
    case Command::DestroyElement:
        return "destroy element";
    case Command::Place:
        return "attach";
    case Command::SetRate:
        return "set the rate";
    case Command::QueryQueuePair:
        return "query queue pair";
    case Command::QueryCapabilities:
        return "query capabilities";
    }
    return "";
}

Error explain(Command command, const Failure& failure)
{
    const Meaning meaning = failure.status != 0 ? of_status(command, failure.status)
                                                : of_errno(command, failure.sys_errno);
    return {meaning.code, meaning.sys_errno,
            fmt::format("{}: {} [{}]", to_string(command), meaning.text, to_string(failure))};
}

Error not_gone(Error error, bool file_answers)
{
    if (file_answers) {
        error.code = ErrorCode::DeviceFailed;
        error.message +=
            "; the device still answers: try again, and report it with `rdma-qosctl hardware-report` if it stays";
    } else {
        error.code = ErrorCode::BadQueuePair;
        error.message += "; the device answers through other files: the program must open it again and register again";
    }
    return error;
}

Error bad_state(std::uint32_t queue_pair, QueuePairType type, QueuePairState state)
{
    const bool raw = type == QueuePairType::RawPacket;
    return {ErrorCode::BadState, 0,
            fmt::format("queue pair {} is in {}, and only in {} can it be attached or moved: {}", queue_pair,
                        rdmaqos::to_string(state), raw ? "RTS" : "INIT or RTS", what_to_do(state, raw))};
}

}    // namespace rdmaqos::mlx5
