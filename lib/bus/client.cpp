#include "lib/bus/client.h"

#include <array>
#include <cerrno>
#include <deque>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "lib/base/try.h"
#include "lib/bus/message.h"
#include "lib/bus/names.h"

namespace rdmaqos::bus {
namespace {

// For who must be quick to answer if it is there at all: a fifth of what any call may take, so 5 s.
std::uint64_t connect_timeout(sd_bus* bus)
{
    std::uint64_t of_calls = 0;
    return sd_bus_get_method_call_timeout(bus, &of_calls) >= 0 ? of_calls / 5 : 0;
}

std::uint64_t microseconds(std::chrono::milliseconds time)
{
    return static_cast<std::uint64_t>(std::chrono::microseconds(time).count());
}

Error not_there(int err, std::string_view where)
{
    return {ErrorCode::NoDaemon, err,
            fmt::format("rdma-qosd does not answer at {}; start it with `systemctl start rdma-qosd`", where)};
}

// It is there, and does not want the connection.
Error closed_at_once(int err, const std::filesystem::path& socket)
{
    return {ErrorCode::NoDaemon, err,
            fmt::format("rdma-qosd closes each connection at {} at once: this user has as many as it takes (`limits: "
                        "connections-per-uid` in rdma-qosd.yaml), or it is ending",
                        socket.string())};
}

tl::unexpected<Error> no_daemon(int err, std::string_view where)
{
    return fail(not_there(err, where));
}

ErrorCode code_of_standard_name(std::string_view name)
{
    struct Entry {
        std::string_view name;
        ErrorCode code;
    };
    static constexpr std::array kEntries{
        Entry{SD_BUS_ERROR_SERVICE_UNKNOWN, ErrorCode::NoDaemon},
        Entry{SD_BUS_ERROR_NAME_HAS_NO_OWNER, ErrorCode::NoDaemon},
        Entry{SD_BUS_ERROR_DISCONNECTED, ErrorCode::NoDaemon},
        Entry{SD_BUS_ERROR_NO_SERVER, ErrorCode::NoDaemon},
        Entry{SD_BUS_ERROR_NO_REPLY, ErrorCode::NoDaemon},
        Entry{SD_BUS_ERROR_TIMEOUT, ErrorCode::Timeout},
        Entry{SD_BUS_ERROR_INVALID_SIGNATURE, ErrorCode::InvalidArgument},
        Entry{SD_BUS_ERROR_UNKNOWN_METHOD, ErrorCode::InvalidArgument},
        Entry{SD_BUS_ERROR_UNKNOWN_INTERFACE, ErrorCode::InvalidArgument},
        Entry{SD_BUS_ERROR_UNKNOWN_PROPERTY, ErrorCode::InvalidArgument},
        Entry{SD_BUS_ERROR_UNKNOWN_OBJECT, ErrorCode::InvalidArgument},
    };
    for (const auto& entry : kEntries) {
        if (entry.name == name) {
            return entry.code;
        }
    }
    return ErrorCode::Internal;
}

Error error_of_reply(const BusError& error, int result, std::string_view where)
{
    const ErrorCode ours = code_of_dbus_name(error.name());
    if (ours != ErrorCode::Internal || error.name() == dbus_name(ErrorCode::Internal)) {
        return Error{ours, 0, std::string(error.message())};
    }
    if (result == -ETIMEDOUT || error.name() == SD_BUS_ERROR_TIMEOUT) {
        return Error{ErrorCode::Timeout, 0, "rdma-qosd did not answer in time"};
    }
    if (result == -ECONNRESET || result == -ENOTCONN || result == -EPIPE || result == -ESHUTDOWN) {
        return not_there(-result, where);
    }
    const ErrorCode code = code_of_standard_name(error.name());
    if (code == ErrorCode::NoDaemon) {
        return not_there(0, where);
    }
    if (error.name().empty()) {
        return Error{code, -result, "the call failed"};
    }
    return Error{code, 0, std::string(error.message().empty() ? error.name() : error.message())};
}

}    // namespace

struct Client::State {
    BusPtr bus;
    std::string where;                    // for messages: "/run/rdma-qos/bus", "the system bus"
    const char* destination = nullptr;    // null at the direct socket
    SlotPtr filter;
    SlotPtr match;
    SlotPtr owner_match;
    std::deque<Signal> signals;
    bool daemon_left = false;
    bool interactive = false;    // polkit may ask the user

