#include "tools/rdma-qosctl/verbs/verb.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/api/json.h"
#include "lib/base/text.h"
#include "lib/base/try.h"
#include "lib/bus/attach.h"
#include "lib/bus/names.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/value_text.h"
#include "tools/rdma-qosctl/rendering/world_text.h"
#include "tools/rdma-qosctl/request/child.h"
#include "tools/rdma-qosctl/request/request_options.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {
namespace {

struct HoldOptions {
    RequestOptions request;
    std::vector<std::string> devices;        // of --qps; empty: the first the daemon has
    std::uint32_t count = 0;                 // --qps
    std::vector<std::string> queue_pairs;    // --qp
    bool print = false;                      // the grant, before the command starts
};

void add_options(CLI::App& command, HoldOptions& options)
{
    add_request_options(command, options.request);
    command.add_option("--device", options.devices, "Device of the queue pairs; may be repeated; none: the first")
        ->type_name("DEVICE")
        ->allow_extra_args(false);
    command.add_option("--qps", options.count, "Number of queue pairs on each device")
        ->type_name("N")
        ->check(CLI::Range(0, 1024));
    command
        .add_option("--qp", options.queue_pairs,
                    "A queue pair with path keys of its own: NUMBER|auto[:key=value,...], keys device, type and those "
                    "above; may be repeated")
        ->type_name("QP")
        ->allow_extra_args(false);
    command.add_flag("--print", options.print, "Print the grant before the command starts");
}

constexpr std::uint32_t kNumbersPerProcess = 1024;

struct Session {
    std::string path;
    api::Grant grant;
};

Result<std::string> first_device(bus::Client& client)
{
    const auto world = TRY(fetch_devices(client));
    if (world.devices.empty()) {
        return fail(ErrorCode::UnknownDevice, "queue pairs are asked for, but the daemon has no device");
    }
    return world.devices.front().key();
}

// The devices that --qps goes to, and --qp when it names none.
Result<std::vector<std::string>> devices_of(bus::Client& client, const HoldOptions& options)
{
    if (!options.devices.empty() || (options.count == 0 && options.queue_pairs.empty())) {
        return options.devices;
    }
    auto device = first_device(client);
    return device ? Result<std::vector<std::string>>(std::vector{*device}) : fail(device.error());
}

// Queue pair numbers for simulated devices, the same on each device: they only have to differ within one. A number has
// 24 bits, a pid 22: the upper 14 bits are a block of 1024 numbers, found by the pid and reserved on this host with an
// abstract socket's name for as long as this object lives.
class Numbers {
public:
    Result<std::uint32_t> next()
    {
        if (used_ == kNumbersPerProcess) {
            return fail(ErrorCode::InvalidArgument,
                        fmt::format("at most {} queue pairs can be numbered by themselves; use --qp NUMBER for more",
                                    kNumbersPerProcess));
        }
        if (!reservation_) {
            TRY(reserve());
        }
        return block_ * kNumbersPerProcess + used_++;
    }

private:
    Result<void> reserve()
    {
        constexpr std::uint32_t kBlocks = (1U << 24U) / kNumbersPerProcess;
        for (std::uint32_t i = 0; i < kBlocks; ++i) {
            block_ = (static_cast<std::uint32_t>(getpid()) + i) % kBlocks;
            if (block_ == 0) {
                continue;    // 0 and 1 are special queue pairs
            }
            UniqueFd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
            sockaddr_un address{};
            address.sun_family = AF_UNIX;
            const std::string name = fmt::format("rdma-qosctl/queue-pairs/{}", block_);
            name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
            const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
            if (fd && bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0) {    // NOLINT
                reservation_ = std::move(fd);
                return {};
            }
            if (!fd || errno != EADDRINUSE) {
                return fail(error_from_errno(ErrorCode::Io, errno, "reserving queue pair numbers"));
            }
        }
        return fail(ErrorCode::LimitReached, "all queue pair numbers are in use; use --qp NUMBER");
    }

