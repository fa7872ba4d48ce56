#include "daemon/bus/session_object.h"

#include <memory>
#include <vector>

#include "daemon/bus/endpoint.h"
#include "daemon/bus/object_paths.h"
#include "daemon/bus/slices.h"
#include "daemon/service/client_log.h"
#include "daemon/service/limits.h"
#include "daemon/service/policy_in_force.h"
#include "daemon/service/session_calls.h"
#include "daemon/service/session_reports.h"

namespace rdmaqos {
namespace {

using bus::Writer;

SessionId session_of(const Call& call)
{
    return session_of_path(sd_bus_message_get_path(call.message())).value_or(SessionId{});
}

// Written in about the time of a short call.
constexpr std::size_t kQueuePairsForOneCall = 16;

Result<QueuePairName> read_name(const Call& call)
{
    const char* device = nullptr;
    QueuePairName name;
    if (const int result = sd_bus_message_read(call.message(), "su", &device, &name.number); result <= 0) {
        return fail(Error{ErrorCode::InvalidArgument, -result, "the message cannot be read"});
    }
    name.device = device;
    return name;
}

void on_attach(BusEndpoint& endpoint, const Call& call, const Peer& peer)
{
    auto& context = endpoint.context;
    const auto dicts = bus::read_dicts(call.message(), call.limits());
    if (!dicts) {
        call.refuse(dicts.error());
        return;
    }
    const auto policy = context.service.in_force().policy();
    if (dicts->size() > kMostQueuePairsInACall) {
        call.refuse(too_many_queue_pairs(dicts->size()));
        return;
    }
    endpoint.charge(call.message(), dicts->size());
    auto arguments = to_queue_pairs(*dicts, context.names(policy, peer.identity->account()));
    context.service.session_calls().attach(peer.id, session_of(call), std::move(arguments.requests),
                                           [call, client = peer.identity, refused = std::move(arguments.refused)](
                                               Result<std::vector<QueuePairResult>> results) {
                                               if (!results) {
                                                   log_refused(*client, "is refused queue pairs", results.error());
                                                   call.refuse(results.error());
                                                   return;
                                               }
                                               const auto all = merge(std::move(*results), refused);
                                               call.count_refused(all);
                                               call.reply([&](Writer& writer) { write(writer, all); });
                                           });
}

void on_detach(BusEndpoint& endpoint, const Call& call, const Peer& peer)
{
    const auto name = read_name(call);
    if (!name) {
        call.refuse(name.error());
        return;
    }
    endpoint.context.service.session_calls().detach(peer.id, session_of(call), name->device, name->number,
                                                    [call](const Result<void>& result) { call.answer(result); });
}

void on_set_rate(BusEndpoint& endpoint, const Call& call, const Peer& peer)
{
    const auto name = read_name(call);
    if (!name) {
        call.refuse(name.error());
        return;
    }
    const auto dict = bus::read_dict(call.message(), call.limits());
    const auto rate = dict ? to_rate_limit(*dict) : Result<std::optional<RateLimit>>(fail(dict.error()));
    if (!rate) {
        call.refuse(rate.error());
        return;
    }
    endpoint.context.service.session_calls().set_rate(peer.id, session_of(call), name->device, name->number, *rate,
                                                      [call](const Result<void>& result) { call.answer(result); });
}

void on_release(BusEndpoint& endpoint, const Call& call, const Peer& peer)
{
    endpoint.context.service.session_calls().release(peer.id, session_of(call),
                                                     [call](const Result<void>& result) { call.answer(result); });
}

void on_list_queue_pairs(BusEndpoint& endpoint, const Call& call, const Peer& peer)
{
    struct QueuePairListing {
        Call call;
        bus::MessageRef reply;
        Writer writer;
        SessionId session;
        std::optional<QueuePairName> last{};

        // One queue pair, or the end; false when it is done.
        bool step(const Service& of)
        {
            if (!reply || !call.is_wanted()) {
                return false;
            }
            last = of.sessions().next_queue_pair(session, last);
            if (!last) {
                writer.close();
                call.finish_reply(reply, writer.result());
                return false;
            }
            if (const auto result = of.sessions().queue_pair(last->device, last->number)) {
                write(writer, *result);
            }
            return true;
        }
    };
    auto& service = endpoint.context.service;
    const SessionId id = session_of(call);
    const auto taken = endpoint.context.long_answers.write(
        peer.identity->account(), [&service, call, id, account = peer.identity->account()] {
            auto reply = call.begin_reply();
            auto listing = std::make_shared<QueuePairListing>(QueuePairListing{call, reply, Writer(reply.get()), id});
            service.limits().charge(account, service.sessions().queue_pair_count(id) / kQueuePairsForOneCall);
            if (reply) {
                listing->writer.open('a', "a{sv}");
            }
            return [&service, listing] { return listing->step(service); };
        });
    if (!taken) {
        call.refuse(taken.error());
    }
}

// What a getter writes when the session has just ended: an empty value of the property's type.
const SessionInfo& session_at(BusContext& context, const char* path)
{
    static const SessionInfo kEnded;
    const auto id = session_of_path(path);
    const auto* info = id ? context.session(*id) : nullptr;
    return info == nullptr ? kEnded : *info;
}

void get_owner(BusContext& context, const char* path, Writer& writer)
{
    const SessionInfo& session = session_at(context, path);
    const Peer* peer = context.asking();
    // The kernel shows what a process runs to who may trace it: root, and the process itself. A daemon that an ordinary
    // user runs has seen no more than that user may.
    if (peer != nullptr && (peer->identity->administrator || peer->id == session.peer)) {
        write(writer, session.owner);
        return;
    }
    Identity owner = session.owner;
    owner.executable.clear();
    write(writer, owner);
}

void get_adopted(BusContext& context, const char* path, Writer& writer)
{
    writer.put(session_at(context, path).adopted);
}

void get_state(BusContext& context, const char* path, Writer& writer)
{
    writer.put(to_string(session_at(context, path).state));
}

void get_level(BusContext& context, const char* path, Writer& writer)
{
    writer.put(session_at(context, path).grant.level);
}

void get_grant(BusContext& context, const char* path, Writer& writer)
{
    write(writer, session_at(context, path).grant);
}

const sd_bus_vtable kSessionMethods[] = {
    SD_BUS_METHOD_WITH_ARGS("Attach", SD_BUS_ARGS("aa{sv}", queue_pairs), SD_BUS_RESULT("aa{sv}", results),
                            method<on_attach>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("Detach", SD_BUS_ARGS("s", device, "u", number), SD_BUS_NO_RESULT, method<on_detach>,
                            kOpen),
    SD_BUS_METHOD_WITH_ARGS("SetRate", SD_BUS_ARGS("s", device, "u", number, "a{sv}", rate), SD_BUS_NO_RESULT,
                            method<on_set_rate>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("Release", SD_BUS_NO_ARGS, SD_BUS_NO_RESULT, method<on_release>, kOpen),
    // No property: there may be thousands, and a list of sessions does not need them.
    SD_BUS_METHOD_WITH_ARGS("ListQueuePairs", SD_BUS_NO_ARGS, SD_BUS_RESULT("aa{sv}", queue_pairs),
                            method<on_list_queue_pairs>, kOpen),
};

constexpr Property kSessionProperties[] = {
    property<get_owner>("Owner", "a{sv}", kConst),   property<get_adopted>("Adopted", "b", kConst),
    property<get_state>("State", "s", kChanges),     property<get_level>("Level", "s", kChanges),
    property<get_grant>("Grant", "a{sv}", kChanges),
};

const sd_bus_vtable kSessionSignals[] = {
    SD_BUS_SIGNAL_WITH_ARGS("GrantChanged", SD_BUS_ARGS("a{sv}", grant), 0),
};

}    // namespace

std::span<const Property> session_properties()
{
    return kSessionProperties;
}

const sd_bus_vtable* session_vtable()
{
    static const auto kVtable = make_vtable(kSessionMethods, kSessionProperties, kSessionSignals);
    return kVtable.data();
}

}    // namespace rdmaqos