    [[nodiscard]] Result<MessageRef> call(sd_bus_message* message, std::uint64_t timeout_usec) const;
    [[nodiscard]] Result<MessageRef> new_call(const char* path, const char* interface, const char* method) const;
    [[nodiscard]] Result<void> ping() const;
    [[nodiscard]] Result<void> watch_signals();
    // Handles what has arrived. False: nothing was there.
    [[nodiscard]] Result<bool> process() const;
    // Waits for the connection or `fd` (-1: only the connection). True: `fd` is readable.
    [[nodiscard]] Result<bool> wait(int fd) const;

    static int on_message(sd_bus_message* message, void* userdata, sd_bus_error* error) noexcept;
    static int on_owner_changed(sd_bus_message* message, void* userdata, sd_bus_error* error) noexcept;
};

namespace {

Result<BusPtr> open_direct(const std::filesystem::path& socket)
{
    sd_bus* raw = nullptr;
    if (const int result = sd_bus_new(&raw); result < 0) {
        return fail(error_from_errno(ErrorCode::Internal, -result, "sd_bus_new"));
    }
    BusPtr bus(raw);
    // Characters that would end the path in an address are escaped as the D-Bus specification says.
    std::string address = "unix:path=";
    for (const char c : socket.string()) {
        const bool plain = is_letter(c) || is_digit(c) || std::string_view("-_/.\\").find(c) != std::string_view::npos;
        address += plain ? std::string(1, c) : fmt::format("%{:02x}", static_cast<unsigned char>(c));
    }
    int result = sd_bus_set_address(raw, address.c_str());
    if (result >= 0) {
        result = sd_bus_negotiate_fds(raw, 1);
    }
    if (result >= 0) {
        result = sd_bus_start(raw);
    }
    if (result < 0) {
        return no_daemon(-result, socket.string());
    }
    return bus;
}

}    // namespace

Result<MessageRef> Client::State::new_call(const char* path, const char* interface, const char* method) const
{
    sd_bus_message* raw = nullptr;
    if (const int result = sd_bus_message_new_method_call(bus.get(), &raw, destination, path, interface, method);
        result < 0) {
        if (result == -ENOTCONN) {
            return no_daemon(ENOTCONN, where);
        }
        return fail(error_from_errno(ErrorCode::InvalidArgument, -result, fmt::format("{}.{}", interface, method)));
    }
    // Asking does not start the daemon: one that fails to start would keep the caller waiting for the bus to give up.
    sd_bus_message_set_auto_start(raw, 0);
    sd_bus_message_set_allow_interactive_authorization(raw, interactive ? 1 : 0);
    return MessageRef::adopt(raw);
}

Result<MessageRef> Client::State::call(sd_bus_message* message, std::uint64_t timeout_usec) const
{
    BusError error;
    sd_bus_message* reply = nullptr;
    const int result = sd_bus_call(bus.get(), message, timeout_usec, error.get(), &reply);
    if (result < 0) {
        return fail(error_of_reply(error, result, where));
    }
    return MessageRef::adopt(reply);
}

Result<void> Client::State::ping() const
{
    const auto message = TRY(new_call(names::kRoot, "org.freedesktop.DBus.Peer", "Ping"));
    const auto reply = TRY(call(message.get(), connect_timeout(bus.get())));
    return {};
}

Result<void> Client::State::watch_signals()
{
    if (filter) {
        return {};
    }
    sd_bus_slot* slot = nullptr;
    int result = sd_bus_add_filter(bus.get(), &slot, &State::on_message, this);
    filter.reset(slot);
    if (result >= 0 && destination != nullptr) {
        slot = nullptr;
        result = sd_bus_add_match(
            bus.get(), &slot, "type='signal',sender='org.rdmaqos1'",
            [](sd_bus_message*, void*, sd_bus_error*) { return 0; }, nullptr);
        match.reset(slot);
    }
    if (result >= 0 && destination != nullptr) {
        slot = nullptr;
        result = sd_bus_add_match(bus.get(), &slot,
                                  "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"
                                  "member='NameOwnerChanged',arg0='org.rdmaqos1'",
                                  &State::on_owner_changed, this);
        owner_match.reset(slot);
    }
    if (result < 0) {
        return no_daemon(-result, where);
    }
    return {};
}

int Client::State::on_message(sd_bus_message* message, void* userdata, sd_bus_error* /*error*/) noexcept
{
    auto& state = *static_cast<State*>(userdata);
    if (sd_bus_message_is_signal(message, nullptr, nullptr) <= 0) {
        return 0;
    }
    const char* interface = sd_bus_message_get_interface(message);
    const char* path = sd_bus_message_get_path(message);
    if (interface == nullptr || path == nullptr || !std::string_view(path).starts_with(names::kRoot)) {
        return 0;
    }
    try {
        Signal signal{path, interface, sd_bus_message_get_member(message), {}};
        auto arguments = read_arguments(message);
        if (arguments) {
            signal.arguments = std::move(*arguments);
            state.signals.push_back(std::move(signal));
        }
        sd_bus_message_rewind(message, 1);
    } catch (...) {
        return -ENOMEM;
    }
    return 0;
}

int Client::State::on_owner_changed(sd_bus_message* message, void* userdata, sd_bus_error* /*error*/) noexcept
{
    const char* name = nullptr;
    const char* old_owner = nullptr;
    const char* new_owner = nullptr;
    if (sd_bus_message_read(message, "sss", &name, &old_owner, &new_owner) > 0 && *old_owner != '\0') {
        static_cast<State*>(userdata)->daemon_left = true;
    }
    return 0;
}

Result<bool> Client::State::process() const
{
    const int result = sd_bus_process(bus.get(), nullptr);
    if (result < 0) {
        return no_daemon(-result, where);
    }
    if (daemon_left || sd_bus_is_open(bus.get()) <= 0) {
        return no_daemon(0, where);
    }
    return result > 0;
}

Result<bool> Client::State::wait(int fd) const
{
    const int events = sd_bus_get_events(bus.get());
    std::uint64_t until = UINT64_MAX;
    if (events < 0 || sd_bus_get_timeout(bus.get(), &until) < 0) {
        return no_daemon(0, where);
    }
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    const auto now_usec = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000U +
                          static_cast<std::uint64_t>(now.tv_nsec) / 1000U;
    constexpr std::uint64_t kLongestWait = 3600ULL * 1'000'000U;
    int timeout_ms = -1;
    if (until != UINT64_MAX) {
        const std::uint64_t left = until > now_usec ? std::min(until - now_usec, kLongestWait) : 0;
        timeout_ms = static_cast<int>((left + 999U) / 1000U);
    }
    std::array<pollfd, 2> fds{pollfd{sd_bus_get_fd(bus.get()), static_cast<short>(events), 0}, pollfd{fd, POLLIN, 0}};
    if (poll(fds.data(), fd < 0 ? 1 : 2, timeout_ms) < 0 && errno != EINTR) {
        return fail(error_from_errno(ErrorCode::Io, errno, "poll"));
    }
    return fd >= 0 && fds[1].revents != 0;
}

Client::Client(std::unique_ptr<State> state) : state_(std::move(state)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

Result<Client> Client::connect(const std::filesystem::path& root)
{
    const auto socket = below_root(root, names::kSocket);
    struct stat status {};
    const bool present = stat(socket.c_str(), &status) == 0 && S_ISSOCK(status.st_mode);
    Error reason{ErrorCode::NoDaemon, 0, fmt::format("there is no rdma-qosd: {} does not exist", socket.string())};
    const std::string_view advice = "; start it with `systemctl start rdma-qosd`";
    if (present) {
        auto direct = connect_direct(socket);
        if (direct) {
            return direct;
        }
        reason = std::move(direct).error();
    }
    if (!root.empty() && root != "/") {
        reason.message += present ? "" : advice;
        return fail(std::move(reason));
    }
    auto by_bus = connect_system_bus();
    if (by_bus || present) {
        return by_bus;
    }
    reason.message += by_bus.error().code == ErrorCode::NoDaemon
                          ? fmt::format(", and it does not answer at the system bus{}", advice)
                          : fmt::format("{}; the system bus: {}", advice, to_string(by_bus.error()));
    return fail(std::move(reason));
}

Result<Client> Client::connect_direct(const std::filesystem::path& socket)
{
    auto bus = open_direct(socket);
    // As many as may wait to be accepted do; the daemon is there.
    constexpr auto kPatience = std::chrono::seconds(5);
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (!bus && bus.error().sys_errno == EAGAIN && std::chrono::steady_clock::now() < until) {
        constexpr auto kPause = std::chrono::milliseconds(10);
        std::this_thread::sleep_for(kPause);
        bus = open_direct(socket);
    }
    if (!bus) {
        const int error = bus.error().sys_errno;
        return fail(error == EPIPE || error == ECONNRESET ? closed_at_once(error, socket) : std::move(bus).error());
    }
    auto state = std::make_unique<State>();
    state->bus = std::move(*bus);
    state->where = socket.string();
    if (auto answered = state->ping(); !answered) {
        Error error = std::move(answered).error();
        return fail(error.code == ErrorCode::NoDaemon && error.sys_errno != 0 ? closed_at_once(error.sys_errno, socket)
                                                                              : std::move(error));
    }
    return Client(std::move(state));
}

Result<Client> Client::connect_system_bus()
{
    auto state = std::make_unique<State>();
    state->where = "the system bus";
    state->destination = names::kService;
    sd_bus* raw = nullptr;
    if (const int result = sd_bus_open_system(&raw); result < 0) {
        return no_daemon(-result, state->where);
    }
    state->bus.reset(raw);
    TRY(state->ping());
    return Client(std::move(state));
}

void Client::allow_interaction()
{
    state_->interactive = true;
}

Result<std::vector<Value>> Client::call(const std::string& path, const std::string& interface,
                                        const std::string& method, const std::vector<Value>& arguments,
                                        std::chrono::milliseconds timeout)
{
    auto message = TRY(state_->new_call(path.c_str(), interface.c_str(), method.c_str()));
    Writer writer(message.get());
    for (const auto& argument : arguments) {
        writer.put(argument);
    }
    if (writer.result() < 0) {
        return fail(error_from_errno(ErrorCode::InvalidArgument, -writer.result(),
                                     fmt::format("an argument of {} cannot be sent", method)));
    }
    auto reply = TRY(state_->call(message.get(), microseconds(timeout)));
    return read_arguments(reply.get());
}

namespace {

// Calls that are under way together.
struct CallsOnTheWay {
    const std::string& where;
    std::size_t count = 0;

    struct One {
        CallsOnTheWay& all;
        Result<std::vector<Value>>& result;
        SlotPtr slot;
    };

    static int on_reply(sd_bus_message* reply, void* userdata, sd_bus_error* /*error*/) noexcept
    {
        auto& one = *static_cast<One*>(userdata);
        --one.all.count;
        try {
            BusError error;
            if (sd_bus_message_is_method_error(reply, nullptr) > 0) {
                sd_bus_error_copy(error.get(), sd_bus_message_get_error(reply));
                // One and the same error stands for no answer in time, and for a connection that ended.
                one.result = sd_bus_is_open(sd_bus_message_get_bus(reply)) > 0
                                 ? fail(error_of_reply(error, -sd_bus_message_get_errno(reply), one.all.where))
                                 : no_daemon(0, one.all.where);
            } else {
                one.result = read_arguments(reply);
            }
        } catch (const std::exception& problem) {
            write_log(LogLevel::Error, {}, problem.what());
        }
        return 1;
    }
};

}    // namespace

std::vector<Result<std::vector<Value>>> Client::call_each(const std::vector<std::string>& paths,
                                                          const std::string& interface, const std::string& method,
                                                          std::chrono::milliseconds timeout)
{
    constexpr std::size_t kTogether = 32;
    std::vector<Result<std::vector<Value>>> results(paths.size(),
                                                    fail(ErrorCode::NoDaemon, "the connection to rdma-qosd ended"));
    CallsOnTheWay calls{state_->where};
    std::deque<CallsOnTheWay::One> each;    // places that do not move
    for (std::size_t next = 0; next < paths.size() || calls.count > 0;) {
        if (next < paths.size() && calls.count < kTogether) {
            auto& one = each.emplace_back(CallsOnTheWay::One{calls, results[next], {}});
            const auto message = state_->new_call(paths[next++].c_str(), interface.c_str(), method.c_str());
            sd_bus_slot* slot = nullptr;
            if (message && sd_bus_call_async(state_->bus.get(), &slot, message->get(), &CallsOnTheWay::on_reply, &one,
                                             microseconds(timeout)) >= 0) {
                one.slot.reset(slot);
                ++calls.count;
            }
            continue;
        }
        const auto busy = state_->process();
        if (!busy || (!*busy && !state_->wait(-1))) {
            break;
        }
    }
    return results;
}

Result<Dict> Client::properties(const std::string& path, const std::string& interface)
{
    auto reply = TRY(call(path, "org.freedesktop.DBus.Properties", "GetAll", {Value(interface)}));
    auto* dict = reply.size() == 1 ? std::get_if<Dict>(&reply.front().data) : nullptr;
    if (dict == nullptr) {
        return fail(ErrorCode::Internal, "the answer to GetAll is not as documented");
    }
    return std::move(*dict);
}

Result<ManagedObjects> Client::managed_objects(const char* of)
{
    auto message = TRY(state_->new_call(of, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects"));
    const auto reply = TRY(state_->call(message.get(), 0));
    auto objects = TRY(read_objects(reply.get()));
    ManagedObjects result;
    for (auto& [path, interfaces] : objects) {
        auto& object = result[path];
        for (auto& [interface, properties] : interfaces) {
            object.emplace(std::move(interface), std::move(properties));
        }
    }
    return result;
}

Result<void> Client::monitor(const std::function<bool(const Signal&)>& on_signal)
{
    if (auto watching = state_->watch_signals(); !watching) {
        return watching;
    }
    TRY(call(names::kRoot, names::kManager, "Subscribe", {}));
    while (true) {
        const auto handled = state_->process();
        while (!state_->signals.empty()) {
            const Signal signal = std::move(state_->signals.front());
            state_->signals.pop_front();
            if (!on_signal(signal)) {
                return {};
            }
        }
        if (!handled) {
            return fail(handled.error());
        }
        if (!*handled) {
            TRY(state_->wait(-1));
        }
    }
}

Result<void> Client::wait_for(int fd)
{
    if (auto watching = state_->watch_signals(); !watching) {
        return watching;
    }
    while (true) {
        const auto handled = TRY(state_->process());
        state_->signals.clear();
        if (!handled) {
            const auto readable = TRY(state_->wait(fd));
            if (readable) {
                return {};
            }
        }
    }
}

}    // namespace rdmaqos::bus
