#include "daemon/service/session_table.h"

#include <utility>

#include <fmt/format.h>

namespace rdmaqos {

std::uint32_t Session::queue_pair_count() const
{
    std::size_t count = 0;
    for (const auto& [key, numbers] : queue_pairs) {
        count += numbers.size();
    }
    return static_cast<std::uint32_t>(count);
}

std::uint32_t Session::remove_device(const std::string& key)
{
    constexpr std::size_t kMostRemembered = 4096;    // of a device
    ++losses;
    std::set<std::uint32_t> numbers;
    if (const auto on_device = queue_pairs.extract(key)) {
        numbers = std::move(on_device.mapped());
    }
    const auto count = static_cast<std::uint32_t>(numbers.size());
    std::set<std::uint32_t>& remembered = lost[key];
    if (remembered.size() + numbers.size() > kMostRemembered) {
        remembered.clear();    // of an earlier time, and never asked for again
    }
    remembered.merge(numbers);
    return count;
}

bool Session::found_again(const std::string& name, std::uint32_t number)
{
    for (auto entry = lost.begin(); entry != lost.end(); ++entry) {
        auto& [key, numbers] = *entry;
        if (key != name && !(key.starts_with(name) && key[name.size()] == '/')) {
            continue;
        }
        const bool was_lost = numbers.erase(number) > 0 || numbers.empty();
        if (numbers.empty()) {
            lost.erase(entry);
        }
        return was_lost;
    }
    return false;
}

std::optional<QueuePairName> Session::next_queue_pair(const std::optional<QueuePairName>& after) const
{
    for (auto on = after ? queue_pairs.lower_bound(after->device) : queue_pairs.begin(); on != queue_pairs.end();
         ++on) {
        const auto& [key, numbers] = *on;
        const auto number = after && after->device == key ? numbers.upper_bound(after->number) : numbers.begin();
        if (number != numbers.end()) {
            return QueuePairName{key, *number};
        }
    }
    return std::nullopt;
}

Session* SessionTable::find(SessionId id)
{
    const auto found = sessions_.find(id);
    return found == sessions_.end() ? nullptr : &found->second;
}

const Session* SessionTable::find(SessionId id) const
{
    const auto found = sessions_.find(id);
    return found == sessions_.end() ? nullptr : &found->second;
}

Result<Session*> SessionTable::owned(PeerId peer, SessionId id)
{
    Session* session = find(id);
    if (session == nullptr || session->leaving) {
        return fail(ErrorCode::UnknownSession,
                    fmt::format("there is no session {}; it may have been released", static_cast<std::uint64_t>(id)));
    }
    if (session->adopted) {
        return fail(ErrorCode::NotOwner, fmt::format("session {} is the daemon's own: its program did not register",
                                                     static_cast<std::uint64_t>(id)));
    }
    if (session->peer != peer) {
        return fail(ErrorCode::NotOwner,
                    fmt::format("session {} belongs to another connection", static_cast<std::uint64_t>(id)));
    }
    return session;
}

Session* SessionTable::adopted(const Identity& process)
{
    const auto latest = adopted_.find(process.pid);
    Session* const session = latest == adopted_.end() ? nullptr : find(latest->second);
    const bool is_its = session != nullptr && !session->leaving && session->owner->start_time == process.start_time;
    return is_its ? session : nullptr;
}

std::set<SessionId> SessionTable::of_peer(PeerId peer) const
{
    const auto found = by_peer_.find(static_cast<std::uint64_t>(peer));
    return found == by_peer_.end() ? std::set<SessionId>{} : found->second;
}

std::optional<SessionId> SessionTable::next_after(SessionId id) const
{
    const auto next = sessions_.upper_bound(id);
    return next == sessions_.end() ? std::nullopt : std::optional(next->first);
}

Session& SessionTable::add(Session session)
{
    const SessionId id = session.id;
    if (session.adopted) {
        adopted_[session.owner->pid] = id;
    } else {
        by_peer_[static_cast<std::uint64_t>(session.peer)].insert(id);
        ++by_process_[session.owner->pid];
    }
    return sessions_.emplace(id, std::move(session)).first->second;
}

Session SessionTable::take(SessionId id)
{
    Session session = std::move(sessions_.extract(id).mapped());
    if (session.adopted) {
        if (const auto latest = adopted_.find(session.owner->pid); latest != adopted_.end() && latest->second == id) {
            adopted_.erase(latest);
        }
    } else {
        const auto peer = by_peer_.find(static_cast<std::uint64_t>(session.peer));
        peer->second.erase(id);
        if (peer->second.empty()) {
            by_peer_.erase(peer);
        }
        if (const auto process = by_process_.find(session.owner->pid); --process->second == 0) {
            by_process_.erase(process);
        }
    }
    limits.remove_queue_pairs(session.owner->account(), session.queue_pair_count());
    limits.remove_session(session.owner->account());
    return session;
}

}    // namespace rdmaqos
