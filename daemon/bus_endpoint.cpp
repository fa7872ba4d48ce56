#include "daemon/bus_endpoint.h"

namespace rdmaqos {

std::optional<BusContext::Question> BusContext::current(sd_bus* bus)
{
    sd_bus_message* message = sd_bus_get_current_message(bus);
    Question question{bus, 0};
    if (message == nullptr || sd_bus_message_get_cookie(message, &question.cookie) < 0) {
        return std::nullopt;
    }
    return question;
}

const SessionInfo* BusContext::session(sd_bus* bus, SessionId id)
{
    const auto question = current(bus);
    if (!question || question != session_for_ || !session_ || session_->id != id) {
        session_ = service.session(id);
        session_for_ = question;
    }
    return session_ ? &*session_ : nullptr;
}

const DeviceStatus* BusContext::device(sd_bus* bus, const std::string& key)
{
    const auto question = current(bus);
    if (!question || question != device_for_ || device_key_ != key) {
        device_ = service.device(key);
        device_for_ = question;
        device_key_ = key;
    }
    return device_ ? &*device_ : nullptr;
}

void BusContext::forget_last()
{
    session_for_.reset();
    session_.reset();
    device_for_.reset();
    device_.reset();
}

Names BusContext::names(const std::shared_ptr<const Policy>& policy) const
{
    return {policy.get(), [this](const std::string& name) { return service.device_names(name); },
            service.close_file()};
}

namespace {

void run(BusEndpoint& endpoint, const Call& call, const Peer& peer, Handler handler)
{
    auto& context = endpoint.context;
    ++context.counters.calls;
    if (const auto admitted = context.service.admit(peer.identity->uid); !admitted) {
        ++context.counters.refused;
        call.refuse(admitted.error());
        return;
    }
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
