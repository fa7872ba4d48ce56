#include "tools/rdma-qos-sample/session.h"

#include <algorithm>
#include <map>
#include <memory>

#include <fcntl.h>
#include <fmt/format.h>

#include "lib/base/text.h"
#include "lib/base/try.h"
#include "lib/base/units.h"
#include "lib/bus/attach.h"
#include "lib/bus/names.h"

namespace rdmaqos::sample {
namespace {

std::string text_of(const bus::Dict& dict, std::string_view key)
{
    const auto* value = dict.find(key);
    const auto* text = value == nullptr ? nullptr : value->as<std::string>();
    return text == nullptr ? std::string() : *text;
}

const char* type_of(const ibv_qp& queue_pair)
{
    switch (queue_pair.qp_type) {
    case IBV_QPT_UC:
        return "uc";
    case IBV_QPT_UD:
        return "ud";
    case IBV_QPT_RAW_PACKET:
        return "raw-packet";
    default:
        return "rc";
    }
}

// How the daemon finds a queue pair: by its handle in our open file, checked against its number and type. Path keys are
// for the rules of the policy; they are our claim, and the daemon marks what it concludes from them so.
bus::Dict describe_queue_pair(ibv_qp& queue_pair, const std::string& device, const std::string& destination)
{
    bus::Dict dict;
    dict.set("device", device);
    dict.set("handle", queue_pair.handle);
    dict.set("number", queue_pair.qp_num);
    dict.set("type", type_of(queue_pair));
    if (queue_pair.qp_type == IBV_QPT_RAW_PACKET) {
        dict.set("sq-number", send_queue_number(queue_pair));
    }
    if (!destination.empty()) {
        dict.set("destination", destination);
    }
    return dict;
}

Result<Session> register_session(bus::Client& client, const Wish& wish)
{
    bus::Dict request;
    request.set("device", wish.device);
    if (!wish.level.empty()) {
        request.set("level", wish.level);
    }
    const auto reply = TRY(
        client.call(bus::names::kRoot, bus::names::kManager, "Register", {bus::Value(std::move(request))}));
    const auto* path = reply.size() == 2 ? reply.front().as<bus::ObjectPath>() : nullptr;
    const auto* grant = reply.size() == 2 ? reply.back().as<bus::Dict>() : nullptr;
    if (path == nullptr || grant == nullptr) {
        return fail(ErrorCode::Internal, "Register was answered with something else than documented");
    }
    return Session{path->text, *grant, {}};
}

}    // namespace

Result<Session> join(bus::Client& client, const Wish& wish, const QueuePairs& queue_pairs)
{
    auto session = register_session(client, wish);
    if (!session) {
        return session;
    }
    std::vector<bus::Dict> dicts;
    for (ibv_qp* each : queue_pairs.all()) {
        const std::string& destination = wish.destinations.empty()
                                             ? std::string()
                                             : wish.destinations[dicts.size() % wish.destinations.size()];
        dicts.push_back(describe_queue_pair(*each, wish.device, destination));
    }
    if (!dicts.empty()) {
        // Once is enough: what has no descriptor of its own is in the file that the session has brought. A message
        // carries at most 253 of them. It is a copy, because what goes into a message is closed with it.
        const int copy = fcntl(queue_pairs.context().cmd_fd, F_DUPFD_CLOEXEC, 0);
        dicts.front().set("uverbs", bus::FileDescriptor{std::make_shared<UniqueFd>(copy)});
    }
    session->results = TRY(bus::attach(client, session->path, dicts));
    return session;
}

bool all_refused(const Session& session)
{
    return !session.results.empty() &&
           std::ranges::all_of(session.results, [](const auto& result) { return result.contains("error"); });
}

std::string describe(const Session& session)
{
    // A line for a hundred queue pairs: those with the same fate are counted together.
    std::map<std::string, std::size_t> fates;
    for (const auto& result : session.results) {
        if (result.contains("error")) {
            ++fates["refused: " + text_of(result, "message")];
            continue;
        }
        const std::string leaf = text_of(result, "leaf");
        const std::string reason = text_of(result, "reason");
        ++fates[(leaf.empty() ? "in no leaf" : "in " + leaf) + (reason.empty() ? "" : " (" + reason + ")")];
    }
    std::string text = fmt::format("session {}: level {}", session.path.substr(session.path.rfind('/') + 1),
                                   text_of(session.grant, "level"));
    if (const auto* rate = session.grant.find("max-rate-now"); rate != nullptr && rate->as_unsigned()) {
        text += fmt::format(", at most {}", to_string(Bandwidth::from_kbps(*rate->as_unsigned())));
    }
    for (const auto& [fate, count] : fates) {
        text += fmt::format(", {} {}", counted(count, "queue pair"), fate);
    }
    return printable(text);
}

}    // namespace rdmaqos::sample
