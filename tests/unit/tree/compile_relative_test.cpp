// Rates that are parts of what there is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tree/compiled.h"

namespace rdmaqos::test {
namespace {

using testing::IsEmpty;

Percentage percent(std::uint32_t value)
{
    return Percentage::from_hundredths(value * 100).value();
}

RateSpec max_part(std::uint32_t value)
{
    RateSpec rate;
    rate.max_part = percent(value);
    return rate;
}

RateSpec min_part(std::uint32_t value)
{
    RateSpec rate;
    rate.min_part = percent(value);
    return rate;
}

TEST(RelativeRates, AreOfTheLink)
{
    for (const std::uint64_t link : {100, 200, 400}) {
        const auto compiled = compile(input({level("/a", max_part(25)), level("/b")}, gbps(link)));
        EXPECT_EQ(at(compiled, "/a").attributes.max_rate, gbps(link / 4));
        EXPECT_EQ(at(compiled, "/b").attributes.max_rate, std::nullopt);
        EXPECT_THAT(compiled.findings, IsEmpty());
    }
}

TEST(RelativeRates, BelowACapAreOfTheCap)
{
    const auto compiled = compile(input({node("/n", share(1, gbps(40))), node("/n/m"), level("/n/m/a", max_part(50)),
                                         level("/n/b", max_part(25)), level("/c", max_part(50))},
                                        gbps(200)));
    EXPECT_EQ(at(compiled, "/n/m/a").attributes.max_rate, gbps(20)) << "the cap of the node two above";
    EXPECT_EQ(at(compiled, "/n/b").attributes.max_rate, gbps(10));
    EXPECT_EQ(at(compiled, "/c").attributes.max_rate, gbps(100));
}

TEST(RelativeRates, OfPartsOfParts)
{
    const auto compiled = compile(input({node("/n", max_part(50)), level("/n/a", max_part(50))}, gbps(100)));
    EXPECT_EQ(at(compiled, "/n").attributes.max_rate, gbps(50));
    EXPECT_EQ(at(compiled, "/n/a").attributes.max_rate, gbps(25));
}

TEST(RelativeRates, ACapAboveTheLinkChangesNothing)
{
    const auto spec = with_absolute_rates(input({node("/n", share(1, gbps(400))), level("/n/a", max_part(50))}).spec,
                                          gbps(100));
    EXPECT_EQ(spec.elements[1].rate.max_rate, gbps(50));
}

TEST(RelativeRates, GuaranteesAreKept)
{
    const auto compiled = compile(input({level("/a", min_part(60)), level("/b"), level("/c")}, gbps(400)));
    EXPECT_THAT(compiled.findings, IsEmpty());
    EXPECT_GE(busy_rates(compiled.tree, gbps(400)).at(ElementPath("/a")), gbps(240));
    EXPECT_EQ(compiled.requested.at(ElementPath("/a")).min_rate, gbps(240));
}

TEST(RelativeRates, ALinkThatIsNotKnownIsTakenFor100Gbits)
{
    EXPECT_EQ(at(compile(input({level("/a", max_part(10))}, Bandwidth{})), "/a").attributes.max_rate, gbps(10));
}

TEST(RelativeRates, AreNeverNothing)
{
    auto spec = input({level("/a"), level("/b")}).spec;
    spec.elements[0].rate.max_part = Percentage::from_hundredths(1);
    spec.elements[1].rate.min_part = Percentage::from_hundredths(1);
    spec = with_absolute_rates(spec, Bandwidth::from_mbps(10));
    EXPECT_EQ(spec.elements[0].rate.max_rate, Bandwidth::from_mbps(1)) << "a cap of 0 would be none";
    EXPECT_EQ(spec.elements[1].rate.min_rate, Bandwidth::from_mbps(1));
}

TEST(RelativeRates, OfResponders)
{
    auto spec = input({level("/a")}).spec;
    spec.elements[0].responder = max_part(50);
    spec = with_absolute_rates(spec, gbps(100));
    EXPECT_EQ(spec.elements[0].responder->max_rate, gbps(50));
    EXPECT_FALSE(spec.elements[0].responder->is_relative());
}

}    // namespace
}    // namespace rdmaqos::test
