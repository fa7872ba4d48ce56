#include "lib/model/refusal.h"

#include <array>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

namespace rdmaqos {
namespace {

constexpr std::uint32_t kSyndromeBase = 0x51c000;

struct ReasonEntry {
    RefusalReason reason;
    std::string_view name;
    FirmwareStatus status;
    int sys_errno = 0;    // 0: that of the status
};

// What libmlx5 and the kernel check before the firmware is asked has an errno of its own.
constexpr std::array kReasons{
    ReasonEntry{RefusalReason::SchedulingNotSupported, "scheduling-not-supported", FirmwareStatus::BadOperation,
                EOPNOTSUPP},
    ReasonEntry{RefusalReason::SharesNotSupported, "shares-not-supported", FirmwareStatus::BadOperation, EOPNOTSUPP},
    ReasonEntry{RefusalReason::RateCapsNotSupported, "rate-caps-not-supported", FirmwareStatus::BadOperation,
                EOPNOTSUPP},
    ReasonEntry{RefusalReason::UnknownFlags, "unknown-flags", FirmwareStatus::BadParameter, EINVAL},
    ReasonEntry{RefusalReason::LeafWithoutParent, "leaf-without-parent", FirmwareStatus::BadParameter, EINVAL},
    ReasonEntry{RefusalReason::SecondRoot, "second-root", FirmwareStatus::BadParameter},
    ReasonEntry{RefusalReason::NoSuchElement, "no-such-element", FirmwareStatus::BadResource},
    ReasonEntry{RefusalReason::ForeignElement, "foreign-element", FirmwareStatus::BadResource},
    ReasonEntry{RefusalReason::ParentIsLeaf, "parent-is-leaf", FirmwareStatus::BadParameter},
    ReasonEntry{RefusalReason::ShareOnRoot, "share-on-root", FirmwareStatus::BadParameter},
    ReasonEntry{RefusalReason::RateOnRoot, "rate-on-root", FirmwareStatus::BadParameter},
    ReasonEntry{RefusalReason::ShareOutOfRange, "share-out-of-range", FirmwareStatus::BadParameter},
    ReasonEntry{RefusalReason::TooDeep, "too-deep", FirmwareStatus::ExceedsLimit},
    ReasonEntry{RefusalReason::TooManyLeaves, "too-many-leaves", FirmwareStatus::ExceedsLimit},
    ReasonEntry{RefusalReason::TooManyElements, "too-many-elements", FirmwareStatus::ExceedsLimit},
    ReasonEntry{RefusalReason::HasChildren, "has-children", FirmwareStatus::ResourceBusy},
    ReasonEntry{RefusalReason::HasQueuePairs, "has-queue-pairs", FirmwareStatus::ResourceBusy},
    ReasonEntry{RefusalReason::NoSuchQueuePair, "no-such-queue-pair", FirmwareStatus::BadResource},
    ReasonEntry{RefusalReason::QueuePairTypeMismatch, "queue-pair-type-mismatch", FirmwareStatus::BadResource},
    ReasonEntry{RefusalReason::TypeNotAttachable, "type-not-attachable", FirmwareStatus::BadOperation, EOPNOTSUPP},
    ReasonEntry{RefusalReason::NotALeaf, "not-a-leaf", FirmwareStatus::BadResource},
    ReasonEntry{RefusalReason::NoResponderLeaf, "no-responder-leaf", FirmwareStatus::BadOperation, EINVAL},
    ReasonEntry{RefusalReason::QueuePairState, "queue-pair-state", FirmwareStatus::BadQueuePairState},
    ReasonEntry{RefusalReason::PacingNotSupported, "pacing-not-supported", FirmwareStatus::BadOperation, EOPNOTSUPP},
    ReasonEntry{RefusalReason::PacingTypeNotSupported, "pacing-type-not-supported", FirmwareStatus::BadOperation,
                EOPNOTSUPP},
    ReasonEntry{RefusalReason::PacingBurstNotSupported, "pacing-burst-not-supported", FirmwareStatus::BadParameter,
                EINVAL},
    ReasonEntry{RefusalReason::PacingPacketNotSupported, "pacing-packet-not-supported", FirmwareStatus::BadParameter,
                EINVAL},
    ReasonEntry{RefusalReason::PacingRateZero, "pacing-rate-zero", FirmwareStatus::BadParameter, EINVAL},
    ReasonEntry{RefusalReason::PacingRateOutOfRange, "pacing-rate-out-of-range", FirmwareStatus::BadParameter, EINVAL},
    ReasonEntry{RefusalReason::PacingTableFull, "pacing-table-full", FirmwareStatus::ExceedsLimit, ENOSPC},
    ReasonEntry{RefusalReason::NoSuchContext, "no-such-context", FirmwareStatus::BadResource},
    ReasonEntry{RefusalReason::DeviceGone, "device-gone", FirmwareStatus::BadSystemState},
    ReasonEntry{RefusalReason::Injected, "injected", FirmwareStatus::InternalError},
};

const ReasonEntry& entry(RefusalReason reason)
{
    for (const ReasonEntry& candidate : kReasons) {
        if (candidate.reason == reason) {
            return candidate;
        }
    }
    return kReasons.back();
}

std::string_view name_of(FirmwareStatus status)
{
    switch (status) {
    case FirmwareStatus::Ok:
        return "ok";
    case FirmwareStatus::InternalError:
        return "internal error";
    case FirmwareStatus::BadOperation:
        return "bad operation";
    case FirmwareStatus::BadParameter:
        return "bad parameter";
    case FirmwareStatus::BadSystemState:
        return "bad system state";
    case FirmwareStatus::BadResource:
        return "bad resource";
    case FirmwareStatus::ResourceBusy:
        return "resource busy";
    case FirmwareStatus::ExceedsLimit:
        return "limits exceeded";
    case FirmwareStatus::BadResourceState:
        return "bad resource state";
    case FirmwareStatus::BadIndex:
        return "bad index";
    case FirmwareStatus::NoResources:
        return "no resources";
    case FirmwareStatus::BadQueuePairState:
        return "bad queue pair state";
    case FirmwareStatus::BadPacket:
        return "bad packet";
    case FirmwareStatus::BadSize:
        return "bad size";
    }
    return "unknown status";
}

}    // namespace

std::string to_string(FirmwareStatus status)
{
    return fmt::format("{} ({:#x})", name_of(status), static_cast<unsigned>(status));
}

int errno_of(FirmwareStatus status)
{
    switch (status) {
    case FirmwareStatus::Ok:
        return 0;
    case FirmwareStatus::InternalError:
    case FirmwareStatus::BadSystemState:
        return EIO;
    case FirmwareStatus::ResourceBusy:
        return EBUSY;
    case FirmwareStatus::ExceedsLimit:
        return ENOMEM;
    case FirmwareStatus::NoResources:
        return EAGAIN;
    case FirmwareStatus::BadOperation:
    case FirmwareStatus::BadParameter:
    case FirmwareStatus::BadResource:
    case FirmwareStatus::BadResourceState:
    case FirmwareStatus::BadIndex:
    case FirmwareStatus::BadQueuePairState:
    case FirmwareStatus::BadPacket:
    case FirmwareStatus::BadSize:
        return EINVAL;
    }
    return EIO;
}

std::string_view to_string(RefusalReason reason)
{
    return entry(reason).name;
}

Refusal make_refusal(RefusalReason reason, std::string message)
{
    const ReasonEntry& known = entry(reason);
    Refusal refusal;
    refusal.reason = reason;
    refusal.status = known.status;
    refusal.syndrome = kSyndromeBase + static_cast<std::uint32_t>(reason);
    refusal.sys_errno = known.sys_errno != 0 ? known.sys_errno : errno_of(known.status);
    refusal.message = std::move(message);
    return refusal;
}

}    // namespace rdmaqos
