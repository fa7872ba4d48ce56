#include "lib/port_classes/steps.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/overloaded.h"
#include "lib/port_classes/plan.h"
#include "tests/unit/port_classes/random_policies.h"
#include "tests/unit/port_classes/support.h"

namespace rdmaqos::port_classes::test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

// A port that takes and refuses what its driver does. Its table has several entries of a DSCP where the driver leaves
// the old one.
class Port {
public:
    Port(std::string_view driver, dcb::PortSettings settings)
        : driver_(*dcb::find_driver(driver)), settings_(std::move(settings))
    {
    }

    [[nodiscard]] const dcb::PortSettings& settings() const { return settings_; }

    void take(const dcb::Write& write)
    {
        const bool trusted = dcb::trusts_dscp(settings_);
        if (driver_.host_dcbx == dcb::HostDcbx::Settable && !std::holds_alternative<dcb::SetDcbx>(write)) {
            ASSERT_TRUE(settings_.dcbx->host);
        }
        std::visit(Overloaded{
                       [&](const dcb::SetEts& set) {
                           ASSERT_THAT(dcb::objections(driver_, set.ets, settings_.ets->classes), IsEmpty());
                           for (std::size_t index = 0; index < dcb::kTrafficClasses; ++index) {
                               auto& each = settings_.ets->traffic_class.at(index);
                               each.selection = set.ets.traffic_class.at(index).selection;
                               each.weight = set.ets.traffic_class.at(index).weight;
                           }
                           settings_.ets->class_of_priority = set.ets.class_of_priority;
                       },
                       [&](const dcb::SetMaxRates& set) {
                           ASSERT_THAT(dcb::objections(driver_, set.rates), IsEmpty());
                           for (std::size_t index = 0; index < dcb::kTrafficClasses; ++index) {
                               settings_.ets->traffic_class.at(index).max_rate = set.rates.at(index);
                           }
                       },
                       [&](const dcb::SetApp& set) {
                           ASSERT_THAT(dcb::objections(driver_, set.entry, settings_), IsEmpty());
                           if (driver_.replaces_apps) {
                               std::erase_if(settings_.apps, [&](const dcb::AppEntry& entry) {
                                   return entry.protocol == set.entry.protocol;
                               });
                           }
                           settings_.apps.push_back(set.entry);
                           std::ranges::sort(settings_.apps);
                       },
                       [&](const dcb::DeleteApp& set) {
                           ASSERT_EQ(std::erase(settings_.apps, set.entry), 1U) << "there is no such entry";
                       },
                       [&](const dcb::SetDcbx& set) { settings_.dcbx = set.dcbx; },
                   },
                   write);
        if (driver_.first_app_resets_ets && trusted != dcb::trusts_dscp(settings_)) {
            for (std::size_t index = 0; index < dcb::kTrafficClasses; ++index) {
                settings_.ets->traffic_class.at(index) = {
                    dcb::Selection::Ets, static_cast<std::uint8_t>(index == 0 ? 100 : 0), {}};
            }
        }
    }

private:
    const dcb::Driver& driver_;
    dcb::PortSettings settings_;
};

constexpr std::array<std::string_view, 4> kManaged{"mlx5_core", "bnxt_en", "ice", "hns3"};

// What somebody who reads the port sees: not the weights of classes that do not divide by weight.
dcb::PortSettings visible(dcb::PortSettings settings)
{
    for (auto& each : settings.ets->traffic_class) {
        each.weight = each.selection == dcb::Selection::Ets ? each.weight : 0;
    }
    return settings;
}

void expect_converges(std::string_view driver, const dcb::PortSettings& from, const dcb::PortSettings& to)
{
    const Rules rules = test::rules(driver);
    const auto steps = difference(from, to, rules);
    // Entries of the application table are many and alike.
    constexpr std::size_t kEach = 6;
    constexpr std::size_t kStride = 11;
    for (std::size_t killed = 0; killed <= steps.size(); ++killed) {
        if (killed > kEach && killed + kEach < steps.size() && killed % kStride != 0) {
            continue;
        }
        Port port(driver, from);
        dcb::PortSettings expected = from;
        for (std::size_t index = 0; index < killed; ++index) {
            port.take(steps[index].write);
            expected = after(expected, steps[index].write, rules);
            ASSERT_EQ(visible(port.settings()), visible(expected)) << driver << ": " << steps[index].words;
        }
        for (const Step& step : difference(port.settings(), to, rules)) {
            port.take(step.write);
            ASSERT_FALSE(testing::Test::HasFatalFailure()) << driver << ": " << step.words;
        }
        ASSERT_EQ(visible(port.settings()), visible(to)) << driver << " killed behind step " << killed;
        ASSERT_THAT(difference(port.settings(), to, rules), IsEmpty());
    }
}

TEST(PortClassesSteps, NothingToDo)
{
    for (const std::string_view driver : kManaged) {
        EXPECT_THAT(difference(started(driver), started(driver), rules(driver)), IsEmpty());
    }
    auto weights = started("mlx5_core");
    weights.ets->traffic_class[3].weight = 0;    // newer kernels report that of a class without ETS
    EXPECT_THAT(difference(started("mlx5_core"), weights, rules("mlx5_core")), IsEmpty());
}

TEST(PortClassesSteps, ForPeopleEntriesThatAreSetAlikeAreOneLine)
{
    const auto before = started("mlx5_core");
    const Plan planned = plan({{child("rpc", 70, 26), child("bulk", 30, 10)}, {}}, before, rules("mlx5_core"), {});
    const auto steps = difference(before, planned.wanted, rules("mlx5_core"));
    const auto lines = step_lines(steps);
    EXPECT_GT(steps.size(), 60U) << "each DSCP has an entry";
    EXPECT_THAT(lines, SizeIs(testing::Lt(8U)));
    EXPECT_THAT(lines, testing::Contains(StepLine{"maps DSCP 27 to 63 to priority 0", ""}));
    EXPECT_THAT(lines, testing::Contains(StepLine{"maps DSCP 26 to priority 1", ""}));
}

