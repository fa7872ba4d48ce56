#include "lib/dcb/port.h"

#include <cerrno>

#include <gmock/gmock.h>

#include "tests/support/fake_dcb.h"
#include "tests/support/temp_dir.h"

namespace rdmaqos::dcb {
namespace {

using test::driver_row;
using test::FakeDcb;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Priority p in class p for the first classes, by these weights, and all others in class 0.
Ets divided(const std::vector<unsigned>& weights)
{
    Ets ets;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        ets.traffic_class.at(i) = {
            .selection = Selection::Ets, .weight = static_cast<std::uint8_t>(weights.at(i)), .max_rate = {}};
        ets.class_of_priority.at(i) = static_cast<std::uint8_t>(i);
    }
    return ets;
}

AppEntry dscp(std::uint16_t number, std::uint8_t priority)
{
    return {Selector::Dscp, number, priority};
}

MaxRates rate_of_class(std::size_t index, Bandwidth rate)
{
    MaxRates rates;
    rates.at(index) = rate;
    return rates;
}

WriteReport write(FakeDcb& kernel, const std::vector<Write>& writes)
{
    return write_port(kernel, kernel.interface(), writes, &kernel.driver());
}

std::vector<WriteEnd> ends(const WriteReport& report)
{
    std::vector<WriteEnd> all;
    for (const Written& part : report.parts) {
        all.push_back(part.end);
    }
    return all;
}

// ---- every row ----

class EveryDriver : public testing::TestWithParam<const Driver*> {
protected:
    // Everything that the driver has.
    static std::vector<Write> changes(const Driver& driver)
    {
        std::vector<Write> all;
        if (driver.takes(Selector::Dscp)) {
            all.emplace_back(SetApp{dscp(26, 1)});
            all.emplace_back(SetApp{dscp(48, 2)});
        }
        if (driver.ets == Access::Write) {
            Ets ets = divided({50, 30, 20});
            if (driver.dscp_is_class) {
                ets.class_of_priority = {0, 1, 2, 3, 4, 5, 6, 7};
                for (std::size_t i = 3; i < kTrafficClasses; ++i) {
                    ets.traffic_class.at(i) = {.selection = Selection::Ets, .weight = 0, .max_rate = {}};
                }
            }
            all.emplace_back(SetEts{ets});
        }
        if (driver.max_rates == Access::Write) {
            all.emplace_back(SetMaxRates{rate_of_class(1, Bandwidth::from_gbps(10))});
        }
        if (driver.takes(Selector::Dscp)) {
            all.emplace_back(DeleteApp{dscp(48, 2)});
        }
        return all;
    }

    static void make_ready(FakeDcb& kernel) { kernel.have_operational_dcbx(true); }
};

TEST_P(EveryDriver, IsReadAsItIs)
{
    FakeDcb kernel(*GetParam());
    const auto read = read_port(kernel, "ens1");
    if (!GetParam()->has_dcb()) {
        ASSERT_FALSE(read);
        EXPECT_EQ(read.error().code, ErrorCode::Unsupported);
        return;
    }
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, kernel.settings());
}

TEST_P(EveryDriver, TakesWhatItsRowAllows)
{
    FakeDcb kernel(*GetParam());
    make_ready(kernel);
    const auto asked = changes(*GetParam());
    const auto report = write(kernel, asked);
    if (!GetParam()->has_dcb()) {
        EXPECT_FALSE(report.complete());
        EXPECT_THAT(report.message(), HasSubstr("no DCB netlink"));
        return;
    }
    EXPECT_TRUE(report.complete()) << report.message();
    EXPECT_EQ(report.message(), "");
    ASSERT_EQ(report.parts.size(), asked.size());
    ASSERT_TRUE(report.now);
    EXPECT_EQ(*report.now, kernel.settings());
    EXPECT_EQ(class_of_dscp(*report.now, 26), GetParam()->takes(Selector::Dscp) ? 1 : 0);
    // The same again changes nothing, though the kernel calls an entry that is there an error.
    const auto before = kernel.settings();
    std::vector<Write> again;
    for (const Write& one : asked) {
        if (!std::holds_alternative<SetApp>(one) || !GetParam()->delete_before_remap) {
            again.push_back(one);
        }
    }
    EXPECT_TRUE(write(kernel, again).complete()) << write(kernel, again).message();
    EXPECT_EQ(kernel.settings(), before);
}

