// rdma-qosd with `port-classes: manage`: what it sets, keeps, lets go, and finds after it was killed at any step. Below
// the emulator, and on a kernel whose mlx5e has the port (tests/kernel).
#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>

#include "tests/integration/ports/port_faults.h"
#include "tests/integration/ports/port_rig.h"

namespace rdmaqos::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kManage = "version: 1\nport-classes: manage\nattach-mode: per-process\ndrift-interval: 24h\n";
constexpr const char* kReport = "version: 1\nport-classes: report\nattach-mode: per-process\ndrift-interval: 24h\n";

constexpr std::uint16_t kHeavy = 26;
constexpr std::uint16_t kLight = 10;

// The other device has no class, and nobody writes to it.
std::string shares(int heavy, int light)
{
    return fmt::format("version: 1\nqos-levels:\n  - {{name: DEFAULT, sl: 0}}\n"
                       "  - {{name: heavy, dscp: {}, devices: [mlx5_0], schedule: {{share: {}}}}}\n"
                       "  - {{name: light, dscp: {}, devices: [mlx5_0], schedule: {{share: {}, max-rate: 80Gbps}}}}\n",
                       kHeavy, heavy, kLight, light);
}

const dcb::TrafficClass& class_of(const dcb::PortSettings& settings, std::uint16_t dscp)
{
    return settings.ets->traffic_class.at(dcb::class_of_dscp(settings, static_cast<std::uint8_t>(dscp)));
}

class PortsManaged : public ::testing::Test {
protected:
    // An administrator has set something before.
    void SetUp() override
    {
        ASSERT_TRUE(eventually([&] { return other_.settings_if_there().has_value(); }));
        EXPECT_TRUE(other_.divide({55, 45}));
        EXPECT_TRUE(
            other_.write({dcb::SetMaxRates{{std::nullopt, std::nullopt, Bandwidth::from_gbps(10)}},
                          dcb::SetApp{{dcb::Selector::Dscp, 40, 2}}, dcb::SetApp{{dcb::Selector::Dscp, 12, 3}}}));
        before_ = other_.everything();
        ASSERT_FALSE(before_.empty());
    }
    void TearDown() override
    {
        faults_.clear();
        daemon_.end();
        forget_classes(other_);
        make_as_it_was();
    }

    // As shares(`heavy`, `light`) ask, with 5 % for others; the map is written last.
    [[nodiscard]] bool is_as_asked(int heavy = 70, int light = 30)
    {
        const auto there = other_.settings_if_there();
        if (!there) {
            return false;
        }
        const auto& now = *there;
        const auto near = [](const dcb::TrafficClass& traffic_class, int share) {
            return traffic_class.selection == dcb::Selection::Ets &&
                   std::abs(traffic_class.weight * 100 - share * 95) <= 100;
        };
        return now.ets && near(class_of(now, kHeavy), heavy) && near(class_of(now, kLight), light) &&
               class_of(now, kLight).max_rate == Bandwidth::from_gbps(80) && !class_of(now, kHeavy).max_rate &&
               now.apps.size() == dcb::kHighestDscp + 1U;
    }
    [[nodiscard]] bool comes_to_be_asked(int heavy = 70, int light = 30)
    {
        return eventually([&] { return is_as_asked(heavy, light); });
    }
    [[nodiscard]] bool comes_to_be_as_before()
    {
        return eventually([&] { return other_.everything() == before_; });
    }
    // What must not be written would come now.
    static std::uint64_t writes_in_a_moment()
    {
        const auto before = writes_so_far();
        std::this_thread::sleep_for(kMoment);
        return writes_so_far() - before;
    }

    PortUser other_;
    const PortFaults faults_;
    std::vector<std::uint8_t> before_;
    PortDaemon daemon_{shares(70, 30), kManage};
};

// Of a port as its driver has made it. These come first: no other test leaves it so on a kernel.
class PortsUntouched : public PortsManaged {
protected:
    void SetUp() override
    {
        ASSERT_TRUE(eventually([&] { return other_.settings_if_there().has_value(); }));
        before_ = other_.everything();
    }
};

