#include "daemon/bus/endpoint.h"

#include <fmt/format.h>

#include "daemon/bus/listing.h"
#include "daemon/bus/polkit.h"

namespace rdmaqos {
namespace {

constexpr std::size_t kSubscribersPerUser = 32;
constexpr std::size_t kSubscribers = 256;                   // root's not counted: every signal is written for each
constexpr auto kLevelUsesLast = std::chrono::seconds(1);    // counting them goes through all queue pairs

}    // namespace

BusContext::BusContext(Service& served, bus::EventLoop& main_loop)
    : service(served), loop(main_loop), counters(served.transport_counters()), turns(main_loop), long_answers(turns),
      polkit(std::make_unique<Polkit>())
{
}

BusContext::~BusContext() = default;

const SessionInfo* BusContext::session(SessionId id)
{
    if (!session_ || session_->id != id) {
        session_ = service.session_alone(id);
    }
    return session_ ? &*session_ : nullptr;
}

const DeviceStatus* BusContext::device(const std::string& key)
{
    if (!device_ || device_key_ != key) {
        device_ = service.device(key);
        device_key_ = key;
    }
    return device_ ? &*device_ : nullptr;
}

const std::map<std::string, LevelUse>& BusContext::level_uses()
{
    const auto now = SteadyClock().now();
    if (now >= level_uses_until_) {
        level_uses_ = service.level_uses();
        level_uses_until_ = now + kLevelUsesLast;
    }
    return level_uses_;
}

void BusContext::new_question(const Peer* asking)
{
    asking_ = asking == nullptr ? std::nullopt : std::optional(*asking);
    session_.reset();
    device_.reset();
}

Result<void> BusEndpoint::subscribe(std::uint32_t uid)
{
    if (subscribed_) {
        return {};
    }
    const auto own = context.subscribers_of.find(uid);
    const std::size_t count = own == context.subscribers_of.end() ? 0 : own->second;
    if (uid != 0 && count >= kSubscribersPerUser) {
        return fail(ErrorCode::LimitReached, fmt::format("user {} has {} connections that listen to signals, the "
                                                         "limit",
                                                         uid, count));
    }
    if (uid != 0 && context.subscribers.size() >= kSubscribers) {
        return fail(ErrorCode::LimitReached,
                    fmt::format("{} connections listen to signals, the limit", context.subscribers.size()));
    }
    ++context.subscribers_of[uid];
    subscribed_ = uid;
    context.subscribers.insert(this);
    return {};
}

void BusEndpoint::unsubscribe()
{
    if (!subscribed_) {
        return;
    }
    context.subscribers.erase(this);
    const auto count = context.subscribers_of.find(*subscribed_);
    if (--count->second == 0) {
        context.subscribers_of.erase(count);
    }
    subscribed_.reset();
}

void BusEndpoint::charge(sd_bus_message* message, std::size_t calls)
{
    if (const Peer* peer = known(message); peer != nullptr) {
        context.service.charge(peer->identity->uid, calls);
    }
}

Names BusContext::names(const std::shared_ptr<const Policy>& policy, std::uint32_t uid) const
{
    return {policy.get(), [this](const std::string& name) { return service.device_names(name); },
            [closer = service.closer(), uid](UniqueFd fd) { closer->close(uid, std::move(fd)); }};
}

namespace {

void run(BusEndpoint& endpoint, const Call& call, const Peer& peer, Handler handler)
{
    ++endpoint.context.counters.calls;
    handler(endpoint, call, peer);
}

}    // namespace

void count_refusal(BusEndpoint& endpoint, ErrorCode code) noexcept
{
    try {
        ++endpoint.context.counters.refusals[code];
    } catch (const std::exception& problem) {
        write_log(LogLevel::Error, {}, problem.what());
    }
}

namespace {

int on_any_message(sd_bus_message* message, void* userdata, sd_bus_error* error) noexcept
{
    auto& endpoint = *static_cast<BusEndpoint*>(userdata);
    try {
        endpoint.context.new_question(endpoint.known(message));
        if (sd_bus_message_is_method_call(message, nullptr, nullptr) <= 0) {
            return 0;
        }
        const Call call(message, endpoint.connection, endpoint.context.counters);
        if (const auto admitted = endpoint.admit(message); !admitted) {
            ++endpoint.context.counters.refused;
            call.refuse(admitted.error());
            return 1;
        }
        if (asks_for_all_objects(message)) {
            list_all_objects(endpoint, call);
            return 1;
        }
        return 0;
    } catch (const std::exception& problem) {
        write_log(LogLevel::Error, {}, problem.what());
        return sd_bus_error_set(error, "org.freedesktop.DBus.Error.Failed",
                                "the call failed; see the journal of rdma-qosd");
    }
}

}    // namespace

Result<void> install_admission(BusEndpoint& endpoint)
{
    const int result = sd_bus_add_filter(endpoint.connection->bus(), nullptr, &on_any_message, &endpoint);
    if (result < 0) {
        return fail(error_from_errno(ErrorCode::Internal, -result, "calls cannot be inspected"));
    }
    return {};
}

void serve(BusEndpoint& endpoint, sd_bus_message* message, Handler handler)
{
    const Call call(message, endpoint.connection, endpoint.context.counters);
    if (const Peer* peer = endpoint.known(message); peer != nullptr) {
        run(endpoint, call, *peer, handler);
        return;
    }
    endpoint.find_out(message, [&endpoint, call, handler](Result<const Peer*> peer) {
        if (!peer) {
            ++endpoint.context.counters.refused;
            call.refuse(peer.error());
            return;
        }
        run(endpoint, call, **peer, handler);
    });
}

}    // namespace rdmaqos