TEST_P(EveryDriver, WithAFaultAtAnyStepSaysWhatIsThereAndConverges)
{
    const auto asked = changes(*GetParam());
    for (unsigned step = 1; step <= asked.size(); ++step) {
        FakeDcb kernel(*GetParam());
        make_ready(kernel);
        kernel.fail_write(step, EIO);
        const auto report = write(kernel, asked);
        ASSERT_EQ(report.parts.size(), asked.size());
        const Written& failed = report.parts.at(step - 1);
        EXPECT_THAT(failed.end, testing::AnyOf(WriteEnd::Refused, WriteEnd::Partly)) << step;
        EXPECT_TRUE(failed.end == WriteEnd::Refused || !GetParam()->atomic || GetParam()->keeps_refused_apps) << step;
        EXPECT_EQ(failed.error, EIO);
        EXPECT_THAT(failed.message, HasSubstr("ens1: "));
        for (std::size_t later = step; later < asked.size(); ++later) {
            EXPECT_EQ(report.parts.at(later).end, WriteEnd::NotTried);
        }
        EXPECT_EQ(kernel.writes(), step) << "nothing behind it was sent";
        ASSERT_TRUE(report.now);
        EXPECT_EQ(*report.now, kernel.settings());
        // What remains, once more.
        const std::vector<Write> rest(asked.begin() + static_cast<std::ptrdiff_t>(step) - 1, asked.end());
        EXPECT_TRUE(write(kernel, rest).complete()) << step << ": " << write(kernel, rest).message();
    }
}

TEST_P(EveryDriver, WithoutTheCapabilityNothingIsWritten)
{
    FakeDcb kernel(*GetParam());
    make_ready(kernel);
    kernel.have_privileges(false);
    const auto before = kernel.settings();
    const auto asked = changes(*GetParam());
    const auto report = write(kernel, asked);
    if (asked.empty()) {
        return;    // a driver without anything to write
    }
    EXPECT_EQ(report.parts.front().end, WriteEnd::Refused);
    EXPECT_EQ(report.parts.front().error, EPERM);
    EXPECT_THAT(report.message(), HasSubstr("CAP_NET_ADMIN in the first user namespace"));
    EXPECT_EQ(kernel.settings(), before);
}

TEST_P(EveryDriver, ObeysItsRowAboutModesOfDcbx)
{
    if (GetParam()->ets != Access::Write) {
        return;    // nothing of ETS is written
    }
    FakeDcb kernel(*GetParam());
    kernel.have_agent(true);
    const auto report = write(kernel, {SetEts{divided({70, 30})}});
    switch (GetParam()->host_dcbx) {
    case HostDcbx::Always:
    case HostDcbx::Advised:
        EXPECT_TRUE(report.complete()) << report.message();
        return;
    case HostDcbx::Settable:
    case HostDcbx::AgentOff:
        EXPECT_THAT(report.message(), HasSubstr("the NIC's firmware negotiates with the switch (DCBX)"));
        break;
    case HostDcbx::Operational:
        EXPECT_THAT(report.message(), HasSubstr("only while DCBX is operational in IEEE mode"));
        break;
    }
    EXPECT_EQ(report.parts.front().end, WriteEnd::Refused);
    EXPECT_EQ(report.parts.front().error, EINVAL);
    const auto mode = write(kernel, {SetDcbx{kHostDcbx}});
    EXPECT_EQ(mode.complete(), GetParam()->host_dcbx == HostDcbx::Settable) << mode.message();
}