TEST_F(PortsUntouched, AreAsTheDriverMadeThemWhenTheDaemonLetsGo)
{
    const auto made = other_.settings();
    ASSERT_TRUE(made.ets);
    EXPECT_THAT(made.ets->traffic_class,
                ::testing::Each(::testing::Field(&dcb::TrafficClass::selection, dcb::Selection::Vendor)));
    EXPECT_FALSE(dcb::trusts_dscp(made));
    daemon_.start();
    ASSERT_TRUE(comes_to_be_asked());
    EXPECT_EQ(daemon_.ctl("disable mlx5_0").status, 0);
    EXPECT_TRUE(comes_to_be_as_before());
}

// ---- set, changed, left alone ----

TEST_F(PortsManaged, AreSetOnceAndThenLeftAlone)
{
    daemon_.start();
    ASSERT_TRUE(comes_to_be_asked());
    EXPECT_TRUE(daemon_.comes_to_log("the traffic classes of " + interface_of_port() + " are as the policy asks"));
    EXPECT_EQ(writes_in_a_moment(), 0U);
    EXPECT_THAT(daemon_.log(), Not(HasSubstr("has changed the traffic classes"))) << "its own writes are its own";
}

TEST_F(PortsManaged, AReloadWritesWhatDiffers)
{
    daemon_.start();
    ASSERT_TRUE(comes_to_be_asked());
    const auto writes = writes_so_far();
    daemon_.set_policy(shares(40, 60));
    ASSERT_EQ(daemon_.ctl("reload").status, 0);
    ASSERT_TRUE(comes_to_be_asked(40, 60));
    EXPECT_EQ(writes_so_far() - writes, 1U) << "the weights alone";
    ASSERT_EQ(daemon_.ctl("reload").status, 0);
    EXPECT_EQ(writes_in_a_moment(), 0U) << "nothing differs";
}

TEST_F(PortsManaged, AnOverrideIsOnThePortAsLongAsItIsInForce)
{
    daemon_.start();
    ASSERT_TRUE(comes_to_be_asked());
    const auto given = daemon_.ctl("override light --max-rate 40Gbps --share 50 --for 1h");
    ASSERT_EQ(given.status, 0) << given.output;
    EXPECT_TRUE(eventually([&] {
        const auto now = other_.settings();
        return class_of(now, kLight).max_rate == Bandwidth::from_gbps(40) &&
               class_of(now, kHeavy).weight < class_of(now, kLight).weight * 2;
    }));
    const auto over = daemon_.ctl("override clear light");
    ASSERT_EQ(over.status, 0) << over.output;
    EXPECT_TRUE(comes_to_be_asked());
}

TEST_F(PortsManaged, ADaemonThatStopsPutsBackWhatWasThere)
{
    daemon_.start();
    ASSERT_TRUE(comes_to_be_asked());
    ASSERT_TRUE(daemon_.comes_to_log("as the policy asks"));
    ASSERT_TRUE(daemon_.stop());
    EXPECT_EQ(other_.everything(), before_) << "when it has ended";
    daemon_.start();
    EXPECT_TRUE(comes_to_be_asked());
}

TEST_F(PortsManaged, WhatADaemonThatWasKilledHasSetIsNotWrittenAgain)
{
    daemon_.start();
    ASSERT_TRUE(comes_to_be_asked());
    ASSERT_TRUE(daemon_.comes_to_log("as the policy asks"));
    daemon_.kill();
    EXPECT_TRUE(is_as_asked()) << "the classes outlive the daemon";
    const auto writes = writes_so_far();
    daemon_.start();
    EXPECT_TRUE(eventually([&] { return said_of_port(daemon_.root()).value("state", "") == "read"; }));
    EXPECT_EQ(writes_in_a_moment(), 0U);
    EXPECT_EQ(writes_so_far(), writes);
    EXPECT_TRUE(is_as_asked());
    // And what was there before is known to the second one.
    daemon_.set_settings(kReport);
    ASSERT_EQ(daemon_.ctl("reload").status, 0);
    EXPECT_TRUE(comes_to_be_as_before());
}

