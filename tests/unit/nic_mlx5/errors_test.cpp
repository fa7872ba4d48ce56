#include "lib/nic_mlx5/errors.h"

#include <cerrno>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/golden.h"

namespace rdmaqos::mlx5 {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Command kCommands[] = {
    Command::CreateElement, Command::ModifyElement, Command::QueryElement,   Command::DestroyElement,
    Command::Place,         Command::SetRate,       Command::QueryQueuePair, Command::QueryCapabilities};

// What the firmware says; the syndrome only tells the answers apart.
constexpr std::uint8_t kStatuses[] = {0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x08, 0x09, 0x0a, 0x0f, 0x10, 0x40};
// What kernels say without it.
constexpr int kErrnos[] = {EPERM,  ENOENT, EIO,    EAGAIN, ENOMEM,          EACCES,     EBUSY,     ENODEV,
                           EINVAL, ENOTTY, ENOSPC, ENOSYS, EPROTONOSUPPORT, EOPNOTSUPP, EREMOTEIO, EFAULT};

constexpr QueuePairState kStates[] = {QueuePairState::Reset, QueuePairState::Init, QueuePairState::Rtr,
                                      QueuePairState::Rts,   QueuePairState::Sqd,  QueuePairState::Sqe,
                                      QueuePairState::Error};

constexpr std::uint32_t kSyndrome = 0x51c00a;

std::string line(const Error& error)
{
    return fmt::format("{}: {}\n", dbus_name(error.code), to_string(error.with_context("mlx5_0")));
}

bool is_element(Command command)
{
    return command == Command::CreateElement || command == Command::ModifyElement || command == Command::QueryElement ||
           command == Command::DestroyElement;
}

TEST(Explain, EveryCommandAndStatus)
{
    std::string text;
    for (const Command command : kCommands) {
        for (const std::uint8_t status : kStatuses) {
            text += line(explain(command, {EREMOTEIO, status, kSyndrome}));
        }
        text += '\n';
    }
    test::expect_golden("nic_mlx5/errors-status.txt", text);
}

TEST(Explain, EveryCommandAndErrno)
{
    std::string text;
    for (const Command command : kCommands) {
        for (const int error : kErrnos) {
            text += line(explain(command, {error, 0, 0}));
        }
        text += '\n';
    }
    test::expect_golden("nic_mlx5/errors-errno.txt", text);
}

TEST(Explain, EveryState)
{
    std::string text;
    for (const auto type : {QueuePairType::Rc, QueuePairType::RawPacket}) {
        for (const auto state : kStates) {
            text += line(bad_state(17, type, state));
        }
    }
    test::expect_golden("nic_mlx5/errors-state.txt", text);
}

TEST(Explain, WhatIsNotGoneAfterAll)
{
    const Error error = explain(Command::Place, {EIO, 0, 0});
    test::expect_golden("nic_mlx5/errors-not-gone.txt", line(not_gone(error, true)) + line(not_gone(error, false)));
    EXPECT_EQ(not_gone(error, true).code, ErrorCode::DeviceFailed);
    // Its queue pair went with the file.
    EXPECT_EQ(not_gone(error, false).code, ErrorCode::BadQueuePair);
}

TEST(Explain, KeepsTheFirmwaresWords)
{
    const Error told = explain(Command::CreateElement, {EREMOTEIO, 0x08, kSyndrome});
    EXPECT_THAT(told.message, HasSubstr("[EREMOTEIO, status 0x8 (exceeds a limit), syndrome 0x51c00a]"));
    EXPECT_EQ(told.sys_errno, ENOSPC);
    const Error untold = explain(Command::CreateElement, {EAGAIN, 0, 0});
    EXPECT_THAT(untold.message, HasSubstr("[EAGAIN]"));
    EXPECT_THAT(untold.message, Not(HasSubstr("syndrome")));
    EXPECT_THAT(explain(Command::Place, {EREMOTEIO, 0x40, 0}).message, HasSubstr("status 0x40, syndrome 0x0"));
    EXPECT_THAT(explain(Command::Place, {4095, 0, 0}).message, HasSubstr("[errno 4095]"));
}

// Backend promises these codes for operations on elements; what is about queue pairs is not among them.
TEST(Explain, OfElementsNothingIsSaidOfQueuePairsState)
{
    for (const Command command : kCommands) {
        if (!is_element(command)) {
            continue;
        }
        const auto check = [&](const Failure& failure) {
            const Error error = explain(command, failure);
            EXPECT_THAT(error.code, AnyOf(ErrorCode::Unsupported, ErrorCode::NoSpace, ErrorCode::InvalidArgument,
                                          ErrorCode::DeviceGone, ErrorCode::DeviceFailed, ErrorCode::Busy))
                << error.message;
        };
        for (unsigned status = 1; status <= 0xff; ++status) {
            check({EREMOTEIO, static_cast<std::uint8_t>(status), kSyndrome});
        }
        for (int error = 1; error < 134; ++error) {
            check({error, 0, 0});
        }
    }
}

// BadQueuePair makes the daemon forget a queue pair: only what says that it is not there may say so.
TEST(Explain, AQueuePairIsForgottenOnlyWhenItIsNotThere)
{
    EXPECT_EQ(explain(Command::Place, {EINVAL, 0, 0}).code, ErrorCode::InvalidArgument);
    EXPECT_EQ(explain(Command::SetRate, {EINVAL, 0, 0}).code, ErrorCode::InvalidArgument);
    EXPECT_EQ(explain(Command::QueryQueuePair, {EINVAL, 0, 0}).code, ErrorCode::BadQueuePair);
    EXPECT_EQ(explain(Command::QueryQueuePair, {EREMOTEIO, 0x05, kSyndrome}).code, ErrorCode::BadQueuePair);
    EXPECT_EQ(explain(Command::Place, {ENOENT, 0, 0}).code, ErrorCode::BadQueuePair);
}

// An element that is lost is told from values that are refused, also where only an errno arrives.
TEST(Explain, ALostElementHasNoEntry)
{
    for (const Failure& failure : {Failure{EREMOTEIO, 0x05, kSyndrome}, Failure{EREMOTEIO, 0x0a, kSyndrome}}) {
        for (const Command command : {Command::ModifyElement, Command::QueryElement, Command::DestroyElement}) {
            EXPECT_EQ(explain(command, failure).sys_errno, ENOENT) << to_string(command);
        }
    }
    EXPECT_EQ(explain(Command::QueryElement, {EINVAL, 0, 0}).sys_errno, ENOENT);
    EXPECT_EQ(explain(Command::ModifyElement, {EREMOTEIO, 0x03, kSyndrome}).sys_errno, EINVAL);
    EXPECT_EQ(explain(Command::ModifyElement, {EINVAL, 0, 0}).sys_errno, EINVAL);
}

TEST(Explain, EverySentenceSaysWhatToDoOrThatItIsGone)
{
    for (const Command command : kCommands) {
        for (const std::uint8_t status : kStatuses) {
            const std::string message = explain(command, {EREMOTEIO, status, kSyndrome}).message;
            EXPECT_TRUE(message.starts_with(to_string(command))) << message;
        }
    }
    for (const auto state : kStates) {
        EXPECT_THAT(bad_state(17, QueuePairType::Rc, state).message, HasSubstr("queue pair 17 is in "));
    }
    EXPECT_THAT(bad_state(17, QueuePairType::RawPacket, QueuePairState::Init).message, Not(HasSubstr("only in INIT")));
}

}    // namespace
}    // namespace rdmaqos::mlx5
