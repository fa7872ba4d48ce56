#include "lib/nic_mlx5/errors.h"

#include <cerrno>

#include <fmt/format.h>

namespace rdmaqos::mlx5 {
namespace {

// Status bytes of the command interface (the programmer's reference manual, "command interface statuses").
enum Status : std::uint8_t {
    kBadParameter = 0x03,
    kBadResource = 0x05,
    kBusy = 0x06,
    kExceedsLimit = 0x08,
    kBadResourceState = 0x09,
    kBadIndex = 0x0a,
    kNoResources = 0x0f,
    kBadQueuePairState = 0x10,
};

bool is_element_command(Command command)
{
    return command == Command::CreateElement || command == Command::ModifyElement ||
           command == Command::QueryElement || command == Command::DestroyElement;
}

struct Meaning {
    ErrorCode code;
    const char* text;
    int sys_errno;
};

// What the firmware said.
Meaning of_status(Command command, std::uint8_t status)
{
    switch (status) {
    case kBusy:
        return {ErrorCode::Busy, "it is in use", EBUSY};
    case kExceedsLimit:
    case kNoResources:
        return {ErrorCode::NoSpace, "the device has no room left; other programs and tc-HTB offload draw from the same pool",
                ENOSPC};
    case kBadQueuePairState:
    case kBadResourceState:
        return {ErrorCode::BadState, "the queue pair is in a state that does not allow it", EINVAL};
    case kBadParameter:
    case kBadResource:
    case kBadIndex:
        if (command == Command::QueryElement || command == Command::ModifyElement ||
            command == Command::DestroyElement) {
            return {ErrorCode::InvalidArgument, "the device does not know the element, or refuses the values", ENOENT};
        }
        if (command == Command::Place) {
            return {ErrorCode::InvalidArgument,
                    "the device does not know the leaf, or lets queue pairs use only leaves of their own process (see "
                    "`attach-mode` in rdma-qosd.yaml(5))",
                    EINVAL};
        }
        return {ErrorCode::InvalidArgument, "the device refuses the values", EINVAL};
    default:
        return {ErrorCode::DeviceFailed, "the firmware refused it", EIO};
    }
}

Meaning of_errno(Command command, int error)
{
    const bool of_queue_pair = !is_element_command(command) && command != Command::QueryCapabilities;
    switch (error) {
    case EIO:
    case ENODEV:
        return {ErrorCode::DeviceGone, "the device was reset or removed: this file of it is dead", error};
    case EBUSY:
        return {ErrorCode::Busy, "another call on it is in flight", error};
    case ENOENT:
        return {of_queue_pair ? ErrorCode::BadQueuePair : ErrorCode::InvalidArgument,
                of_queue_pair ? "there is no such queue pair in its owner's file" : "there is no such element", ENOENT};
    case EPERM:
    case EACCES:
        return {ErrorCode::Unsupported, "the kernel wants a capability that rdma-qosd does not have (CAP_NET_RAW in its unit)",
                error};
    case EOPNOTSUPP:
    case ENOSYS:
    case EPROTONOSUPPORT:
    case ENOTTY:
        return {ErrorCode::Unsupported,
                "the kernel's mlx5_ib driver does not offer this: it needs DEVX (Linux 5.1 or newer, "
                "CONFIG_INFINIBAND_USER_ACCESS)",
                error};
    case ENOMEM:
    case ENOSPC:
    case EAGAIN:
        return {ErrorCode::NoSpace, "the device has no room left; other programs and tc-HTB offload draw from the same pool",
                error};
    case EINVAL:
        if (of_queue_pair) {
            return {ErrorCode::BadQueuePair,
                    "the kernel refuses it: handle and number may not belong together, or the owner opened the device "
                    "without DEVX",
                    error};
        }
        return {ErrorCode::InvalidArgument, "the device or the kernel refuses the values", error};
    default:
        return {ErrorCode::DeviceFailed, "it failed", error};
    }
}

const char* what_to_do(QueuePairState state)
{
    switch (state) {
    case QueuePairState::Reset:
        return "attach it when it has been brought to INIT";
    case QueuePairState::Rtr:
        return "attach it when it is in RTS";
    case QueuePairState::Sqd:
        return "its send queue is being drained: attach it when it is in RTS again";
    case QueuePairState::Sqe:
        return "its send queue has failed: bring it back to RTS, then attach it";
    case QueuePairState::Error:
        return "it has failed: reset it, bring it up again, then attach it";
    case QueuePairState::Init:
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
    const Meaning meaning =
        failure.status != 0 ? of_status(command, failure.status) : of_errno(command, failure.sys_errno);
    return {meaning.code, meaning.sys_errno,
            fmt::format("{}: {} [{}]", to_string(command), meaning.text, to_string(failure))};
}

Error bad_state(std::uint32_t queue_pair, QueuePairState state)
{
    return {ErrorCode::BadState, 0,
            fmt::format("queue pair {} is in {}, and only in INIT or RTS can it be attached or moved; {}", queue_pair,
                        rdmaqos::to_string(state), what_to_do(state))};
}

}    // namespace rdmaqos::mlx5