// ---- let go ----

TEST_F(PortsManaged, WhoDisablesOrReleasesGetsBackWhatWasThere)
{
    daemon_.start();
    for (const std::string how : {"disable", "release"}) {
        SCOPED_TRACE(how);
        ASSERT_TRUE(comes_to_be_asked());
        EXPECT_EQ(daemon_.ctl(how + " mlx5_0").status, 0);
        ASSERT_TRUE(comes_to_be_as_before());
        EXPECT_EQ(writes_in_a_moment(), 0U);
        EXPECT_EQ(daemon_.ctl("enable mlx5_0").status, 0);
    }
    ASSERT_TRUE(comes_to_be_asked());
    daemon_.set_settings(kReport);
    ASSERT_EQ(daemon_.ctl("reload").status, 0);
    EXPECT_TRUE(comes_to_be_as_before());
    daemon_.set_settings(kManage);
    ASSERT_EQ(daemon_.ctl("reload").status, 0);
    EXPECT_TRUE(comes_to_be_asked());
}

// ---- others ----

TEST_F(PortsManaged, WhatAnotherProgramWritesIsPutBackAndSaid)
{
    daemon_.start();
    ASSERT_TRUE(comes_to_be_asked());
    ASSERT_TRUE(daemon_.comes_to_log("as the policy asks"));
    ASSERT_TRUE(other_.divide({10, 90}));
    ASSERT_TRUE(comes_to_be_asked());
    EXPECT_TRUE(daemon_.comes_to_log("another program"));
    EXPECT_TRUE(daemon_.comes_to_log("as the policy asks again"));
    // Who lets go then gets what was there before the daemon came, not what the other one wrote since.
    EXPECT_EQ(daemon_.ctl("disable mlx5_0").status, 0);
    EXPECT_TRUE(comes_to_be_as_before());
}

// iproute2's.
TEST_F(PortsManaged, WhatTheCommandDcbWritesIsPutBackAndNamed)
{
    const auto run = [](const std::string& command) { return std::system(command.c_str()) == 0; };
    if (!run("command -v dcb >/dev/null")) {
        GTEST_SKIP() << "dcb (iproute2) is not installed";
    }
    daemon_.start();
    ASSERT_TRUE(comes_to_be_asked());
    ASSERT_TRUE(daemon_.comes_to_log("as the policy asks"));
    ASSERT_TRUE(run(
        fmt::format("dcb ets set dev {} tc-tsa all:strict 0:ets 1:ets tc-bw all:0 0:55 1:45", interface_of_port())));
    ASSERT_TRUE(daemon_.comes_to_log("as the policy asks again"));
    EXPECT_TRUE(is_as_asked());
    const auto status = daemon_.ctl("status").output;
    EXPECT_THAT(status, HasSubstr("what others wrote was put back"));
    EXPECT_THAT(status, HasSubstr("by probably the command `dcb`"));
}

TEST_F(PortsManaged, WhoWritesAgainAndAgainIsNotFought)
{
    daemon_.start();
    std::uint64_t repairs = 0;
    for (; repairs < 2; ++repairs) {
        ASSERT_TRUE(comes_to_be_asked());
        std::this_thread::sleep_for(kMoment);    // settled
        ASSERT_TRUE(other_.divide({10, 90}));
    }
    ASSERT_TRUE(comes_to_be_asked());
    std::this_thread::sleep_for(kMoment);
    ASSERT_TRUE(other_.divide({20, 80}));
    ASSERT_TRUE(daemon_.comes_to_log("does not any more"));
    EXPECT_EQ(writes_in_a_moment(), 0U);
    EXPECT_FALSE(is_as_asked()) << "what the other one wrote last stays";
    EXPECT_THAT(daemon_.ctl("status").output, HasSubstr("another program")) << "and status says so";
    // An administrator has ended the other one.
    ASSERT_EQ(daemon_.ctl("reload").status, 0);
    EXPECT_TRUE(comes_to_be_asked());
}

