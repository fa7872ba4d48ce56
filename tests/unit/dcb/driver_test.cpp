#include "lib/dcb/driver.h"

#include <numeric>
#include <random>
#include <set>

#include <gmock/gmock.h>

#include "tests/support/fake_dcb.h"

namespace rdmaqos::dcb {
namespace {

using test::driver_row;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// All priorities in class 0 but those named; classes in use by weight, others strict.
Ets with_weights(std::vector<unsigned> weights)
{
    Ets ets;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        ets.traffic_class.at(i) = {
            .selection = Selection::Ets, .weight = static_cast<std::uint8_t>(weights.at(i)), .max_rate = {}};
        ets.class_of_priority.at(i) = static_cast<std::uint8_t>(i);
    }
    return ets;
}

// ---- the table ----

TEST(Drivers, EachHasOneRow)
{
    std::set<std::string_view> names;
    for (const Driver& one : drivers()) {
        EXPECT_TRUE(names.insert(one.name).second) << one.name;
        EXPECT_EQ(find_driver(one.name), &one);
        EXPECT_FALSE(one.hardware.empty()) << one.name;
    }
    EXPECT_THAT(names, testing::IsSupersetOf({"mlx5_core", "bnxt_en", "ice", "hns3", "qede", "mlx4_core", "i40e",
                                              "ixgbe", "cxgb4", "ionic", "mana", "efa", "rxe", "siw"}));
    EXPECT_EQ(find_driver("e1000e"), nullptr);
}

TEST(Drivers, OnlyOneWasTried)
{
    for (const Driver& one : drivers()) {
        EXPECT_EQ(one.evidence == Evidence::MemoryDevice, one.name == "mlx5_core") << one.name;
    }
}

TEST(Drivers, WhatARowSaysFitsTogether)
{
    for (const Driver& one : drivers()) {
        EXPECT_EQ(one.max_rates == Access::None, one.rate_steps.empty()) << one.name;
        EXPECT_TRUE(std::ranges::is_sorted(one.rate_steps, {}, &RateStep::up_to)) << one.name;
        for (const RateStep& range : one.rate_steps) {
            EXPECT_EQ(range.up_to.kbps() % range.step.kbps(), 0U) << one.name << ": a range ends with a whole step";
        }
        EXPECT_TRUE(!one.delete_before_remap || !one.replaces_apps) << one.name;
        EXPECT_TRUE(!one.dscp_is_class || one.takes(Selector::Dscp)) << one.name;
        EXPECT_TRUE(one.has_dcb() || one.host_dcbx == HostDcbx::Always) << one.name;
    }
}

TEST(Drivers, FourMakeSharesByDscp)
{
    std::vector<std::string_view> names;
    for (const Driver& one : drivers()) {
        if (one.can_be_managed()) {
            names.push_back(one.name);
        }
    }
    EXPECT_THAT(names, ElementsAre("mlx5_core", "bnxt_en", "ice", "hns3"));
}

// ---- maximum rates ----

struct Rate {
    std::string_view driver;
    std::uint64_t kbps;
    std::optional<std::uint64_t> rounded;
};

TEST(RoundedRate, ToTheStepsOfADriver)
{
    for (const auto& [driver, kbps, rounded] : std::vector<Rate>{
             {"mlx5_core", 0, std::nullopt},
             {"mlx5_core", 1, 100'000},    // at least one step
             {"mlx5_core", 99'999, 100'000},
             {"mlx5_core", 199'999, 100'000},
             {"mlx5_core", 10'000'000, 10'000'000},
             {"mlx5_core", 25'499'999, 25'400'000},
             {"mlx5_core", 25'500'000, 25'500'000},
             {"mlx5_core", 25'700'000, 25'500'000},
             {"mlx5_core", 26'000'000, 26'000'000},
             {"mlx5_core", 99'900'000, 99'000'000},
             {"mlx5_core", 255'000'000, 255'000'000},
             {"mlx5_core", 255'000'001, std::nullopt},
             {"mlx4_core", 1, 100'000},
             {"mlx4_core", 100'001, 200'000},    // up
             {"mlx4_core", 6'553'500'000, 6'553'500'000},
             {"mlx4_core", 6'553'500'001, std::nullopt},
             {"ice", 10'000'000, std::nullopt},
         }) {
        const auto found = rounded_rate(driver_row(driver), Bandwidth::from_kbps(kbps));
        EXPECT_EQ(found, rounded ? std::optional(Bandwidth::from_kbps(*rounded)) : std::nullopt)
            << driver << ' ' << kbps;
    }
    EXPECT_EQ(largest_rate(driver_row("mlx5_core")), Bandwidth::from_gbps(255));
    EXPECT_EQ(largest_rate(driver_row("bnxt_en")), std::nullopt);
}

TEST(RoundedRate, OfARoundedOneIsItself)
{
    std::mt19937_64 random(20261127);
    for (const Driver& one : drivers()) {
        for (int i = 0; i < 2000 && !one.rate_steps.empty(); ++i) {
            const auto rate = Bandwidth::from_kbps(random() % 300'000'000 + 1);
            if (const auto rounded = rounded_rate(one, rate)) {
                EXPECT_EQ(rounded_rate(one, *rounded), rounded) << one.name << ' ' << rate.kbps();
                EXPECT_TRUE(one.rates_round_up ? *rounded >= rate : *rounded <= rate || rate.kbps() < 100'000)
                    << one.name << ' ' << rate.kbps();
            }
        }
    }
}

// ---- weights ----

using Parts = std::array<std::optional<std::uint64_t>, kTrafficClasses>;

std::vector<unsigned> weights(std::string_view driver, const Parts& parts)
{
    const auto found = weights_of(driver_row(driver), parts);
    return {found.begin(), found.end()};
}

TEST(Weights, AsNearAsPossible)
{
    EXPECT_THAT(weights("mlx5_core", {70, 30}), ElementsAre(70, 30, 0, 0, 0, 0, 0, 0));
    EXPECT_THAT(weights("mlx5_core", {1, 1, 1}), ElementsAre(34, 33, 33, 0, 0, 0, 0, 0));
    EXPECT_THAT(weights("mlx5_core", {1, std::nullopt, 3}), ElementsAre(25, 0, 75, 0, 0, 0, 0, 0));
    EXPECT_THAT(weights("mlx5_core", {1, 10'000}), ElementsAre(1, 99, 0, 0, 0, 0, 0, 0)) << "at least 1";
    EXPECT_THAT(weights("mlx5_core", {std::uint64_t{1} << 63, std::uint64_t{1} << 63}),
                ElementsAre(50, 50, 0, 0, 0, 0, 0, 0));
    EXPECT_THAT(weights("mlx5_core", {}), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0));
}

TEST(Weights, OfClassesWithoutAPart)
{
    EXPECT_THAT(weights("mlx5_core", {0, 100}), ElementsAre(0, 100, 0, 0, 0, 0, 0, 0));
    EXPECT_THAT(weights("hns3", {0, 100}), ElementsAre(1, 99, 0, 0, 0, 0, 0, 0)) << "refuses zeros";
    EXPECT_THAT(weights("bnxt_en", {0, 100}), ElementsAre(1, 99, 0, 0, 0, 0, 0, 0))
        << "refuses zeros where others have 100";
}

TEST(Weights, AreTakenByEveryDriverAndWithinOnePercent)
{
    std::mt19937_64 random(48);
    for (const Driver& one : drivers()) {
        for (int i = 0; i < 500 && one.ets == Access::Write; ++i) {
            const std::size_t count = random() % kTrafficClasses + 1;
            Parts parts;
            long double sum = 0;
            for (std::size_t k = 0; k < count; ++k) {
                parts.at(k) = random() % 1000 + (k == 0 ? 1 : 0);
                sum += static_cast<long double>(*parts.at(k));
            }
            const auto found = weights_of(one, parts);
            EXPECT_EQ(std::accumulate(found.begin(), found.end(), 0), 100) << one.name;
            const Ets ets = with_weights({found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count)});
            EXPECT_THAT(objections(one, ets, 8), IsEmpty()) << one.name;
            const auto raised = static_cast<long double>(count);    // each class that was raised to 1 takes from others
            for (std::size_t k = 0; k < count; ++k) {
                const long double exact = static_cast<long double>(*parts.at(k)) * 100 / sum;
                EXPECT_LE(std::abs(exact - static_cast<long double>(found.at(k))), raised) << one.name;
            }
        }
    }
}

// ---- objections ----

TEST(Objections, ToWeights)
{
    EXPECT_THAT(objections(driver_row("mlx5_core"), with_weights({70, 30}), 8), IsEmpty());
    EXPECT_THAT(objections(driver_row("mlx5_core"), with_weights({60, 30}), 8),
                ElementsAre("the weights of the traffic classes with ETS sum to 90 %, and mlx5_core takes only 100 %"));
    EXPECT_THAT(objections(driver_row("bnxt_en"), with_weights({60, 30}), 8), IsEmpty());
    EXPECT_THAT(objections(driver_row("bnxt_en"), with_weights({60, 60}), 8),
                ElementsAre(HasSubstr("sum to 120 %, more than 100 %")));
    EXPECT_THAT(objections(driver_row("mlx5_core"), with_weights({100, 0}), 8), IsEmpty());
    EXPECT_THAT(objections(driver_row("bnxt_en"), with_weights({100, 0}), 8),
                ElementsAre(HasSubstr("no weight while others")));
    EXPECT_THAT(objections(driver_row("bnxt_en"), with_weights({90, 0}), 8), IsEmpty());
    EXPECT_THAT(objections(driver_row("hns3"), with_weights({100, 0}), 8),
                ElementsAre(HasSubstr("no weight, which hns3")));
    EXPECT_THAT(objections(driver_row("mlx5_core"), Ets{}, 8), IsEmpty()) << "all strict";
}

TEST(Objections, ToClasses)
{
    Ets ets = with_weights({70, 30});
    EXPECT_THAT(objections(driver_row("mlx5_core"), ets, 1),
                ElementsAre("priority 1 would be in traffic class 1, and the port "
                            "has only 1"));
    ets.traffic_class[1].selection = Selection::CreditBasedShaper;
    ets.traffic_class[0].weight = 100;
    EXPECT_THAT(objections(driver_row("mlx5_core"), ets, 8), ElementsAre(HasSubstr("is a credit-based shaper")));
    ets.traffic_class[1].selection = Selection::Vendor;
    EXPECT_THAT(objections(driver_row("mlx5_core"), ets, 8), IsEmpty()) << "its own";
    EXPECT_THAT(objections(driver_row("hns3"), ets, 8), ElementsAre(HasSubstr("as the NIC's vendor chose")));
}

TEST(Objections, ToClassesThatNoPriorityIsIn)
{
    Ets ets = with_weights({50, 0, 50});
    ets.traffic_class[1] = {};
    ets.class_of_priority[1] = 0;
    EXPECT_THAT(objections(driver_row("hns3"), ets, 8), IsEmpty());
    EXPECT_THAT(objections(driver_row("ice"), ets, 8), ElementsAre(HasSubstr("takes no gaps")));
    ets.traffic_class[1] = {.selection = Selection::Ets, .weight = 0, .max_rate = {}};
    EXPECT_THAT(objections(driver_row("bnxt_en"), ets, 8),
                testing::Contains("no priority is in traffic class 1: bnxt_en takes it only as strict"));
}

TEST(Objections, ToRates)
{
    EXPECT_THAT(objections(driver_row("mlx5_core"), MaxRates{Bandwidth::from_gbps(10)}), IsEmpty());
    EXPECT_THAT(objections(driver_row("mlx5_core"), MaxRates{Bandwidth::from_gbps(256), Bandwidth()}),
                ElementsAre("the maximum rate of traffic class 0, 256 Gbit/s, is above the largest of mlx5_core, 255 "
                            "Gbit/s",
                            "the maximum rate of traffic class 1 is zero, which would mean no limit"));
    EXPECT_THAT(objections(driver_row("ice"), MaxRates{Bandwidth::from_gbps(10)}),
                ElementsAre("ice has no maximum rates"));
    EXPECT_THAT(objections(driver_row("ice"), MaxRates{}), IsEmpty()) << "none";
}

TEST(Objections, ToEntries)
{
    PortSettings now;
    now.ets.emplace();
    now.ets->classes = 4;
    now.apps = {{Selector::Dscp, 26, 3}};
    EXPECT_THAT(objections(driver_row("mlx5_core"), {Selector::Dscp, 26, 5}, now), IsEmpty());
    EXPECT_THAT(objections(driver_row("mlx5_core"), {Selector::DatagramPort, 4791, 3}, now),
                ElementsAre("mlx5_core takes no entries for UDP port"));
    EXPECT_THAT(objections(driver_row("qede"), {Selector::Dscp, 26, 3}, now),
                ElementsAre("qede does not look at entries for DSCP: they have no effect"));
    EXPECT_THAT(objections(driver_row("ice"), {Selector::Dscp, 27, 5}, now),
                ElementsAre("5 is the traffic class, too, and the port has only 4"));
    EXPECT_THAT(objections(driver_row("ice"), {Selector::Dscp, 26, 2}, now),
                ElementsAre(HasSubstr("only when that is deleted")));
    EXPECT_THAT(objections(driver_row("hns3"), {Selector::Dscp, 64, 8}, now),
                ElementsAre(HasSubstr("no DSCP 64"), HasSubstr("no priority 8")));
}

}    // namespace
}    // namespace rdmaqos::dcb
