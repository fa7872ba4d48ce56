#include "daemon/service/adoption.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "daemon/device/device_names.h"
#include "daemon/service/adoption_path.h"
#include "lib/base/log.h"

namespace rdmaqos {
namespace {

using namespace std::chrono_literals;

// What a turn may take of the main loop.
constexpr Duration kTurn = 500us;
constexpr std::size_t kMostChoices = 4096;
// The owner's own call may be in flight, or a queue pair be moved on: it is tried again after a while.
constexpr Duration kLater = 50ms;
constexpr std::uint32_t kMostAttempts = 5;
// All that are ready are told again, which costs a look at each process.
constexpr Duration kRoomAgain = 10s;

// Why one that the kernel lists cannot be taken; empty: it can.
std::string why_not_this(const ManagedDevice& device, std::uint8_t kernel_type)
{
    const auto type = rdma_netlink::attachable_type(kernel_type);
    if (!device.capabilities().scheduling) {
        return fmt::format("{} cannot schedule queue pairs of other processes: `rdma-qosctl devices {}` shows why",
                           device.key(), device.info().name);
    }
    if (type == QueuePairType::RawPacket) {
        return "the kernel does not tell the send queue of a raw packet queue pair: its program has to register, or to "
               "be "
               "run with rdma-qos-run";
    }
    if (!type || !device.capabilities().attachable.contains(*type)) {
        return fmt::format(
            "{} cannot schedule queue pairs of type {}: its program has to use another type (RC, UC, UD)", device.key(),
            rdma_netlink::name_of_type(kernel_type));
    }
    return {};
}

}    // namespace

struct Adoption::Search {
    AdoptionJob job;
    std::vector<std::shared_ptr<ClientFile>> files;
    std::size_t file = 0;                                                                     // that is searched
    std::set<std::uint32_t> known;                                                            // handles in it
    std::map<std::uint32_t, std::pair<FoundQueuePair, std::shared_ptr<ClientFile>>> found;    // by number
    std::optional<Error> problem;    // why a file could not be searched
};

Adoption::Adoption(ServiceContext& context, const PolicyInForce& policy, const DeviceTable& devices,
                   SessionTable& sessions, SessionCalls& calls, AdoptionVerdicts& verdicts)
    : context_(context), policy_(policy), devices_(devices), sessions_(sessions), calls_(calls), verdicts_(verdicts),
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
    again_timer_ = context_.executor.after(Duration(0), [this] { look_again(); });
}

void Adoption::look_again()
{
    ++looks_;
    const bool wanted = policy_.settings().unregistered == Unregistered::Adopt && policy_.exists();
    verdicts_.setting = policy_.settings().unregistered;
    verdicts_.clear();
    choices_.clear();
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
        taken_ = 0;
        jobs_.clear();
    } else if (!watch_) {
        watch_ = context_.options.watch_host([this](HostNews news) { take(std::move(news)); });
    } else {
        watch_->tell_again();
    }
    review();
}

void Adoption::review()
{
    reviewed_ = {};
    reviewed_queue_pair_.reset();
    review_some();
}

void Adoption::review_some()
{
    const bool adopting = adopts();
    const TimePoint until = context_.clock.now() + kTurn;
    std::map<std::string, std::vector<std::uint32_t>> unwanted;
    bool more = true;
    while (more && context_.clock.now() < until) {
        const Session* session = sessions_.find(reviewed_);
        auto name = session == nullptr || !session->adopted ? std::nullopt
                                                            : session->next_queue_pair(reviewed_queue_pair_);
        if (!name) {
            const auto next = sessions_.next_after(reviewed_);
            more = next.has_value();
            reviewed_ = next.value_or(reviewed_);
            reviewed_queue_pair_.reset();
            continue;
        }
        const ManagedDevice* device = devices_.find(name->device);
        const Member* member = device == nullptr ? nullptr : device->book().find(name->number);
        if (member != nullptr && member->session == session->id) {
            const auto choice = adopting ? choose_for_adoption(*policy_.rules().matcher, member->request,
                                                               *member->owner, true)
                                         : AdoptionChoice{};
            if (choice.verdict != AdoptionVerdict::Adopt) {
                unwanted[name->device].push_back(name->number);
                if (adopting) {
                    refuse_by_rules(device->info().name, name->number, member->owner->pid, choice, member->request);
                }
            }
        }
        reviewed_queue_pair_ = std::move(name);
    }
    for (const auto& [device, numbers] : unwanted) {
        calls_.let_go(device, numbers);
    }
    review_timer_ = more ? context_.executor.after(Duration(0), [this] { review_some(); }) : nullptr;
}

