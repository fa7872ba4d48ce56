#include "daemon/service/grants.h"

#include <utility>

#include <fmt/format.h>

#include "lib/base/log.h"
#include "lib/base/text.h"

namespace rdmaqos {
namespace {

// Grants that may have changed are made in one go; when that takes long, as for sessions of many thousand queue pairs,
// in a tenth of the time.
constexpr Duration kGrantsAtOnce = std::chrono::milliseconds(1);
constexpr int kGrantsPart = 10;
constexpr std::size_t kLookedAtInOneGo = 256;
// Whoever asks for the grant of a session with more queue pairs gets the one that was made last.
constexpr std::uint32_t kMostWaitedFor = 1024;

}    // namespace

Grant Grants::make(const Session& session, const LevelUse& use) const
{
    const Choice& choice = session.choice;
    Grant grant;
    grant.level = choice.membership.level;
    grant.rule = choice.membership.rule;
    grant.verified = choice.verified;
    if (choice.level == nullptr) {
        grant.cause = kNoLevel;
        grant.lost = choice.membership.lost;
        grant.reason = grant.lost != nullptr ? to_sentence(*grant.lost)
                       : choice.refused      ? choice.refused->message
                                             : "no level";
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
    grant.sl_of_host = level.sl && level.sl_source == SlSource::Host;
    if (level.schedule) {
        grant.share = level.schedule->rate.share;
        grant.max_rate = level.schedule->rate.max_rate;
    }
    grant.per_queue_pair = level.per_queue_pair;
    grant.message_model = level.message_model;
    explain_enforcement(session, use, grant);
    return grant;
}

Grants::LevelUse Grants::nothing_looked_at(const Session& session)
{
    LevelUse use;
    use.session = session.id;
    use.level = session.choice.membership.level;
    return use;
}

bool Grants::look_on(const Session& session, LevelUse& use) const
{
    for (std::size_t count = 0; count < kLookedAtInOneGo; ++count) {
        const auto next = session.next_queue_pair(use.looked_at);
        if (!next) {
            return false;
        }
        use.looked_at = next;
        const ManagedDevice* holder = devices_.find(next->device);    // null: it went away meanwhile
        const auto standing = holder == nullptr ? std::nullopt : holder->standing(next->number);
        if (!standing || standing->member.membership.level != use.level) {
            continue;
        }
        if (use.queue_pairs++ == 0) {
            use.nic = next->device;
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
    return true;
}

void Grants::explain_enforcement(const Session& session, const LevelUse& use, Grant& grant) const
{
    const Membership& membership = session.choice.membership;
    // That of its queue pairs, else of the session, else any.
    const ManagedDevice* nic = devices_.find(use.nic);
    if (nic == nullptr) {
        nic = devices_.find(session.device);
    }
    if (nic == nullptr && !devices_.empty()) {
        nic = devices_.begin()->second.get();
    }
    if (nic == nullptr) {
        grant.cause = "no-device";
        grant.reason = "no RDMA device is present";
        return;
    }
    const ElementPath expected = nic->book().expected_leaf(membership, *session.owner);
    grant.leaf = use.leaf.empty() ? expected.text() : use.leaf;
    if (!grant.leaf.empty()) {
        grant.max_rate_now = nic->max_rate_now(ElementPath(grant.leaf), session.owner->pid);
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
        if (device->attach_report().mode == AttachMode::PerProcess) {
            const std::uint64_t now = device->book().processes_revision();
            changed = std::exchange(processes_seen_[key], now) != now || changed;
        }
    }
    if (changed) {
        refresh_all();
    }
}

void Grants::device_answered(const std::string& key)
{
    const ManagedDevice* device = devices_.find(key);
    std::vector<std::pair<ElementPath, std::string>> now;
    if (device != nullptr && device->snapshot()) {
        for (const auto& failure : open_failures(*device->snapshot())) {
            now.emplace_back(failure.path, failure.operation);
        }
    }
    auto& known = failures_seen_[key];
    if (now != known) {
        known = std::move(now);
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
    while ((begun_ || !stale_.empty()) && took < kGrantsAtOnce) {
        make_some();
        took = context_.clock.now() - begin;
    }
    if (took >= kGrantsAtOnce) {
        make_soon(took * (kGrantsPart - 1));
    }
}

void Grants::make_some()
{
    if (!begun_) {
        const Session* next = sessions_.find(stale_.extract(stale_.begin()).value());
        if (next != nullptr) {
            begun_ = nothing_looked_at(*next);
        }
        return;
    }
    Session* session = sessions_.find(begun_->session);
    if (session == nullptr) {
        begun_.reset();
        return;
    }
    if (begun_->level != session->choice.membership.level) {
        begun_ = nothing_looked_at(*session);
    }
    if (!look_on(*session, *begun_)) {
        give(*session, *std::exchange(begun_, std::nullopt));
    }
}

const Grant& Grants::of(Session& session)
{
    if (session.grant && session.queue_pair_count() > kMostWaitedFor) {
        return *session.grant;
    }
    const bool is_begun = begun_ && begun_->session == session.id;
    if (stale_.erase(session.id) > 0 || is_begun || !session.grant) {
        if (is_begun) {
            begun_.reset();
        }
        LevelUse use = nothing_looked_at(session);
        while (look_on(session, use)) {
        }
        give(session, use);
    }
    return *session.grant;
}

void Grants::add_lost(const Session& session, Grant& grant) const
{
    grant.losses = session.losses;
    for (const auto& [key, numbers] : session.lost) {
        grant.detached_devices.push_back(key);
        if (devices_.contains(key)) {
            grant.returned_devices.push_back(key);
        }
    }
    if (session.state() == SessionState::Detached) {
        const bool is_back = !grant.returned_devices.empty();
        const std::string& key = is_back ? grant.returned_devices.front() : grant.detached_devices.front();
        grant.enforced = false;
        grant.cause = "detached";
        grant.reason = fmt::format("{} {}: attach the queue pairs again, new ones if it was reset{}", key,
                                   is_back ? "went away and is back" : "went away or was released",
                                   is_back ? "" : ", when it is back");
    }
}

void Grants::give(Session& session, const LevelUse& use)
{
    Grant grant = make(session, use);
    add_lost(session, grant);
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
