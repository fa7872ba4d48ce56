#include "daemon/service/host_view.h"

#include <chrono>
#include <utility>

namespace rdmaqos {
namespace {

constexpr Duration kFresh = std::chrono::seconds(1);
// What a turn may take of the main loop.
constexpr Duration kTurn = std::chrono::microseconds(500);
constexpr int kBetweenLooksAtTheClock = 64;

std::function<HostSurvey()> look_of(const ServiceOptions& options)
{
    return options.survey_host ? options.survey_host : [] { return HostSurvey(); };
}

void set_mark(const ManagedDevice& device, std::uint32_t number, HostStanding& standing)
{
    standing.mark = device.mark(number);
    standing.mark_unseen = device.why_mark_unseen(number);
}

}    // namespace

bool HostWalk::next(HostEntry& entry)
{
    entry = {};
    if (next_ < survey_->queue_pairs.size()) {
        entry.tracked = &survey_->queue_pairs[next_++];
        tracked_[entry.tracked->device].insert(entry.tracked->tracked.number);
        return true;
    }
    const Session* session = sessions_.find(session_);
    if (auto name = session == nullptr ? std::nullopt : session->next_queue_pair(after_)) {
        const auto seen = tracked_.find(name->device.substr(0, name->device.rfind('/')));
        if (seen == tracked_.end() || !seen->second.contains(name->number)) {
            entry.untracked = name;
        }
        after_ = std::move(name);
        return true;
    }
    const auto next = sessions_.next_after(session_);
    session_ = next.value_or(session_);
    after_.reset();
    return next.has_value();
}

HostView::HostView(ServiceContext& context, const DeviceTable& devices, const SessionTable& sessions,
                   const AdoptionVerdicts& verdicts)
    : context_(context), devices_(devices), sessions_(sessions), verdicts_(verdicts),
      look_(context.executor, context.clock, "survey", kFresh)
{
}

void HostView::survey(Callback<std::shared_ptr<const HostSurvey>> done)
{
    if (verdicts_.setting == Unregistered::Ignore) {
        context_.calls.defer([done = std::move(done)] { done(std::make_shared<const HostSurvey>()); });
        return;
    }
    look_.ask([this] { return look_of(context_.options); }, std::move(done));
}

HostView::Found HostView::find(const HostQueuePair& queue_pair) const
{
    Found found;
    for (const auto& [key, device] : devices_) {
        const DeviceInfo& info = device->info();
        const std::uint32_t port = queue_pair.tracked.port;
        if (info.name != queue_pair.device || (port != 0 && port != info.port)) {
            continue;
        }
        found.device = found.device.empty() ? key : found.device;
        const Member* member = device->book().find(queue_pair.tracked.number);
        // A number is used again: it is the session's only if its process has it now.
        if (member != nullptr && queue_pair.owner != nullptr && member->owner->pid == queue_pair.owner->pid) {
            return {key, device.get()};
        }
    }
    return found;
}

std::string_view HostView::outside(const HostQueuePair& queue_pair, const Found& found) const
{
    if (found.of != nullptr) {
        return found.of->outside_leaf(queue_pair.tracked.number);
    }
    if (!queue_pair.tracked.kernel_name.empty()) {
        return kOfKernel;
    }
    if (found.device.empty()) {
        return kUnmanaged;
    }
    if (queue_pair.owner == nullptr) {
        return kOwnerUnknown;
    }
    return sessions_.has_session(queue_pair.owner->pid) ? kNotAttached : verdicts_.word(queue_pair);
}

HostStanding HostView::standing(const HostQueuePair& queue_pair) const
{
    const Found found = find(queue_pair);
    HostStanding standing;
    standing.device = found.device;
    standing.outside = outside(queue_pair, found);
    const bool is_unregistered = found.of == nullptr && queue_pair.tracked.kernel_name.empty() &&
                                 queue_pair.owner != nullptr && !found.device.empty() &&
                                 !sessions_.has_session(queue_pair.owner->pid);
    if (is_unregistered) {
        standing.reason = verdicts_.reason(queue_pair);
        standing.level = verdicts_.level(queue_pair);
    }
    if (found.of != nullptr) {
        standing.session = found.of->book().find(queue_pair.tracked.number)->session;
        standing.result = found.of->result(queue_pair.tracked.number);
        set_mark(*found.of, queue_pair.tracked.number, standing);
    }
    return standing;
}

std::optional<HostView::Known> HostView::standing(const QueuePairName& queue_pair) const
{
    const ManagedDevice* device = devices_.find(queue_pair.device);
    const Member* member = device == nullptr ? nullptr : device->book().find(queue_pair.number);
    if (member == nullptr) {
        return std::nullopt;
    }
    Known known{device->info().name, device->info().port, member->ref.type, member->owner, {}};
    known.standing = {queue_pair.device,
                      member->session,
                      device->result(queue_pair.number),
                      device->outside_leaf(queue_pair.number),
                      {}};
    set_mark(*device, queue_pair.number, known.standing);
    return known;
}

void HostView::count(Callback<Counted> done)
{
    if (last_ && waiting_.empty() && context_.clock.now() - counted_at_ < kFresh) {
        context_.calls.defer([done = std::move(done), counted = *last_] { done(counted); });
        return;
    }
    waiting_.push_back(std::move(done));
    if (waiting_.size() > 1) {
        return;
    }
    survey([this](const Result<std::shared_ptr<const HostSurvey>>& survey) {
        if (!survey) {
            answer(fail(survey.error()));
            return;
        }
        counting_ = {{}, *survey};
        walk_.emplace(sessions_, *survey);
        go_on();
    });
}

void HostView::add(const HostEntry& entry)
{
    if (entry.tracked != nullptr) {
        const Found found = find(*entry.tracked);
        ++counting_
              .counts[{found.device.empty() ? entry.tracked->device : found.device, outside(*entry.tracked, found)}];
    } else if (entry.untracked) {
        const ManagedDevice* device = devices_.find(entry.untracked->device);
        if (device != nullptr && device->book().find(entry.untracked->number) != nullptr) {
            ++counting_.counts[{device->key(), device->outside_leaf(entry.untracked->number)}];
        }
    }
}

void HostView::go_on()
{
    const TimePoint until = context_.clock.now() + kTurn;
    do {
        for (int looked = 0; looked < kBetweenLooksAtTheClock; ++looked) {
            HostEntry entry;
            if (!walk_->next(entry)) {
                last_ = std::exchange(counting_, {});
                counted_at_ = context_.clock.now();
                answer(*last_);
                return;
            }
            add(entry);
        }
    } while (context_.clock.now() < until);
    next_turn_ = context_.executor.after(Duration(0), [this] { go_on(); });
}

void HostView::answer(const Result<Counted>& counted)
{
    walk_.reset();
    for (const auto& done : std::exchange(waiting_, {})) {
        done(counted);
    }
}

}    // namespace rdmaqos