// ---- the device goes and comes ----

TEST_F(PortsManaged, AResetAndAPlugLoseAllOfItAndItComesBack)
{
    daemon_.start();
    for (const std::vector<std::string>& how :
         {std::vector<std::string>{"reset mlx5_0"}, {"unplug mlx5_0", "plug mlx5_0"}}) {
        SCOPED_TRACE(how.front());
        ASSERT_TRUE(comes_to_be_asked());
        const auto interface = if_nametoindex(interface_of_port().c_str());
        for (const auto& words : how) {
            emulator(words);
            // The driver notices a failure some time later, and the function comes and goes.
            ASSERT_TRUE(!on_kernel() || words.starts_with("unplug") || eventually([&] {
                const auto now = if_nametoindex(interface_of_port().c_str());
                return now != 0 && now != interface;
            }));
        }
        ASSERT_TRUE(eventually([&] { return writes_in_a_moment() > 0 || is_as_asked(); }));
        ASSERT_TRUE(comes_to_be_asked());
    }
    EXPECT_THAT(daemon_.log(), Not(HasSubstr("does not any more"))) << "nobody has written";
    EXPECT_THAT(daemon_.log(), Not(HasSubstr("another program")));
}

// ---- what is refused ----

class PortsRefused : public PortsManaged {
protected:
    // Its record is removed when everything is as before.
    void expect_to_get_over_it(PortDaemon& daemon)
    {
        ASSERT_TRUE(comes_to_be_asked()) << "what may work the next time is tried again";
        EXPECT_TRUE(daemon.comes_to_log("as the policy asks"));
        EXPECT_EQ(daemon.ctl("disable mlx5_0").status, 0);
        EXPECT_TRUE(comes_to_be_as_before());
    }
};

TEST_F(PortsRefused, IsSaidAndTriedAgain)
{
    faults_.refuse_once();
    daemon_.start();
    ASSERT_TRUE(daemon_.comes_to_log("refused"));
    EXPECT_THAT(daemon_.log(), HasSubstr("Input/output error")) << "EIO";
    EXPECT_THAT(daemon_.log(), HasSubstr("step 1 of "));
    expect_to_get_over_it(daemon_);
}

TEST_F(PortsRefused, HalfWrittenIsSaidAndCompleted)
{
    faults_.write_half();
    daemon_.start();
    ASSERT_TRUE(daemon_.comes_to_log("partly done"));
    expect_to_get_over_it(daemon_);
}

TEST_F(PortsRefused, OrNeverAnsweredItIsTriedAgain)
{
    if (on_kernel()) {
        GTEST_SKIP() << "a kernel answers";
    }
    emulator("dcb-fault mlx5_0 1 silent");
    daemon_.start();
    expect_to_get_over_it(daemon_);
}

TEST_F(PortsRefused, OrTakenWithoutEffectItIsTriedAgain)
{
    if (!on_kernel()) {
        GTEST_SKIP() << "the emulator does what it says";
    }
    PortFaults::do_nothing(8);
    daemon_.start();
    ASSERT_TRUE(daemon_.comes_to_log("says that it is done, but it is not"));
    expect_to_get_over_it(daemon_);
}

TEST_F(PortsRefused, ForGoodItIsSaidUntilItIsTaken)
{
    faults_.refuse_always();
    daemon_.start();
    ASSERT_TRUE(daemon_.comes_to_log("tries again"));
    const auto status = daemon_.ctl("status").output;
    EXPECT_THAT(status, HasSubstr("Invalid argument"));
    EXPECT_THAT(status, HasSubstr(interface_of_port()));
    EXPECT_EQ(other_.everything(), before_);
    EXPECT_EQ(writes_in_a_moment(), 0U) << "it would be refused again";
    faults_.clear();
    ASSERT_EQ(daemon_.ctl("reload").status, 0);
    EXPECT_TRUE(comes_to_be_asked());
}

