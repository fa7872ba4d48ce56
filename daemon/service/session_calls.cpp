#include "daemon/service/session_calls.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "daemon/device/device_names.h"
#include "daemon/service/client_log.h"
#include "lib/base/try.h"

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

// Once the device is known, its port is the source, unless the program says otherwise.
void leave_by(Request& request, const DeviceInfo& port)
{
    request.device = names_of(port);
    if (!request.source) {
        request.source = source_of(port);
    }
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

Result<void> SessionCalls::ready() const
{
    if (auto here = context_.not_ending(); !here) {
        return here;
    }
    return policy_.exists();
}

void SessionCalls::register_session(PeerId peer, std::shared_ptr<const Identity> identity, RegisterRequest request,
                                    Callback<RegisterReply> done)
{
    done = logged(identity, request.request, tally_.timed(&ServiceCounters::register_calls, std::move(done)));
    if (const auto is_ready = ready(); !is_ready) {
        done(fail(is_ready.error()));
        return;
    }
    Session session;
    session.peer = peer;
    session.owner = std::move(identity);
    session.request = std::move(request.request);
    if (!request.device.empty()) {
        const auto device = devices_.one_named(request.device);
        if (!device) {
            done(fail(device.error()));
            return;
        }
        session.device = (*device)->key();
        leave_by(session.request, (*device)->info());
    }
    session.choice = choose(policy_.rules(), session.request, *session.owner);
    if (session.choice.refused) {
        done(fail(*session.choice.refused));
        return;
    }
    if (const auto room = sessions_.limits.add_session(session.owner->account()); !room) {
        done(fail(room.error()));
        return;
    }
    session.id = sessions_.new_id();
    tally_.session_registered();
    const SessionId id = session.id;
    Session& kept = sessions_.add(std::move(session));
    log_attached(kept);
    context_.notify([&](ServiceObserver& observer) { observer.session_added(id); });
    if (request.queue_pairs.empty()) {
        done(RegisterReply{id, grants_.of(kept), {}});
        return;
    }
    attach_to(kept, std::move(request.queue_pairs),
              [this, id, done = std::move(done)](Result<std::vector<QueuePairResult>> results) {
                  if (!results) {
                      remove(id, [] {});
                      done(fail(results.error()));
                      return;
                  }
                  Session* made = sessions_.find(id);
                  if (made == nullptr) {
                      done(fail(ErrorCode::UnknownSession, "the session ended while it was being created"));
                      return;
                  }
                  done(RegisterReply{id, grants_.of(*made), std::move(*results)});
              });
}

Result<Session*> SessionCalls::owned(PeerId peer, SessionId id)
{
    TRY(ready());
    return sessions_.owned(peer, id);
}

Result<Membership> SessionCalls::membership_now(const Member& member) const
{
    const Session* session = sessions_.find(member.session);
    if (session == nullptr || session->leaving) {
        return fail(ErrorCode::UnknownSession, "was released in the meantime");
    }
    const Rules& rules = policy_.rules();
    Choice choice = has_own_choice(member, rules, session->request, !session->device.empty())
                        ? choose(rules, member.request, *session->owner)
                        : session->choice;
    if (choice.refused) {
        return fail(*choice.refused);
    }
    return std::move(choice.membership);
}

Result<void> SessionCalls::resolve_file(Session& session, const std::string& device, QueuePairRef& ref)
{
    constexpr std::size_t kMostFiles = 64;    // of a session on a device; programs open one, libraries in them a few
    if (session.adopted) {
        return {};    // each of its files is one object, and open only while it is used
    }
    auto& files = session.files[device];
    std::erase_if(files, [](const auto& file) { return file.expired(); });
    if (!ref.file) {
        ref.file = files.size() == 1 ? files.front().lock() : nullptr;
        return {};
    }
    for (const auto& known : files) {
        const auto file = known.lock();
        if (file && (file == ref.file || is_same_open_file(file->fd(), ref.file->fd()))) {
            ref.file = file;
            return {};
        }
    }
    if (files.size() >= kMostFiles) {
        return fail(ErrorCode::LimitReached,
                    fmt::format("a session can use at most {} open files of a device", kMostFiles));
    }
    files.push_back(ref.file);
    return {};
}

Result<Member> SessionCalls::make_member(const Session& session, const QueuePairRequest& request,
                                         const ManagedDevice& device) const
{
    Member member;
    member.session = session.id;
    member.ref = request.ref;
    member.ref.owner_pid = session.owner->pid;
    member.ref.owner_start_time = session.owner->start_time;
    if (member.ref.file && !member.ref.file->owner()) {    // else a backend may have it
        member.ref.file->set_owner({session.owner->pid, session.owner->start_time});
    }
    member.owner = session.owner;
    member.adopted = session.adopted;
    member.has_path = request.has_path;
    member.request = merged(session.request, request.path);
    leave_by(member.request, device.info());
    const Member* present = device.book().find(request.ref.number);
    if (present != nullptr && present->session != session.id && !may_take_over(*present, *session.owner)) {
        return fail(ErrorCode::NotOwner, fmt::format("queue pair {} of {} is already attached by another session",
                                                     request.ref.number, device.key()));
    }
    if (device.capabilities().scheduling && !device.capabilities().attachable.contains(request.ref.type)) {
        return fail(ErrorCode::Unsupported, fmt::format("{} cannot schedule queue pairs of type {}", device.key(),
                                                        to_string(request.ref.type)));
    }
    member.membership = TRY(membership_now(member));
    return member;
}

void SessionCalls::attach(PeerId peer, SessionId session, std::vector<QueuePairRequest> queue_pairs,
                          Callback<std::vector<QueuePairResult>> done)
{
    done = tally_.timed(&ServiceCounters::attach_calls, std::move(done));
    const auto found = owned(peer, session);
    if (!found) {
        done(fail(found.error()));
        return;
    }
    attach_to(**found, std::move(queue_pairs), std::move(done));
}

Result<Member> SessionCalls::accept(Session& session, QueuePairRequest& request, ManagedDevice& device,
                                    NamedQueuePairs& named) const
{
    TRY(device.has_room());
    TRY(resolve_file(session, device.key(), request.ref));
    auto member = make_member(session, request, device);
    if (member && !named.emplace(&device, request.ref.number).second) {
        return fail(ErrorCode::BadQueuePair,
                    fmt::format("queue pair {} of {} is named twice", request.ref.number, device.key()));
    }
    return member;
}

void SessionCalls::attach_to(Session& session, std::vector<QueuePairRequest> queue_pairs,
                             Callback<std::vector<QueuePairResult>> done)
{
    std::vector<Result<ManagedDevice*>> named_devices;
    std::vector<bool> known;    // attached already, and so counted already
    for (const auto& request : queue_pairs) {
        const auto& device = named_devices.emplace_back(devices_.one_named(request.device));
        const auto numbers = device ? session.queue_pairs.find((*device)->key()) : session.queue_pairs.end();
        known.push_back(numbers != session.queue_pairs.end() && numbers->second.contains(request.ref.number));
    }
    const auto count = static_cast<std::uint32_t>(std::count(known.begin(), known.end(), false));
    if (const auto room = sessions_.limits.add_queue_pairs(session.owner->account(), session.queue_pair_count(), count);
        !room) {
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
        const auto& device = named_devices[i];
        auto member = device ? accept(session, queue_pairs[i], **device, named) : Result<Member>(fail(device.error()));
        if (!member) {
            (*results)[i] = failed(queue_pairs[i], member.error());
            refused += known[i] ? 0 : 1;
            continue;
        }
        const std::string& key = (*device)->key();
        session.found_again(key, member->ref.number);
        session.queue_pairs[key].insert(member->ref.number);
        (*results)[i] = failed(queue_pairs[i], {ErrorCode::DeviceGone, 0, fmt::format("{} went away", key)});
        Batch& batch = batches[*device];
        batch.members.push_back(std::move(*member));
        batch.places.push_back(i);
    }
    sessions_.limits.remove_queue_pairs(session.owner->account(), refused);
    const auto all = Gathering::begin(
        [this, id = session.id, results, done = std::move(done)](const Gathering::Missing&) {
            finish_attach(id, *results);
            done(std::move(*results));
        });
    for (auto& [device, batch] : batches) {
        all->expect(device->key());
        device->add(
            std::move(batch.members),
            // As it was chosen, unless the rules have changed since.
            [this, chosen_by = policy_.rules().matcher](const Member& member) -> Result<Membership> {
                return chosen_by == policy_.rules().matcher ? member.membership : membership_now(member);
            },
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

// Removes from the session what the device refused.
void SessionCalls::finish_attach(SessionId id, const std::vector<QueuePairResult>& results)
{
    Session* found = sessions_.find(id);
    if (found == nullptr) {
        return;
    }
    Session& session = *found;
    if (!session.adopted) {    // of others adoption says why (AdoptionVerdicts)
        log_refused(session, results);
    }
    for (const auto& result : results) {
        const auto on_device = session.queue_pairs.find(result.device);
        if (result.error && on_device != session.queue_pairs.end()) {
            const ManagedDevice* device = devices_.find(result.device);
            const Member* member = device == nullptr ? nullptr : device->book().find(result.number);
            const bool attached = member != nullptr && member->session == id;
            if (!attached && on_device->second.erase(result.number) > 0) {
                sessions_.limits.remove_queue_pairs(session.owner->account(), 1);
            }
        }
    }
    for (const auto& result : results) {
        if (!result.error) {
            take_over(session, result);
        }
    }
    grants_.refresh(session);
    grants_.refresh_neighbours();
    context_.notify([&](ServiceObserver& observer) { observer.session_changed(id, false); });
}

void SessionCalls::adopt(std::shared_ptr<const Identity> owner, std::vector<QueuePairRequest> queue_pairs,
                         Callback<std::vector<QueuePairResult>> done)
{
    if (const auto is_ready = ready(); !is_ready) {
        done(fail(is_ready.error()));
        return;
    }
    Session* session = sessions_.adopted(*owner);
    if (session == nullptr) {
        if (const auto room = sessions_.limits.add_session(owner->account()); !room) {
            done(fail(room.error()));
            return;
        }
        Session made;
        made.id = sessions_.new_id();
        made.owner = std::move(owner);
        made.adopted = true;
        made.request.of_kernel = true;
        made.choice = choose(policy_.rules(), made.request, *made.owner);
        session = &sessions_.add(std::move(made));
        log_attached(*session);
        context_.notify([id = session->id](ServiceObserver& observer) { observer.session_added(id); });
    }
    attach_to(*session, std::move(queue_pairs),
              [this, id = session->id, done = std::move(done)](Result<std::vector<QueuePairResult>> results) {
                  if (Session* const still = sessions_.find(id)) {
                      end_if_empty(*still);
                  }
                  done(std::move(results));
              });
}

void SessionCalls::release_adopted(const std::string& device, const std::vector<std::uint32_t>& numbers)
{
    ManagedDevice* const holder = devices_.find(device);
    std::map<SessionId, std::vector<std::uint32_t>> of_session;
    for (const std::uint32_t number : numbers) {
        const Member* member = holder == nullptr ? nullptr : holder->book().find(number);
        if (member != nullptr && member->adopted) {
            of_session[member->session].push_back(number);
        }
    }
    for (const auto& [id, some] : of_session) {
        Session* const session = sessions_.find(id);
        if (session == nullptr || session->leaving) {
            continue;
        }
        for (const std::uint32_t number : some) {
            if (session->queue_pairs[device].erase(number) > 0) {
                sessions_.limits.remove_queue_pairs(session->owner->account(), 1);
            }
        }
        holder->remove(id, some, [this] { grants_.refresh_neighbours(); });
        notify_changed(*session);
        end_if_empty(*session);
    }
}

void SessionCalls::take_over(const Session& session, const QueuePairResult& attached)
{
    Session* const adopted = session.adopted ? nullptr : sessions_.adopted(*session.owner);
    if (adopted == nullptr) {
        return;
    }
    const auto on_device = adopted->queue_pairs.find(attached.device);
    if (on_device != adopted->queue_pairs.end() && on_device->second.erase(attached.number) > 0) {
        sessions_.limits.remove_queue_pairs(adopted->owner->account(), 1);
        notify_changed(*adopted);
        end_if_empty(*adopted);
    }
}

void SessionCalls::end_if_empty(Session& session)
{
    if (session.adopted && session.queue_pair_count() == 0) {
        remove(session.id, [] {});
    }
}

Result<std::pair<Session*, ManagedDevice*>>
SessionCalls::owned_queue_pair(PeerId peer, SessionId id, const std::string& device, std::uint32_t number)
{
    Session* const session = TRY(owned(peer, id));
    ManagedDevice* const found = TRY(devices_.one_named(device));
    const std::string& key = found->key();
    const auto numbers = session->queue_pairs.find(key);
    if (numbers == session->queue_pairs.end() || !numbers->second.contains(number)) {
        return fail(ErrorCode::BadQueuePair, fmt::format("this session has no queue pair {} on {}", number, key));
    }
    return std::pair(session, found);
}

void SessionCalls::detach(PeerId peer, SessionId session, const std::string& device, std::uint32_t number,
                          Callback<void> done)
{
    const auto found = owned_queue_pair(peer, session, device, number);
    if (!found) {
        const auto still = owned(peer, session);
        if (still && (*still)->found_again(device, number)) {
            notify_changed(**still);
            done({});    // it went away with its device
            return;
        }
        done(fail(found.error()));
        return;
    }
    const auto& [owner, holder] = *found;
    owner->queue_pairs.at(holder->key()).erase(number);
    sessions_.limits.remove_queue_pairs(owner->owner->account(), 1);
    holder->remove(session, {number}, [this, session, done = std::move(done)] {
        if (Session* still = sessions_.find(session)) {
            grants_.refresh(*still);
            grants_.refresh_neighbours();
            context_.notify([&](ServiceObserver& observer) { observer.session_changed(session, false); });
        }
        done({});
    });
}

void SessionCalls::set_rate(PeerId peer, SessionId session, const std::string& device, std::uint32_t number,
                            std::optional<RateLimit> rate, Callback<void> done)
{
    const auto found = owned_queue_pair(peer, session, device, number);
    if (!found) {
        done(fail(found.error()));
        return;
    }
    ManagedDevice& holder = *found->second;
    if (const auto room = holder.has_room(); !room) {
        done(fail(room.error()));
        return;
    }
    holder.change_rate(number, rate, [this, session, done = std::move(done)](Result<void> changed) {
        // What a leaf of its own holds shows nowhere else.
        if (const Session* still = sessions_.find(session)) {
            grants_.refresh(*still);
        }
        done(std::move(changed));
    });
}

void SessionCalls::release(PeerId peer, SessionId session, Callback<void> done)
{
    const auto found = owned(peer, session);
    if (!found) {
        done(fail(found.error()));
        return;
    }
    remove(session, [done = std::move(done)] { done({}); });
}

void SessionCalls::peer_gone(PeerId peer)
{
    for (const SessionId id : sessions_.of_peer(peer)) {
        leaving_.begin(id, [] {});
    }
    leaving_.take_out();
}

void SessionCalls::remove(SessionId id, LoopCallback<void()> done)
{
    leaving_.begin(id, std::move(done));
    leaving_.take_out();
}

void SessionCalls::notify_changed(Session& session)
{
    grants_.refresh(session);
    context_.notify([id = session.id](ServiceObserver& observer) { observer.session_changed(id, false); });
}

void SessionCalls::queue_pairs_changed(const std::string& device, const std::vector<std::uint32_t>& numbers)
{
    std::set<SessionId> affected;
    for (const std::uint32_t number : numbers) {
        if (const Member* member = devices_.at(device).book().find(number)) {
            affected.insert(member->session);
        }
    }
    for (const SessionId id : affected) {
        notify_changed(sessions_.at(id));
    }
}

void SessionCalls::queue_pairs_vanished(const std::string& device,
                                        const std::vector<std::pair<SessionId, std::uint32_t>>& gone)
{
    std::set<SessionId> affected;
    for (const auto& [id, number] : gone) {
        Session* session = sessions_.find(id);
        if (session != nullptr && session->queue_pairs[device].erase(number) > 0) {
            sessions_.limits.remove_queue_pairs(session->owner->account(), 1);
            affected.insert(id);
        }
    }
    for (const SessionId id : affected) {
        notify_changed(sessions_.at(id));
        end_if_empty(sessions_.at(id));
    }
}

void SessionCalls::device_was_reset(const std::string& device, const std::vector<SessionId>& affected)
{
    for (const SessionId id : affected) {
        Session* const found = sessions_.find(id);
        if (found == nullptr) {
            continue;
        }
        Session& session = *found;
        sessions_.limits.remove_queue_pairs(session.owner->account(), session.remove_device(device));
        notify_changed(session);
        end_if_empty(session);
    }
}

}    // namespace rdmaqos
