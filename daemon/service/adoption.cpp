#include "daemon/service/adoption.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "daemon/device/device_names.h"
#include "lib/base/log.h"

namespace rdmaqos {
namespace {

using namespace std::chrono_literals;

// The owner's own call may be in flight, or a queue pair be moved on: it is tried again after a while.
constexpr Duration kLater = 50ms;
constexpr std::uint32_t kMostAttempts = 5;
// All that are ready are reported again, which costs a look at each process.
constexpr Duration kRoomAgain = 10s;

}    // namespace

Adoption::Adoption(ServiceContext& context, const PolicyInForce& policy, const DeviceTable& devices,
                   SessionTable& sessions, SessionCalls& calls, AdoptionVerdicts& verdicts)
    : context_(context), policy_(policy), devices_(devices), sessions_(sessions), calls_(calls), verdicts_(verdicts),
      review_(context, policy, devices, sessions, calls, verdicts, [this] { return adopts(); }),
      search_(
          files_, devices, sessions, jobs_, [this](AdoptionJob& job) { return still_sought(job); },
          [this](const std::shared_ptr<AdoptionJob>& job) { place(job); }),
      files_(context.executor, context.options.program_files)
{
    context_.add_observer(*this);
}

Adoption::~Adoption()
{
    context_.remove_observer(*this);
}

AdoptionStatus Adoption::status() const
{
    AdoptionStatus status;
    status.setting = policy_.settings().unregistered;
    status.unavailable = status.setting == Unregistered::Adopt ? verdicts_.unavailable : std::string();
    status.programs = sessions_.all_adopted().size();
    for (const auto& [process, id] : sessions_.all_adopted()) {
        status.queue_pairs += sessions_.at(id).queue_pair_count();
    }
    status.counters = counters_;
    status.counters.refused = verdicts_.refused();
    return status;
}

void Adoption::device_added(const std::string& /*key*/)
{
    if (watch_) {
        watch_->tell_again();
    }
}

void Adoption::look_again_soon()
{
    look_timer_ = context_.executor.after(Duration(0), [this] { look_again(); });
}

void Adoption::look_again()
{
    ++looks_;
    const bool wanted = policy_.settings().unregistered == Unregistered::Adopt && policy_.exists();
    verdicts_.setting = policy_.settings().unregistered;
    verdicts_.clear();
    programs_.clear();
    const std::string before = std::exchange(verdicts_.unavailable, {});
    if (wanted) {
        verdicts_.unavailable = context_.options.program_files && context_.options.watch_host
                                    ? context_.options.program_files->why_not()
                                    : "the devices are simulated, and no program can open them";
        if (!verdicts_.unavailable.empty() && verdicts_.unavailable != before) {
            log(LogLevel::Warning, "no program is adopted: {}", verdicts_.unavailable);
        }
    }
    if (!wanted || !verdicts_.unavailable.empty()) {
        // Its end waits for the kernel.
        files_.destroy(std::shared_ptr<HostWatch>(std::move(watch_)));
        news_.clear();
        jobs_.clear();
    } else if (!watch_) {
        watch_ = context_.options.watch_host([this](HostNews news) { add_news(std::move(news)); });
    } else {
        watch_->tell_again();
    }
    review_.begin();
}

void Adoption::add_news(HostNews news)
{
    if (context_.shutting_down || !adopts()) {    // a watch ends on a thread, and may report something until then
        return;
    }
    news_.add(std::move(news));
    if (!news_timer_) {
        look_at_news();
    }
}

void Adoption::look_at_news()
{
    const TimePoint until = context_.clock.now() + kAdoptionTurn;
    GoneOnDevices gone;    // so that each device is asked once
    const auto release_gone = [&] {
        for (const auto& [device, numbers] : std::exchange(gone, {})) {
            calls_.release_adopted(device, numbers);
        }
    };
    while (!news_.empty() && context_.clock.now() < until) {
        news_.next([&](const std::string& device, std::uint32_t number) { note_gone(device, number, gone); },
                   [&](const HostQueuePair& ready, TimePoint seen_at) {
                       release_gone();    // what is ready may have the number of what is gone
                       consider(ready, seen_at);
                   });
    }
    release_gone();
    begin_jobs();
    news_timer_ = news_.empty() ? nullptr : context_.executor.after(Duration(0), [this] { look_at_news(); });
}

void Adoption::note_gone(const std::string& device, std::uint32_t number, GoneOnDevices& gone)
{
    verdicts_.remove(device, number);
    for (const auto& [key, managed] : devices_) {
        if (managed->info().name == device) {
            jobs_.note_gone(key, number);
            gone[key].push_back(number);
        }
    }
}

void Adoption::consider(const HostQueuePair& ready, TimePoint seen_at)
{
    const auto found = std::ranges::find_if(devices_, [&](const auto& entry) {
        const DeviceInfo& info = entry.second->info();
        return info.name == ready.device && (ready.tracked.port == 0 || ready.tracked.port == info.port);
    });
    if (found == devices_.end() || ready.owner == nullptr || !adopts()) {
        return;
    }
    const ManagedDevice& device = *found->second;
    const std::uint32_t number = ready.tracked.number;
    const pid_t process = ready.owner->pid;
    if (is_settled(device, number, *ready.owner)) {
        return;
    }
    if (auto why = why_not_schedulable(device.info(), device.capabilities(), ready.tracked.type); !why.empty()) {
        verdicts_.refuse(ready.device, number, {kNotAdoptable, std::move(why), process});
        return;
    }
    const auto& program = programs_.of(policy_.rules(), *ready.owner, device.info());
    if (!program.may_be_adopted()) {
        verdicts_.refuse(ready.device, number, {word_of(program.verdict), program.reason, process, program.level});
        return;
    }
    if (const auto room = room_of(*ready.owner); room.count == 0 && program.verdict == AdoptionVerdict::Adopt) {
        refuse_by_limit(ready.device, number, process, room.limit);
        return;
    }
    jobs_.note_back(device.key(), number);
    jobs_.add(ready.owner, device.key(),
              {{number, *rdma_netlink::attachable_type(ready.tracked.type), ready.tracked.remote}, seen_at, 0});
}

bool Adoption::is_settled(const ManagedDevice& device, std::uint32_t number, const Identity& owner)
{
    const Member* present = device.book().find(number);
    if ((present != nullptr && present->owner->pid == owner.pid) || sessions_.has_session(owner.pid)) {
        return true;
    }
    const Session* adopted = sessions_.adopted(owner);    // perhaps the device is asked just now
    const auto on_device = adopted == nullptr ? std::map<std::string, std::set<std::uint32_t>>::const_iterator()
                                              : adopted->queue_pairs.find(device.key());
    return adopted != nullptr && on_device != adopted->queue_pairs.end() && on_device->second.contains(number);
}

UidLimits::Room Adoption::room_of(const Identity& owner)
{
    const Session* const session = sessions_.adopted(owner);
    return sessions_.limits.room(owner.account(), session == nullptr ? 0 : session->queue_pair_count());
}

void Adoption::begin_jobs()
{
    while (const auto job = jobs_.begin()) {
        if (still_sought(*job)) {
            search_.begin(job);
        } else {
            jobs_.end(job);
        }
    }
    jobs_.forget_gone_if_idle();
}

bool Adoption::still_sought(AdoptionJob& job)
{
    const ManagedDevice* device = devices_.find(job.device);
    if (device == nullptr || !adopts()) {
        return false;
    }
    std::set<std::uint32_t> numbers;    // one may be reported more than once
    std::erase_if(job.candidates, [&](const AdoptionCandidate& each) {
        const std::uint32_t number = each.sought.number;
        return jobs_.is_gone(job.device, number) || is_settled(*device, number, *job.owner) ||
               !numbers.insert(number).second;
    });
    const auto& program = programs_.of(policy_.rules(), *job.owner, device->info());
    if (!program.may_be_adopted()) {
        for (const auto& each : std::exchange(job.candidates, {})) {
            verdicts_.refuse(device->info().name, each.sought.number,
                             {word_of(program.verdict), program.reason, job.owner->pid, program.level});
        }
    }
    return !job.candidates.empty();
}

void Adoption::place(const std::shared_ptr<AdoptionJob>& job)
{
    job->stage = AdoptionStage::Placed;
    AdoptionPlacement placement;
    if (still_sought(*job)) {
        const DeviceInfo& port = devices_.find(job->device)->info();
        placement = plan_placement(*job, port, policy_.rules(), room_of(*job->owner));
        settle(*job, port.name, placement.outcomes);
    }
    job->search = {};
    job->candidates = std::move(placement.tried);
    if (placement.requests.empty()) {
        jobs_.end(job);
    } else {
        calls_.adopt(job->owner, std::move(placement.requests),
                     [this, job, look = looks_](const Result<std::vector<QueuePairResult>>& results) {
                         finish(job, results);
                         if (look != looks_) {
                             review_.begin();    // the last one may have come too early for these
                         }
                     });
    }
    begin_jobs();
}

void Adoption::finish(const std::shared_ptr<AdoptionJob>& job, const Result<std::vector<QueuePairResult>>& results)
{
    jobs_.end(job);
    const ManagedDevice* device = devices_.find(job->device);
    if (device == nullptr) {
        return;
    }
    std::vector<std::uint32_t> gone;
    for (const auto& candidate : job->candidates) {
        if (candidate.gone) {
            gone.push_back(candidate.sought.number);
        }
    }
    if (!gone.empty()) {
        calls_.release_adopted(job->device, gone);
        if (watch_) {
            watch_->tell_again();    // one with its number may have come since, and have been taken for it
        }
    }
    settle(*job, device->info().name, outcomes_of(*job, results));
}

void Adoption::settle(const AdoptionJob& job, const std::string& device, const std::vector<AdoptionOutcome>& outcomes)
{
    for (const auto& [candidate, end, reason, verdict] : outcomes) {
        const std::uint32_t number = candidate.sought.number;
        switch (end) {
        case AdoptionEnd::Adopted:
            ++counters_.adopted;
            counters_.delay.observe(context_.clock.now() - candidate.seen_at);
            verdicts_.remove(device, number);
            break;
        case AdoptionEnd::TooEarly:
            try_later(job, device, candidate, reason);
            break;
        case AdoptionEnd::Limited:
            refuse_by_limit(device, number, job.owner->pid, reason);
            break;
        case AdoptionEnd::Refused:
            verdicts_.refuse(device, number, verdict);
            break;
        case AdoptionEnd::Vanished:
            verdicts_.remove(device, number);
            break;
        case AdoptionEnd::NotTried:
            break;
        }
    }
}

void Adoption::try_later(const AdoptionJob& job, const std::string& device, AdoptionCandidate candidate,
                         const Error& reason)
{
    if (++candidate.attempts >= kMostAttempts) {
        if (reason.code == ErrorCode::Busy) {    // for longer than usual
            refuse_by_limit(device, candidate.sought.number, job.owner->pid, reason);
            retry_limited();
        } else {
            verdicts_.refuse(device, candidate.sought.number, {kNotAdoptable, to_string(reason), job.owner->pid});
        }
        return;
    }
    jobs_.keep_back(job.owner, job.device, {candidate.sought, candidate.seen_at, candidate.attempts});
    if (!retry_timer_) {
        retry_timer_ = context_.executor.after(kLater, [this] {
            retry_timer_.reset();
            jobs_.retry();
            begin_jobs();
        });
    }
}

void Adoption::refuse_by_limit(const std::string& device, std::uint32_t number, pid_t process, const Error& limit)
{
    verdicts_.refuse(device, number, {kNotAdoptable, to_string(limit), process});
    limited_ = true;
}

void Adoption::retry_limited()
{
    if (!limited_ || limited_timer_) {
        return;
    }
    limited_timer_ = context_.executor.after(kRoomAgain, [this] {
        limited_timer_.reset();
        limited_ = false;
        if (watch_) {
            watch_->tell_again();
        }
    });
}

}    // namespace rdmaqos
