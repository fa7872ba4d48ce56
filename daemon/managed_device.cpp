#include "daemon/managed_device.h"

#include <algorithm>

#include <fmt/format.h>

#include "lib/base/log.h"
#include "lib/base/text.h"
#include "policy/lower.h"

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

// Lives as long as the worker has tasks; touched on the worker thread only, but for its construction.
struct ManagedDevice::Core {
    Core(std::unique_ptr<Backend> nic, const Clock& time, ReconcilerOptions options)
        : clock(time), backend(std::move(nic)), reconciler(*backend, time, options)
    {
    }

    const Clock& clock;
    std::unique_ptr<Backend> backend;
    Reconciler reconciler;
};

ManagedDevice::ManagedDevice(std::unique_ptr<Backend> backend, const Settings& settings, Executor& executor,
                             const Clock& clock, DeviceListener& listener, Worker& reaper)
    : info_(backend->info()), capabilities_(backend->capabilities()), attach_(backend->attach_report()),
      attributes_(std::make_shared<const std::vector<DeviceAttribute>>(backend->attributes())),
      settings_(settings), executor_(executor), listener_(listener), book_(capabilities_, info_.link_speed),
      alive_(std::make_shared<int>(0)), reaper_(reaper),
      worker_(std::make_shared<Worker>(fmt::format("nic-{}", info_.name), settings.limits.device_queue))
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
    reaper_.submit_always([worker = std::move(worker_), core = std::move(core_)]() mutable {
        worker.reset();    // runs what is queued, then joins
        core.reset();
    });
}

// Runs `work(reconciler)` on the worker thread, then `done(its result)` on the main loop if this object still lives.
template <typename Work, typename Done>
void ManagedDevice::on_worker(Work work, Done done)
{
    worker_->submit_always([core = core_, work = std::move(work), done = std::move(done), this,
                           alive = std::weak_ptr<int>(alive_), &executor = executor_]() mutable {
        auto result = std::make_shared<decltype(work(*core))>(work(*core));
        executor.post([this, alive, result, done = std::move(done)]() mutable {
            if (!alive.expired()) {
                done(*result);
            }
        });
    });
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
        return fail(ErrorCode::Busy, fmt::format("{} has {} operations waiting (`limits: device-queue`); try again later",
                                                 key_, worker_->queued()));
    }
    return {};
}

PlacementBook ManagedDevice::new_book() const
{
    return PlacementBook(capabilities_, info_.link_speed);
}

void ManagedDevice::adopt(PlacementBook book, std::function<void()> done)
{
    book_ = std::move(book);
    static_cast<void>(book_.update());
    on_worker([desired = book_.desired()](Core& core) mutable { return core.reconciler.replace(std::move(desired)); },
              [this, done = std::move(done)](const Report& report) {
                  take_report(report);
                  done();
              });
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
            [this](const Report& report) { take_report(report); });
    }
}

void ManagedDevice::send_update(std::vector<QueuePairUpdate> updates, std::function<void()> done)
{
    auto changes = book_.update();
    std::optional<Tree> tree;
    if (changes.tree) {
        tree = book_.compiled().tree;
    }
    for (auto& update : updates) {
        const QueuePairId id{update.ref.number};
        if (update.placement) {
            update.placement = book_.placement(update.ref.number);
        }
        changes.placements.erase(id);
    }
    on_worker(
        [tree = std::move(tree), updates = std::move(updates), moves = std::move(changes.placements)](Core& core) mutable {
            return core.reconciler.update(std::move(tree), std::move(updates), std::move(moves));
        },
        [this, done = std::move(done)](const Report& report) {
            take_report(report);
            done();
        });
}

void ManagedDevice::add(std::vector<Member> members, std::function<void(Results)> done)
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
        [this, members = std::move(members),
         done = std::move(done)](const std::vector<Result<Admission>>& admissions) mutable {
            add_admitted(std::move(members), admissions, std::move(done));
        });
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
    if (const Member* present = book_.find(member.ref.number)) {
        return Error{present->session == member.session ? ErrorCode::BadQueuePair : ErrorCode::NotOwner, 0,
                     fmt::format("queue pair {} of {} was attached meanwhile", member.ref.number, key_)};
    }
    return std::nullopt;
}