// ---- killed at each step ----

class PortsKilled : public PortsManaged {
protected:
    // Every one of them takes long: as the steps of `faults`.
    static std::uint64_t stride()
    {
        const char* given = std::getenv("RDMAQOS_FAULT_STRIDE");    // NOLINT(concurrency-mt-unsafe): nobody sets it
        return given == nullptr ? 29 : static_cast<std::uint64_t>(std::atoi(given));
    }
    // Of the first steps each, and some of the others.
    static std::vector<std::uint64_t> steps_of(std::uint64_t all)
    {
        std::vector<std::uint64_t> steps;
        for (std::uint64_t step = 1; step <= all; step += step < 3 ? 1 : stride()) {
            steps.push_back(step);
        }
        if (steps.back() != all) {
            steps.push_back(all);
        }
        return steps;
    }
};

TEST_F(PortsKilled, AtEachWriteOfTheFirstChangeItConverges)
{
    std::uint64_t all = 0;
    std::vector<std::uint8_t> goal;
    {
        const auto writes = writes_so_far();
        daemon_.start();
        ASSERT_TRUE(comes_to_be_asked());
        ASSERT_TRUE(daemon_.comes_to_log("as the policy asks"));
        all = writes_so_far() - writes;
        goal = other_.everything();
        EXPECT_EQ(daemon_.ctl("disable mlx5_0").status, 0);
        ASSERT_TRUE(comes_to_be_as_before());
        ASSERT_TRUE(daemon_.stop());
    }
    for (const auto step : steps_of(all)) {
        for (const std::string how : {"kill-before", "kill-after"}) {
            if (on_kernel() && how == "kill-before" && step > 1) {
                continue;    // nothing comes between it and the one before
            }
            SCOPED_TRACE(fmt::format("{} write {} of {}", how, step, all));
            PortDaemon daemon(shares(70, 30), kManage);
            faults_.kill_at(step, how == "kill-before");
            daemon.begin(faults_.launcher());
            ASSERT_TRUE(daemon.dies());
            const auto writes = writes_so_far();
            daemon.start();
            ASSERT_TRUE(eventually([&] { return other_.everything() == goal; }));
            EXPECT_EQ(writes_in_a_moment(), 0U);
            EXPECT_EQ(writes_so_far() - writes, all - step + (how == "kill-before" ? 1 : 0))
                << "what was done is not done again";
            EXPECT_THAT(daemon.log(), Not(HasSubstr("another program"))) << "it was ours";
            EXPECT_EQ(daemon.ctl("disable mlx5_0").status, 0);
            ASSERT_TRUE(comes_to_be_as_before());
        }
    }
}

TEST_F(PortsKilled, AtEachWriteThatPutsBackItConverges)
{
    daemon_.start();
    ASSERT_TRUE(comes_to_be_asked());
    const auto writes = writes_so_far();
    EXPECT_EQ(daemon_.ctl("disable mlx5_0").status, 0);
    ASSERT_TRUE(comes_to_be_as_before());
    const auto all = writes_so_far() - writes;
    ASSERT_TRUE(daemon_.stop());
    for (const auto step : steps_of(all)) {
        SCOPED_TRACE(fmt::format("write {} of {}", step, all));
        PortDaemon daemon(shares(70, 30), kManage);
        daemon.start(faults_.launcher());
        ASSERT_TRUE(comes_to_be_asked());
        ASSERT_TRUE(daemon.comes_to_log("as the policy asks"));
        faults_.kill_at(step, false);
        daemon.set_settings(kReport);
        (void)daemon.ctl("reload");
        ASSERT_TRUE(daemon.dies());
        daemon.start();
        ASSERT_TRUE(comes_to_be_as_before());
        EXPECT_EQ(writes_in_a_moment(), 0U);
    }
}

}    // namespace
}    // namespace rdmaqos::test
