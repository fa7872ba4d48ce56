#include "daemon/survey/counter_survey.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rdmaqos {
namespace {

using rdma_netlink::QueuePairCounter;
using testing::ElementsAre;
using testing::IsEmpty;

PortToCount port_with(std::vector<QueuePairToCount> queue_pairs)
{
    return {"mlx5_0/1", "mlx5_0", 1, std::move(queue_pairs)};
}

QueuePairCounter counter(std::uint32_t number, std::vector<std::uint32_t> queue_pairs, std::uint32_t port = 1)
{
    return {number, port, std::move(queue_pairs), 1000};
}

CounterBinding bind(std::uint32_t queue_pair, std::uint64_t group, std::optional<std::uint32_t> to = std::nullopt)
{
    return {queue_pair, group, to};
}

TEST(CounterBindings, EachQueuePairIsBoundOnce)
{
    const auto port = port_with({{17, 1}, {18, 1}, {19, 2, SessionId{2}}});
    EXPECT_THAT(plan_bindings({}, port), ElementsAre(bind(17, 1), bind(18, 1), bind(19, 2)));
    EXPECT_THAT(plan_bindings({counter(2, {17, 18}), counter(3, {19})}, port), IsEmpty()) << "nor by a later daemon";
    EXPECT_THAT(plan_bindings({counter(2, {17, 19})}, port), ElementsAre(bind(18, 1)))
        << "somebody else has bound them, and not by session";
}

TEST(CounterBindings, ThoseOfASessionShareACounter)
{
    const auto port = port_with({{17, 1}, {18, 1}, {19, 2, SessionId{2}}});
    EXPECT_THAT(plan_bindings({counter(2, {17})}, port), ElementsAre(bind(18, 1, 2), bind(19, 2)));
    EXPECT_THAT(plan_bindings({counter(2, {17, 99})}, port), ElementsAre(bind(18, 1), bind(19, 2)))
        << "99 is not of this session";
    EXPECT_THAT(plan_bindings({counter(2, {17}, 2)}, port), ElementsAre(bind(17, 1), bind(18, 1), bind(19, 2)))
        << "of another port";
    QueuePairCounter no_bytes{2, 1, {17}};
    EXPECT_THAT(plan_bindings({no_bytes}, port), ElementsAre(bind(18, 1), bind(19, 2))) << "it counts no bytes";
}

TEST(CounterBindings, ThoseThatHaveMovedToAnotherLeafLeaveTheirCounter)
{
    constexpr SessionId kSession{7};
    const auto port = port_with({{17, 1, kSession}, {18, 1, kSession}, {19, 2, kSession}, {20, 2, kSession}});
    EXPECT_THAT(plan_bindings({counter(2, {17, 18, 19})}, port),
                ElementsAre(CounterBinding{19, 2, std::nullopt, 2}, bind(20, 2)));
    EXPECT_THAT(plan_bindings({counter(2, {17, 18, 19}), counter(3, {20})}, port),
                ElementsAre(CounterBinding{19, 2, 3, 2}));
    const auto others = port_with({{17, 1, kSession}, {18, 1, kSession}, {19, 2, SessionId{8}}});
    EXPECT_THAT(plan_bindings({counter(2, {17, 18, 19})}, others), IsEmpty()) << "an administrator's";
}

TEST(CounterBindings, ACounterTakesAsManyAsTheKernelCanList)
{
    std::vector<QueuePairToCount> all;
    std::vector<std::uint32_t> bound;
    for (std::uint32_t number = 100; number < 100 + kMostOfCounter + 1; ++number) {
        all.push_back({number, 1});
        if (bound.size() < kMostOfCounter - 1) {
            bound.push_back(number);
        }
    }
    const auto last = static_cast<std::uint32_t>(100 + kMostOfCounter);
    EXPECT_THAT(plan_bindings({counter(2, bound)}, port_with(all)), ElementsAre(bind(last - 1, 1, 2), bind(last, 1)));
}

}    // namespace
}    // namespace rdmaqos