TEST(PortClassesSteps, DifferencesSayWhatIsThere)
{
    const auto before = started("mlx5_core");
    const Plan planned = plan({{capped(child("rpc", 70, 26), gbps(30)), child("bulk", 30, 10)}, {}}, before,
                              rules("mlx5_core"), {});
    auto present = planned.wanted;
    EXPECT_THAT(differences_in_words(present, planned.wanted, rules("mlx5_core")), IsEmpty());
    present.ets->traffic_class.at(1).max_rate = gbps(166);
    for (dcb::AppEntry& entry : present.apps) {
        entry.priority = entry.protocol >= 24 && entry.protocol < 28 ? 7 : entry.priority;
    }
    EXPECT_THAT(differences_in_words(present, planned.wanted, rules("mlx5_core")),
                testing::UnorderedElementsAre(
                    Difference{"caps class 1 at 30 Gbit/s", "caps class 1 at 166 Gbit/s"},
                    Difference{"maps DSCP 24, 25 to priority 0; maps DSCP 26 to priority 1; maps DSCP 27 to priority 0",
                               "maps DSCP 24 to 27 to "
                               "priority 7"}));
}

// Settings, policies, interruptions: each driver's port ends where it should, on the way there, to another policy, and
// back.
TEST(PortClassesSteps, AnInterruptedChangeIsContinuedToTheSameEnd)
{
    constexpr int kPairs = 12;
    const char* const chosen = std::getenv("RDMAQOS_SEED");
    RandomPolicies random(chosen != nullptr ? static_cast<std::uint32_t>(std::atoi(chosen)) : 1);
    for (const std::string_view driver : kManaged) {
        int planned = 0;
        for (int pair = 0; pair < kPairs; ++pair) {
            const auto before = random.port(driver);
            const auto one = plan(random.requests(gbps(100), true), before, rules(driver), random.options(gbps(100)));
            const auto other = plan(random.requests(gbps(100), true), before, rules(driver), random.options(gbps(100)));
            planned += one.has_classes ? 1 : 0;
            expect_converges(driver, before, one.wanted);
            expect_converges(driver, one.wanted, other.wanted);
            expect_converges(driver, other.wanted, before);
            ASSERT_FALSE(HasFatalFailure()) << driver << ", pair " << pair;
        }
        EXPECT_GT(planned, kPairs / 2) << driver;
    }
}

TEST(PortClassesSteps, WeightsAreThereBeforeTrafficComes)
{
    const auto before = started("mlx5_core");
    const Plan planned = plan({{child("rpc", 70, 26), child("bulk", 30, 10)}, {}}, before, rules("mlx5_core"), {});
    const auto steps = difference(before, planned.wanted, rules("mlx5_core"));
    ASSERT_THAT(steps, SizeIs(65));
    EXPECT_TRUE(std::holds_alternative<dcb::SetEts>(steps.front().write));
    EXPECT_EQ(steps[1].words, "maps DSCP 0 to priority 0");
    EXPECT_FALSE(steps[1].disruption.empty()) << "the port begins to trust the DSCP";
    EXPECT_TRUE(steps[2].disruption.empty());
}

// Its first entry takes the weights away.
TEST(PortClassesSteps, OnIceTheFirstEntryComesBeforeTheWeights)
{
    const auto before = started("ice");
    const Plan planned = plan({{child("rpc", 70, 26), child("bulk", 30, 10)}, {}}, before, rules("ice"), {});
    const auto steps = difference(before, planned.wanted, rules("ice"));
    ASSERT_THAT(steps, SizeIs(3));
    EXPECT_TRUE(std::holds_alternative<dcb::SetApp>(steps[0].write));
    EXPECT_TRUE(std::holds_alternative<dcb::SetEts>(steps[1].write));
    const auto back = difference(planned.wanted, before, rules("ice"));
    EXPECT_TRUE(std::holds_alternative<dcb::DeleteApp>(back.front().write));
}

TEST(PortClassesSteps, ARemapDeletesFirstWhereTheDriverKeepsTheOldEntry)
{
    for (const std::string_view driver : kManaged) {
        auto present = started(driver);
        present.apps = {{dcb::Selector::Dscp, 26, 1}};
        auto wanted = present;
        wanted.apps = {{dcb::Selector::Dscp, 26, 2}};
        const auto steps = difference(present, wanted, rules(driver));
        ASSERT_THAT(steps, SizeIs(rules(driver).replaces_dscp ? 1 : 2)) << driver;
        EXPECT_EQ(steps.back().words, "maps DSCP 26 to priority 2");
    }
}

TEST(PortClassesSteps, DcbxIsTurnedOffFirstAndOnAgainLast)
{
    auto before = started("hns3");
    before.dcbx->host = false;
    const Plan planned = plan({{child("rpc", 70, 26)}, {}}, before, rules("hns3"), {});
    const auto there = difference(before, planned.wanted, rules("hns3"));
    EXPECT_TRUE(std::holds_alternative<dcb::SetDcbx>(there.front().write));
    const auto back = difference(planned.wanted, before, rules("hns3"));
    EXPECT_TRUE(std::holds_alternative<dcb::SetDcbx>(back.back().write));
}

}    // namespace
}    // namespace rdmaqos::port_classes::test