void Adoption::take(HostNews news)
{
    if (context_.shutting_down || !adopts()) {    // a watch ends on a thread, and may say something until then
        return;
    }
    news_.push_back(std::move(news));
    if (!news_timer_) {
        take_some();
    }
}

void Adoption::take_some()
{
    const TimePoint until = context_.clock.now() + kTurn;
    std::map<std::string, std::vector<std::uint32_t>> gone;    // each device is told once
    const auto let_go = [&] {
        for (const auto& [device, numbers] : std::exchange(gone, {})) {
            calls_.let_go(device, numbers);
        }
    };
    while (!news_.empty() && context_.clock.now() < until) {
        const HostNews& news = news_.front();
        if (taken_ < news.gone.size()) {
            take_gone(news.gone[taken_].first, news.gone[taken_].second, gone);
        } else if (taken_ < news.gone.size() + news.ready.size()) {
            let_go();    // what is ready may have the number of what is gone
            consider(news.ready[taken_ - news.gone.size()], news.seen_at);
        }
        if (++taken_ >= news.gone.size() + news.ready.size()) {
            news_.pop_front();
            taken_ = 0;
        }
    }
    let_go();
    start_jobs();
    news_timer_ = news_.empty() ? nullptr : context_.executor.after(Duration(0), [this] { take_some(); });
}

void Adoption::take_gone(const std::string& device, std::uint32_t number,
                         std::map<std::string, std::vector<std::uint32_t>>& gone)
{
    verdicts_.forget(device, number);
    for (const auto& [key, managed] : devices_) {
        if (managed->info().name != device) {
            continue;
        }
        if (!jobs_.empty()) {
            gone_.emplace(key, number);
        }
        if (const auto attached = attaching_.find({key, number}); attached != attaching_.end()) {
            attached->second.gone = true;
        }
        gone[key].push_back(number);
    }
}

void Adoption::refuse(const std::string& device, std::uint32_t number, pid_t process, std::string_view word,
                      std::string reason, std::string level)
{
    if (verdicts_.set(device, number, {word, std::move(reason), process, std::move(level)})) {
        ++counters_.refused[word];
    }
}

void Adoption::refuse_by_rules(const std::string& device, std::uint32_t number, pid_t process,
                               const AdoptionChoice& choice, const Request& path)
{
    refuse(device, number, process, word_of(choice.verdict),
           choice.verdict == AdoptionVerdict::NoRule ? unknown_lid(*policy_.rules().matcher, path)
                                                     : reason_of(choice, *policy_.policy()),
           level_if_enforced(choice));
}

void Adoption::refuse_by_limit(const std::string& device, std::uint32_t number, pid_t process, const Error& limit)
{
    refuse(device, number, process, kNotAdoptable, to_string(limit));
    limited_ = true;
}

void Adoption::room_may_be()
{
    if (!limited_ || room_timer_) {
        return;
    }
    room_timer_ = context_.executor.after(kRoomAgain, [this] {
        room_timer_.reset();
        limited_ = false;
        if (watch_) {
            watch_->tell_again();
        }
    });
}

UidLimits::Room Adoption::room_of(const Identity& owner)
{
    const Session* const session = sessions_.adopted(owner);
    return sessions_.limits.room(owner.account(), session == nullptr ? 0 : session->queue_pair_count());
}

