#include "lib/base/error.h"

#include <array>
#include <cerrno>
#include <system_error>

#include <fmt/format.h>

namespace rdmaqos {
namespace {

constexpr std::array kErrorNames{
    ErrorName{ErrorCode::InvalidArgument, "org.freedesktop.DBus.Error.InvalidArgs", ExitStatus::Failed},
    ErrorName{ErrorCode::UnknownLevel, "org.rdmaqos1.Error.UnknownLevel", ExitStatus::Failed},
    ErrorName{ErrorCode::LevelNotAllowed, "org.rdmaqos1.Error.LevelNotAllowed", ExitStatus::NotAuthorised},
    ErrorName{ErrorCode::NoMatchingPath, "org.rdmaqos1.Error.NoMatchingPath", ExitStatus::Failed},
    ErrorName{ErrorCode::UnknownDevice, "org.rdmaqos1.Error.UnknownDevice", ExitStatus::Failed},
    ErrorName{ErrorCode::UnknownSession, "org.rdmaqos1.Error.UnknownSession", ExitStatus::Failed},
    ErrorName{ErrorCode::NotUverbs, "org.rdmaqos1.Error.NotUverbs", ExitStatus::Failed},
    ErrorName{ErrorCode::WrongDevice, "org.rdmaqos1.Error.WrongDevice", ExitStatus::Failed},
    ErrorName{ErrorCode::BadQueuePair, "org.rdmaqos1.Error.BadQueuePair", ExitStatus::Failed},
    ErrorName{ErrorCode::BadState, "org.rdmaqos1.Error.BadState", ExitStatus::Failed},
    ErrorName{ErrorCode::NotOwner, "org.rdmaqos1.Error.NotOwner", ExitStatus::NotAuthorised},
    ErrorName{ErrorCode::LimitReached, "org.freedesktop.DBus.Error.LimitsExceeded", ExitStatus::Failed},
    ErrorName{ErrorCode::Busy, "org.rdmaqos1.Error.Busy", ExitStatus::Failed},
    ErrorName{ErrorCode::InvalidPolicy, "org.rdmaqos1.Error.InvalidPolicy", ExitStatus::BadPolicy},
    ErrorName{ErrorCode::AuthorizationRequired, "org.freedesktop.DBus.Error.AccessDenied", ExitStatus::NotAuthorised},
    ErrorName{ErrorCode::InteractiveAuthorizationRequired,
              "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired", ExitStatus::NotAuthorised},
    ErrorName{ErrorCode::Unsupported, "org.freedesktop.DBus.Error.NotSupported", ExitStatus::Failed},
    ErrorName{ErrorCode::NoSpace, "org.rdmaqos1.Error.NoSpace", ExitStatus::Failed},
    ErrorName{ErrorCode::DeviceGone, "org.rdmaqos1.Error.DeviceGone", ExitStatus::Failed},
    ErrorName{ErrorCode::DeviceFailed, "org.rdmaqos1.Error.DeviceFailed", ExitStatus::Failed},
    ErrorName{ErrorCode::Timeout, "org.rdmaqos1.Error.Timeout", ExitStatus::Failed},
    ErrorName{ErrorCode::NoDaemon, "org.rdmaqos1.Error.NoDaemon", ExitStatus::NoDaemon},
    ErrorName{ErrorCode::Drift, "org.rdmaqos1.Error.Drift", ExitStatus::Found},
    ErrorName{ErrorCode::Io, "org.freedesktop.DBus.Error.IOError", ExitStatus::Failed},
    ErrorName{ErrorCode::Internal, "org.freedesktop.DBus.Error.Failed", ExitStatus::Failed},
};

const ErrorName& entry(ErrorCode code)
{
    for (const auto& name : kErrorNames) {
        if (name.code == code) {
            return name;
        }
    }
    return kErrorNames.back();
}

}    // namespace

std::span<const ErrorName> error_names()
{
    return kErrorNames;
}

std::string_view dbus_name(ErrorCode code)
{
    return entry(code).dbus_name;
}

ExitStatus exit_status(ErrorCode code)
{
    return entry(code).exit_status;
}

ErrorCode code_of_dbus_name(std::string_view name)
{
    for (const auto& candidate : kErrorNames) {
        if (candidate.dbus_name == name) {
            return candidate.code;
        }
    }
    return ErrorCode::Internal;
}

Error Error::with_context(std::string_view what) &&
{
    message.insert(0, fmt::format("{}: ", what));
    return std::move(*this);
}

Error Error::with_context(std::string_view what) const&
{
    return Error(*this).with_context(what);
}

std::string to_string(const Error& error)
{
    if (error.sys_errno == 0) {
        return error.message;
    }
    return fmt::format("{} ({})", error.message, std::generic_category().message(error.sys_errno));
}

bool is_shortage(int err)
{
    return err == EMFILE || err == ENFILE || err == ENOMEM || err == EAGAIN;
}

Error error_from_errno(ErrorCode code, int err, std::string_view what)
{
    return Error{code, err, std::string(what)};
}

}    // namespace rdmaqos
