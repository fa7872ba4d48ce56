#include "daemon/device/managed_device.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "daemon/device/device_log.h"
#include "daemon/device/device_names.h"
#include "daemon/device/device_tasks.h"
#include "daemon/device/known_queue_pairs.h"
#include "lib/base/log.h"
#include "lib/base/text.h"

namespace rdmaqos {

ManagedDevice::ManagedDevice(std::unique_ptr<Backend> backend, std::shared_ptr<DeviceHandover> handover,
                             const Settings& settings, Executor& executor, const Clock& clock, DeviceListener& listener,
                             EndingWorkers& ending)
    : facts_{.key = backend->info().key(),
             .info = backend->info(),
             .capabilities = backend->capabilities(),
             .attach = backend->attach_report(),
             .attributes = std::make_shared<const std::vector<DeviceAttribute>>(backend->attributes()),
             .settings = settings,
             .book = PlacementBook(backend->capabilities(), backend->info().link_speed, names_of(backend->info()))},
      executor_(executor), clock_(clock), listener_(listener),
      worker_(std::move(backend), std::move(handover), {.write = settings.mode == Mode::Enforce},
              settings.limits.device_queue, executor, clock, ending, [this](DeviceEvent event) { handle_event(event); })
{
    schedule_drift_check();
}

ManagedDevice::~ManagedDevice()
{
    worker_.end(facts_.draining ? Farewell::ForGood : Farewell::ToNextDaemon,
                std::make_shared<PlacementBook>(std::move(facts_.book)), [] {});
}

void ManagedDevice::end(Farewell farewell, LoopCallback<void()> closed)
{
    facts_.gone = true;
    stop_timers();
    // With the last of its owners' device files: closing them waits for firmware too.
    PlacementBook empty(facts_.capabilities, facts_.info.link_speed, names_of(facts_.info));
    std::swap(facts_.book, empty);
    worker_.end(farewell, std::make_shared<PlacementBook>(std::move(empty)), std::move(closed));
    facts_.queue_pairs.clear();
    waiting_.clear();
    worker_.refuse_all(why_refused(farewell, facts_.key));
}

Callback<Report> ManagedDevice::reported(Callback<void> done)
{
    return [this, done = std::move(done)](const Result<Report>& report) {
        if (report) {
            take_report(*report);
            done({});
        } else {
            whole_tree_next_ = true;
            done(fail(report.error()));
        }
    };
}

Result<void> ManagedDevice::has_room() const
{
    if (facts_.gone || facts_.lost) {
        return fail(ErrorCode::DeviceGone,
                    fmt::format("{} {}", facts_.key, facts_.gone ? "went away" : "is being reset"));
    }
    if (facts_.draining) {
        return fail(ErrorCode::Busy, fmt::format("{} is being released", facts_.key));
    }
    if (const auto queued = worker_.answers().queue_depth; queued >= facts_.settings.limits.device_queue) {
        return fail(
            ErrorCode::Busy,
            fmt::format("{} has {} operations waiting (`limits: device-queue`); try again later", facts_.key, queued));
    }
    return {};
}

PlacementBook ManagedDevice::new_book() const
{
    return facts_.book.without_members(facts_.capabilities);
}

DesiredState ManagedDevice::desired() const
{
    return facts_.held_back() ? facts_.book.nothing_desired() : facts_.book.desired();
}

void ManagedDevice::adopt(PlacementBook book, LoopCallback<void()> done)
{
    facts_.book = std::move(book);
    ++changes_;
    static_cast<void>(facts_.book.update());
    whole_tree_next_ = true;
    when_tested([this, done = std::move(done)](const Result<void>& tested) mutable {
        if (!tested) {
            done();
            return;
        }
        worker_.run([desired = desired()](
                        DeviceWorker::Core& core) mutable { return core.reconciler.replace(std::move(desired)); },
                    reported([done = std::move(done)](const Result<void>&) { done(); }));
    });
}

void ManagedDevice::when_tested(Callback<void> then)
{
    const bool writes = facts_.settings.mode == Mode::Enforce && !facts_.held_back();
    if (facts_.attach.postponed && writes && !facts_.book.tree_spec().elements.empty()) {
        test_attaching(std::move(then));
    } else {
        then({});
    }
}

void ManagedDevice::test_attaching(Callback<void> done)
{
    worker_.run(device_tasks::test_attaching,
                [this, done = std::move(done)](Result<std::pair<AttachReport, Capabilities>> found) {
                    if (!found) {
                        done(fail(found.error()));
                        return;
                    }
                    take_attach_report(std::move(found->first), found->second);
                    done({});
                });
}

void ManagedDevice::take_attach_report(AttachReport report, const Capabilities& capabilities)
{
    facts_.attach = std::move(report);
    if (std::exchange(facts_.capabilities, capabilities) != capabilities) {
        PlacementBook book = new_book();
        book.take_members_of(facts_.book);
        facts_.book = std::move(book);
        static_cast<void>(facts_.book.update());
        whole_tree_next_ = true;
    }
    ++changes_;
    listener_.device_status_changed(facts_.key);
}

void ManagedDevice::set_settings(const Settings& settings)
{
    const bool write_changed = std::exchange(facts_.settings, settings).mode != settings.mode;
    schedule_drift_check();
    if (write_changed) {
        when_tested([this](const Result<void>& tested) {
            if (tested) {    // the mode may have changed once more
                worker_.run([write = facts_.settings.mode == Mode::Enforce](
                                DeviceWorker::Core& core) { return device_tasks::set_write(core, write); },
                            [](const Result<bool>&) {});
            }
        });
    }
}

void ManagedDevice::set_kept_classes(std::vector<KeptClass> classes)
{
    if (classes != facts_.kept_classes) {
        facts_.kept_classes = std::move(classes);
        listener_.promises_changed(facts_.key);
    }
}

void ManagedDevice::send_update(std::vector<QueuePairUpdate> updates, Callback<void> done)
{
    ++changes_;
    auto changes = facts_.book.update();
    if (facts_.held_back()) {
        whole_tree_next_ = whole_tree_next_ || changes.tree;
        worker_.run(
            [updates = std::move(updates)](DeviceWorker::Core& core) mutable {
                return core.reconciler.update(std::nullopt, std::move(updates), {});
            },
            reported(std::move(done)));
        return;
    }
    TreeUpdate tree;
    if (changes.tree && changes.elements && !whole_tree_next_) {
        tree = std::move(*changes.elements);
    } else if (changes.tree) {
        tree = facts_.book.compiled().tree;
        whole_tree_next_ = false;
    }
    for (auto& update : updates) {
        const QueuePairId id{update.ref.number};
        if (update.placement) {
            update.placement = facts_.book.placement(update.ref.number);
        }
        changes.placements.erase(id);
    }
    worker_.run(
        [tree = std::move(tree), updates = std::move(updates),
         moves = std::move(changes.placements)](DeviceWorker::Core& core) mutable {
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
    worker_.run([refs = std::move(refs)](DeviceWorker::Core& core) { return device_tasks::admit(core, refs); },
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
        results.push_back(refused_queue_pair(facts_, member, error));
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
        return Error{ErrorCode::UnknownSession, 0, "was released in the meantime"};
    }
    if (!admission) {
        return admission.error();
    }
    const Member* present = facts_.book.find(member.ref.number);
    if (present != nullptr && present->session != member.session && !may_take_over(*present, *member.owner)) {
        return Error{ErrorCode::NotOwner, 0,
                     fmt::format("queue pair {} of {} was attached in the meantime", member.ref.number, facts_.key)};
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
            (*results)[i] = refused_queue_pair(facts_, member, *refusal);
            continue;
        }
        auto membership = choose(member);
        if (!membership) {
            (*results)[i] = refused_queue_pair(facts_, member, membership.error());
            continue;
        }
        member.membership = std::move(*membership);
        updates.push_back({member.ref, Placement{}, true});    // its owner asked
        KnownQueuePair& outcome = facts_.queue_pairs[member.ref.number] = {};
        outcome.owner_verified = admissions[i]->owner_verified;
        facts_.book.add(member);
        added.push_back(std::move(member));
        places.push_back(i);
    }
    if (updates.empty()) {
        done(std::move(*results));
        return;
    }
    send_update(std::move(updates), [this, added = std::move(added), places = std::move(places), results,
                                     done = std::move(done)](const Result<void>& outcome) {
        Results of_added = outcome ? results_of(added) : refuse(added, outcome.error());
        for (std::size_t i = 0; i < places.size(); ++i) {
            (*results)[places[i]] = std::move(of_added[i]);
        }
        done(std::move(*results));
    });
}

void ManagedDevice::find_queue_pairs(std::shared_ptr<ClientFile> file, std::vector<SoughtQueuePair> sought,
                                     std::set<std::uint32_t> known, Callback<QueuePairSearch> done)
{
    worker_.run([file = std::move(file), sought = std::move(sought), known = std::move(known)](
                    DeviceWorker::Core& core) { return core.backend->find_queue_pairs(file, sought, known); },
                std::move(done));
}

// Forgets those that were never ours to place.
ManagedDevice::Results ManagedDevice::results_of(const std::vector<Member>& members)
{
    Results results;
    std::map<SessionId, std::vector<std::uint32_t>> to_forget;
    for (const auto& member : members) {
        const std::uint32_t number = member.ref.number;
        const auto present = queue_pair_result(facts_, number);
        if (!present) {
            results.push_back(
                refused_queue_pair(facts_, member, {ErrorCode::UnknownSession, 0, "was released in the meantime"}));
        } else if (const auto error = why_not_taken(facts_, number)) {
            results.push_back(refused_queue_pair(facts_, member, *error));
            to_forget[member.session].push_back(number);
        } else {
            facts_.queue_pairs.at(number).admitted = true;
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
        const Member* member = facts_.book.find(number);
        if (member != nullptr && member->session == session) {
            updates.push_back({member->ref, std::nullopt});
            facts_.book.remove(number);
            facts_.queue_pairs.erase(number);
        }
    }
    if (!updates.empty()) {
        affected_.left(session, clock_.now());
    }
    send_update(std::move(updates), [done = std::move(done)](const Result<void>&) { done(); });
}

void ManagedDevice::change_rate(std::uint32_t number, std::optional<RateLimit> rate, Callback<void> done)
{
    if (const auto possible = can_set_rate(facts_, number, rate); !possible) {
        done(fail(possible.error()));
        return;
    }
    const auto before = facts_.book.find(number)->requested_rate;
    want_rate(number, rate, [this, number, rate, before, done = std::move(done)](const Result<void>& outcome) mutable {
        auto refused = outcome ? why_rate_is_not_held(facts_, number) : std::optional(outcome.error());
        const Member* still = facts_.book.find(number);
        const bool is_wanted = still != nullptr && still->requested_rate == rate;
        if (!refused || !is_wanted || facts_.book.waits_for_pacing(number)) {
            done(refused ? Result<void>(fail(std::move(*refused))) : Result<void>());
            return;
        }
        // What was refused must not come later by itself.
        want_rate(number, before, [refused = std::move(*refused), done = std::move(done)](const Result<void>&) {
            done(fail(refused));
        });
    });
}

// Named, so that the device is asked even if the same was wanted, and refused, before.
void ManagedDevice::want_rate(std::uint32_t number, std::optional<RateLimit> rate, Callback<void> done)
{
    const Member& member = *facts_.book.find(number);
    facts_.book.change(number, member.membership, rate);
    send_update({{member.ref, Placement{}}}, std::move(done));
}

void ManagedDevice::take_report(const Report& report)
{
    log_outcome(facts_, report);
    facts_.snapshot = report.snapshot;
    facts_.passes.observe(report.took);
    facts_.lost = report.device_gone;
    schedule_retry(report.retry_after);
    if (const auto changed = take_outcomes(facts_, report); !changed.empty()) {
        listener_.queue_pairs_changed(facts_.key, changed);
    }
    forget_vanished(report);
    // Also without any operation: findings are of the policy, and a read-back can fail.
    listener_.device_status_changed(facts_.key);
}

void ManagedDevice::forget_vanished(const Report& report)
{
    const auto gone = find_vanished(facts_, report);
    std::map<SessionId, std::vector<std::uint32_t>> of_session;
    for (const auto& [session, number] : gone) {
        of_session[session].push_back(number);
    }
    for (const auto& [session, numbers] : of_session) {
        affected_.bereft(session, clock_.now());
        remove(session, numbers, [] {});
    }
    if (!gone.empty()) {
        listener_.queue_pairs_vanished(facts_.key, gone);
    }
}

void ManagedDevice::schedule_retry(const std::optional<std::chrono::milliseconds>& after)
{
    retry_timer_.reset();
    if (after && !facts_.gone) {
        retry_timer_ = executor_.after(*after, [this] {
            worker_.run([](DeviceWorker::Core& core) { return core.reconciler.retry(); },
                        reported([](const Result<void>&) {}));
        });
    }
}

void ManagedDevice::schedule_drift_check()
{
    if (facts_.draining) {
        return;
    }
    drift_timer_ = executor_.after(facts_.settings.drift_interval, [this] {
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
        facts_.gone = true;
        retry_timer_.reset();
        listener_.device_removed_itself(facts_.key);
        return;
    case DeviceEventKind::Reset: {
        const auto hit = sessions_hit();
        log_event(LogLevel::Warning, LogEvent::DeviceLost, LogOrigin::device(facts_.key), {{"DEVICE", facts_.key}},
                  "{} was reset: its tree is being rebuilt; {} had queue pairs on it", facts_.key,
                  counted(hit.size(), "session"));
        facts_.book.clear();
        ++changes_;
        facts_.queue_pairs.clear();
        waiting_.clear();
        static_cast<void>(facts_.book.update());
        whole_tree_next_ = true;
        facts_.lost = true;
        start_again(true);
        listener_.device_was_reset(facts_.key, {hit.begin(), hit.end()});
        return;
    }
    }
}

// The whole tree again; `after_reset`: the device has nothing of what it had. If it is not back yet, this fails and its
// return (LinkChanged) comes here again.
void ManagedDevice::start_again(bool after_reset)
{
    worker_.run(
        [after_reset, desired = desired()](DeviceWorker::Core& core) mutable {
            if (after_reset) {
                core.reconciler.device_was_reset();
            }
            return core.reconciler.replace(std::move(desired));
        },
        reported([](const Result<void>&) {}));
}

void ManagedDevice::refresh_info()
{
    worker_.run([](DeviceWorker::Core& core) { return core.backend->info(); },
                [this](const Result<DeviceInfo>& info) {
                    if (info) {
                        take_info(*info);
                    }
                });
}

void ManagedDevice::take_info(const DeviceInfo& info)
{
    const DeviceInfo before = std::exchange(facts_.info, info);
    const bool other_link = before.link_up != info.link_up || before.link_speed != info.link_speed;
    const std::vector<Finding> known = other_link ? facts_.book.compiled().findings : std::vector<Finding>();
    facts_.book.set_device(names_of(info), info.link_speed);
    ++changes_;
    static_cast<void>(facts_.book.update());
    whole_tree_next_ = true;
    if (other_link) {
        log_link(facts_, known);
    }
    start_again(facts_.lost);
    listener_.device_status_changed(facts_.key);
    const auto addresses = [](const DeviceInfo& of) {
        return std::tie(of.port_guid, of.gids, of.pkeys, of.node_description);
    };
    if (addresses(before) != addresses(info)) {
        listener_.device_addresses_changed(facts_.key);
    }
}

void ManagedDevice::set_disabled(bool disabled, LoopCallback<void(DeviceReconcile)> done)
{
    facts_.disabled = disabled;
    when_tested([this, done = std::move(done)](const Result<void>& tested) mutable {
        if (tested) {
            tell_disabled(std::move(done));
        } else {
            done(reconcile_result(facts_, tested.error()));
        }
    });
}

void ManagedDevice::tell_disabled(LoopCallback<void(DeviceReconcile)> done)
{
    static_cast<void>(facts_.book.update());
    whole_tree_next_ = true;
    DesiredState state = desired();
    std::vector<QueuePairUpdate> updates;
    for (const std::uint32_t number : facts_.book.members_in_order()) {
        updates.push_back({facts_.book.find(number)->ref, state.queue_pairs.at(QueuePairId{number})});
    }
    // A daemon that only watches leaves the device alone, but not when it is ordered to leave it.
    const bool take_back = facts_.disabled && facts_.settings.mode == Mode::Monitor;
    worker_.run(
        [take_back, tree = std::move(state.tree), updates = std::move(updates)](DeviceWorker::Core& core) mutable {
            return device_tasks::replace(core, take_back, std::move(tree), std::move(updates));
        },
        [this, done = std::move(done)](const Result<Report>& report) {
            if (!report) {
                done(reconcile_result(facts_, report.error()));
                return;
            }
            take_report(*report);
            done(reconcile_result(facts_, *report));
        });
}

void ManagedDevice::read_marks(std::shared_ptr<const DscpOfLevels> levels, Callback<void> done)
{
    waiting_for_marks_.push_back(std::move(done));
    if (waiting_for_marks_.size() == 1) {
        go_on_reading_marks(std::move(levels));
    }
}

void ManagedDevice::go_on_reading_marks(std::shared_ptr<const DscpOfLevels> levels)
{
    constexpr std::size_t kAtOnce = 128;    // some milliseconds
    auto due = take_due_marks(facts_, *levels, clock_.now(), kAtOnce);
    // Also if none is due: the answer never comes before the call returns.
    worker_.run([due = std::move(due)](DeviceWorker::Core& core) { return device_tasks::read_marks(core, due); },
                [this, levels = std::move(levels)](const Result<std::vector<MarkAnswer>>& answers) {
                    if (!answers) {
                        answer_marks(fail(answers.error()));
                        return;
                    }
                    take_marks(facts_, *answers);
                    if (answers->size() == kAtOnce) {
                        go_on_reading_marks(levels);
                    } else {
                        answer_marks({});
                    }
                });
}

void ManagedDevice::answer_marks(const Result<void>& answer)
{
    for (const auto& done : std::exchange(waiting_for_marks_, {})) {
        done(answer);
    }
}

void ManagedDevice::cap_copies(std::vector<CopyCap> caps, Callback<std::vector<std::size_t>> done)
{
    worker_.run(
        [caps = std::move(caps)](DeviceWorker::Core& core) {
            std::vector<std::size_t> refused;
            for (std::size_t i = 0; i < caps.size(); ++i) {
                if (!core.reconciler.cap_copy(caps[i].file, caps[i].leaf, caps[i].cap)) {
                    refused.push_back(i);
                }
            }
            return refused;
        },
        std::move(done));
}

void ManagedDevice::set_not_adaptive(std::string why)
{
    if (std::exchange(facts_.attach.not_adaptive, why) != why) {
        listener_.promises_changed(facts_.key);
        listener_.device_status_changed(facts_.key);
    }
}

void ManagedDevice::counters(Callback<CounterReading> done)
{
    worker_.run(device_tasks::read_counters, std::move(done));
}

void ManagedDevice::plan(std::shared_ptr<const DesiredState> wanted, Callback<PlannedChange> done)
{
    worker_.run([wanted = std::move(wanted)](DeviceWorker::Core& core) { return device_tasks::plan(core, *wanted); },
                std::move(done));
}

void ManagedDevice::reconcile_now(LoopCallback<void(DeviceReconcile)> done)
{
    worker_.run(device_tasks::repair, [this, done = std::move(done)](const Result<std::pair<Report, Report>>& reports) {
        if (!reports) {
            done(reconcile_result(facts_, reports.error()));
            return;
        }
        take_report(reports->first);
        take_report(reports->second);
        done(reconcile_result(facts_, reports->second));
    });
}

void ManagedDevice::verify(bool repair, Callback<DeviceDrift> done)
{
    if (!facts_.attach.unreadable.empty()) {
        done(device_drift(facts_, {unreadable(facts_.attach)}));
        return;
    }
    worker_.run([repair](DeviceWorker::Core& core) { return core.reconciler.verify(repair); },
                [this, done = std::move(done)](const Result<DriftReport>& found) {
                    if (!found) {
                        done(fail(found.error()));
                        return;
                    }
                    take_report(found->report);
                    log_drift(facts_.key, found->drifts);
                    const auto repaired = static_cast<std::uint32_t>(
                        std::ranges::count(found->drifts, true, &Drift::repaired));
                    if (repaired > 0) {
                        listener_.drift_repaired(facts_.key, repaired);
                    }
                    done(device_drift(facts_, found->drifts));
                });
}

void ManagedDevice::drain(LoopCallback<void(DeviceReconcile)> done)
{
    facts_.draining = true;
    stop_timers();
    worker_.run([](DeviceWorker::Core& core) { return core.reconciler.drain(); },
                [this, done = std::move(done)](const Result<Report>& report) {
                    if (!report) {
                        done(reconcile_result(facts_, report.error()));
                        return;
                    }
                    facts_.snapshot = report->snapshot;
                    done(reconcile_result(facts_, *report));
                });
}

}    // namespace rdmaqos