const Adoption::Chosen& Adoption::choose(const Identity& owner, const ManagedDevice& device)
{
    const auto& matcher = policy_.rules().matcher;
    const bool is_same = !chosen_by_.owner_before(matcher) && !matcher.owner_before(chosen_by_);
    if (!is_same || choices_.size() >= kMostChoices) {
        choices_.clear();
        chosen_by_ = matcher;
    }
    const auto [choice, is_new] = choices_.try_emplace({{owner.pid, device.key()}, owner.start_time});
    if (is_new) {
        const auto chosen = choose_for_adoption(*matcher, request_of(device.info()), owner, false);
        choice->second = {chosen.verdict, reason_of(chosen, *policy_.policy()), level_if_enforced(chosen)};
    }
    return choice->second;
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
    if (auto why = why_not_this(device, ready.tracked.type); !why.empty()) {
        refuse(ready.device, number, process, kNotAdoptable, std::move(why));
        return;
    }
    const auto& [verdict, reason, level] = choose(*ready.owner, device);
    if (verdict != AdoptionVerdict::Adopt && verdict != AdoptionVerdict::NeedsPath) {
        refuse(ready.device, number, process, word_of(verdict), reason, level);
        return;
    }
    if (const auto room = room_of(*ready.owner); room.count == 0 && verdict == AdoptionVerdict::Adopt) {
        refuse_by_limit(ready.device, number, process, room.limit);
        return;
    }
    gone_.erase({device.key(), number});
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

bool Adoption::still_sought(AdoptionJob& job)
{
    const ManagedDevice* device = devices_.find(job.device);
    if (device == nullptr || !adopts()) {
        return false;
    }
    std::set<std::uint32_t> told;    // perhaps more than once
    std::erase_if(job.candidates, [&](const AdoptionCandidate& each) {
        const std::uint32_t number = each.sought.number;
        return gone_.contains({job.device, number}) || is_settled(*device, number, *job.owner) ||
               !told.insert(number).second;
    });
    const auto& [verdict, reason, level] = choose(*job.owner, *device);
    if (verdict != AdoptionVerdict::Adopt && verdict != AdoptionVerdict::NeedsPath) {
        for (const auto& each : std::exchange(job.candidates, {})) {
            refuse(device->info().name, each.sought.number, job.owner->pid, word_of(verdict), reason, level);
        }
    }
    return !job.candidates.empty();
}

void Adoption::start_jobs()
{
    while (auto job = jobs_.begin()) {
        if (still_sought(*job)) {
            run(std::move(*job));
        } else {
            jobs_.end(*job);
        }
    }
    if (jobs_.empty()) {
        gone_.clear();
    }
}

void Adoption::run(AdoptionJob job)
{
    auto search = std::make_shared<Search>();
    search->job = std::move(job);
    files_.find(search->job.owner, [this, search](Result<std::vector<std::shared_ptr<ClientFile>>> files) {
        if (files) {
            search->files = std::move(*files);
        } else {
            search->problem = files.error();
        }
        search_next(search);
    });
}

void Adoption::search_next(const std::shared_ptr<Search>& search)
{
    std::vector<SoughtQueuePair> sought;
    if (still_sought(search->job)) {
        for (const auto& candidate : search->job.candidates) {
            if (!search->found.contains(candidate.sought.number)) {
                sought.push_back(candidate.sought);
            }
        }
    }
    if (sought.empty() || search->file >= search->files.size()) {
        finish(search);
        return;
    }
    if (search->known.empty()) {
        search->known = handles_in(search->job, search->files[search->file]);
    }
    ManagedDevice& device = *devices_.find(search->job.device);
    device.find_queue_pairs(search->files[search->file], std::move(sought), search->known,
                            [this, search](Result<QueuePairSearch> found) {
                                if (!found) {
                                    // Of another device: one of several that its process has.
                                    if (found.error().code != ErrorCode::WrongDevice) {
                                        search->problem = found.error();
                                    }
                                    found = QueuePairSearch{};
                                }
                                take_found(search, *found);
                            });
}

std::set<std::uint32_t> Adoption::handles_in(const AdoptionJob& job, const std::shared_ptr<ClientFile>& file)
{
    std::set<std::uint32_t> handles;
    const ManagedDevice* device = devices_.find(job.device);
    const Session* session = sessions_.adopted(*job.owner);
    const auto numbers = session == nullptr ? decltype(session->queue_pairs.end())()
                                            : session->queue_pairs.find(job.device);
    if (device == nullptr || session == nullptr || numbers == session->queue_pairs.end()) {
        return handles;
    }
    for (const std::uint32_t number : numbers->second) {
        const auto attaching = attaching_.find({job.device, number});
        const Member* member = device->book().find(number);
        const QueuePairRef* ref = attaching != attaching_.end() ? &attaching->second.ref
                                  : member != nullptr           ? &member->ref
                                                                : nullptr;
        if (ref != nullptr && ref->file == file) {
            handles.insert(ref->handle);
        }
    }
    return handles;
}

void Adoption::take_found(const std::shared_ptr<Search>& search, const QueuePairSearch& found)
{
    for (const auto& each : found.found) {
        search->known.insert(each.handle);
        search->found.emplace(each.number, std::pair(each, search->files[search->file]));
    }
    search->known.insert(found.others.begin(), found.others.end());
    const bool stuck = !found.complete && found.found.empty() && found.others.empty();
    if (found.complete || stuck) {
        ++search->file;
        search->known.clear();
    }
    search_next(search);
}

void Adoption::finish(const std::shared_ptr<Search>& search)
{
    jobs_.end(search->job);
    if (still_sought(search->job)) {
        attach(*search);
    }
    start_jobs();
}

void Adoption::attach(const Search& search)
{
    const AdoptionJob& job = search.job;
    const ManagedDevice& device = *devices_.find(job.device);
    std::vector<QueuePairRequest> requests;
    AdoptionJob tried{job.owner, job.device, {}};
    auto room = room_of(*job.owner);
    room.limit = room.limit.with_context(fmt::format("no room for {} more", job.candidates.size()));
    for (const auto& candidate : job.candidates) {
        const std::uint32_t number = candidate.sought.number;
        const auto found = search.found.find(number);
        if (found == search.found.end()) {
            try_later(
                job, candidate,
                search.problem.value_or(Error{
                    ErrorCode::BadQueuePair, 0,
                    fmt::format("process {} has no open file of {} with this queue pair in it (another process has "
                                "it, or its main thread has ended): it has to register, or to be run with "
                                "rdma-qos-run",
                                job.owner->pid, job.device)}));
            continue;
        }
        const auto& [there, file] = found->second;
        QueuePairRequest request;
        request.device = job.device;
        request.ref = {number, candidate.sought.type, there.handle, 0, job.owner->pid, job.owner->start_time, file};
        request.path.of_kernel = true;
        request.path.pkey = there.pkey;
        take_ends(there, device.info(), request.path);
        request.has_path = request.path.pkey || request.path.destination || request.path.source;
        Request whole = request.path;
        whole.device = request_of(device.info()).device;
        const auto choice = choose_for_adoption(*policy_.rules().matcher, whole, *job.owner, true);
        if (choice.verdict != AdoptionVerdict::Adopt) {
            refuse_by_rules(device.info().name, number, job.owner->pid, choice, whole);
            continue;
        }
        if (requests.size() >= room.count) {
            refuse_by_limit(device.info().name, number, job.owner->pid, room.limit);
            continue;
        }
        attaching_[{job.device, number}] = {request.ref, false};
        requests.push_back(std::move(request));
        tried.candidates.push_back(candidate);
    }
    if (requests.empty()) {
        return;
    }
    calls_.adopt(job.owner, std::move(requests),
                 [this, tried = std::move(tried), look = looks_](const Result<std::vector<QueuePairResult>>& results) {
                     take_results(tried, results);
                     if (look != looks_) {
                         review();    // the last one may have come too early for these
                     }
                 });
}

void Adoption::take_results(const AdoptionJob& job, const Result<std::vector<QueuePairResult>>& results)
{
    std::vector<std::uint32_t> gone;
    for (const auto& candidate : job.candidates) {
        const auto attached = attaching_.extract({job.device, candidate.sought.number});
        if (attached && attached.mapped().gone) {
            gone.push_back(candidate.sought.number);
        }
    }
    const ManagedDevice* device = devices_.find(job.device);
    if (device == nullptr) {
        return;
    }
    if (!gone.empty()) {
        calls_.let_go(job.device, gone);
        if (watch_) {
            watch_->tell_again();    // one with its number may have come since, and have been taken for it
        }
    }
    const std::string& name = device->info().name;
    std::map<std::uint32_t, Error> errors;
    std::set<std::uint32_t> attached;
    for (const auto& result : results.value_or(std::vector<QueuePairResult>())) {
        if (result.error) {
            errors.emplace(result.number, *result.error);
        } else {
            attached.insert(result.number);
        }
    }
    for (const auto& candidate : job.candidates) {
        const std::uint32_t number = candidate.sought.number;
        const auto error = errors.find(number);
        if (attached.contains(number)) {
            ++counters_.adopted;
            counters_.delay.observe(context_.clock.now() - candidate.seen_at);
            verdicts_.forget(name, number);
        } else if (!results && results.error().code == ErrorCode::LimitReached) {
            refuse_by_limit(name, number, job.owner->pid, results.error());
        } else if (!results) {
            refuse(name, number, job.owner->pid, kNotAdoptable, to_string(results.error()));
        } else if (error == errors.end()) {
            continue;    // was not tried
        } else if (error->second.code == ErrorCode::Busy || error->second.code == ErrorCode::BadState) {
            try_later(job, candidate, error->second);
        } else if (error->second.code == ErrorCode::BadQueuePair || error->second.code == ErrorCode::NotOwner) {
            verdicts_.forget(name, number);    // it is gone, or somebody else's: what is true now will be told
        } else {
            refuse(name, number, job.owner->pid, kNotAdoptable, to_string(error->second));
        }
    }
}

void Adoption::try_later(const AdoptionJob& job, AdoptionCandidate candidate, const Error& reason)
{
    if (++candidate.attempts >= kMostAttempts) {
        const ManagedDevice* device = devices_.find(job.device);
        const std::string& name = device == nullptr ? job.device : device->info().name;
        if (reason.code == ErrorCode::Busy) {    // for longer than usual
            refuse_by_limit(name, candidate.sought.number, job.owner->pid, reason);
            room_may_be();
        } else {
            refuse(name, candidate.sought.number, job.owner->pid, kNotAdoptable, to_string(reason));
        }
        return;
    }
    jobs_.keep_back(job.owner, job.device, candidate);
    if (!later_timer_) {
        later_timer_ = context_.executor.after(kLater, [this] {
            later_timer_.reset();
            jobs_.again();
            start_jobs();
        });
    }
}

}    // namespace rdmaqos
