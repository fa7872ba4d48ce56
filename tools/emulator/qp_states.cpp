#include "tools/emulator/qp_states.h"

#include <infiniband/verbs.h>

namespace rdmaqos::emulator {
namespace {

using enum QueuePairState;

struct Masks {
    std::uint32_t required = 0;
    std::uint32_t optional = 0;
};

struct Rule {
    QueuePairState from;
    QueuePairState to;
    Masks rc;
    Masks uc;
    Masks ud;
    Masks raw;
};

constexpr std::uint32_t kAlternate = IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PATH_MIG_STATE;
constexpr std::uint32_t kConnect = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
constexpr std::uint32_t kResponder = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr std::uint32_t kRequester = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC |
                                     IBV_QP_SQ_PSN;
constexpr std::uint32_t kBegin = IBV_QP_PKEY_INDEX | IBV_QP_PORT;
constexpr std::uint32_t kInitRc = kBegin | IBV_QP_ACCESS_FLAGS;
constexpr std::uint32_t kInitUd = kBegin | IBV_QP_QKEY;
constexpr std::uint32_t kLiveRc = IBV_QP_CUR_STATE | kAlternate | IBV_QP_MIN_RNR_TIMER;
constexpr std::uint32_t kLiveUc = IBV_QP_CUR_STATE | kAlternate;
constexpr std::uint32_t kLiveUd = IBV_QP_CUR_STATE | IBV_QP_QKEY;

// No way leads to SQD: mlx5_ib knows none.
constexpr Rule kRules[] = {
    {Reset, Init, {kInitRc}, {kInitRc}, {kInitUd}, {IBV_QP_PORT}},
    {Init, Init, {0, kInitRc}, {0, kInitRc}, {0, kInitUd}, {}},
    {Init,
     Rtr,
     {kConnect | kResponder, IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
     {kConnect, IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
     {0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
     {}},
    {Rtr, Rts, {kRequester, kLiveRc}, {IBV_QP_SQ_PSN, kLiveUc}, {IBV_QP_SQ_PSN, kLiveUd}, {}},
    {Rts, Rts, {0, kLiveRc}, {0, kLiveUc}, {0, kLiveUd}, {}},
    {Sqe, Rts, {0, 0}, {0, IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS}, {0, kLiveUd}, {}},
};

const Masks& masks_of(const Rule& rule, QueuePairType type)
{
    switch (type) {
    case QueuePairType::Uc:
        return rule.uc;
    case QueuePairType::Ud:
        return rule.ud;
    case QueuePairType::RawPacket:
        return rule.raw;
    case QueuePairType::Rc:
    case QueuePairType::Devx:
        break;
    }
    return rule.rc;
}

}    // namespace

bool transition_is_allowed(QueuePairType type, QueuePairState from, QueuePairState to, std::uint32_t mask,
                           bool rate_limit)
{
    Masks masks;
    if (from == Reset && to == Error) {
        return false;    // the device has no command for it
    }
    if (to != Reset && to != Error) {    // those two are open from everywhere else, and carry nothing
        const Rule* found = nullptr;
        for (const Rule& rule : kRules) {
            if (rule.from == from && rule.to == to) {
                found = &rule;
            }
        }
        if (found == nullptr || (from == Sqe && type == QueuePairType::Rc)) {
            return false;
        }
        masks = masks_of(*found, type);
    }
    std::uint32_t allowed = masks.required | masks.optional | IBV_QP_STATE;
    if (rate_limit && to == Rts && (from == Rtr || from == Rts)) {
        allowed |= IBV_QP_RATE_LIMIT;
    }
    return (mask & masks.required) == masks.required && (mask & ~allowed) == 0;
}

}    // namespace rdmaqos::emulator
