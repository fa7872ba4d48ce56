#include "tools/rdma-qosctl/world/program_rates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rdmaqos::ctl {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t kSecond = 1'000'000;
constexpr std::uint64_t kGbit = 125'000'000;    // bytes of 1 Gbit

api::ProgramCounter counter(std::uint32_t number, std::uint64_t session, const std::string& level,
                            std::uint64_t sent_bytes)
{
    return {.device = "mlx5_0/1",
            .counter = number,
            .queue_pairs = 2,
            .session = session,
            .pid = static_cast<std::uint32_t>(4000 + session),
            .unit = "job.service",
            .level = level,
            .leaf = "/" + level,
            .sent_bytes = sent_bytes,
            .sent_packets = sent_bytes / 1000,
            .received_bytes = 0,
            .received_packets = 0};
}

CounterReadings reading(std::uint64_t at, std::vector<api::ProgramCounter> counters)
{
    return {std::move(counters), {{"mlx5_0/1", 6, 6, "", at}}};
}

TEST(ProgramRates, WhoSendsMostIsFirst)
{
    const auto ports = rates_between(
        reading(kSecond, {counter(2, 1, "storage", kGbit), counter(3, 2, "mpi", 0)}),
        reading(3 * kSecond, {counter(2, 1, "storage", 2 * kGbit), counter(3, 2, "mpi", 6 * kGbit)}), RatesBy::Session,
        "");
    ASSERT_THAT(ports, SizeIs(1));
    EXPECT_EQ(ports[0].interval, 2 * kSecond);
    EXPECT_EQ(to_string(ports[0].sent), "3.5 Gbit/s");
    ASSERT_THAT(ports[0].programs, SizeIs(2));
    EXPECT_EQ(ports[0].programs[0].level, "mpi");
    EXPECT_EQ(ports[0].programs[0].pid, 4002U);
    EXPECT_EQ(to_string(ports[0].programs[0].sent), "3 Gbit/s");
    EXPECT_EQ(ports[0].programs[0].sent_packets, 375'000U);
    EXPECT_EQ(to_string(ports[0].programs[1].sent), "500 Mbit/s");
}

TEST(ProgramRates, WhatRowsHaveInCommon)
{
    const auto after = reading(2 * kSecond, {counter(2, 1, "storage", kGbit), counter(3, 2, "storage", kGbit)});
    const auto ports = rates_between(reading(kSecond, {}), after, RatesBy::Level, "mlx5_0");
    ASSERT_THAT(ports, SizeIs(1));
    ASSERT_THAT(ports[0].programs, SizeIs(1));
    const ProgramRate& both = ports[0].programs[0];
    EXPECT_EQ(to_string(both.sent), "2 Gbit/s");
    EXPECT_EQ(both.queue_pairs, 4U);
    EXPECT_EQ(both.level, "storage");
    EXPECT_EQ(both.unit, "job.service");
    EXPECT_EQ(both.session, std::nullopt);
    EXPECT_EQ(both.pid, std::nullopt);
}

TEST(ProgramRates, ACounterThatBeganAgainCountsFromZero)
{
    const auto again = rates_between(reading(kSecond, {counter(2, 1, "storage", 5 * kGbit)}),
                                     reading(2 * kSecond, {counter(2, 2, "mpi", 6 * kGbit)}), RatesBy::Session, "");
    EXPECT_EQ(to_string(again[0].sent), "6 Gbit/s") << "it is another session's by now";
    const auto less = rates_between(reading(kSecond, {counter(2, 1, "storage", 5 * kGbit)}),
                                    reading(2 * kSecond, {counter(2, 1, "storage", kGbit)}), RatesBy::Session, "");
    EXPECT_EQ(to_string(less[0].sent), "1 Gbit/s");
}

TEST(ProgramRates, OfWhatIsInBothReadings)
{
    const auto once = reading(kSecond, {counter(2, 1, "storage", kGbit)});
    EXPECT_THAT(rates_between(once, once, RatesBy::Session, ""), IsEmpty()) << "no time has passed";
    EXPECT_THAT(rates_between({}, once, RatesBy::Session, ""), IsEmpty());
    const auto later = reading(2 * kSecond, {counter(2, 1, "storage", kGbit)});
    EXPECT_THAT(rates_between(once, later, RatesBy::Session, "mlx5_1"), IsEmpty()) << "another device is asked for";
    EXPECT_THAT(rates_between(once, later, RatesBy::Session, "mlx5_0/1"), SizeIs(1));
    auto uncounted = later;
    uncounted.counters[0].sent_bytes.reset();
    const auto ports = rates_between(once, uncounted, RatesBy::Session, "");
    EXPECT_THAT(ports, ElementsAre(Field(&PortRates::programs, IsEmpty())));
}

}    // namespace
}    // namespace rdmaqos::ctl