TEST_P(EveryDriver, RefusesWhatTheRowObjectsTo)
{
    if (GetParam()->ets != Access::Write) {
        return;    // nothing of ETS is written
    }
    for (const auto& weights : std::vector<std::vector<unsigned>>{{60, 30}, {60, 60}, {100, 0}, {90, 0}, {70, 30}}) {
        FakeDcb kernel(*GetParam());
        make_ready(kernel);
        const Ets asked = divided(weights);
        const auto report = write(kernel, {SetEts{asked}});
        EXPECT_EQ(report.complete(), objections(*GetParam(), asked, 8).empty())
            << weights.front() << ": " << report.message();
        if (!report.complete()) {
            EXPECT_THAT(report.message(), HasSubstr(objections(*GetParam(), asked, 8).front()));
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Rows, EveryDriver, testing::ValuesIn([] {
                             std::vector<const Driver*> all;
                             for (const Driver& one : drivers()) {
                                 all.push_back(&one);
                             }
                             return all;
                         }()),
                         [](const auto& of) { return std::string(of.param->name); });

// ---- single quirks ----

TEST(WritePort, Mlx5HalfWritten)
{
    FakeDcb kernel(driver_row("mlx5_core"));
    kernel.fail_write(1, EINVAL);
    const auto report = write(kernel, {SetEts{divided({70, 30})}});
    EXPECT_THAT(ends(report), ElementsAre(WriteEnd::Partly));
    EXPECT_THAT(report.message(), HasSubstr("refused (Invalid argument), and partly done"));
    EXPECT_EQ(report.now->ets->class_of_priority[1], 1) << "written before it failed";
}

TEST(WritePort, Mlx5ReplacesThePriorityOfADscp)
{
    FakeDcb kernel(driver_row("mlx5_core"));
    ASSERT_TRUE(write(kernel, {SetApp{dscp(26, 3)}, SetApp{dscp(26, 5)}}).complete());
    EXPECT_THAT(kernel.settings().apps, ElementsAre(dscp(26, 5)));
    EXPECT_THAT(kernel.disruptions(), ElementsAre(Disruption::Queues)) << "the first entry only";
}

TEST(WritePort, Mlx5TakesNothingButDscp)
{
    FakeDcb kernel(driver_row("mlx5_core"));
    const auto report = write(kernel, {SetApp{{Selector::DatagramPort, 4791, 3}}});
    EXPECT_THAT(ends(report), ElementsAre(WriteEnd::Refused));
    EXPECT_EQ(report.message(), "ens1: map UDP port 4791 to priority 3: refused (Invalid argument): mlx5_core takes no "
                                "entries for UDP port");
}

TEST(WritePort, RatesAreRoundedBeforeAKernelCutsThemOff)
{
    for (const bool old : {false, true}) {
        FakeDcb kernel(driver_row("mlx5_core"));
        kernel.have_old_kernel(old);
        const auto report = write(kernel, {SetMaxRates{rate_of_class(1, Bandwidth::from_mbps(25'700))}});
        EXPECT_TRUE(report.complete()) << report.message();
        EXPECT_EQ(report.now->ets->traffic_class[1].max_rate, Bandwidth::from_mbps(25'500)) << old;
        // Without the row it would have been cut off.
        const std::vector<Write> raw{SetMaxRates{rate_of_class(1, Bandwidth::from_mbps(25'700))}};
        const auto wrong = write_port(kernel, "ens1", raw);
        EXPECT_THAT(ends(wrong), ElementsAre(WriteEnd::Differs));
        EXPECT_EQ(wrong.now->ets->traffic_class[1].max_rate.value_or(Bandwidth()),
                  old ? Bandwidth::from_mbps(100) : Bandwidth::from_gbps(25));
    }
}

TEST(WritePort, ARateAboveTheLargestIsNotSent)
{
    FakeDcb kernel(driver_row("mlx5_core"));
    kernel.have_old_kernel(true);
    const auto report = write(kernel, {SetMaxRates{rate_of_class(1, Bandwidth::from_gbps(300))}});
    EXPECT_THAT(ends(report), ElementsAre(WriteEnd::Refused));
    EXPECT_EQ(kernel.writes(), 0U);
    EXPECT_THAT(report.message(), HasSubstr("300 Gbit/s, is above the largest of mlx5_core, 255 Gbit/s"));
}

TEST(WritePort, WhatADriverDoesNotHaveItSaysIsDone)
{
    FakeDcb bnxt(driver_row("bnxt_en"));
    const std::vector<Write> rates{SetMaxRates{rate_of_class(1, Bandwidth::from_gbps(10))}};
    const auto unknown = write_port(bnxt, "ens1", rates);
    EXPECT_THAT(ends(unknown), ElementsAre(WriteEnd::Differs));
    EXPECT_THAT(unknown.message(), HasSubstr("says that it is done, but it is not: now: no class has a maximum rate"));

    FakeDcb chelsio(driver_row("cxgb4"));
    EXPECT_THAT(ends(write(chelsio, {SetEts{divided({70, 30})}})), ElementsAre(WriteEnd::Differs));
}

TEST(WritePort, Mlx4KeepsEntriesWithoutLookingAtThem)
{
    FakeDcb kernel(driver_row("mlx4_core"));
    const auto report = write(kernel, {SetApp{dscp(26, 3)}});
    EXPECT_TRUE(report.complete()) << "so the row must be asked before";
    EXPECT_THAT(kernel.nic_apps(), IsEmpty());
    EXPECT_THAT(objections(kernel.driver(), dscp(26, 3), *report.now), testing::SizeIs(1));
}

TEST(WritePort, IceWantsADeletionBeforeAnotherPriority)
{
    FakeDcb kernel(driver_row("ice"));
    ASSERT_TRUE(write(kernel, {SetApp{dscp(26, 3)}}).complete());
    const auto refused = write(kernel, {SetApp{dscp(26, 2)}});
    EXPECT_THAT(ends(refused), ElementsAre(WriteEnd::Refused));
    EXPECT_THAT(refused.message(), HasSubstr("only when that is deleted"));
    EXPECT_TRUE(write(kernel, {DeleteApp{dscp(26, 3)}, SetApp{dscp(26, 2)}}).complete());
    EXPECT_EQ(class_of_dscp(kernel.settings(), 26), 2) << "the priority is the class";
}

TEST(WritePort, IceLosesItsWeightsWithTheFirstEntry)
{
    FakeDcb kernel(driver_row("ice"));
    ASSERT_TRUE(write(kernel, {SetEts{divided({70, 30})}, SetApp{dscp(26, 1)}}).complete());
    EXPECT_EQ(kernel.settings().ets->traffic_class[0].weight, 100);
    EXPECT_EQ(kernel.settings().ets->traffic_class[1].weight, 0);
}

TEST(WritePort, IceKeepsItsMapWhileADscpHasAnEntry)
{
    FakeDcb kernel(driver_row("ice"));
    ASSERT_TRUE(write(kernel, {SetApp{dscp(26, 1)}}).complete());
    const auto report = write(kernel, {SetEts{divided({70, 30})}});
    EXPECT_THAT(ends(report), ElementsAre(WriteEnd::Differs));
    EXPECT_THAT(report.message(), HasSubstr("ice keeps priority p in class p"));
}

TEST(WritePort, IceTakesGapsForOneClass)
{
    FakeDcb kernel(driver_row("ice"));
    Ets ets = divided({70, 0, 30});
    ets.traffic_class[1] = {};
    ets.class_of_priority[1] = 0;
    const auto report = write(kernel, {SetEts{ets}});
    EXPECT_THAT(ends(report), ElementsAre(WriteEnd::Differs));
    EXPECT_THAT(report.message(), HasSubstr("takes no gaps"));
}

TEST(WritePort, QedeKeepsARefusedEntryAndADeletedOne)
{
    FakeDcb kernel(driver_row("qede"));
    const AppEntry roce{Selector::DatagramPort, 4791, 3};
    const auto refused = write(kernel, {SetApp{roce}});
    EXPECT_THAT(ends(refused), ElementsAre(WriteEnd::Partly)) << "the kernel has it";
    EXPECT_THAT(kernel.nic_apps(), IsEmpty());

    kernel.have_operational_dcbx(true);
    FakeDcb ready(driver_row("qede"));
    ready.have_operational_dcbx(true);
    ASSERT_TRUE(write(ready, {SetApp{roce}, DeleteApp{roce}}).complete());
    EXPECT_THAT(ready.settings().apps, IsEmpty());
    EXPECT_THAT(ready.nic_apps(), ElementsAre(roce)) << "the NIC goes by it until it is reset";
}

TEST(WritePort, WhatDisturbs)
{
    FakeDcb bnxt(driver_row("bnxt_en"));
    Ets ets = divided({70, 30});
    ASSERT_TRUE(write(bnxt, {SetEts{ets}}).complete());
    EXPECT_THAT(bnxt.disruptions(), ElementsAre(Disruption::Interface));
    ets.traffic_class[0].weight = 60;
    ets.traffic_class[1].weight = 40;
    ASSERT_TRUE(write(bnxt, {SetEts{ets}}).complete());
    EXPECT_THAT(bnxt.disruptions(), testing::SizeIs(1)) << "weights alone do not";

    FakeDcb ice(driver_row("ice"));
    ASSERT_TRUE(write(ice, {SetApp{dscp(26, 1)}, SetApp{dscp(27, 1)}}).complete());
    EXPECT_THAT(ice.disruptions(), ElementsAre(Disruption::Interface, Disruption::Interface)) << "each entry";
}

TEST(WritePort, ErrnosThatABit8Loses)
{
    FakeDcb kernel(driver_row("bnxt_en"));
    Ets ets = divided({70, 30});
    ets.traffic_class[1].selection = Selection::CreditBasedShaper;
    const auto report = write(kernel, {SetEts{ets}});
    EXPECT_EQ(report.parts.front().error, ENOMEM);
    EXPECT_THAT(report.message(), HasSubstr("ENOTSUPP of a driver arrives as this number"));
}

// ---- others, and what is lost ----

TEST(WritePort, AnotherProgramThatWritesInBetweenIsSeen)
{
    FakeDcb kernel(driver_row("mlx5_core"));
    kernel.after_write(1, [](FakeDcb& port) { port.write_as_other(SetEts{divided({10, 90})}); });
    const auto report = write(kernel, {SetEts{divided({70, 30})}, SetApp{dscp(26, 1)}});
    EXPECT_THAT(ends(report), ElementsAre(WriteEnd::Differs, WriteEnd::NotTried));
    EXPECT_THAT(report.message(), HasSubstr("now: class 0: 10 %, class 1: 90 %"));
    EXPECT_THAT(report.message(), HasSubstr("another program may have written in between"));
}

TEST(WritePort, AWriteElsewhereIsNoFaultOfARefusedOne)
{
    FakeDcb kernel(driver_row("mlx5_core"));
    kernel.fail_write(1, EINVAL);
    kernel.after_write(1, [](FakeDcb& port) { port.write_as_other(SetEts{divided({10, 90})}); });
    const auto report = write(kernel, {SetApp{dscp(26, 1)}});
    EXPECT_THAT(ends(report), ElementsAre(WriteEnd::Refused)) << "of the entry nothing is there";
}

TEST(WritePort, AnAnswerThatIsLost)
{
    FakeDcb kernel(driver_row("mlx5_core"));
    kernel.lose_answer(1);
    const auto report = write(kernel, {SetEts{divided({70, 30})}});
    EXPECT_THAT(ends(report), ElementsAre(WriteEnd::Unknown));
    EXPECT_EQ(report.parts.front().error, ETIMEDOUT);
    ASSERT_TRUE(report.now) << "it was done, and read";
    EXPECT_EQ(report.now->ets->traffic_class[0].weight, 70);
}

TEST(WritePort, WhatCannotBeReadBackIsUnknown)
{
    FakeDcb kernel(driver_row("mlx5_core"));
    kernel.fail_read(2, ENODEV);
    const auto report = write(kernel, {SetApp{dscp(26, 1)}, SetApp{dscp(48, 2)}});
    EXPECT_THAT(ends(report), ElementsAre(WriteEnd::Unknown, WriteEnd::NotTried));
    EXPECT_EQ(report.parts.front().error, ENODEV);
    ASSERT_FALSE(report.now);
    EXPECT_EQ(report.now.error().code, ErrorCode::DeviceGone);
}

TEST(WritePort, AnInterfaceThatIsGone)
{
    FakeDcb kernel(driver_row("mlx5_core"));
    kernel.have_interface(false);
    const auto report = write(kernel, {SetApp{dscp(26, 1)}});
    EXPECT_THAT(ends(report), ElementsAre(WriteEnd::NotTried));
    EXPECT_EQ(kernel.writes(), 0U);
    EXPECT_EQ(report.message(), "there is no network interface ens1 in this network namespace (No such device)");
}

TEST(WritePort, AfterAResetAllIsAsAtFirst)
{
    FakeDcb kernel(driver_row("mlx5_core"));
    ASSERT_TRUE(write(kernel, {SetEts{divided({70, 30})}, SetApp{dscp(26, 1)}}).complete());
    kernel.reset();
    const auto read = read_port(kernel, "ens1");
    ASSERT_TRUE(read);
    EXPECT_THAT(read->apps, IsEmpty());
    EXPECT_EQ(read->ets->class_of_priority[0], 1) << "priorities 0 and 1 are swapped";
    EXPECT_EQ(read->ets->traffic_class[0].selection, Selection::Vendor);
}

TEST(WritePort, OfAPortWithFewerClasses)
{
    FakeDcb kernel(driver_row("mlx5_core"), "ens1", 4);
    const auto report = write(kernel, {SetEts{divided({40, 30, 20, 10})}});
    EXPECT_TRUE(report.complete()) << report.message();
    EXPECT_EQ(report.now->ets->classes, 4);
    const auto refused = write(kernel, {SetEts{divided({40, 30, 10, 10, 10})}});
    EXPECT_THAT(ends(refused), ElementsAre(WriteEnd::Refused)) << "those before are as they were";
    EXPECT_THAT(refused.message(), HasSubstr("priority 4 would be in traffic class 4, and the port has only 4"));
    Ets moved = divided({40, 30, 20, 10});
    moved.class_of_priority = {3, 3, 3, 3, 7, 3, 3, 3};
    const auto half = write(kernel, {SetEts{moved}});
    EXPECT_THAT(ends(half), ElementsAre(WriteEnd::Partly));
    EXPECT_THAT(half.now->ets->class_of_priority, ElementsAre(3, 3, 3, 3, 0, 0, 0, 0));
}

TEST(ReadPort, WeightsOfClassesWithoutEtsAreNotLookedAt)
{
    FakeDcb kernel(driver_row("mlx5_core"));
    const auto now = read_port(kernel, "ens1");
    kernel.have_old_kernel(true);
    EXPECT_EQ(*read_port(kernel, "ens1"), *now) << "100 with older kernels, 0 with newer ones";
}

TEST(ReadPort, AnAgentThatADriverDoesNotHave)
{
    FakeDcb kernel(driver_row("mlx5_core"));
    const auto features = read_agent(kernel, "ens1");
    ASSERT_FALSE(features);
    EXPECT_EQ(features.error().code, ErrorCode::Unsupported);
}

TEST(DriverOfInterface, IsALinkInSysfs)
{
    const test::TempDir sys;
    std::filesystem::create_directories(sys.path() / "class/net/ens1/device");
    std::filesystem::create_directories(sys.path() / "bus/pci/drivers/mlx5_core");
    std::filesystem::create_symlink(sys.path() / "bus/pci/drivers/mlx5_core",
                                    sys.path() / "class/net/ens1/device/driver");
    EXPECT_EQ(driver_of_interface("ens1", sys.path()), "mlx5_core");
    EXPECT_EQ(driver_of_interface("lo", sys.path()), "");
}

}    // namespace
}    // namespace rdmaqos::dcb
