#include "daemon/bus/manager_object.h"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "daemon/bus/endpoint.h"
#include "daemon/bus/object_paths.h"
#include "daemon/bus/slices.h"
#include "daemon/metrics/metrics_text.h"
#include "daemon/model/version.h"
#include "lib/bus/names.h"
#include "policy/explain/explain_render.h"
#include "policy/path/multi_path.h"

namespace rdmaqos {
namespace {

using bus::Writer;

// Answered in about the time of a short call.
constexpr std::size_t kPathsForOneCall = 8;

// ---- calls of clients ----

void on_register(BusEndpoint& endpoint, const Call& call, const Peer& peer)
{
    auto& context = endpoint.context;
    const auto dict = bus::read_dict(call.message(), call.limits());
    if (!dict) {
        call.refuse(dict.error());
        return;
    }
    const auto policy = context.service.policy();
    auto arguments = to_register_arguments(*dict, context.names(policy, peer.identity->uid));
    if (!arguments) {
        call.refuse(arguments.error());
        return;
    }
    context.service.register_session(
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
        const auto answer = service.query_path(request, *identity_);
        if (!answer) {
            missing_.add(request, answer.error());
        }
        bus::DictWriter out(writer_);
        write(out, request, answer);
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
    const auto dict = bus::read_dict(call.message(), call.limits());
    if (!dict) {
        call.refuse(dict.error());
        return;
    }
    const auto policy = context.service.policy();
    auto requests = to_path_requests(*dict, context.names(policy, peer.identity->uid));
    if (!requests) {
        call.refuse(requests.error());
        return;
    }
    endpoint.charge(call.message(), requests->size() / kPathsForOneCall);
    const auto taken = context.long_answers.write(
        peer.identity->uid, [&service = context.service, call, identity = peer.identity, requests = std::move(*requests)] {
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
    const auto dict = bus::read_dict(call.message(), call.limits());
    if (!dict) {
        call.refuse(dict.error());
        return;
    }
    const auto policy = context.service.policy();
    const auto asked = to_explain_request(*dict, context.names(policy, peer.identity->uid));
    if (!asked) {
        call.refuse(asked.error());
        return;
    }
    const auto explanation = context.service.explain(asked->request, *peer.identity);
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
    context.service.metrics([&context, call, uid = peer.identity->uid](const Metrics& metrics) {
        // All who have asked meanwhile are answered one after another: it is written once for them.
        if (!context.metrics_text) {
            context.metrics_text = std::make_shared<const std::string>(to_prometheus(metrics));
            context.loop.post([&context] { context.metrics_text.reset(); });
        }
        const auto taken = context.long_answers.write(uid, [call, text = context.metrics_text] {
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
    const Result<void> subscribed = endpoint.is_system_bus() ? Result<void>() : endpoint.subscribe(peer.identity->uid);
    if (subscribed) {
        call.reply();
    } else {
        call.refuse(subscribed.error());
    }
}

void on_unsubscribe(BusEndpoint& endpoint, const Call& call, const Peer& /*peer*/)
{
    if (!endpoint.is_system_bus()) {
        endpoint.unsubscribe();
    }
    call.reply();
}

// ---- policy ----

// The text behind a descriptor, which the helper of the caller's user has read.
Result<std::shared_ptr<const SourceFile>> policy_of(const bus::Value& value)
{
    const auto* descriptor = value.as<bus::FileDescriptor>();
    if (descriptor == nullptr) {
        return fail(ErrorCode::InvalidArgument, "a policy is passed as a file descriptor (h)");
    }
    if (!descriptor->fd) {
        return fail(ErrorCode::InvalidArgument, fmt::format("the policy: {}", descriptor->refusal));
    }
    if (descriptor->name.empty()) {
        return fail(ErrorCode::InvalidArgument, "the policy is not a regular file");
    }
    auto text = read_regular_file(descriptor->fd->get(), kMaxConfigFileSize);
    if (!text) {
        return fail(std::move(text).error());
    }
    return std::make_shared<const SourceFile>(SourceFile{descriptor->name, std::move(*text)});
}

// To who may manage, or of what the caller brought: with the lines that are wrong.
void answer(const Call& call, const ReloadOutcome& outcome)
{
    const std::string text = outcome.to_string(Colour::Off);
    if (outcome.accepted) {
        call.reply_text(text);
    } else {
        call.refuse({ErrorCode::InvalidPolicy, 0, text});
    }
}

void on_check(BusEndpoint& endpoint, const Call& call, const Peer& peer)
{
    const auto value = bus::read_value(call.message(), call.limits());
    if (!value) {
        call.refuse(value.error());
        return;
    }
    auto& service = endpoint.context.service;
    auto source = policy_of(*value);
    if (!source) {
        call.refuse(source.error());
        return;
    }
    service.check(std::move(*source), peer.identity->uid, [call](const Result<ReloadOutcome>& outcome) {
        if (outcome) {
            answer(call, *outcome);
        } else {
            call.refuse(outcome.error());
        }
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
    const auto done = [call](const Result<PlanReport>& report) {
        if (!report) {
            call.refuse(report.error());
            return;
        }
        call.reply([&](Writer& writer) { write(writer, *report); });
    };
    const auto* value = dict->find("policy");
    if (value == nullptr) {
        service.plan(std::nullopt, peer.identity->uid, done);
        return;
    }
    auto source = policy_of(*value);
    if (!source) {
        call.refuse(source.error());
        return;
    }
    service.plan(std::move(*source), peer.identity->uid, done);
}

// ---- management ----

void when_authorized(BusEndpoint& endpoint, const Call& call, const Peer& peer, Action action,
                     std::function<void()> then)
{
    authorize(call, peer.identity->uid, endpoint.connection, endpoint.is_system_bus(), action,
              [call, then = std::move(then)](const Result<void>& allowed) {
                  if (allowed) {
                      then();
                  } else {
                      call.refuse(allowed.error());
                  }
              });
}

void on_reload(BusEndpoint& endpoint, const Call& call, const Peer& peer)
{
    auto& context = endpoint.context;
    when_authorized(endpoint, call, peer, Action::Reload, [&context, call] {
        context.service.reload([call](const ReloadOutcome& outcome) { answer(call, outcome); });
    });
}

Result<std::string> read_text(const Call& call)
{
    const char* text = nullptr;
    if (const int result = sd_bus_message_read_basic(call.message(), 's', &text); result <= 0) {
        return fail(Error{ErrorCode::InvalidArgument, -result, "the message cannot be read"});
    }
    return std::string(text);
}

template <typename T>
auto reply_with_list(const Call& call)
{
    return [call](const Result<std::vector<T>>& results) {
        if (!results) {
            call.refuse(results.error());
            return;
        }
        call.reply([&](Writer& writer) { write(writer, *results); });
    };
}

// A method that takes a device name and manages: `ask` is the service's own.
template <auto ask, typename T>
void on_devices(BusEndpoint& endpoint, const Call& call, const Peer& peer)
{
    const auto device = read_text(call);
    if (!device) {
        call.refuse(device.error());
        return;
    }
    auto& service = endpoint.context.service;
    when_authorized(endpoint, call, peer, Action::Manage,
                    [&service, call, name = *device] { (service.*ask)(name, reply_with_list<T>(call)); });
}

constexpr Handler kReconcile = on_devices<&Service::reconcile, DeviceReconcile>;
constexpr Handler kVerify = on_devices<&Service::verify, DeviceDrift>;
constexpr Handler kDisable = on_devices<&Service::disable, DeviceReconcile>;
constexpr Handler kEnable = on_devices<&Service::enable, DeviceReconcile>;
constexpr Handler kRelease = on_devices<&Service::release_device, DeviceReconcile>;

// ---- properties ----

// A getter knows who asks only by the message that is being served. There is none for a signal, which goes to
// everybody; and polkit is not asked for a property.
Quote quote_for(BusEndpoint& endpoint)
{
    const Peer* peer = endpoint.context.asking();
    return peer == nullptr ? Quote::Nothing : rdmaqos::quote_for(peer->identity->uid);
}

void get_version(BusEndpoint& /*endpoint*/, sd_bus* /*bus*/, const char* /*path*/, Writer& writer)
{
    writer.put(kVersion);
}

void get_features(BusEndpoint& endpoint, sd_bus* /*bus*/, const char* /*path*/, Writer& writer)
{
    writer.put(endpoint.context.service.features());
}

void get_mode(BusEndpoint& endpoint, sd_bus* /*bus*/, const char* /*path*/, Writer& writer)
{
    writer.put(endpoint.context.service.settings().mode == Mode::Monitor ? "monitor" : "enforce");
}

void get_revision(BusEndpoint& endpoint, sd_bus* /*bus*/, const char* /*path*/, Writer& writer)
{
    const auto policy = endpoint.context.service.policy();
    writer.put(policy ? policy->revision : std::string());
}

void get_sources(BusEndpoint& endpoint, sd_bus* /*bus*/, const char* /*path*/, Writer& writer)
{
    std::vector<std::string> names;
    if (const auto policy = endpoint.context.service.policy()) {
        for (const auto& source : policy->sources) {
            names.push_back(source->name);
        }
    }
    writer.put(names);
}

void get_reload_error(BusEndpoint& endpoint, sd_bus* /*bus*/, const char* /*path*/, Writer& writer)
{
    writer.put(endpoint.context.service.last_reload_error(quote_for(endpoint)));
}

void get_fabric_error(BusEndpoint& endpoint, sd_bus* /*bus*/, const char* /*path*/, Writer& writer)
{
    writer.put(endpoint.context.service.fabric_error(quote_for(endpoint)));
}

void get_released(BusEndpoint& endpoint, sd_bus* /*bus*/, const char* /*path*/, Writer& writer)
{
    writer.put(endpoint.context.service.released_devices());
}

void get_levels(BusEndpoint& endpoint, sd_bus* /*bus*/, const char* /*path*/, Writer& writer)
{
    auto& service = endpoint.context.service;
    const auto& uses = endpoint.context.level_uses();
    writer.open('a', "a{sv}");
    if (const auto policy = service.policy()) {
        for (const auto& level : policy->levels) {
            bus::DictWriter dict(writer);
            const auto use = uses.find(level.name);
            write(dict, *policy, level, use == uses.end() ? LevelUse{} : use->second);
        }
    }
    writer.close();
}

void get_statistics(BusEndpoint& endpoint, sd_bus* /*bus*/, const char* /*path*/, Writer& writer)
{
    const auto& context = endpoint.context;
    const auto& counters = context.counters;
    const auto& tally = context.service.tally();
    writer.put(bus::Counts{{"calls", counters.calls},
                           {"calls-refused", counters.refused},
                           {"connections", counters.connections},
                           {"sessions", tally.sessions},
                           {"sessions-now", context.session_ids.size()},
                           {"reloads", tally.reloads_accepted + tally.reloads_refused}});
}

constexpr auto kChanges = SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE;
constexpr auto kConst = SD_BUS_VTABLE_PROPERTY_CONST;
constexpr auto kInvalidates = SD_BUS_VTABLE_PROPERTY_EMITS_INVALIDATION;
constexpr auto kOpen = SD_BUS_VTABLE_UNPRIVILEGED;    // who may what is decided here, not by the bus

const sd_bus_vtable kVtable[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD_WITH_ARGS("Register", SD_BUS_ARGS("a{sv}", request), SD_BUS_RESULT("o", session, "a{sv}", grant),
                            method<on_register>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("QueryPath", SD_BUS_ARGS("a{sv}", request), SD_BUS_RESULT("aa{sv}", answers),
                            method<on_query_path>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("Explain", SD_BUS_ARGS("a{sv}", request), SD_BUS_RESULT("s", text), method<on_explain>,
                            kOpen),
    SD_BUS_METHOD_WITH_ARGS("Reload", SD_BUS_NO_ARGS, SD_BUS_RESULT("s", report), method<on_reload>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("Check", SD_BUS_ARGS("h", policy), SD_BUS_RESULT("s", report), method<on_check>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("Plan", SD_BUS_ARGS("a{sv}", options), SD_BUS_RESULT("a{sv}", report), method<on_plan>,
                            kOpen),
    SD_BUS_METHOD_WITH_ARGS("Reconcile", SD_BUS_ARGS("s", device), SD_BUS_RESULT("aa{sv}", results), method<kReconcile>,
                            kOpen),
    SD_BUS_METHOD_WITH_ARGS("Verify", SD_BUS_ARGS("s", device), SD_BUS_RESULT("aa{sv}", results), method<kVerify>,
                            kOpen),
    SD_BUS_METHOD_WITH_ARGS("Disable", SD_BUS_ARGS("s", device), SD_BUS_RESULT("aa{sv}", results), method<kDisable>,
                            kOpen),
    SD_BUS_METHOD_WITH_ARGS("Enable", SD_BUS_ARGS("s", device), SD_BUS_RESULT("aa{sv}", results), method<kEnable>,
                            kOpen),
    SD_BUS_METHOD_WITH_ARGS("Release", SD_BUS_ARGS("s", device), SD_BUS_RESULT("aa{sv}", results), method<kRelease>,
                            kOpen),
    SD_BUS_METHOD_WITH_ARGS("Metrics", SD_BUS_NO_ARGS, SD_BUS_RESULT("s", text), method<on_metrics>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("Subscribe", SD_BUS_NO_ARGS, SD_BUS_NO_RESULT, method<on_subscribe>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("Unsubscribe", SD_BUS_NO_ARGS, SD_BUS_NO_RESULT, method<on_unsubscribe>, kOpen),
    SD_BUS_PROPERTY("Version", "s", property<get_version>, 0, kConst),
    SD_BUS_PROPERTY("Features", "as", property<get_features>, 0, kChanges),
    SD_BUS_PROPERTY("Mode", "s", property<get_mode>, 0, kChanges),
    SD_BUS_PROPERTY("PolicyRevision", "s", property<get_revision>, 0, kChanges),
    SD_BUS_PROPERTY("PolicySources", "as", property<get_sources>, 0, kChanges),
    SD_BUS_PROPERTY("LastReloadError", "s", property<get_reload_error>, 0, kChanges),
    SD_BUS_PROPERTY("FabricError", "s", property<get_fabric_error>, 0, kChanges),
    SD_BUS_PROPERTY("ReleasedDevices", "as", property<get_released>, 0, kChanges),
    SD_BUS_PROPERTY("Levels", "aa{sv}", property<get_levels>, 0, kInvalidates),
    SD_BUS_PROPERTY("Statistics", "a{st}", property<get_statistics>, 0, 0),
    SD_BUS_SIGNAL_WITH_ARGS("PolicyChanged", SD_BUS_ARGS("s", revision), 0),
    SD_BUS_SIGNAL_WITH_ARGS("DriftRepaired", SD_BUS_ARGS("s", device, "u", elements), 0),
    SD_BUS_SIGNAL_WITH_ARGS("DeviceChanged", SD_BUS_ARGS("s", device, "s", state), 0),
    SD_BUS_VTABLE_END,
};

}    // namespace

const sd_bus_vtable* manager_vtable()
{
    return kVtable;
}

}    // namespace rdmaqos
