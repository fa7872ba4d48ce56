#include "lib/model/faults.h"

#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "lib/model/firmware.h"
#include "lib/model/profile.h"

namespace rdmaqos {
namespace {

using namespace std::chrono_literals;

// 'x' for a command that failed, '.' for one that passed.
std::string strikes(Faults& faults, const std::vector<CommandKind>& commands)
{
    std::string text;
    for (const CommandKind command : commands) {
        text += faults.strike(command) ? 'x' : '.';
    }
    return text;
}

const std::vector<CommandKind> kMixed{CommandKind::Create, CommandKind::Query,  CommandKind::Create,
                                      CommandKind::Modify, CommandKind::Create, CommandKind::Query};

TEST(Faults, FailAsOrdered)
{
    struct Row {
        std::optional<CommandKind> kind;
        std::uint64_t nth;
        std::uint64_t times;
        std::string expected;
    };
    for (const Row& row :
         {Row{CommandKind::Create, 1, 1, "x....."}, Row{CommandKind::Create, 3, 1, "....x."},
          Row{CommandKind::Create, 2, 5, "..x.x."}, Row{CommandKind::Destroy, 1, 1, "......"},
          Row{std::nullopt, 2, 1, ".x...."}, Row{std::nullopt, 1, 3, "xxx..."}, Row{std::nullopt, 7, 1, "......"},
          Row{CommandKind::Query, 0, 1, ".x...."}, Row{CommandKind::Query, 1, 0, "......"}}) {
        Faults faults;
        faults.fail(row.kind, row.nth, {}, row.times);
        EXPECT_EQ(strikes(faults, kMixed), row.expected);
    }
}

TEST(Faults, OrdersAddUp)
{
    Faults faults;
    faults.fail(CommandKind::Create, 1);
    faults.fail(CommandKind::Create, 3);
    faults.fail(CommandKind::Modify, 1);
    EXPECT_EQ(strikes(faults, kMixed), "x..xx.");
    EXPECT_EQ(faults.fired(), 3U);
    EXPECT_EQ(strikes(faults, kMixed), "......");
}

TEST(Faults, ClearForgetsOrders)
{
    Faults faults;
    faults.fail({}, 1, {}, 100);
    faults.clear();
    EXPECT_EQ(strikes(faults, kMixed), "......");
}

TEST(Faults, StatusAndSyndromeArrive)
{
    Faults faults;
    faults.fail(CommandKind::Modify, 1, {FirmwareStatus::NoResources, 0xabc, 0, true});
    const auto refusal = faults.strike(CommandKind::Modify);
    ASSERT_TRUE(refusal);
    EXPECT_EQ(refusal->reason, RefusalReason::Injected);
    EXPECT_EQ(refusal->status, FirmwareStatus::NoResources);
    EXPECT_EQ(refusal->syndrome, 0xabcU);
    EXPECT_EQ(refusal->sys_errno, EAGAIN);
    EXPECT_EQ(refusal->message,
              "the device failed the command \"modify\" with status no resources (0xf), syndrome 0xabc");
}

TEST(Faults, ErrnoOnlyHidesTheMailbox)
{
    Faults faults;
    faults.fail(CommandKind::Create, 1, {FirmwareStatus::InternalError, 0, EREMOTEIO, false});
    const auto refusal = faults.strike(CommandKind::Create);
    ASSERT_TRUE(refusal);
    EXPECT_FALSE(refusal->mailbox);
    EXPECT_EQ(refusal->sys_errno, EREMOTEIO);
    EXPECT_EQ(refusal->message, "the kernel refused the command \"create\" without the device's reason");
}

TEST(Faults, BusyForAWhile)
{
    Faults faults;
    faults.busy(CommandKind::Attach, 2);
    EXPECT_EQ(faults.strike(CommandKind::Attach).value().sys_errno, EBUSY);
    EXPECT_FALSE(faults.strike(CommandKind::Create));
    EXPECT_EQ(faults.strike(CommandKind::Attach).value().sys_errno, EBUSY);
    EXPECT_FALSE(faults.strike(CommandKind::Attach));
}

TEST(Faults, DelaysPassThroughTheSleeper)
{
    Faults faults;
    std::vector<std::chrono::milliseconds> slept;
    faults.set_sleeper([&](std::chrono::milliseconds time) { slept.push_back(time); });
    faults.delay(CommandKind::Destroy, 50ms);
    EXPECT_FALSE(faults.strike(CommandKind::Create));
    EXPECT_FALSE(faults.strike(CommandKind::Destroy));
    faults.delay({}, 5ms);
    EXPECT_FALSE(faults.strike(CommandKind::Query));
    faults.delay({}, 0ms);
    EXPECT_FALSE(faults.strike(CommandKind::Destroy));
    EXPECT_EQ(slept, (std::vector<std::chrono::milliseconds>{50ms, 5ms}));
}

TEST(Faults, DelayReallyWaits)
{
    Faults faults;
    faults.delay(CommandKind::Query, 20ms);
    const auto before = std::chrono::steady_clock::now();
    EXPECT_FALSE(faults.strike(CommandKind::Query));
    EXPECT_GE(std::chrono::steady_clock::now() - before, 20ms);
}

TEST(Faults, FailedCommandHasNoEffect)
{
    Firmware firmware(default_capabilities());
    firmware.faults().fail(CommandKind::Create, 1);
    EXPECT_FALSE(firmware.create({}));
    EXPECT_TRUE(firmware.elements().empty());
    const auto root = firmware.create({});
    ASSERT_TRUE(root);
    firmware.faults().fail(CommandKind::Destroy, 1);
    EXPECT_FALSE(firmware.destroy(kHostContext, *root));
    EXPECT_EQ(firmware.elements().size(), 1U);
}

TEST(Faults, CommandsOfAGoneDeviceAreNotCounted)
{
    Firmware firmware(default_capabilities());
    firmware.faults().fail(CommandKind::Create, 1);
    firmware.reset();
    EXPECT_EQ(firmware.create({}).error().reason, RefusalReason::DeviceGone);
    firmware.replug();
    EXPECT_EQ(firmware.create({}).error().reason, RefusalReason::Injected);
}

TEST(Faults, ExactlyAsManyFailAsOrderedFromManyThreads)
{
    Faults faults;
    faults.fail({}, 10, {}, 25);
    std::atomic<int> failed{0};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread) {
        threads.emplace_back([&] {
            for (int round = 0; round < 50; ++round) {
                failed += faults.strike(CommandKind::Query) ? 1 : 0;
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(failed, 25);
}

}    // namespace
}    // namespace rdmaqos
