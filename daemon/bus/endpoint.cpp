#include "daemon/bus/endpoint.h"

#include <exception>

#include <fmt/format.h>

#include "daemon/bus/listing.h"
#include "daemon/bus/polkit.h"
#include "daemon/service/context.h"
#include "daemon/service/device_table.h"
#include "daemon/service/limits.h"
#include "daemon/service/session_reports.h"
#include "daemon/service/tally.h"

namespace rdmaqos {
namespace {

constexpr std::size_t kSubscribersPerUser = 32;
constexpr std::size_t kSubscribers = 256;    // root's not counted: every signal is written for each
constexpr auto kCountsLast = std::chrono::seconds(1);
// Counting goes through all queue pairs, in one go: it takes a part of the time at most.
constexpr int kCountingPart = 500;

template <typename Kept, typename Count>
const auto& counted(Kept& kept, Count count)
{
    const auto began = SteadyClock().now();
    if (began >= kept.until) {
        kept.value = count();
        const auto now = SteadyClock().now();
        kept.until = now + std::max<Duration>(kCountsLast, kCountingPart * (now - began));
    }
    return kept.value;
}

}    // namespace

BusContext::BusContext(Service& served, bus::EventLoop& main_loop)
    : service(served), loop(main_loop), counters(served.tally().transports), turns(main_loop), long_answers(turns),
      polkit(std::make_unique<Polkit>())
{
}

BusContext::~BusContext() = default;

const SessionInfo* BusContext::session(SessionId id)
{
    if (!session_ || session_->id != id) {
        session_ = service.sessions().find(id);
    }
    return session_ ? &*session_ : nullptr;
}

const DeviceStatus* BusContext::device(const std::string& key)
{
    if (!device_ || device_key_ != key) {
        device_ = service.devices().status(key);
        device_key_ = key;
    }
    return device_ ? &*device_ : nullptr;
}

const std::map<std::string, LevelUse>& BusContext::level_uses()
{
    return counted(level_uses_, [this] { return service.sessions().level_uses(); });
}

const SessionCounts& BusContext::session_counts()
{
    return counted(session_counts_, [this] { return service.sessions().counts(); });
}

void BusContext::new_question(const Peer* asking)
{
    asking_ = asking == nullptr ? std::nullopt : std::optional(*asking);
    session_.reset();
    device_.reset();
}

Result<void> BusEndpoint::subscribe(Account account)
{
    if (subscribed_) {
        return {};
    }
    const auto own = context.subscribers_of.find(account);
    const std::size_t count = own == context.subscribers_of.end() ? 0 : own->second;
    if (!account.is_root() && count >= kSubscribersPerUser) {
        return fail(ErrorCode::LimitReached, fmt::format("user {} has {} connections that listen to signals, the "
                                                         "limit",
                                                         account.uid(), count));
    }
    if (!account.is_root() && context.subscribers.size() >= kSubscribers) {
        return fail(ErrorCode::LimitReached,
                    fmt::format("{} connections listen to signals, the limit", context.subscribers.size()));
    }
    ++context.subscribers_of[account];
    subscribed_ = account;
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
        context.service.limits().charge(peer->identity->account(), calls);
    }
}

std::function<void(Account, UniqueFd)> BusContext::close_counted()
{
    return [closer = service.context().closer, descriptors = turns.shares().descriptors()](Account account,
                                                                                           UniqueFd fd) mutable {
        closer->close(account, std::move(fd), descriptors.count(account, 1));
    };
}

Names BusContext::names(const std::shared_ptr<const Policy>& policy, Account account)
{
    return {policy.get(), [this](const std::string& name) { return service.devices().find_names(name); },
            [this, account]() -> ClientFile::Close {
                auto held = turns.shares().descriptors().take(account, 1);
                if (!held) {
                    return nullptr;
                }
                return [close = close_counted(), account, held = std::move(held)](UniqueFd fd) {
                    close(account, std::move(fd));
                };
            }};
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
        // Only what answers here makes one: sd-bus passes the others on to their methods.
        const auto call = [&] { return Call(message, endpoint.connection, endpoint.context.counters); };
        if (const auto admitted = endpoint.admit(message); !admitted) {
            ++endpoint.context.counters.refused;
            call().refuse(admitted.error());
            return 1;
        }
        // sd-bus would answer it. The id is the host's secret, and callers may be in containers.
        if (sd_bus_message_is_method_call(message, "org.freedesktop.DBus.Peer", "GetMachineId") > 0) {
            call().refuse({ErrorCode::Unsupported, 0, "rdma-qosd does not tell the machine's id"});
            return 1;
        }
        if (const auto listed = listed_objects(message)) {
            list_objects(endpoint, call(), *listed);
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
    try {
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
    } catch (const std::exception& problem) {    // the call is refused when the last one who has it lets it go
        write_log(LogLevel::Error, {{"MEMBER", sd_bus_message_get_member(message)}}, problem.what());
    }
}

}    // namespace rdmaqos
