#include "tests/e2e/foreign_queue_pair.h"

#include <memory>

#include <fmt/format.h>
#include <unistd.h>

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
    std::string path = fmt::format("{}/session/{}", bus::names::kRoot, session);
    if (session == "-") {
        const auto reply = client->call(bus::names::kRoot, bus::names::kManager, "Register", {bus::Value(bus::Dict{})});
        if (!reply) {
            return failed(reply.error());
        }
        path = reply->front().as<bus::ObjectPath>()->text;
    }
    bus::Dict request;
    request.set("device", device);
    request.set("number", number);
    request.set("handle", own->all().front()->handle);
    request.set("type", "rc");
    request.set("uverbs", bus::FileDescriptor{std::make_shared<UniqueFd>(dup(own->context().cmd_fd))});
    const std::vector<bus::Dict> requests{request};
    const auto reply = client->call(path, bus::names::kSession, "Attach", {bus::Value(requests)});
    if (!reply) {
        return failed(reply.error());
    }
    const auto* results = reply->front().as<std::vector<bus::Dict>>();
    if (results == nullptr || results->size() != 1) {
        fmt::print("Attach was answered with something else than documented\n");
        return 1;
    }
    const auto& result = results->front();
    if (result.contains("error")) {
        fmt::print("{}: {}\n", text_of(result, "error"), text_of(result, "message"));
        return kRefused;
    }
    fmt::print("attached, in leaf \"{}\"\n", text_of(result, "leaf"));
    return 0;
}

}    // namespace rdmaqos::test
