// How the model's firmware says no: a status byte and a syndrome as in a command's out mailbox, the errno that the
// user-space library makes of it, and a sentence that names the limit and its use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

namespace rdmaqos {

// The status byte of the command interface.
enum class FirmwareStatus : std::uint8_t {
    Ok = 0x00,
    InternalError = 0x01,
    BadOperation = 0x02,
    BadParameter = 0x03,
    BadSystemState = 0x04,
    BadResource = 0x05,
    ResourceBusy = 0x06,
    ExceedsLimit = 0x08,
    BadResourceState = 0x09,
    BadIndex = 0x0a,
    NoResources = 0x0f,
    BadQueuePairState = 0x10,
    BadPacket = 0x30,
    BadSize = 0x40,
};

// "bad parameter (0x3)"
[[nodiscard]] std::string to_string(FirmwareStatus status);
// What user space sees for a status: EIO, EINVAL, EBUSY, ENOMEM or EAGAIN.
[[nodiscard]] int errno_of(FirmwareStatus status);

enum class RefusalReason : std::uint8_t {
    // Elements.
    SchedulingNotSupported,
    SharesNotSupported,
    RateCapsNotSupported,
    UnknownFlags,
    LeafWithoutParent,
    SecondRoot,
    NoSuchElement,     // never made, destroyed, or lost
    ForeignElement,    // made by another context
    ParentIsLeaf,
    ShareOnRoot,
    RateOnRoot,
    ShareOutOfRange,
    TooDeep,
    TooManyLeaves,
    TooManyElements,
    HasChildren,
    HasQueuePairs,
    // Queue pairs.
    NoSuchQueuePair,
    QueuePairTypeMismatch,
    TypeNotAttachable,
    NotALeaf,
    NoResponderLeaf,
    QueuePairState,
    // Packet pacing.
    PacingNotSupported,
    PacingTypeNotSupported,
    PacingBurstNotSupported,
    PacingPacketNotSupported,
    PacingRateZero,
    PacingRateOutOfRange,
    PacingTableFull,
    // The device.
    NoSuchContext,
    DeviceGone,
    Injected,
};

[[nodiscard]] std::string_view to_string(RefusalReason reason);

struct Refusal {
    RefusalReason reason = RefusalReason::Injected;
    FirmwareStatus status = FirmwareStatus::InternalError;
    std::uint32_t syndrome = 0;
    int sys_errno = 0;
    // False: the answer's mailbox never reached user space (older kernels return before copying it); a caller may
    // look at sys_errno only.
    bool mailbox = true;
    std::string message;

    friend bool operator==(const Refusal&, const Refusal&) = default;
};

// Status, syndrome and errno of a reason, with a sentence. The model's syndromes are 0x51c000 + the reason's number.
[[nodiscard]] Refusal make_refusal(RefusalReason reason, std::string message);

template <typename T>
using Answer = tl::expected<T, Refusal>;

}    // namespace rdmaqos
