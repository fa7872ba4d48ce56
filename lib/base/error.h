// What went wrong at run time, in a form every layer understands.
//
// Three tiers of errors (docs/architecture.md): mistakes in a policy are Diagnostics (diagnostic.h), runtime
// failures are an Error inside a Result (result.h), and exceptions are for start-up and third-party code only.
//
// `error_names()` is the one table that maps a code to its D-Bus error name and to the exit status of rdma-qosctl.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace rdmaqos {

enum class ErrorCode : std::uint8_t {
    // What a client asked for.
    InvalidArgument,
    UnknownLevel,
    LevelNotAllowed,
    NoMatchingPath,
    UnknownDevice,
    UnknownSession,
    NotUverbs,
    WrongDevice,
    BadQueuePair,
    BadState,
    NotOwner,
    LimitReached,
    Busy,
    InvalidPolicy,
    AuthorizationRequired,
    InteractiveAuthorizationRequired,    // a password would do
    // What a device answered.
    Unsupported,
    NoSpace,
    DeviceGone,
    DeviceFailed,
    Timeout,
    // The rest.
    NoDaemon,
    Drift,
    Io,
    Internal,
};

// Exit statuses of rdma-qosctl: stable, documented in rdma-qosctl(8).
enum class ExitStatus : std::uint8_t {
    Ok = 0,
    Failed = 1,
    BadPolicy = 2,
    Found = 3,    // what was looked for: drift, a problem, a disagreement
    NotAuthorised = 4,
    NoDaemon = 5,
};

struct ErrorName {
    ErrorCode code;
    std::string_view dbus_name;    // "org.rdmaqos1.Error.UnknownLevel"; D-Bus's own where it has one
    ExitStatus exit_status;
};

[[nodiscard]] std::span<const ErrorName> error_names();
[[nodiscard]] std::string_view dbus_name(ErrorCode code);
[[nodiscard]] ExitStatus exit_status(ErrorCode code);
// The code of a D-Bus error name; Internal for a name that rdma-qosd does not send.
[[nodiscard]] ErrorCode code_of_dbus_name(std::string_view name);

// One failure. `message` is a sentence fragment for an administrator ("share 120 is above the device's maximum of
// 100"); callers add what they were doing with `with_context`, outermost first: "mlx5_0: create /tenants/rpc: ...".
struct Error {
    ErrorCode code = ErrorCode::Internal;
    int sys_errno = 0;    // 0 when no errno is behind it
    std::string message;

    [[nodiscard]] Error with_context(std::string_view what) &&;
    [[nodiscard]] Error with_context(std::string_view what) const&;

    friend bool operator==(const Error&, const Error&) = default;
};

// "message" or "message (Operation not supported)" when there is an errno.
[[nodiscard]] std::string to_string(const Error& error);

// Whether a call failed only because there is too little of something at this time: descriptors, memory, processes.
[[nodiscard]] bool is_shortage(int err);

// An Error of `code` from an errno; to_string() adds the errno's text to `what`.
[[nodiscard]] Error error_from_errno(ErrorCode code, int err, std::string_view what);

}    // namespace rdmaqos
