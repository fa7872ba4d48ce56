#include "tools/emulator/queue_pair_context.h"

#include <algorithm>

namespace rdmaqos::emulator {
namespace {

using namespace mlx5;
using namespace mlx5::prm;

constexpr std::uint64_t kNever = 0;

// Counts in command `required`, and in every other that has one of the bits `optional` in its mask.
struct FieldRule {
    Field field;
    std::uint64_t required;
    std::uint64_t optional;
};

constexpr FieldRule kFieldRules[] = {
    {qpc::kPathMigration, Rst2Init, 1U << 10},
    {qpc::kPkeyIndex, Rst2Init, 1U << 4},
    {qpc::kPort, Rst2Init, 1U << 16},
    {qpc::kQkey, Rst2Init, 1U << 5},
    {qpc::kRemoteRead, Rst2Init, 1U << 1},
    {qpc::kRemoteWrite, Rst2Init, 1U << 3},
    {qpc::kRemoteAtomic, Rst2Init, 1U << 2},
    {qpc::kAtomicMode, Rst2Init, 1U << 2},
    {qpc::kMtu, Init2Rtr, kNever},
    {qpc::kLogMessageMax, Init2Rtr, kNever},
    {qpc::kRemoteQpn, Init2Rtr, kNever},
    {qpc::kNextReceivePsn, Init2Rtr, kNever},
    {qpc::kLogRraMax, Init2Rtr, 1U << 9},
    {qpc::kMinRnrNak, Init2Rtr, 1U << 6},
    {qpc::kNextSendPsn, Rtr2Rts, kNever},
    {qpc::kLogSraMax, Rtr2Rts, 1U << 8},
    {qpc::kRetryCount, Rtr2Rts, 1U << 12},
    {qpc::kRnrRetry, Rtr2Rts, 1U << 13},
    {qpc::kAckTimeout, Rtr2Rts, 1U << 14},
};
constexpr std::uint64_t kOptSecondPath = 1U << 0;
constexpr std::uint64_t kOptPath = 1U << 7;

struct TargetState {
    std::uint64_t opcode;
    std::uint64_t state;    // of the hardware
};

constexpr TargetState kTargetStates[] = {{Rst2Init, 1}, {Init2Init, 1}, {Init2Rtr, 2}, {Rtr2Rts, 3},
                                         {Rts2Rts, 3},  {Sqerr2Rts, 3}, {Qp2Err, 6},   {Qp2Rst, 0}};

void copy_path(Mailbox& context, const Mailbox& command, std::size_t path)
{
    for (std::size_t bit = path; bit < path + 8 * qpc::kPathBytes; bit += 8) {
        set(context, {bit, 8}, get(command, at(kQpc, {bit, 8})));
    }
}

// The path but for what has rules of its own.
void take_path(Mailbox& context, const Mailbox& command)
{
    const auto pkey_index = get(context, qpc::kPkeyIndex);
    const auto timeout = get(context, qpc::kAckTimeout);
    copy_path(context, command, qpc::kPath);
    set(context, qpc::kPkeyIndex, pkey_index);
    set(context, qpc::kAckTimeout, timeout);
}

}    // namespace

std::optional<QueuePairType> type_of_service(std::uint64_t service)
{
    switch (service) {
    case qpc::kReliableConnection:
        return QueuePairType::Rc;
    case qpc::kUnreliableConnection:
        return QueuePairType::Uc;
    case qpc::kUnreliableDatagram:
        return QueuePairType::Ud;
    default:
        return std::nullopt;
    }
}

void apply_transition(Mailbox& context, const Mailbox& command)
{
    const auto opcode = get(command, kOpcode);
    const auto optional = get(command, kOptParamMask);
    const auto* target = std::find_if(std::begin(kTargetStates), std::end(kTargetStates),
                                      [opcode](const TargetState& each) { return each.opcode == opcode; });
    if (target == std::end(kTargetStates)) {
        return;
    }
    set(context, qpc::kState, target->state);
    if (opcode == Qp2Err || opcode == Qp2Rst) {
        return;    // these have no context
    }
    // A datagram finds its path in each message, and keeps the port.
    const bool connects = opcode == Init2Rtr && get(context, qpc::kServiceType) != qpc::kUnreliableDatagram;
    if (connects || (optional & kOptPath) != 0) {
        take_path(context, command);
    }
    if ((optional & kOptSecondPath) != 0) {
        copy_path(context, command, qpc::kSecondPath);
    }
    for (const auto& rule : kFieldRules) {
        if (opcode == rule.required || (optional & rule.optional) != 0) {
            set(context, rule.field, get(command, at(kQpc, rule.field)));
        }
    }
}

}    // namespace rdmaqos::emulator
