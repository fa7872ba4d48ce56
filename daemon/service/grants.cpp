#include "daemon/service/grants.h"

#include <utility>

#include <fmt/format.h>

#include "lib/base/log.h"
#include "lib/base/text.h"

namespace rdmaqos {
namespace {

// Grants that may have changed are made in one go; when that takes long, as for sessions of many thousand queue pairs, in a
// tenth of the time.
constexpr Duration kGrantsAtOnce = std::chrono::milliseconds(1);
constexpr int kGrantsPart = 10;

}    // namespace

Grant Grants::make(const Session& session) const
{
    const Choice& choice = session.choice;
    Grant grant;
    grant.level = choice.membership.level;
    grant.rule = choice.membership.rule;
    grant.verified = choice.verified;
    if (choice.level == nullptr) {
        grant.cause = "no-level";
        grant.reason = choice.refused ? choice.refused->message : "no level";
        return grant;
    }
    const QosLevel& level = *choice.level;
    grant.sl = level.sl;
    if (level.mtu_limit) {
        grant.mtu = bytes(*level.mtu_limit);
    }
    if (level.rate_limit) {
        grant.rate = nominal(*level.rate_limit);
    }
    grant.packet_life = level.packet_life;
    if (const auto lowest = level.pkeys.lowest()) {
        grant.pkey = static_cast<std::uint16_t>(*lowest);
    }
    grant.traffic_class = level.traffic_class;
    if (level.schedule) {
        grant.share = level.schedule->rate.share;
        grant.max_rate = level.schedule->rate.max_rate;
    }
    grant.per_queue_pair = level.per_queue_pair;
    grant.message_model = level.message_model;
    explain_enforcement(session, grant);
    return grant;
}

Grants::LevelUse Grants::use_of_level(const Session& session, const std::string& level) const
{
    LevelUse use;
    if (!devices_.empty()) {
        const ManagedDevice* named = devices_.find(session.device);
        use.nic = named != nullptr ? named : devices_.begin()->second.get();
    }
    for (const auto& [key, numbers] : session.queue_pairs) {
        const ManagedDevice* holder = devices_.find(key);
        if (holder == nullptr) {
            continue;    // it went away while queue pairs were being attached
        }
        for (const std::uint32_t number : numbers) {
            const auto standing = holder->standing(number);
            if (!standing || standing->member.membership.level != level) {
                continue;
            }
            if (use.queue_pairs++ == 0) {
                use.nic = holder;
                use.leaf = standing->outcome.requester.text();
            }
            if (!standing->why.cause.empty()) {
                if (use.unenforced++ == 0) {
                    use.first_cause = standing->why.cause;
                    use.first_reason = standing->why.words;
                }
            } else if (!standing->note.empty()) {
                use.note = standing->note;
            }
        }
    }
    return use;
}

void Grants::explain_enforcement(const Session& session, Grant& grant) const
{
    const Membership& membership = session.choice.membership;
    const LevelUse use = use_of_level(session, grant.level);
    const ManagedDevice* nic = use.nic;
    if (nic == nullptr) {
        grant.cause = "no-device";
        grant.reason = "no RDMA device is present";
        return;
    }
    const ElementPath expected = nic->book().expected_leaf(membership, *session.owner);
    grant.leaf = use.leaf.empty() ? expected.text() : use.leaf;
    if (!grant.leaf.empty()) {
        grant.max_rate_now = nic->book().narrowest_cap(ElementPath(grant.leaf));
    }
    if (use.queue_pairs == 0) {
        Unenforced why = nic->expected(membership, *session.owner);
        grant.cause = why.cause;
        grant.reason = std::move(why.words);
    } else if (use.unenforced > 0) {
        grant.cause = use.first_cause;
        grant.reason = fmt::format("{} of {} not enforced: {}", use.unenforced, counted(use.queue_pairs, "queue pair"),
                                   use.first_reason);
    } else {
        grant.reason = use.note;
    }
    grant.enforced = grant.cause.empty();
}

void Grants::log_level(const Session& session)
{
    const QosLevel* level = session.choice.level;
    if (level == nullptr || !level->log) {
        return;
    }
    const Identity& owner = *session.owner;
    const auto line = lines_.take(owner.uid, context_.clock.now());
    if (line == LogLimit::Line::LeftOut) {
        return;
    }
    const std::string program = owner.command.empty() ? "" : fmt::format(" ({})", printable(owner.command));
    log(LogLevel::Info, {{"LEVEL", level->name}}, "session {} of uid {}, pid {}{}, gets level {}: {}{}",
        static_cast<std::uint64_t>(session.id), owner.uid, owner.pid, program, level->name, session.grant->rule,
        line == LogLimit::Line::Last ? "; other sessions of this second may have no line" : "");
}

void Grants::refresh(const Session& session)
{
    stale_.insert(session.id);
    make_soon({});
}

void Grants::refresh_all()
{
    for (const auto& [id, session] : sessions_) {
        stale_.insert(id);
    }
    make_soon({});
}

void Grants::refresh_neighbours()
{
    bool changed = false;
    for (const auto& [key, device] : devices_) {
        if (device->attach_mode() == AttachMode::PerProcess) {
            const std::uint64_t now = device->book().processes_revision();
            changed = std::exchange(processes_seen_[key], now) != now || changed;
        }
    }
    if (changed) {
        refresh_all();
    }
}

void Grants::make_soon(Duration delay)
{
    if (!timer_) {
        timer_ = context_.executor.after(delay, [this] {
            timer_.reset();
            make_stale_ones();
        });
    }
}

void Grants::make_stale_ones()
{
    const auto begin = context_.clock.now();
    Duration took{};
    while (!stale_.empty() && took < kGrantsAtOnce) {
        Session* session = sessions_.find(*stale_.begin());
        stale_.erase(stale_.begin());
        if (session != nullptr) {
            make_new_one(*session);
        }
        took = context_.clock.now() - begin;
    }
    if (took >= kGrantsAtOnce) {
        make_soon(took * (kGrantsPart - 1));
    }
}

const Grant& Grants::of(Session& session)
{
    if (stale_.erase(session.id) > 0) {
        make_new_one(session);
    }
    return *session.grant;
}

void Grants::make_new_one(Session& session)
{
    Grant grant = make(session);
    if (session.state == SessionState::Detached) {
        grant.enforced = false;
        grant.cause = "detached";
        grant.reason = "the device went away or was reset: register again";
    }
    const bool changed = session.grant && !(grant == *session.grant);
    const bool has_new_level = !session.grant || grant.level != session.grant->level;
    session.grant = std::move(grant);
    if (has_new_level) {
        log_level(session);
    }
    if (changed) {
        context_.notify([&](ServiceObserver& observer) { observer.session_changed(session.id, true); });
    }
}

}    // namespace rdmaqos
