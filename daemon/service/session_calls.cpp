// Service: sessions and their queue pairs.
#include <algorithm>

#include <fmt/format.h>

#include "daemon/service/session_table.h"
#include "lib/base/log.h"
#include "lib/base/text.h"

namespace rdmaqos {
namespace {

// The queue pair's own path keys over those of its session; a level named by the session does not count then.
Request merged(const Request& session, const Request& own)
{
    Request request = own;
    const auto inherit = [](auto& value, const auto& from) {
        if (!value) {
            value = from;
        }
    };
    inherit(request.qos_class, session.qos_class);
    inherit(request.service_id, session.service_id);
    inherit(request.pkey, session.pkey);
    inherit(request.source, session.source);
    inherit(request.destination, session.destination);
    return request;
}

QueuePairResult failed(const QueuePairRequest& request, const Error& error)
{
    QueuePairResult result;
    result.device = request.device;
    result.number = request.ref.number;
    result.reason = error.message;
    result.error = error;
    return result;
}

}    // namespace

std::uint32_t Session::queue_pair_count() const
{
    std::size_t count = 0;
    for (const auto& [key, numbers] : queue_pairs) {
        count += numbers.size();
    }
    return static_cast<std::uint32_t>(count);
}

void Service::register_session(PeerId peer, std::shared_ptr<const Identity> identity, RegisterRequest request,
                               Callback<RegisterReply> done)
{
    State& state = *state_;
    done = state.timed(&ServiceCounters::register_calls, std::move(done));
    if (const auto ready = state.ready(); !ready) {
        done(fail(ready.error()));
        return;
    }
    Session session;
    session.peer = peer;
    session.owner = std::move(identity);
    session.request = std::move(request.request);
    if (!request.device.empty()) {
        auto device = find_device(request.device);
        if (!device) {
            done(fail(device.error()));
            return;
        }
        session.device = std::move(*device);
        session.request.device = *device_names(session.device);
    }
    session.choice = choose(state.rules, session.request, *session.owner);
    if (session.choice.refused) {
        done(fail(*session.choice.refused));
        return;
    }
    if (const auto room = state.limits.add_session(session.owner->uid); !room) {
        done(fail(room.error()));
        return;
    }
    session.id = SessionId{state.next_session++};
    ++state.tally.sessions;
    session.grant = state.make_grant(session, session.choice);
    const SessionId id = session.id;
    state.by_peer[static_cast<std::uint64_t>(peer)].insert(id);
    Session& kept = state.sessions.emplace(id, std::move(session)).first->second;
    state.notify([&](ServiceObserver& observer) { observer.session_added(id); });
    if (request.queue_pairs.empty()) {
        done(RegisterReply{id, kept.grant, {}});
        return;
    }
    state.attach(kept, std::move(request.queue_pairs),
                 [state = state_.get(), id, done = std::move(done)](Result<std::vector<QueuePairResult>> results) {
                     if (!results) {
                         state->remove_session(id, [] {});
                         done(fail(results.error()));
                         return;
                     }
                     const auto found = state->sessions.find(id);
                     if (found == state->sessions.end()) {
                         done(fail(ErrorCode::UnknownSession, "the session ended while it was being made"));
                         return;
                     }
                     done(RegisterReply{id, state->grant_of(found->second), std::move(*results)});
                 });
}

Result<Session*> Service::State::owned_session(PeerId peer, SessionId id)
{
    if (const auto is_ready = ready(); !is_ready) {
        return fail(is_ready.error());
    }
    const auto found = sessions.find(id);
    if (found == sessions.end()) {
        return fail(ErrorCode::UnknownSession,
                    fmt::format("there is no session {}; it may have been released", static_cast<std::uint64_t>(id)));
    }
    if (found->second.peer != peer) {
        return fail(ErrorCode::NotOwner,
                    fmt::format("session {} belongs to another connection", static_cast<std::uint64_t>(id)));
    }
    return &found->second;
}

Choice Service::State::choose_for(const Session& session, const Member& member, const Rules& with,
                                  const Choice& of_session) const
{
    if (has_own_choice(member, with, session.request, !session.device.empty())) {
        return choose(with, member.request, *session.owner);
    }
    return of_session;
}

Result<Membership> Service::State::membership_now(const Member& member) const
{
    const auto session = sessions.find(member.session);
    if (session == sessions.end()) {
        return fail(ErrorCode::UnknownSession, "was released meanwhile");
    }
    Choice choice = choose_for(session->second, member, rules, session->second.choice);
    if (choice.refused) {
        return fail(*choice.refused);
    }
    return std::move(choice.membership);
}

Result<Member> Service::State::make_member(const Session& session, const QueuePairRequest& request,
                                           const ManagedDevice& device) const
{
    Member member;
    member.session = session.id;
    member.ref = request.ref;
    member.ref.owner_pid = session.owner->pid;
    member.owner = session.owner;
    member.has_path = request.has_path;
    member.request = merged(session.request, request.path);
    const DeviceInfo& info = device.info();
    member.request.device = DeviceNames{info.name, info.port, info.netdev, info.pci_address};
    const Member* present = device.book().find(request.ref.number);
    if (present != nullptr && present->session != session.id) {
        return fail(ErrorCode::NotOwner, fmt::format("queue pair {} of {} is attached already by another session",
                                                     request.ref.number, device.key()));
    }
    if (device.capabilities().scheduling && !device.capabilities().attachable.contains(request.ref.type)) {
        return fail(ErrorCode::Unsupported, fmt::format("{} cannot schedule queue pairs of type {}", device.key(),
                                                        to_string(request.ref.type)));
    }
    auto membership = membership_now(member);
    if (!membership) {
        return fail(std::move(membership).error());
    }
    member.membership = std::move(*membership);
    return member;
}

void Service::attach(PeerId peer, SessionId session, std::vector<QueuePairRequest> queue_pairs,
                     Callback<std::vector<QueuePairResult>> done)
{
    done = state_->timed(&ServiceCounters::attach_calls, std::move(done));
    const auto found = state_->owned_session(peer, session);
    if (!found) {
        done(fail(found.error()));
        return;
    }
    state_->attach(**found, std::move(queue_pairs), std::move(done));
}

Result<std::pair<ManagedDevice*, Member>> Service::State::take(Session& session, QueuePairRequest& request,
                                                               NamedQueuePairs& named) const
{
    const auto device = device_by_name(request.device);
    if (!device) {
        return fail(device.error());
    }
    if (const auto room = (*device)->has_room(); !room) {
        return fail(room.error());
    }
    if (const auto settled = settle_file(session, (*device)->key(), request.ref); !settled) {
        return fail(settled.error());
    }
    auto member = make_member(session, request, **device);
    if (!member) {
        return fail(member.error());
    }
    if (!named.emplace(*device, request.ref.number).second) {
        return fail(ErrorCode::BadQueuePair,
                    fmt::format("queue pair {} of {} is named twice", request.ref.number, (*device)->key()));
    }
    return std::pair(*device, std::move(*member));
}

void Service::State::attach(Session& session, std::vector<QueuePairRequest> queue_pairs,
                            Callback<std::vector<QueuePairResult>> done)
{
    // Those that are attached already are counted already.
    const auto is_known = [&](const QueuePairRequest& request) {
        const auto device = device_by_name(request.device);
        const auto numbers = device ? session.queue_pairs.find((*device)->key()) : session.queue_pairs.end();
        return numbers != session.queue_pairs.end() && numbers->second.contains(request.ref.number);
    };
    std::vector<bool> known;
    std::transform(queue_pairs.begin(), queue_pairs.end(), std::back_inserter(known), is_known);
    const auto count = static_cast<std::uint32_t>(std::count(known.begin(), known.end(), false));
    if (const auto room = limits.add_queue_pairs(session.owner->uid, session.queue_pair_count(), count); !room) {
        done(fail(room.error()));
        return;
    }
    struct Batch {
        std::vector<Member> members;
        std::vector<std::size_t> places;    // in the results
    };
    std::map<ManagedDevice*, Batch> batches;
    auto results = std::make_shared<std::vector<QueuePairResult>>(queue_pairs.size());
    NamedQueuePairs named;
    std::uint32_t refused = 0;
    for (std::size_t i = 0; i < queue_pairs.size(); ++i) {
        auto taken = take(session, queue_pairs[i], named);
        if (!taken) {
            (*results)[i] = failed(queue_pairs[i], taken.error());
            refused += known[i] ? 0 : 1;
            continue;
        }
        auto& [device, member] = *taken;
        const std::uint32_t number = member.ref.number;
        session.queue_pairs[device->key()].insert(number);
        (*results)[i] = failed(queue_pairs[i], {ErrorCode::DeviceGone, 0, fmt::format("{} went away", device->key())});
        Batch& batch = batches[device];
        batch.members.push_back(std::move(member));
        batch.places.push_back(i);
    }
    limits.remove_queue_pairs(session.owner->uid, refused);
    const auto all = Gathering::begin(
        [this, id = session.id, results, done = std::move(done)](const Gathering::Missing&) {
            finish_attach(id, *results);
            done(std::move(*results));
        });
    for (auto& [device, batch] : batches) {
        all->expect(device->key());
        device->add(
            std::move(batch.members), [this](const Member& member) { return membership_now(member); },
            [results, all, key = device->key(),
             places = std::move(batch.places)](std::vector<QueuePairResult> answers) {
                for (std::size_t i = 0; i < answers.size(); ++i) {
                    (*results)[places[i]] = std::move(answers[i]);
                }
                all->came(key);
            });
    }
    all->all_expected();
}

// Lets go of what the device refused.
void Service::State::finish_attach(SessionId id, const std::vector<QueuePairResult>& results)
{
    const auto found = sessions.find(id);
    if (found == sessions.end()) {
        return;
    }
    Session& session = found->second;
    for (const auto& result : results) {
        const auto on_device = session.queue_pairs.find(result.device);
        if (result.error && on_device != session.queue_pairs.end()) {
            const auto device = devices.find(result.device);
            const Member* member = device == devices.end() ? nullptr : device->second->book().find(result.number);
            const bool attached = member != nullptr && member->session == id;
            if (!attached && on_device->second.erase(result.number) > 0) {
                limits.remove_queue_pairs(session.owner->uid, 1);
            }
        }
    }
    session.state = SessionState::Active;
    refresh(session);
    refresh_neighbours();
    notify([&](ServiceObserver& observer) { observer.session_changed(id, false); });
}

void Service::detach(PeerId peer, SessionId session, const std::string& device, std::uint32_t number,
                     Callback<void> done)
{
    const auto found = state_->owned_session(peer, session);
    const auto key = find_device(device);
    if (!found || !key) {
        done(fail(found ? key.error() : found.error()));
        return;
    }
    Session& owned = **found;
    if (owned.queue_pairs[*key].erase(number) == 0) {
        done(fail(ErrorCode::BadQueuePair, fmt::format("this session has no queue pair {} on {}", number, *key)));
        return;
    }
    state_->limits.remove_queue_pairs(owned.owner->uid, 1);
    state_->devices.at(*key)->remove(session, {number}, [state = state_.get(), session, done = std::move(done)] {
        const auto still = state->sessions.find(session);
        if (still != state->sessions.end()) {
            state->refresh(still->second);
            state->refresh_neighbours();
            state->notify([&](ServiceObserver& observer) { observer.session_changed(session, false); });
        }
        done({});
    });
}

void Service::set_rate(PeerId peer, SessionId session, const std::string& device, std::uint32_t number,
                       std::optional<RateLimit> rate, Callback<void> done)
{
    const auto found = state_->owned_session(peer, session);
    const auto key = find_device(device);
    if (!found || !key) {
        done(fail(found ? key.error() : found.error()));
        return;
    }
    if (!(*found)->queue_pairs[*key].contains(number)) {
        done(fail(ErrorCode::BadQueuePair, fmt::format("this session has no queue pair {} on {}", number, *key)));
        return;
    }
    ManagedDevice& managed = *state_->devices.at(*key);
    if (const auto room = managed.has_room(); !room) {
        done(fail(room.error()));
        return;
    }
    managed.change_rate(number, rate, [state = state_.get(), session, done = std::move(done)](Result<void> changed) {
        // What a leaf of its own holds shows nowhere else.
        if (const auto still = state->sessions.find(session); still != state->sessions.end()) {
            state->refresh(still->second);
        }
        done(std::move(changed));
    });
}

void Service::release(PeerId peer, SessionId session, Callback<void> done)
{
    const auto found = state_->owned_session(peer, session);
    if (!found) {
        done(fail(found.error()));
        return;
    }
    state_->remove_session(session, [done = std::move(done)] { done({}); });
}

void Service::peer_gone(PeerId peer)
{
    const auto found = state_->by_peer.find(static_cast<std::uint64_t>(peer));
    if (found == state_->by_peer.end()) {
        return;
    }
    for (const SessionId id : std::set<SessionId>(found->second)) {
        state_->remove_session(id, [] {});
    }
}

void Service::State::remove_session(SessionId id, LoopCallback<void()> done)
{
    const auto found = sessions.find(id);
    if (found == sessions.end()) {
        done();
        return;
    }
    const auto all = Gathering::begin([done = std::move(done)](const Gathering::Missing&) { done(); });
    const Session session = std::move(found->second);
    sessions.erase(found);
    const auto peer = by_peer.find(static_cast<std::uint64_t>(session.peer));
    peer->second.erase(id);
    if (peer->second.empty()) {
        by_peer.erase(peer);
    }
    limits.remove_queue_pairs(session.owner->uid, session.queue_pair_count());
    limits.remove_session(session.owner->uid);
    for (const auto& [key, numbers] : session.queue_pairs) {
        const auto device = devices.find(key);
        if (device != devices.end() && !numbers.empty()) {
            all->expect(key);
            device->second->remove(id, {numbers.begin(), numbers.end()}, [this, all, key = key] {
                refresh_neighbours();
                all->came(key);
            });
        }
    }
    notify([&](ServiceObserver& observer) { observer.session_removed(id); });
    all->all_expected();
}

void Service::State::queue_pairs_changed(const std::string& device, const std::vector<std::uint32_t>& numbers)
{
    std::set<SessionId> affected;
    for (const std::uint32_t number : numbers) {
        if (const Member* member = devices.at(device)->book().find(number)) {
            affected.insert(member->session);
        }
    }
    for (const SessionId id : affected) {
        refresh(sessions.at(id));
        notify([&](ServiceObserver& observer) { observer.session_changed(id, false); });
    }
}

void Service::State::queue_pairs_vanished(const std::string& device,
                                          const std::vector<std::pair<SessionId, std::uint32_t>>& gone)
{
    std::set<SessionId> affected;
    for (const auto& [id, number] : gone) {
        const auto session = sessions.find(id);
        if (session != sessions.end() && session->second.queue_pairs[device].erase(number) > 0) {
            limits.remove_queue_pairs(session->second.owner->uid, 1);
            affected.insert(id);
        }
    }
    for (const SessionId id : affected) {
        refresh(sessions.at(id));
        notify([&](ServiceObserver& observer) { observer.session_changed(id, false); });
    }
}

void Service::State::device_was_reset(const std::string& device, const std::vector<SessionId>& affected)
{
    for (const SessionId id : affected) {
        Session& session = sessions.at(id);
        const auto lost = session.queue_pairs.find(device);
        if (lost != session.queue_pairs.end()) {
            limits.remove_queue_pairs(session.owner->uid, static_cast<std::uint32_t>(lost->second.size()));
            session.queue_pairs.erase(lost);
        }
        session.state = SessionState::Detached;
        refresh(session);
        notify([&](ServiceObserver& observer) { observer.session_changed(id, false); });
    }
}

std::vector<SessionId> Service::sessions() const
{
    std::vector<SessionId> ids;
    ids.reserve(state_->sessions.size());
    for (const auto& [id, session] : state_->sessions) {
        ids.push_back(id);
    }
    return ids;
}

std::optional<SessionInfo> Service::session_alone(SessionId id) const
{
    const auto found = state_->sessions.find(id);
    if (found == state_->sessions.end()) {
        return std::nullopt;
    }
    Session& session = found->second;
    return SessionInfo{id, session.peer, *session.owner, session.state, state_->grant_of(session), {}};
}

std::optional<QueuePairName> Service::next_queue_pair(SessionId id, const std::optional<QueuePairName>& after) const
{
    const auto found = state_->sessions.find(id);
    if (found == state_->sessions.end()) {
        return std::nullopt;
    }
    const auto& all = found->second.queue_pairs;
    for (auto on = after ? all.lower_bound(after->device) : all.begin(); on != all.end(); ++on) {
        const auto& [device, numbers] = *on;
        const auto number = after && after->device == device ? numbers.upper_bound(after->number) : numbers.begin();
        if (number != numbers.end()) {
            return QueuePairName{device, *number};
        }
    }
    return std::nullopt;
}

std::size_t Service::queue_pair_count(SessionId id) const
{
    const auto found = state_->sessions.find(id);
    return found == state_->sessions.end() ? 0 : found->second.queue_pair_count();
}

std::optional<QueuePairResult> Service::queue_pair(const std::string& device, std::uint32_t number) const
{
    const auto found = state_->devices.find(device);
    return found == state_->devices.end() ? std::nullopt : found->second->result(number);
}

std::optional<SessionInfo> Service::session(SessionId id) const
{
    auto info = session_alone(id);
    for (auto name = next_queue_pair(id, std::nullopt); name; name = next_queue_pair(id, name)) {
        if (auto result = queue_pair(name->device, name->number)) {
            info->queue_pairs.push_back(std::move(*result));
        }
    }
    return info;
}

std::map<std::string, LevelUse> Service::level_uses() const
{
    std::map<std::string, LevelUse> uses;
    for (const auto& [id, session] : state_->sessions) {
        ++uses[session.choice.membership.level].sessions;
        for (const auto& [key, numbers] : session.queue_pairs) {
            const auto device = state_->devices.find(key);
            if (device == state_->devices.end()) {
                continue;
            }
            for (const std::uint32_t number : numbers) {
                if (const Member* member = device->second->book().find(number); member != nullptr) {
                    ++uses[member->membership.level].queue_pairs;
                }
            }
        }
    }
    return uses;
}

}    // namespace rdmaqos
