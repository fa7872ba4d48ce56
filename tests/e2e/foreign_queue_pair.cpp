#include "tests/e2e/foreign_queue_pair.h"

#include <map>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "lib/base/try.h"
#include "lib/bus/client.h"
#include "lib/bus/names.h"
#include "tools/rdma-qos-sample/queue_pairs.h"

namespace rdmaqos::test {
namespace {

constexpr int kRefused = 4;

int failed(const Error& error)
{
    fmt::print("{}: {}\n", dbus_name(error.code), to_string(error));
    return error.code == ErrorCode::LevelNotAllowed || error.code == ErrorCode::NotOwner ? kRefused : 1;
}

std::string text_of(const bus::Dict& dict, std::string_view key)
{
    const auto* value = dict.find(key);
    const auto* text = value == nullptr ? nullptr : value->as<std::string>();
    return text == nullptr ? std::string() : *text;
}

// The path of a session of its own.
Result<std::string> register_session(bus::Client& client)
{
    const auto reply = TRY(client.call(bus::names::kRoot, bus::names::kManager, "Register", {bus::Value(bus::Dict{})}));
    return reply.front().as<bus::ObjectPath>()->text;
}

// The queue pair `number`, by the file and with the handle of `own`. The result, as in docs/dbus.md.
Result<bus::Dict> attach(bus::Client& client, const std::string& session, const std::string& device,
                         const sample::QueuePairs& own, std::uint32_t number)
{
    bus::Dict request;
    request.set("device", device);
    request.set("number", number);
    request.set("handle", own.all().front()->handle);
    request.set("type", "rc");
    request.set("uverbs", bus::FileDescriptor{std::make_shared<UniqueFd>(dup(own.context().cmd_fd))});
    const std::vector<bus::Dict> requests{request};
    const auto reply = TRY(client.call(session, bus::names::kSession, "Attach", {bus::Value(requests)}));
    const auto* results = reply.front().as<std::vector<bus::Dict>>();
    if (results == nullptr || results->size() != 1) {
        return fail(ErrorCode::Internal, "Attach was answered with something else than documented");
    }
    return results->front();
}

// Why the daemon does not attach it; empty: it does.
Result<std::string> attach_one_more(bus::Client& client, const std::string& device,
                                    std::vector<sample::QueuePairs>& files)
{
    auto made = TRY(sample::QueuePairs::make(device, 1, IBV_QPT_RC, 1));
    const auto& own = files.emplace_back(std::move(made));
    const auto session = TRY(register_session(client));
    const auto result = TRY(attach(client, session, device, own, own.all().front()->qp_num));
    return result.contains("error") ? fmt::format("{}: {}", text_of(result, "error"), text_of(result, "message")) : "";
}

}    // namespace

int attach_foreign(const std::string& device, const std::string& session, std::uint32_t number)
{
    auto own = sample::QueuePairs::make(device, 1, IBV_QPT_RC, 1);
    if (!own) {
        return failed(own.error());
    }
    auto client = bus::Client::connect_direct(bus::names::kSocket);
    if (!client) {
        return failed(client.error());
    }
    auto path = session == "-" ? register_session(*client) : fmt::format("{}/session/{}", bus::names::kRoot, session);
    if (!path) {
        return failed(path.error());
    }
    const auto result = attach(*client, *path, device, *own, number);
    if (!result) {
        return failed(result.error());
    }
    if (result->contains("error")) {
        fmt::print("{}: {}\n", text_of(*result, "error"), text_of(*result, "message"));
        return kRefused;
    }
    fmt::print("attached, in leaf \"{}\"\n", text_of(*result, "leaf"));
    return 0;
}

int attach_many_files(const std::string& device, std::size_t count)
{
    auto client = bus::Client::connect_direct(bus::names::kSocket);
    if (!client) {
        return failed(client.error());
    }
    std::vector<sample::QueuePairs> files;
    std::map<std::string, std::size_t> refusals;
    for (std::size_t number = 0; number < count; ++number) {
        const auto refusal = attach_one_more(*client, device, files);
        if (!refusal) {
            return failed(refusal.error());
        }
        ++refusals[*refusal];
    }
    fmt::print("attached {}\n", refusals[""]);
    refusals.erase("");
    for (const auto& [refusal, times] : refusals) {
        fmt::print("refused {}: {}\n", times, refusal);
    }
    std::fflush(stdout);
    pause();
    return 0;
}

}    // namespace rdmaqos::test
