#include "tools/emulator/qp_states.h"

#include <vector>

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

namespace rdmaqos::emulator {
namespace {

using enum QueuePairState;

// What programs set on the way up (ibv_modify_qp(3)).
constexpr std::uint32_t kInit = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
constexpr std::uint32_t kRtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
constexpr std::uint32_t kRtrRc = kRtr | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr std::uint32_t kRtsRc = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                 IBV_QP_MAX_QP_RD_ATOMIC;

struct Way {
    QueuePairType type;
    std::uint32_t init;
    std::uint32_t rtr;
    std::uint32_t rts;
};

const Way kWays[] = {
    {QueuePairType::Rc, kInit | IBV_QP_ACCESS_FLAGS, kRtrRc, kRtsRc},
    {QueuePairType::Uc, kInit | IBV_QP_ACCESS_FLAGS, kRtr, IBV_QP_STATE | IBV_QP_SQ_PSN},
    {QueuePairType::Ud, kInit | IBV_QP_QKEY, IBV_QP_STATE, IBV_QP_STATE | IBV_QP_SQ_PSN},
    {QueuePairType::RawPacket, IBV_QP_STATE | IBV_QP_PORT, IBV_QP_STATE, IBV_QP_STATE},
};

TEST(QpStates, TheWayUpNeedsEachOfItsAttributes)
{
    for (const Way& way : kWays) {
        const struct {
            QueuePairState from;
            QueuePairState to;
            std::uint32_t mask;
        } steps[] = {{Reset, Init, way.init}, {Init, Rtr, way.rtr}, {Rtr, Rts, way.rts}};
        for (const auto& step : steps) {
            EXPECT_TRUE(transition_is_allowed(way.type, step.from, step.to, step.mask, false));
            for (std::uint32_t bit = IBV_QP_CUR_STATE; bit <= IBV_QP_DEST_QPN; bit <<= 1) {
                if ((step.mask & bit) != 0) {
                    EXPECT_FALSE(transition_is_allowed(way.type, step.from, step.to, step.mask & ~bit, false))
                        << to_string(way.type) << " to " << to_string(step.to) << " without " << bit;
                }
            }
            EXPECT_FALSE(transition_is_allowed(way.type, step.from, step.to, step.mask | IBV_QP_CAP, false));
        }
    }
}

TEST(QpStates, ResetAndErrorAreOpenFromEverywhereButErrorFromReset)
{
    for (const auto from : {Reset, Init, Rtr, Rts, Sqd, Sqe, Error}) {
        for (const auto to : {Reset, Error}) {
            EXPECT_EQ(transition_is_allowed(QueuePairType::Rc, from, to, IBV_QP_STATE, false),
                      from != Reset || to != Error);
            EXPECT_FALSE(transition_is_allowed(QueuePairType::Rc, from, to, IBV_QP_STATE | IBV_QP_PORT, false));
        }
    }
}

TEST(QpStates, NoStateIsSkipped)
{
    const auto allowed = [](QueuePairState from, QueuePairState to) {
        return transition_is_allowed(QueuePairType::Ud, from, to, IBV_QP_STATE, false);
    };
    for (const auto& [from, to] : std::vector<std::pair<QueuePairState, QueuePairState>>{{Reset, Rtr},
                                                                                         {Reset, Rts},
                                                                                         {Init, Rts},
                                                                                         {Rtr, Init},
                                                                                         {Rts, Init},
                                                                                         {Rts, Rtr},
                                                                                         {Init, Sqd},
                                                                                         {Rts, Sqe},
                                                                                         {Rts, Sqd},
                                                                                         {Sqd, Rts},
                                                                                         {Error, Init},
                                                                                         {Error, Rts}}) {
        EXPECT_FALSE(allowed(from, to)) << to_string(from) << " to " << to_string(to);
    }
    EXPECT_TRUE(allowed(Sqe, Rts));
    EXPECT_FALSE(transition_is_allowed(QueuePairType::Rc, Sqe, Rts, IBV_QP_STATE, false)) << "RC has no SQE";
}

TEST(QpStates, ARateWherePacingIs)
{
    const std::uint32_t mask = IBV_QP_STATE | IBV_QP_RATE_LIMIT;
    EXPECT_TRUE(transition_is_allowed(QueuePairType::RawPacket, Rts, Rts, mask, true));
    EXPECT_TRUE(transition_is_allowed(QueuePairType::RawPacket, Rtr, Rts, mask, true));
    EXPECT_FALSE(transition_is_allowed(QueuePairType::RawPacket, Rts, Rts, mask, false));
    EXPECT_FALSE(transition_is_allowed(QueuePairType::RawPacket, Init, Rtr, mask, true));
}

}    // namespace
}    // namespace rdmaqos::emulator
