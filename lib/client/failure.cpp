#include "lib/client/failure.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace rdmaqos::client {
namespace {

// No destructor and no allocation: it lives in threads of other people's programs.
struct Last {
    std::array<char, 768> text{};
    std::array<char, 128> name{};
};
thread_local Last last;

template <std::size_t Size>
void keep(std::array<char, Size>& into, std::string_view text) noexcept
{
    const std::size_t length = std::min(text.size(), Size - 1);
    *std::copy_n(text.begin(), length, into.begin()) = '\0';
}

std::string words_of(int error)
{
    std::array<char, 128> text{};
#ifdef _GNU_SOURCE
    return strerror_r(error, text.data(), text.size());
#else
    return strerror_r(error, text.data(), text.size()) == 0 ? text.data() : std::to_string(error);
#endif
}

struct Named {
    std::string_view name;
    int error;
};
// docs/dbus.md, "Errors", and those that D-Bus itself has for a daemon that is older than this library, or not there.
constexpr std::array kNamed{
    Named{"org.freedesktop.DBus.Error.InvalidArgs", EINVAL},
    Named{"org.freedesktop.DBus.Error.AccessDenied", EACCES},
    Named{"org.freedesktop.DBus.Error.InteractiveAuthorizationRequired", EACCES},
    Named{"org.freedesktop.DBus.Error.LimitsExceeded", EDQUOT},
    Named{"org.freedesktop.DBus.Error.NotSupported", EOPNOTSUPP},
    Named{"org.freedesktop.DBus.Error.UnknownMethod", EOPNOTSUPP},
    Named{"org.freedesktop.DBus.Error.UnknownInterface", EOPNOTSUPP},
    Named{"org.freedesktop.DBus.Error.UnknownProperty", EOPNOTSUPP},
    Named{"org.freedesktop.DBus.Error.UnknownObject", ENOENT},
    Named{"org.freedesktop.DBus.Error.ServiceUnknown", ENOTCONN},
    Named{"org.freedesktop.DBus.Error.NameHasNoOwner", ENOTCONN},
    Named{"org.freedesktop.DBus.Error.Disconnected", ENOTCONN},
    Named{"org.freedesktop.DBus.Error.NoServer", ENOTCONN},
    Named{"org.freedesktop.DBus.Error.NoReply", ENOTCONN},
    Named{"org.freedesktop.DBus.Error.Timeout", ETIMEDOUT},
    Named{"org.freedesktop.DBus.Error.TimedOut", ETIMEDOUT},
    Named{"org.rdmaqos1.Error.UnknownLevel", ENOENT},
    Named{"org.rdmaqos1.Error.NoMatchingPath", ENOENT},
    Named{"org.rdmaqos1.Error.UnknownDevice", ENOENT},
    Named{"org.rdmaqos1.Error.UnknownSession", ENOENT},
    Named{"org.rdmaqos1.Error.LevelNotAllowed", EACCES},
    Named{"org.rdmaqos1.Error.NotOwner", EACCES},
    Named{"org.rdmaqos1.Error.NotUverbs", EINVAL},
    Named{"org.rdmaqos1.Error.WrongDevice", EINVAL},
    Named{"org.rdmaqos1.Error.BadQueuePair", EINVAL},
    Named{"org.rdmaqos1.Error.BadState", EBADFD},
    Named{"org.rdmaqos1.Error.NoSpace", ENOSPC},
    Named{"org.rdmaqos1.Error.Busy", EAGAIN},
    Named{"org.rdmaqos1.Error.DeviceGone", ENODEV},
    Named{"org.rdmaqos1.Error.Timeout", ETIMEDOUT},
    Named{"org.rdmaqos1.Error.InvalidPolicy", EKEYREJECTED},
};

}    // namespace

bool is_end_of_connection(int error)
{
    constexpr std::array kEnds{ECONNRESET, ENOTCONN, EPIPE, ESHUTDOWN};
    return std::ranges::find(kEnds, error) != kEnds.end();
}

int report(const Failure& failure) noexcept
{
    keep(last.text, failure.text);
    keep(last.name, failure.name);
    return -failure.error;
}

int report(int error, std::string_view text) noexcept
{
    keep(last.text, text);
    keep(last.name, {});
    return -error;
}

const char* last_text() noexcept
{
    return last.text.data();
}

const char* last_name() noexcept
{
    return last.name.data();
}

Failure failure_of(int error, std::string_view text)
{
    return {error, std::string(text) + ": " + words_of(error)};
}

Failure failure_of_reply(std::string_view name, std::string_view text, int error)
{
    const auto* const found = std::ranges::find(kNamed, name, &Named::name);
    if (is_end_of_connection(error) || error == ECONNREFUSED || (found != kNamed.end() && found->error == ENOTCONN)) {
        return {ENOTCONN, "rdma-qosd has gone"};
    }
    if (error == ETIMEDOUT && (found == kNamed.end() || !name.starts_with("org.rdmaqos1."))) {
        return {ETIMEDOUT, "rdma-qosd did not answer in time"};
    }
    Failure failure{found != kNamed.end() ? found->error : EIO, std::string(text), std::string(name)};
    if (failure.text.empty()) {
        failure.text = name.empty() ? words_of(error) : std::string(name);
    }
    return failure;
}

Failure no_daemon(std::string_view where, int error)
{
    return {ENOTCONN, "rdma-qosd does not answer at " + std::string(where) + " (" + words_of(error) +
                          "); start it with `systemctl start rdma-qosd`"};
}

Failure closed_at_once(std::string_view where)
{
    return {ENOTCONN, "rdma-qosd closes each connection at " + std::string(where) +
                          " at once: this user has as many as it takes (`limits: connections-per-uid` in "
                          "rdma-qosd.yaml), or it is ending"};
}

bool may_pass(const Failure& failure)
{
    // A daemon that has just been started may still look for its devices.
    constexpr std::array kPassing{EAGAIN, ETIMEDOUT, EDQUOT, EKEYREJECTED, EBADFD, ENOSPC, ENODEV, EIO};
    return std::ranges::find(kPassing, failure.error) != kPassing.end() ||
           failure.name == "org.rdmaqos1.Error.UnknownDevice";
}

bool is_loss(const Failure& failure)
{
    return failure.error == ENOTCONN;
}

}    // namespace rdmaqos::client