    std::uint32_t block_ = 0;
    std::uint32_t used_ = 0;
    UniqueFd reservation_;
};

Result<std::vector<bus::Dict>> queue_pairs_of(const HoldOptions& options, const std::vector<std::string>& devices,
                                              Numbers& numbers)
{
    std::vector<bus::Dict> queue_pairs;
    for (std::uint32_t i = 0; i < options.count; ++i) {
        const auto number = numbers.next();
        if (!number) {
            return fail(number.error());
        }
        for (const auto& device : devices) {
            bus::Dict queue_pair;
            queue_pair.set("device", device);
            queue_pair.set("number", *number);
            queue_pairs.push_back(std::move(queue_pair));
        }
    }
    for (const auto& text : options.queue_pairs) {
        const auto option = TRY(parse_queue_pair_option(text));
        const auto number = option.number ? Result<std::uint32_t>(*option.number) : numbers.next();
        auto queue_pair = to_dict(option.path);
        if (!number || !queue_pair) {
            return fail(!number ? number.error() : queue_pair.error());
        }
        if (!queue_pair->contains("device")) {
            queue_pair->set("device", devices.front());
        }
        queue_pair->set("number", *number);
        if (!option.type.empty()) {
            queue_pair->set("type", option.type);
        }
        queue_pairs.push_back(std::move(*queue_pair));
    }
    return queue_pairs;
}

struct Wish {
    bus::Dict request;              // of Register, with as many queue pairs as it takes
    std::vector<bus::Dict> rest;    // attached afterwards
};

Result<Wish> make_request(bus::Client& client, const HoldOptions& options, Numbers& numbers)
{
    auto request = to_dict(options.request);
    const auto devices = devices_of(client, options);
    if (!request || !devices) {
        return fail(!request ? request.error() : devices.error());
    }
    auto queue_pairs = TRY(queue_pairs_of(options, *devices, numbers));
    if (options.devices.size() == 1) {
        request->set("device", options.devices.front());
    }
    const std::size_t taken = std::min(queue_pairs.size(), bus::names::kMostQueuePairsInACall);
    Wish wish{std::move(*request), {queue_pairs.begin() + static_cast<std::ptrdiff_t>(taken), queue_pairs.end()}};
    queue_pairs.resize(taken);
    if (taken > 0) {
        wish.request.set("queue-pairs", std::move(queue_pairs));
    }
    return wish;
}

// Refused queue pairs are told; an error only if every one was refused.
Result<void> report_refused(const std::vector<api::QueuePair>& results)
{
    std::size_t refused = 0;
    for (const auto& result : results) {
        if (!result.error.empty()) {
            ++refused;
            print_error(fmt::format("rdma-qosctl: warning: {} queue pair {} was refused: {}\n",
                                    printable(result.device), result.number, printable(result.message)));
        }
    }
    if (refused > 0 && refused == results.size()) {
        return fail(code_of_dbus_name(results.front().error),
                    fmt::format("every queue pair was refused: {}", results.front().message));
    }
    return {};
}

Result<Session> register_session(bus::Client& client, bus::Dict request)
{
    const auto reply = TRY(client.call(kManagerPath, kManagerInterface, "Register", {bus::Value(std::move(request))}));
    const auto* path = reply.size() == 2 ? reply.front().as<bus::ObjectPath>() : nullptr;
    const auto* grant = reply.size() == 2 ? reply.back().as<bus::Dict>() : nullptr;
    if (path == nullptr || grant == nullptr) {
        return fail(not_as_documented("Register"));
    }
    return Session{path->text, api::read<api::Grant>(*grant)};
}

Result<Session> make_session(bus::Client& client, Wish wish)
{
    auto session = register_session(client, std::move(wish.request));
    if (!session || wish.rest.empty()) {
        return session;
    }
    const auto more = TRY(bus::attach(client, session->path, wish.rest));
    auto& results = session->grant.queue_pairs;
    const auto rest = api::read_list<std::vector<api::QueuePair>>(more);
    results.insert(results.end(), rest.begin(), rest.end());
    return session;
}

std::string session_number(const Session& session)
{
    return session.path.substr(session.path.rfind('/') + 1);
}

void export_grant(const Session& session)
{
    const auto set = [](const char* name, const std::string& value) {
        value.empty() ? unsetenv(name) : setenv(name, value.c_str(), 1);
    };
    set("RDMA_QOS_SESSION", session.path);
    set("RDMA_QOS_LEVEL", session.grant.level);
    set("RDMA_QOS_SL", number_text(session.grant.sl));
    set("RDMA_QOS_TRAFFIC_CLASS", number_text(session.grant.traffic_class));
}

void print_grant(const Context& context, const Session& session)
{
    print(context.json ? to_text({{"session", session.path}, {"grant", api::to_json(session.grant)}})
                       : render_grant(session_number(session), session.grant, context.screen));
}

// Serves the connection until the command ends.
Result<int> wait_for_end(bus::Client& client, Child& child, bool has_command)
{
    while (true) {
        if (const auto served = client.wait_for(child.fd()); !served) {
            if (!has_command) {
                return fail(served.error());
            }
            print_error(fmt::format("rdma-qosctl: warning: the session ended, the command goes on without it: {}\n",
                                    printable(to_string(served.error()))));
            return child.wait();
        }
        if (const auto status = child.handle()) {
            return has_command ? *status : 0;
        }
    }
}

Result<int> hold(const Context& context, const HoldOptions& options)
{
    auto client = TRY(connect(context));
    Numbers numbers;
    auto request = TRY(make_request(client, options, numbers));
    const auto session = TRY(make_session(client, std::move(request)));
    TRY(report_refused(session.grant.queue_pairs));
    if (options.print || context.command.empty()) {
        print_grant(context, session);
    }
    export_grant(session);
    auto child = TRY(Child::start(context.command));
    auto status = wait_for_end(client, child, !context.command.empty());
    if (status) {
        // Closing the connection would do; this way everything is undone before we are gone.
        (void)client.call(session.path, kSessionInterface, "Release", {});
    }
    return status;
}

}    // namespace

extern const Verb kRequestVerb{
    .name = "request",
    .summary = "Hold a session while a command runs (simulated devices: with queue pairs)",
    .examples = "  rdma-qosctl request --level rpc --qps 4 --device mlx5_0 -- sleep 60\n"
                "  rdma-qosctl request --qp 17:destination=10.1.0.7 --qp auto:level=bulk,device=mlx5_1 --print",
    .takes_command = true,
    .remarks = "After the options: -- COMMAND ARGUMENTS...\n"
               "The command finds RDMA_QOS_SESSION, RDMA_QOS_LEVEL, RDMA_QOS_SL and RDMA_QOS_TRAFFIC_CLASS in its\n"
               "environment; the exit status is the command's. Without one, the session is held until a signal.\n"
               "Numbers of --qps and of `auto` come from a block of 1024 reserved for this process, found by its pid.",
    .prepare = with_options<HoldOptions, add_options, hold>,
};

}    // namespace rdmaqos::ctl
