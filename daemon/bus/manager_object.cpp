#include "daemon/bus/manager_object.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "daemon/bus/authorize.h"
#include "daemon/bus/convert_report.h"
#include "daemon/bus/counter_listing.h"
#include "daemon/bus/endpoint.h"
#include "daemon/bus/host_listing.h"
#include "daemon/bus/object_paths.h"
#include "daemon/bus/sent_policy.h"
#include "daemon/bus/slices.h"
#include "daemon/bus/trial_calls.h"
#include "daemon/metrics/metrics_text.h"
#include "daemon/service/adoption.h"
#include "daemon/service/context.h"
#include "daemon/service/device_control.h"
#include "daemon/service/device_table.h"
#include "daemon/service/metrics_collector.h"
#include "daemon/service/path_queries.h"
#include "daemon/service/plans.h"
#include "daemon/service/policy_in_force.h"
#include "daemon/service/reloads.h"
#include "daemon/service/session_calls.h"
#include "daemon/service/tally.h"
#include "lib/api/report.h"
#include "lib/base/version.h"
#include "lib/bus/names.h"
#include "policy/explain/explain_render.h"
#include "policy/path/multi_path.h"

namespace rdmaqos {
namespace {

using bus::Writer;

// Answered in about the time of a short call.
constexpr std::size_t kPathsForOneCall = 8;

// ---- calls of clients ----

// What is asked for by the call's one dictionary; where that is wrong, the call is refused.
template <typename T>
std::optional<T> asked_by(BusEndpoint& endpoint, const Call& call, const Peer& peer,
                          Result<T> (*convert)(const bus::Dict&, const Names&))
{
    const auto dict = bus::read_dict(call.message(), call.limits());
    if (!dict) {
        call.refuse(dict.error());
        return std::nullopt;
    }
    const auto policy = endpoint.context.service.in_force().policy();
    auto asked = convert(*dict, endpoint.context.names(policy, peer.identity->account()));
    if (!asked) {
        call.refuse(asked.error());
        return std::nullopt;
    }
    return std::move(*asked);
}

void on_register(BusEndpoint& endpoint, const Call& call, const Peer& peer)
{
    auto& context = endpoint.context;
    auto arguments = asked_by(endpoint, call, peer, to_register_arguments);
    if (!arguments) {
        return;
    }
    context.service.session_calls().register_session(
        peer.id, peer.identity, std::move(arguments->request),
        [call, refused = std::move(arguments->refused)](Result<RegisterReply> reply) {
            if (!reply) {
                call.refuse(reply.error());
                return;
            }
            if (!refused.empty()) {
                reply->queue_pairs = merge(std::move(reply->queue_pairs), refused);
            }
            call.count_refused(reply->queue_pairs);
            call.reply([&](Writer& writer) {
                writer.put(bus::ObjectPath{session_path(reply->session)});
                write(writer, *reply);
            });
        });
}

// The answers to a query of many pairs, which takes a while.
class PathAnswers {
public:
    PathAnswers(const Call& call, PathRequests requests, std::shared_ptr<const Identity> identity)
        : call_(call), requests_(std::move(requests)), identity_(std::move(identity)), reply_(call.begin_reply()),
          writer_(reply_.get())
    {
        if (reply_) {
            writer_.open('a', "a{sv}");
        }
    }

    // One pair, or the end; false when it is done.
    bool step(const Service& service)
    {
        if (!reply_ || !call_.is_wanted()) {
            return false;
        }
        if (next_ == requests_.size()) {
            finish();
            return false;
        }
        const Request request = requests_[next_++];
        const auto answer = service.paths().query(request, *identity_);
        if (!answer) {
            missing_.add(request, answer.error());
        }
        write(writer_, request, answer);
        return true;
    }

private:
    void finish()
    {
        if (missing_.count() < requests_.size()) {
            writer_.close();
            call_.finish_reply(reply_, writer_.result());
        } else {
            call_.refuse(missing_.none_at_all());
        }
    }