void ManagedDevice::add_admitted(std::vector<Member> members, const std::vector<Result<Admission>>& admissions,
                                 std::function<void(Results)> done)
{
    std::vector<QueuePairUpdate> updates;
    std::vector<Member> added;
    auto results = std::make_shared<Results>(members.size());
    std::vector<std::size_t> places;    // of the added ones
    for (std::size_t i = 0; i < members.size(); ++i) {
        Member& member = members[i];
        const auto refusal = why_not_added(member, admissions[i]);
        waiting_.erase({member.session, member.ref.number});
        if (refusal) {
            (*results)[i] = refused(member, *refusal);
            continue;
        }
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
                                     done = std::move(done)] {
        Results of_added = results_of(added);
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

void ManagedDevice::remove(SessionId session, const std::vector<std::uint32_t>& numbers, std::function<void()> done)
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
    send_update(std::move(updates), std::move(done));
}

void ManagedDevice::change_rate(std::uint32_t number, std::optional<RateLimit> rate, Callback<void> done)
{
    const Member* member = book_.find(number);
    if (member == nullptr) {
        done(fail(ErrorCode::BadQueuePair, fmt::format("queue pair {} is not attached on {}", number, key_)));
        return;
    }
    if (const auto possible = book_.can_set_rate(number); !possible) {
        done(fail(possible.error()));
        return;
    }
    book_.change(number, member->membership, rate);
    send_update({}, [this, number, done = std::move(done)] {
        const auto outcome = outcomes_.find(number);
        if (outcome != outcomes_.end() && outcome->second.last.error) {
            done(fail(*outcome->second.last.error));
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
    if (report.operations > 0 || status().state != last_state_) {
        last_state_ = status().state;
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
            on_worker([](Core& core) { return core.reconciler.retry(); },
                      [this](const Report& report) { take_report(report); });
        });
    }
}

void ManagedDevice::schedule_drift_check()
{
    drift_timer_ = executor_.after(settings_.drift_interval, [this] {
        verify(true, [](const DeviceDrift&) {});
        schedule_drift_check();
    });
}

void ManagedDevice::counters(Callback<CounterReading> done)
{
    on_worker(
        [](Core& core) -> Result<CounterReading> {
            const auto counters = core.backend->port_counters();
            if (!counters) {
                return fail(counters.error());
            }
            return CounterReading{*counters, core.clock.now()};
        },
        std::move(done));
}

void ManagedDevice::with_actual(std::function<void(ActualState)> done)
{
    on_worker([](Core& core) { return core.reconciler.actual(); }, std::move(done));
}

void ManagedDevice::reconcile_now(std::function<void(DeviceReconcile)> done)
{
    on_worker([](Core& core) { return core.reconciler.replace(core.reconciler.desired()); },
              [this, done = std::move(done)](const Report& report) {
                  take_report(report);
                  done({key_, report.operations, report.snapshot ? report.snapshot->failures
                                                                 : std::vector<ElementFailure>{}});
              });
}

void ManagedDevice::verify(bool repair, std::function<void(DeviceDrift)> done)
{
    on_worker([repair](Core& core) { return core.reconciler.verify(repair); },
              [this, done = std::move(done)](const DriftReport& found) {
                  take_report(found.report);
                  std::uint32_t repaired = 0;
                  for (const auto& drift : found.drifts) {
                      repaired += drift.repaired ? 1 : 0;
                      log(LogLevel::Warning, {{"DEVICE", key_}, {"PATH", drift.path.text()}},
                          "{}: {} drifted: expected {}, found {}{}", key_, drift.path.text(), drift.expected,
                          drift.found, drift.repaired ? "; repaired" : "");
                  }
                  if (repaired > 0) {
                      listener_.drift_repaired(key_, repaired);
                  }
                  done({key_, found.drifts});
              });
}

void ManagedDevice::drain(std::function<void()> done)
{
    draining_ = true;
    retry_timer_.reset();
    drift_timer_.reset();
    on_worker([](Core& core) { return core.reconciler.drain(); },
              [this, done = std::move(done)](const Report& report) {
                  snapshot_ = report.snapshot;
                  done();
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
        [after_reset, desired = book_.desired()](Core& core) mutable {
            if (after_reset) {
                core.reconciler.device_was_reset();
            }
            return core.reconciler.replace(std::move(desired));
        },
        [this](const Report& report) { take_report(report); });
}

void ManagedDevice::refresh_info()
{
    on_worker([](Core& core) { return core.backend->info(); },
              [this](const DeviceInfo& info) {
                  info_ = info;
                  log(LogLevel::Notice, {{"DEVICE", key_}}, "{}: link {}, {}", key_, info.link_up ? "up" : "down",
                      to_string(info.link_speed));
                  book_.set_link_speed(info.link_speed);
                  static_cast<void>(book_.update());
                  start_again(lost_);
                  listener_.device_status_changed(key_);
              });
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

std::optional<QueuePairResult> ManagedDevice::result(std::uint32_t number) const
{
    const Member* found = book_.find(number);
    if (found == nullptr) {
        return std::nullopt;
    }
    const Member& member = *found;
    const Outcome& outcome = outcomes_.at(number);
    QueuePairResult result;
    result.device = key_;
    result.number = number;
    result.level = member.membership.level;
    result.rule = member.membership.rule;
    result.leaf = outcome.last.requester.text();
    result.responder_leaf = outcome.last.responder.text();
    result.owner_verified = outcome.owner_verified;
    result.rate = outcome.last.rate;
    result.reason = why_unenforced(member, outcome);
    result.enforced = result.reason.empty();
    if (result.enforced && book_.placement(number).requester.name() == "others") {
        result.reason = fmt::format("no leaf of its own is left: {} share {}",
                                    book_.principals_in_others(member.membership.class_path), result.leaf);
    }
    return result;
}

std::string ManagedDevice::why_unenforced(const Member& member, const Outcome& outcome) const
{
    const Placement& desired = book_.placement(member.ref.number);
    if (outcome.last.error) {
        return outcome.last.error->message;
    }
    if (!outcome.known) {
        return "is being attached";
    }
    if (settings_.mode == Mode::Monitor) {
        return "the daemon only watches (`mode: monitor`)";
    }
    if (member.membership.class_path.empty() && !desired.rate) {
        return fmt::format("level {} has no `schedule`: queue pairs are left alone", member.membership.level);
    }
    if (!member.membership.class_path.empty() && desired.requester.empty()) {
        return fmt::format("{} has no leaf for {}", key_, member.membership.class_path.text());
    }
    if (outcome.last.requester != desired.requester || outcome.last.rate != desired.rate) {
        return "is being moved";
    }
    return book_.shortfall(member.ref.number);
}

DeviceStatus ManagedDevice::status() const
{
    DeviceStatus status;
    status.info = info_;
    status.attach = attach_;
    status.attributes = attributes_;
    status.capabilities = capabilities_;
    status.snapshot = snapshot_;
    status.findings = book_.compiled().findings;
    status.queue_depth = worker_->queued();
    if (snapshot_) {
        for (const auto& [path, count] : snapshot_->queue_pairs_in) {
            status.queue_pairs_inside += count;
        }
    }
    const auto members = static_cast<std::uint32_t>(book_.size());
    status.queue_pairs_outside = members - std::min(members, status.queue_pairs_inside);
    status.reason = reason_of(status);
    if (gone_ || lost_) {
        status.state = DeviceState::Gone;
    } else if (settings_.mode == Mode::Monitor) {
        status.state = DeviceState::Monitor;
    } else if (!status.reason.empty()) {
        status.state = DeviceState::Degraded;
    }
    return status;
}

DeviceMetrics ManagedDevice::metrics(const Policy* policy) const
{
    const DeviceStatus now = status();
    DeviceMetrics metrics;
    metrics.device = key_;
    metrics.up = now.state != DeviceState::Gone;
    metrics.degraded = now.state == DeviceState::Degraded;
    metrics.findings = now.findings.size();
    metrics.link_up = now.info.link_up;
    metrics.link_speed = now.info.link_speed;
    metrics.queue_pairs_inside = now.queue_pairs_inside;
    metrics.queue_pairs_outside = now.queue_pairs_outside;
    metrics.elements_used = elements_used(now);
    metrics.elements_free = elements_free(now);
    metrics.leaves_used = leaves_used(now);
    metrics.leaves_free = leaves_free(now);
    metrics.passes = passes_;
    metrics.queue_depth = now.queue_depth;
    metrics.queue_limit = settings_.limits.device_queue;
    if (snapshot_) {
        metrics.leaves_draining = snapshot_->draining.size();
        metrics.open_failures = snapshot_->failures.size() + snapshot_->unreachable.size();
        metrics.counters = snapshot_->counters;
        metrics.operations = snapshot_->operations;
    }
    if (policy != nullptr) {
        for (const auto& level : policy->levels) {
            metrics.levels.emplace(level.name, LevelMetrics{});
        }
        count_leaves(metrics, *policy);
    }
    count_members(metrics);
    return metrics;
}

void ManagedDevice::count_members(DeviceMetrics& metrics) const
{
    std::vector<std::pair<LevelMetrics*, SessionId>> uses;
    for (const auto& [number, outcome] : outcomes_) {
        const Member* member = book_.find(number);
        const Membership& membership = member->membership;
        if (membership.class_path.empty() && !membership.per_queue_pair.max_rate && !member->requested_rate) {
            ++metrics.queue_pairs_unscheduled;
        } else if (why_unenforced(*member, outcome).empty()) {
            ++metrics.queue_pairs_enforced;
        } else {
            ++metrics.queue_pairs_unenforced;
        }
        if (const auto level = metrics.levels.find(membership.level); level != metrics.levels.end()) {
            ++level->second.queue_pairs;
            uses.emplace_back(&level->second, member->session);
        }
    }
    std::sort(uses.begin(), uses.end());
    uses.erase(std::unique(uses.begin(), uses.end()), uses.end());
    for (const auto& [level, session] : uses) {
        ++level->sessions;
    }
}

// A leaf is of the level whose class it is or is in.
void ManagedDevice::count_leaves(DeviceMetrics& metrics, const Policy& policy) const
{
    if (!snapshot_) {
        return;
    }
    std::map<ElementPath, LevelMetrics*> level_of;
    for (const auto& level : policy.levels) {
        const auto leaves = book_.compiled().classes.find(class_path(policy, level));
        if (level.schedule && leaves != book_.compiled().classes.end()) {
            LevelMetrics& use = metrics.levels.at(level.name);
            level_of.emplace(leaves->first, &use);
            level_of.emplace(leaves->second.responder_leaf, &use);
        }
    }
    level_of.erase(ElementPath());
    for (const auto& [id, element] : snapshot_->actual.elements) {
        if (element.kind != ElementKind::Leaf) {
            continue;
        }
        for (ElementPath path = element.path; !path.empty(); path = path.parent()) {
            if (const auto found = level_of.find(path); found != level_of.end()) {
                ++found->second->leaves;
                break;
            }
        }
    }
}

std::string ManagedDevice::reason_of(const DeviceStatus& status) const
{
    if (gone_) {
        return "the device went away";
    }
    if (lost_) {
        return "the device does not answer since a reset; its tree is built again when it comes back";
    }
    if (settings_.mode == Mode::Monitor) {
        return "`mode: monitor` in rdma-qosd.yaml: nothing is written to the device";
    }
    if (snapshot_ && !snapshot_->failures.empty()) {
        const ElementFailure& failure = snapshot_->failures.front();
        return fmt::format("{} could not be written ({} {}: {}); it is tried again",
                           counted(snapshot_->failures.size(), "element"), failure.operation, failure.path.text(),
                           to_string(failure.error));
    }
    if (snapshot_ && !snapshot_->unreachable.empty()) {
        const Unreachable& first = snapshot_->unreachable.front();
        return fmt::format("{}: {}", first.path.text(), first.why);
    }
    const auto error = std::find_if(status.findings.begin(), status.findings.end(),
                                    [](const Finding& finding) { return finding.is_error; });
    return error == status.findings.end() ? std::string{} : to_string(*error);
}

}    // namespace rdmaqos
