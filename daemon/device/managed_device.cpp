// ManagedDevice: its life, its queue pairs, and what the device says by itself.
#include "daemon/device/managed_device.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "daemon/device/managed_device_core.h"
#include "lib/base/log.h"

namespace rdmaqos {
namespace {

// Such an error means the queue pair was never ours to place; anything else is tried again later.
bool is_refusal(const Error& error)
{
    switch (error.code) {
    case ErrorCode::BadQueuePair:
    case ErrorCode::BadState:
    case ErrorCode::NotOwner:
    case ErrorCode::NotUverbs:
    case ErrorCode::WrongDevice:
        return true;
    default:
        return false;
    }
}

}    // namespace

ManagedDevice::ManagedDevice(std::unique_ptr<Backend> backend, const Settings& settings, Executor& executor,
                             const Clock& clock, DeviceListener& listener, EndingWorkers& ending)
    : info_(backend->info()), capabilities_(backend->capabilities()), attach_(backend->attach_report()),
      attributes_(std::make_shared<const std::vector<DeviceAttribute>>(backend->attributes())), settings_(settings),
      executor_(executor), clock_(clock), listener_(listener), book_(capabilities_, info_.link_speed),
      alive_(std::make_shared<int>(0)), ending_(ending),
      worker_(std::make_unique<Worker>(fmt::format("nic-{}", info_.name), settings.limits.device_queue)),
      calls_(executor)
{
    key_ = info_.key();
    backend->set_event_handler([this, &executor, alive = std::weak_ptr<int>(alive_)](DeviceEvent event) {
        executor.post([this, alive, event] {
            if (!alive.expired()) {
                handle_event(event);
            }
        });
    });
    ReconcilerOptions options;
    options.write = settings.mode == Mode::Enforce;
    core_ = std::make_shared<Core>(std::move(backend), clock, options);
    schedule_drift_check();
}

ManagedDevice::~ManagedDevice()
{
    if (worker_) {
        // The service ends, and nobody is there to be answered: what waits is destroyed with calls_.
        ending_.end(std::move(worker_), last_task(std::move(core_), std::move(book_)), [] {});
    }
}

// With the last of its owners' device files: closing them waits for firmware too.
std::function<void()> ManagedDevice::last_task(std::shared_ptr<Core> core, PlacementBook book)
{
    return [core = std::move(core), book = std::make_shared<PlacementBook>(std::move(book))]() mutable {
        core.reset();
        book.reset();
    };
}

void ManagedDevice::leave(LoopCallback<void()> closed)
{
    gone_ = true;
    alive_.reset();
    stop_timers();
    PlacementBook empty(capabilities_, info_.link_speed);
    ending_.end(std::move(worker_), last_task(std::move(core_), std::exchange(book_, std::move(empty))),
                std::move(closed));
    outcomes_.clear();
    waiting_.clear();
    calls_.cancel({ErrorCode::DeviceGone, 0, fmt::format("{} went away", key_)});
}

void ManagedDevice::stop_timers()
{
    retry_timer_.reset();
    drift_timer_.reset();
}

Callback<Report> ManagedDevice::reported(Callback<void> done)
{
    return [this, done = std::move(done)](const Result<Report>& report) {
        if (report) {
            take_report(*report);
            done({});
        } else {
            done(fail(report.error()));
        }
    };
}

std::optional<Duration> ManagedDevice::silent_for() const
{
    return calls_.waiting() == 0 ? std::nullopt : std::optional<Duration>(clock_.now() - quiet_since_);
}

Result<void> ManagedDevice::has_room() const
{
    if (gone_ || lost_) {
        return fail(ErrorCode::DeviceGone, fmt::format("{} {}", key_, gone_ ? "went away" : "is being reset"));
    }
    if (draining_) {
        return fail(ErrorCode::Busy, fmt::format("{} is being released", key_));
    }
    if (worker_->queued() >= settings_.limits.device_queue) {
        return fail(ErrorCode::Busy,
                    fmt::format("{} has {} operations waiting (`limits: device-queue`); try again later", key_,
                                worker_->queued()));
    }
    return {};
}

PlacementBook ManagedDevice::new_book() const
{
    PlacementBook book(capabilities_, info_.link_speed);
    book.keep_pacing_of(book_);
    return book;
}

DesiredState ManagedDevice::desired() const
{
    DesiredState state = book_.desired();
    if (held_back()) {
        state.tree.clear();
        for (auto& [queue_pair, placement] : state.queue_pairs) {
            placement = {};
        }
    }
    return state;
}

void ManagedDevice::adopt(PlacementBook book, LoopCallback<void()> done)
{
    book_ = std::move(book);
    ++changes_;
    static_cast<void>(book_.update());
    on_worker([desired = desired()](Core& core) mutable { return core.reconciler.replace(std::move(desired)); },
              reported([done = std::move(done)](const Result<void>&) { done(); }));
}

void ManagedDevice::set_settings(const Settings& settings)
{
    const bool write_changed = settings.mode != settings_.mode;
    settings_ = settings;
    schedule_drift_check();
    if (write_changed) {
        on_worker(
            [write = settings.mode == Mode::Enforce](Core& core) {
                core.reconciler.set_write(write);
                return core.reconciler.retry();
            },
            reported([](const Result<void>&) {}));
    }
}

void ManagedDevice::send_update(std::vector<QueuePairUpdate> updates, Callback<void> done)
{
    ++changes_;
    auto changes = book_.update();
    if (held_back()) {
        on_worker([updates = std::move(updates)](
                      Core& core) mutable { return core.reconciler.update(std::nullopt, std::move(updates), {}); },
                  reported(std::move(done)));
        return;
    }
    std::optional<Tree> tree;
    if (changes.tree) {
        tree = book_.compiled().tree;
    }
    for (auto& update : updates) {
        const QueuePairId id{update.ref.number};
        if (update.placement) {
            update.placement = book_.placement(update.ref.number);
            update.again = true;    // its owner asked
        }
        changes.placements.erase(id);
    }
    on_worker(
        [tree = std::move(tree), updates = std::move(updates),
         moves = std::move(changes.placements)](Core& core) mutable {
            return core.reconciler.update(std::move(tree), std::move(updates), std::move(moves));
        },
        reported(std::move(done)));
}

void ManagedDevice::add(std::vector<Member> members, ChooseMembership choose, LoopCallback<void(Results)> done)
{
    std::vector<QueuePairRef> refs;
    for (const auto& member : members) {
        refs.push_back(member.ref);
        waiting_.emplace(member.session, member.ref.number);
    }
    on_worker(
        [refs = std::move(refs)](Core& core) {
            std::vector<Result<Admission>> admissions;
            for (const auto& ref : refs) {
                admissions.push_back(core.backend->admit(ref));
            }
            return admissions;
        },
        [this, members = std::move(members), choose = std::move(choose),
         done = std::move(done)](const Result<std::vector<Result<Admission>>>& admissions) mutable {
            if (admissions) {
                add_admitted(std::move(members), *admissions, choose, std::move(done));
            } else {
                done(refuse(members, admissions.error()));
            }
        });
}

ManagedDevice::Results ManagedDevice::refuse(const std::vector<Member>& members, const Error& error)
{
    Results results;
    std::map<SessionId, std::vector<std::uint32_t>> of_session;
    for (const auto& member : members) {
        results.push_back(refused(member, error));
        of_session[member.session].push_back(member.ref.number);
    }
    for (const auto& [session, numbers] : of_session) {
        remove(session, numbers, [] {});
    }
    return results;
}

// Called once for a member: it is not waiting any longer.
std::optional<Error> ManagedDevice::why_not_added(const Member& member, const Result<Admission>& admission) const
{
    if (!waiting_.contains({member.session, member.ref.number})) {
        return Error{ErrorCode::UnknownSession, 0, "was released meanwhile"};
    }
    if (!admission) {
        return admission.error();
    }
    const Member* present = book_.find(member.ref.number);
    if (present != nullptr && present->session != member.session) {
        return Error{ErrorCode::NotOwner, 0,
                     fmt::format("queue pair {} of {} was attached meanwhile", member.ref.number, key_)};
    }
    return std::nullopt;
}

void ManagedDevice::add_admitted(std::vector<Member> members, const std::vector<Result<Admission>>& admissions,
                                 const ChooseMembership& choose, LoopCallback<void(Results)> done)
{
    std::vector<QueuePairUpdate> updates;
    std::vector<Member> added;
    auto results = std::make_shared<Results>(members.size());
    std::vector<std::size_t> places;    // of the added ones
    for (std::size_t i = 0; i < members.size(); ++i) {
        Member& member = members[i];
        const auto refusal = why_not_added(member, admissions[i]);
        if (const auto waited = waiting_.find({member.session, member.ref.number}); waited != waiting_.end()) {
            waiting_.erase(waited);
        }
        if (refusal) {
            (*results)[i] = refused(member, *refusal);
            continue;
        }
        auto membership = choose(member);
        if (!membership) {
            (*results)[i] = refused(member, membership.error());
            continue;
        }
        member.membership = std::move(*membership);
        updates.push_back({member.ref, Placement{}});
        Outcome& outcome = outcomes_[member.ref.number] = {};
        outcome.owner_verified = admissions[i]->owner_verified;
        book_.add(member);
        added.push_back(std::move(member));
        places.push_back(i);
    }
    if (updates.empty()) {
        done(std::move(*results));
        return;
    }
    send_update(std::move(updates), [this, added = std::move(added), places = std::move(places), results,
                                     done = std::move(done)](const Result<void>& told) {
        Results of_added = told ? results_of(added) : refuse(added, told.error());
        for (std::size_t i = 0; i < places.size(); ++i) {
            (*results)[places[i]] = std::move(of_added[i]);
        }
        done(std::move(*results));
    });
}

// Lets go of those that were never ours to place.
ManagedDevice::Results ManagedDevice::results_of(const std::vector<Member>& members)
{
    Results results;
    std::map<SessionId, std::vector<std::uint32_t>> to_forget;
    for (const auto& member : members) {
        const std::uint32_t number = member.ref.number;
        const auto present = result(number);
        if (!present) {
            results.push_back(refused(member, {ErrorCode::UnknownSession, 0, "was released meanwhile"}));
        } else if (const auto& error = outcomes_.at(number).last.error; error && is_refusal(*error)) {
            results.push_back(refused(member, *error));
            to_forget[member.session].push_back(number);
        } else {
            outcomes_.at(number).admitted = true;
            results.push_back(*present);
        }
    }
    for (const auto& [session, numbers] : to_forget) {
        remove(session, numbers, [] {});
    }
    return results;
}

void ManagedDevice::remove(SessionId session, const std::vector<std::uint32_t>& numbers, LoopCallback<void()> done)
{
    std::vector<QueuePairUpdate> updates;
    for (const std::uint32_t number : numbers) {
        waiting_.erase({session, number});
        const Member* member = book_.find(number);
        if (member != nullptr && member->session == session) {
            updates.push_back({member->ref, std::nullopt});
            book_.remove(number);
            outcomes_.erase(number);
        }
    }
    send_update(std::move(updates), [done = std::move(done)](const Result<void>&) { done(); });
}

void ManagedDevice::change_rate(std::uint32_t number, std::optional<RateLimit> rate, Callback<void> done)
{
    const Member* member = book_.find(number);
    if (member == nullptr) {
        done(fail(ErrorCode::BadQueuePair, fmt::format("queue pair {} is not attached on {}", number, key_)));
        return;
    }
    if (const auto possible = book_.can_set_rate(number, rate); !possible) {
        done(fail(possible.error()));
        return;
    }
    book_.change(number, member->membership, rate);
    send_update({}, [this, number, done = std::move(done)](const Result<void>& told) {
        const auto outcome = outcomes_.find(number);
        if (!told) {
            done(fail(told.error()));
        } else if (outcome != outcomes_.end() && outcome->second.last.error) {
            done(fail(*outcome->second.last.error));
        } else if (outcome != outcomes_.end() && book_.waits_for_pacing(number)) {
            done(fail(ErrorCode::NoSpace, book_.shortfall(number) + "; it is set when one is free"));
        } else {
            done({});
        }
    });
}

void ManagedDevice::take_report(const Report& report)
{
    snapshot_ = report.snapshot;
    passes_.observe(report.took);
    lost_ = report.device_gone;
    std::vector<std::uint32_t> changed;
    for (const auto& outcome : report.queue_pairs) {
        const auto known = outcomes_.find(outcome.queue_pair.number);
        if (known != outcomes_.end() && (!known->second.known || known->second.last != outcome)) {
            known->second.last = outcome;
            known->second.known = true;
            changed.push_back(outcome.queue_pair.number);
        }
    }
    schedule_retry(report.retry_after);
    if (!changed.empty()) {
        listener_.queue_pairs_changed(key_, changed);
    }
    forget_vanished(report);
    const DeviceState now = state(reason());
    if (report.operations > 0 || now != last_state_) {
        last_state_ = now;
        listener_.device_status_changed(key_);
    }
}

// A queue pair that was there and is not known any longer was destroyed by its owner, who did not say so.
void ManagedDevice::forget_vanished(const Report& report)
{
    std::map<SessionId, std::vector<std::uint32_t>> of_session;
    std::vector<std::pair<SessionId, std::uint32_t>> gone;
    for (const auto& outcome : report.queue_pairs) {
        const std::uint32_t number = outcome.queue_pair.number;
        const auto known = outcomes_.find(number);
        if (known != outcomes_.end() && known->second.admitted && outcome.error &&
            outcome.error->code == ErrorCode::BadQueuePair) {
            const SessionId session = book_.find(number)->session;
            of_session[session].push_back(number);
            gone.emplace_back(session, number);
        }
    }
    for (const auto& [session, numbers] : of_session) {
        remove(session, numbers, [] {});
    }
    if (!gone.empty()) {
        listener_.queue_pairs_vanished(key_, gone);
    }
}

void ManagedDevice::schedule_retry(const std::optional<std::chrono::milliseconds>& after)
{
    retry_timer_.reset();
    if (after && !gone_) {
        retry_timer_ = executor_.after(*after, [this] {
            on_worker([](Core& core) { return core.reconciler.retry(); }, reported([](const Result<void>&) {}));
        });
    }
}

void ManagedDevice::schedule_drift_check()
{
    if (draining_) {
        return;
    }
    drift_timer_ = executor_.after(settings_.drift_interval, [this] {
        // A device that does not answer is asked once.
        if (!std::exchange(checking_, true)) {
            verify(true, [this](const Result<DeviceDrift>&) { checking_ = false; });
        }
        schedule_drift_check();
    });
}

void ManagedDevice::handle_event(DeviceEvent event)
{
    switch (event.kind) {
    case DeviceEventKind::LinkChanged:
        refresh_info();
        return;
    case DeviceEventKind::Removed:
        gone_ = true;
        retry_timer_.reset();
        listener_.device_removed_itself(key_);
        return;
    case DeviceEventKind::Reset: {
        std::vector<SessionId> sessions;
        for (const std::uint32_t number : book_.members_in_order()) {
            sessions.push_back(book_.find(number)->session);
        }
        std::sort(sessions.begin(), sessions.end());
        sessions.erase(std::unique(sessions.begin(), sessions.end()), sessions.end());
        log(LogLevel::Warning, {{"DEVICE", key_}},
            "{} was reset: its tree is built again, {} sessions have to register again", key_, sessions.size());
        book_.clear();
        ++changes_;
        outcomes_.clear();
        waiting_.clear();
        static_cast<void>(book_.update());
        lost_ = true;
        start_again(true);
        listener_.device_was_reset(key_, sessions);
        return;
    }
    }
}

// The whole tree anew; `after_reset`: the device has nothing of what it had. If it is not back yet, this fails and its
// return (LinkChanged) comes here again.
void ManagedDevice::start_again(bool after_reset)
{
    on_worker(
        [after_reset, desired = desired()](Core& core) mutable {
            if (after_reset) {
                core.reconciler.device_was_reset();
            }
            return core.reconciler.replace(std::move(desired));
        },
        reported([](const Result<void>&) {}));
}

void ManagedDevice::refresh_info()
{
    on_worker([](Core& core) { return core.backend->info(); },
              [this](const Result<DeviceInfo>& info) {
                  if (info) {
                      take_info(*info);
                  }
              });
}

void ManagedDevice::take_info(const DeviceInfo& info)
{
    const DeviceInfo before = std::exchange(info_, info);
    if (before.link_up != info.link_up || before.link_speed != info.link_speed) {
        log(LogLevel::Notice, {{"DEVICE", key_}}, "{}: link {}, {}", key_, info.link_up ? "up" : "down",
            to_string(info.link_speed));
    }
    book_.set_link_speed(info.link_speed);
    ++changes_;
    static_cast<void>(book_.update());
    start_again(lost_);
    listener_.device_status_changed(key_);
    const auto addresses = [](const DeviceInfo& of) {
        return std::tie(of.port_guid, of.gids, of.pkeys, of.node_description);
    };
    if (addresses(before) != addresses(info)) {
        listener_.device_addresses_changed(key_);
    }
}

QueuePairResult ManagedDevice::refused(const Member& member, const Error& error) const
{
    QueuePairResult result;
    result.device = key_;
    result.number = member.ref.number;
    result.level = member.membership.level;
    result.rule = member.membership.rule;
    result.reason = error.message;
    result.error = error;
    return result;
}

}    // namespace rdmaqos