    Call call_;
    PathRequests requests_;
    std::shared_ptr<const Identity> identity_;
    bus::MessageRef reply_;
    Writer writer_;
    std::size_t next_ = 0;
    MissingPairs missing_;
};

void on_query_path(BusEndpoint& endpoint, const Call& call, const Peer& peer)
{
    auto& context = endpoint.context;
    auto requests = asked_by(endpoint, call, peer, to_path_requests);
    if (!requests) {
        return;
    }
    endpoint.charge(call.message(), requests->size() / kPathsForOneCall);
    const auto taken = context.long_answers.write(
        peer.identity->account(),
        [&service = context.service, call, identity = peer.identity, requests = std::move(*requests)] {
            auto answers = std::make_shared<PathAnswers>(call, requests, identity);
            return [&service, answers] { return answers->step(service); };
        });
    if (!taken) {
        call.refuse(taken.error());
    }
}

void on_explain(BusEndpoint& endpoint, const Call& call, const Peer& peer)
{
    auto& context = endpoint.context;
    const auto asked = asked_by(endpoint, call, peer, to_explain_request);
    if (!asked) {
        return;
    }
    const auto policy = context.service.in_force().policy();
    const auto explanation = context.service.paths().explain(asked->request, *peer.identity);
    if (!explanation) {
        call.refuse(explanation.error());
        return;
    }
    call.reply_text(asked->format == ExplainFormat::Json ? explanation_to_json(*policy, *explanation)
                                                         : render_explanation(*policy, *explanation));
}

void on_metrics(BusEndpoint& endpoint, const Call& call, const Peer& peer)
{
    auto& context = endpoint.context;
    context.service.metrics().collect([&context, call, account = peer.identity->account()](const Metrics& metrics) {
        // All who have asked meanwhile are answered one after another: it is written once for them.
        if (!context.metrics_text) {
            context.metrics_text = std::make_shared<const std::string>(to_prometheus(metrics));
            context.loop.post([&context] { context.metrics_text.reset(); });
        }
        const auto taken = context.long_answers.write(account, [call, text = context.metrics_text] {
            return [call, text] {
                call.reply_text(*text);
                return false;
            };
        });
        if (!taken) {
            call.refuse(taken.error());
        }
    });
}

void on_subscribe(BusEndpoint& endpoint, const Call& call, const Peer& peer)
{
    // The system bus distributes signals itself: there is nothing to subscribe to.
    call.answer(endpoint.is_system_bus() ? Result<void>() : endpoint.subscribe(peer.identity->account()));
}

void on_unsubscribe(BusEndpoint& endpoint, const Call& call, const Peer& /*peer*/)
{
    if (!endpoint.is_system_bus()) {
        endpoint.unsubscribe();
    }
    call.reply();
}

// ---- policy ----

void on_check(BusEndpoint& endpoint, const Call& call, const Peer& peer)
{
    const auto value = bus::read_value(call.message(), call.limits());
    if (!value) {
        call.refuse(value.error());
        return;
    }
    auto& service = endpoint.context.service;
    auto source = sent_policy(*value);
    if (!source) {
        call.refuse(source.error());
        return;
    }
    service.plans().check(std::move(*source), peer.identity->account(), [call](const Result<ReloadOutcome>& outcome) {
        call.answer(outcome, Quote::Lines);    // it is the caller's own text
    });
}

void on_plan(BusEndpoint& endpoint, const Call& call, const Peer& peer)
{
    const auto dict = bus::read_dict(call.message(), call.limits());
    if (!dict) {
        call.refuse(dict.error());
        return;
    }
    for (const auto& [key, value] : dict->entries()) {
        if (key != "policy" && !key.starts_with("x-")) {
            call.refuse({ErrorCode::InvalidArgument, 0, "Plan has the option `policy` and no other"});
            return;
        }
    }
    auto& service = endpoint.context.service;
    const auto* value = dict->find("policy");
    if (value == nullptr) {
        service.plans().plan(std::nullopt, peer.identity->account(),
                             [call, quote = rdmaqos::quote_for(*peer.identity)](const Result<PlanReport>& report) {
                                 call.answer(report, quote);
                             });
        return;
    }
    auto source = sent_policy(*value);
    if (!source) {
        call.refuse(source.error());
        return;
    }
    service.plans().plan(std::move(*source), peer.identity->account(),
                         [call](const Result<PlanReport>& report) { call.answer(report, Quote::Lines); });
}

// ---- management ----

// `ask`: for the host's files.
template <auto ask>
void on_read_files(BusEndpoint& endpoint, const Call& call, const Peer& peer)
{
    auto& service = endpoint.context.service;
    when_authorized(endpoint, call, peer, Action::Reload, [&service, call] {
        (service.reloads().*ask)([call](const ReloadOutcome& outcome) {
            if (outcome.accepted) {
                call.reply([&](Writer& writer) { write(writer, outcome, Quote::Lines); });
            } else {
                call.refuse({ErrorCode::InvalidPolicy, 0, outcome.why_refused()});
            }
        });
    });
}

constexpr Handler kReload = on_read_files<&Reloads::reload>;
constexpr Handler kRefresh = on_read_files<&Reloads::refresh>;

// `ask`: of every device.
template <auto ask, typename T>
void on_all(BusEndpoint& endpoint, const Call& call, const Peer& peer)
{
    auto& service = endpoint.context.service;
    when_authorized(endpoint, call, peer, Action::Manage, [&service, call] {
        (service.device_control().*ask)("", [call](const Result<std::vector<T>>& results) { call.answer(results); });
    });
}

constexpr Handler kReconcileAll = on_all<&DeviceControl::reconcile, DeviceReconcile>;
constexpr Handler kVerifyAll = on_all<&DeviceControl::verify, DeviceDrift>;
constexpr Handler kDisableAll = on_all<&DeviceControl::disable, DeviceReconcile>;
constexpr Handler kEnableAll = on_all<&DeviceControl::enable, DeviceReconcile>;

Result<std::string> read_text(const Call& call)
{
    const char* text = nullptr;
    if (const int result = sd_bus_message_read_basic(call.message(), 's', &text); result <= 0) {
        return fail(Error{ErrorCode::InvalidArgument, -result, "the message cannot be read"});
    }
    return std::string(text);
}

// What is not here has no object.
void on_enable_device(BusEndpoint& endpoint, const Call& call, const Peer& peer)
{
    const auto name = read_text(call);
    if (!name) {
        call.refuse(name.error());
        return;
    }
    if (name->empty()) {
        call.refuse({ErrorCode::InvalidArgument, 0, "`EnableDevice` needs a device; `EnableAll` is for all"});
        return;
    }
    auto& service = endpoint.context.service;
    when_authorized(
        endpoint, call, peer, Action::Manage,
        [&service, call, name = *name] { service.device_control().enable(name, call.reply_of_device()); }, *name);
}

void on_get_device(BusEndpoint& endpoint, const Call& call, const Peer& /*peer*/)
{
    const auto name = read_text(call);
    const auto key = name ? endpoint.context.service.devices().find_key(*name)
                          : Result<std::string>(fail(name.error()));
    if (key) {
        call.reply([&](Writer& writer) { writer.put(bus::ObjectPath{device_path(*key)}); });
    } else {
        call.refuse(key.error());
    }
}

void on_list_levels(BusEndpoint& endpoint, const Call& call, const Peer& /*peer*/)
{
    auto& service = endpoint.context.service;
    const auto& uses = endpoint.context.level_uses();
    call.reply([&](Writer& writer) {
        writer.open('a', "a{sv}");
        if (const auto policy = service.in_force().policy()) {
            for (const auto& level : policy->levels) {
                const auto use = uses.find(level.name);
                write(writer, *policy, level, use == uses.end() ? LevelUse{} : use->second);
            }
        }
        writer.close();
    });
}

void on_count_sessions(BusEndpoint& endpoint, const Call& call, const Peer& /*peer*/)
{
    call.reply([&](Writer& writer) { write(writer, endpoint.context.session_counts()); });
}

// ---- properties ----

// A getter knows who asks only by the message that is being served. There is none for a signal, which goes to
// everybody; and polkit is not asked for a property.
Quote quote_for(const BusContext& context)
{
    const Peer* peer = context.asking();
    return peer == nullptr ? Quote::Nothing : rdmaqos::quote_for(*peer->identity);
}

void get_version(BusContext& /*context*/, const char* /*path*/, Writer& writer)
{
    writer.put(kVersion);
}

void get_features(BusContext& context, const char* /*path*/, Writer& writer)
{
    writer.put(context.service.features());
}

void get_mode(BusContext& context, const char* /*path*/, Writer& writer)
{
    writer.put(to_string(context.service.in_force().settings().mode));
}

void get_revision(BusContext& context, const char* /*path*/, Writer& writer)
{
    const auto policy = context.service.in_force().policy();
    writer.put(policy ? policy->revision : std::string());
}

void get_sources(BusContext& context, const char* /*path*/, Writer& writer)
{
    std::vector<std::string> names;
    if (const auto policy = context.service.in_force().policy()) {
        for (const auto& source : policy->sources) {
            names.push_back(source->name);
        }
    }
    writer.put(names);
}

void get_last_reload(BusContext& context, const char* /*path*/, Writer& writer)
{
    write(writer, context.service.in_force().last_reload, quote_for(context));
}

void get_last_good_reload(BusContext& context, const char* /*path*/, Writer& writer)
{
    const WallTime at = context.service.tally().counters().last_good_reload.value_or(WallTime());
    const auto seconds = std::chrono::floor<std::chrono::seconds>(at.time_since_epoch()).count();
    writer.put(static_cast<std::uint64_t>(seconds));
}

void get_fabric_diagnostics(BusContext& context, const char* /*path*/, Writer& writer)
{
    write(writer, context.service.in_force().fabric_diagnostics, quote_for(context));
}

void get_released(BusContext& context, const char* /*path*/, Writer& writer)
{
    writer.put(context.service.devices().released_keys());
}

void get_refused(BusContext& context, const char* /*path*/, Writer& writer)
{
    write(writer, context.service.devices().all_refused());
}

void get_state_failures(BusContext& context, const char* /*path*/, Writer& writer)
{
    api::write(writer, rdmaqos::to_record(context.service.context().state_failures));
}

void get_statistics(BusContext& context, const char* /*path*/, Writer& writer)
{
    const auto& counters = context.counters;
    const auto& tally = context.service.tally().counters();
    writer.put(api::to_counts(api::ManagerStatistics{counters.calls, counters.refused, counters.connections,
                                                     tally.sessions, context.session_ids.size(),
                                                     tally.reloads_accepted + tally.reloads_refused}));
}

void get_adoption(BusContext& context, const char* /*path*/, Writer& writer)
{
    write(writer, context.service.adoption().status());
}

const sd_bus_vtable kManagerMethods[] = {
    SD_BUS_METHOD_WITH_ARGS("Register", SD_BUS_ARGS("a{sv}", request), SD_BUS_RESULT("o", session, "a{sv}", grant),
                            method<on_register>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("QueryPath", SD_BUS_ARGS("a{sv}", request), SD_BUS_RESULT("aa{sv}", answers),
                            method<on_query_path>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("Explain", SD_BUS_ARGS("a{sv}", request), SD_BUS_RESULT("s", text), method<on_explain>,
                            kOpen),
    SD_BUS_METHOD_WITH_ARGS("Reload", SD_BUS_NO_ARGS, SD_BUS_RESULT("a{sv}", report), method<kReload>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("Refresh", SD_BUS_NO_ARGS, SD_BUS_RESULT("a{sv}", report), method<kRefresh>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("Try", SD_BUS_ARGS("h", policy, "u", timeout), SD_BUS_RESULT("a{sv}", report),
                            method<on_try>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("TriedText", SD_BUS_NO_ARGS, SD_BUS_RESULT("s", text), method<on_tried_text>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("RunningFiles", SD_BUS_NO_ARGS, SD_BUS_RESULT("aa{sv}", files), method<on_running_files>,
                            kOpen),
    SD_BUS_METHOD_WITH_ARGS("Confirm", SD_BUS_ARGS("s", revision), SD_BUS_NO_RESULT, method<on_confirm>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("Revert", SD_BUS_NO_ARGS, SD_BUS_RESULT("a{sv}", report), method<on_revert>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("Check", SD_BUS_ARGS("h", policy), SD_BUS_RESULT("a{sv}", report), method<on_check>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("Plan", SD_BUS_ARGS("a{sv}", options), SD_BUS_RESULT("a{sv}", report), method<on_plan>,
                            kOpen),
    SD_BUS_METHOD_WITH_ARGS("GetDevice", SD_BUS_ARGS("s", name), SD_BUS_RESULT("o", device), method<on_get_device>,
                            kOpen),
    SD_BUS_METHOD_WITH_ARGS("ReconcileAll", SD_BUS_NO_ARGS, SD_BUS_RESULT("aa{sv}", results), method<kReconcileAll>,
                            kOpen),
    SD_BUS_METHOD_WITH_ARGS("VerifyAll", SD_BUS_NO_ARGS, SD_BUS_RESULT("aa{sv}", drift), method<kVerifyAll>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("DisableAll", SD_BUS_NO_ARGS, SD_BUS_RESULT("aa{sv}", results), method<kDisableAll>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("EnableAll", SD_BUS_NO_ARGS, SD_BUS_RESULT("aa{sv}", results), method<kEnableAll>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("EnableDevice", SD_BUS_ARGS("s", name), SD_BUS_RESULT("a{sv}", result),
                            method<on_enable_device>, kOpen),
    // No property: the use of a level changes with every session.
    SD_BUS_METHOD_WITH_ARGS("ListLevels", SD_BUS_NO_ARGS, SD_BUS_RESULT("aa{sv}", levels), method<on_list_levels>,
                            kOpen),
    SD_BUS_METHOD_WITH_ARGS("ListQueuePairs", SD_BUS_ARGS("a{sv}", options), SD_BUS_RESULT("aa{sv}", queue_pairs),
                            method<on_list_queue_pairs>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("CountQueuePairs", SD_BUS_NO_ARGS, SD_BUS_RESULT("aa{sv}", counts),
                            method<on_count_queue_pairs>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("ListCounters", SD_BUS_NO_ARGS, SD_BUS_RESULT("aa{sv}", counters, "aa{sv}", ports),
                            method<on_list_counters>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("ListSessions", SD_BUS_ARGS("a{sv}", options), SD_BUS_RESULT("aa{sv}", sessions),
                            method<on_list_sessions>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("CountMarks", SD_BUS_NO_ARGS, SD_BUS_RESULT("aa{sv}", counts), method<on_count_marks>,
                            kOpen),
    SD_BUS_METHOD_WITH_ARGS("CountSessions", SD_BUS_NO_ARGS, SD_BUS_RESULT("aa{sv}", counts), method<on_count_sessions>,
                            kOpen),
    SD_BUS_METHOD_WITH_ARGS("Metrics", SD_BUS_NO_ARGS, SD_BUS_RESULT("s", text), method<on_metrics>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("Subscribe", SD_BUS_NO_ARGS, SD_BUS_NO_RESULT, method<on_subscribe>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("Unsubscribe", SD_BUS_NO_ARGS, SD_BUS_NO_RESULT, method<on_unsubscribe>, kOpen),
};

constexpr Property kManagerProperties[] = {
    property<get_version>("Version", "s", kConst),
    property<get_features>("Features", "as", kChanges),
    property<get_mode>("Mode", "s", kChanges),
    property<get_revision>("PolicyRevision", "s", kChanges),
    property<get_sources>("PolicySources", "as", kChanges),
    property<get_last_reload>("LastReload", "a{sv}", kChanges),
    property<get_last_good_reload>("LastGoodReload", "t", 0),
    property<get_fabric_diagnostics>("FabricDiagnostics", "aa{sv}", kChanges),
    property<get_released>("ReleasedDevices", "as", kChanges),
    property<get_refused>("RefusedDevices", "aa{sv}", kChanges),
    property<get_state_failures>("StateFailures", "aa{sv}", kChanges),
    property<get_trial>("Trial", "a{sv}", 0),
    property<get_adoption>("Adoption", "a{sv}", 0),
    property<get_statistics>("Statistics", "a{st}", 0),
};

const sd_bus_vtable kManagerSignals[] = {
    SD_BUS_SIGNAL_WITH_ARGS("PolicyChanged", SD_BUS_ARGS("s", revision), 0),
    SD_BUS_SIGNAL_WITH_ARGS("TrialChanged", SD_BUS_ARGS("s", step, "s", revision), 0),
    SD_BUS_SIGNAL_WITH_ARGS("DriftRepaired", SD_BUS_ARGS("o", device, "u", elements), 0),
    SD_BUS_SIGNAL_WITH_ARGS("DeviceChanged", SD_BUS_ARGS("o", device, "s", state), 0),
};

}    // namespace

std::span<const Property> manager_properties()
{
    return kManagerProperties;
}

const sd_bus_vtable* manager_vtable()
{
    static const auto kVtable = make_vtable(kManagerMethods, kManagerProperties, kManagerSignals);
    return kVtable.data();
}

}    // namespace rdmaqos
