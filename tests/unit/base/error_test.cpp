#include "lib/base/error.h"

#include <cerrno>
#include <set>

#include <gtest/gtest.h>

#include "lib/base/result.h"

namespace rdmaqos {
namespace {

TEST(ErrorNames, EveryCodeHasOneNameOfItsOwn)
{
    std::set<ErrorCode> codes;
    std::set<std::string_view> names;
    for (const auto& entry : error_names()) {
        EXPECT_TRUE(codes.insert(entry.code).second) << entry.dbus_name;
        EXPECT_TRUE(names.insert(entry.dbus_name).second) << entry.dbus_name;
        EXPECT_TRUE(entry.dbus_name.starts_with("org.rdmaqos1.Error.") ||
                    entry.dbus_name.starts_with("org.freedesktop.DBus.Error."))
            << entry.dbus_name;
        EXPECT_EQ(dbus_name(entry.code), entry.dbus_name);
        EXPECT_EQ(code_of_dbus_name(entry.dbus_name), entry.code);
        EXPECT_EQ(exit_status(entry.code), entry.exit_status);
        EXPECT_NE(entry.exit_status, ExitStatus::Ok);
    }
    // Internal is the last of the enumeration.
    EXPECT_EQ(codes.size(), static_cast<std::size_t>(ErrorCode::Internal) + 1);
}

TEST(ErrorNames, NamesOfOthersAreInternal)
{
    EXPECT_EQ(code_of_dbus_name("org.freedesktop.DBus.Error.NoReply"), ErrorCode::Internal);
    EXPECT_EQ(code_of_dbus_name(""), ErrorCode::Internal);
}

TEST(ErrorNames, ExitStatusesScriptsRelyOn)
{
    EXPECT_EQ(exit_status(ErrorCode::InvalidPolicy), ExitStatus::BadPolicy);
    EXPECT_EQ(exit_status(ErrorCode::Drift), ExitStatus::Found);
    EXPECT_EQ(exit_status(ErrorCode::LevelNotAllowed), ExitStatus::NotAuthorised);
    EXPECT_EQ(exit_status(ErrorCode::AuthorizationRequired), ExitStatus::NotAuthorised);
    EXPECT_EQ(exit_status(ErrorCode::NoDaemon), ExitStatus::NoDaemon);
    EXPECT_EQ(exit_status(ErrorCode::DeviceFailed), ExitStatus::Failed);
}

TEST(Error, ContextIsAddedInFront)
{
    const Error inner{ErrorCode::NoSpace, ENOSPC, "no leaf is free"};
    const Error outer = inner.with_context("create /rpc").with_context("mlx5_0");
    EXPECT_EQ(outer.message, "mlx5_0: create /rpc: no leaf is free");
    EXPECT_EQ(outer.code, ErrorCode::NoSpace);
    EXPECT_EQ(outer.sys_errno, ENOSPC);
    EXPECT_EQ(inner.message, "no leaf is free");
}

TEST(Error, ToStringNamesTheErrno)
{
    EXPECT_EQ(to_string(Error{ErrorCode::Io, 0, "it broke"}), "it broke");
    EXPECT_EQ(to_string(error_from_errno(ErrorCode::Io, EOPNOTSUPP, "pacing")), "pacing (Operation not supported)");
}

Result<int> half(int value)
{
    if (value % 2 != 0) {
        return fail(ErrorCode::InvalidArgument, "odd");
    }
    return value / 2;
}

Result<void> check(int value)
{
    if (const auto result = half(value); !result) {
        return fail(result.error().with_context("check"));
    }
    return {};
}

TEST(Result, CarriesValueOrError)
{
    EXPECT_EQ(*half(4), 2);
    EXPECT_EQ(half(3).error(), (Error{ErrorCode::InvalidArgument, 0, "odd"}));
    EXPECT_TRUE(check(2));
    EXPECT_EQ(check(1).error().message, "check: odd");
}

}    // namespace
}    // namespace rdmaqos
