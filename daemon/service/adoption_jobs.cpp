#include "daemon/service/adoption_jobs.h"

#include <algorithm>

namespace rdmaqos {
namespace {

constexpr std::size_t kMostInJob = 64;
constexpr std::size_t kMostTaken = 8;

}    // namespace

void AdoptionJobs::add(const std::shared_ptr<const Identity>& owner, const std::string& device,
                       const AdoptionCandidate& candidate)
{
    auto& jobs = waiting_[owner->uid];
    const bool fits = !jobs.empty() && jobs.back().owner->pid == owner->pid &&
                      jobs.back().owner->start_time == owner->start_time && jobs.back().device == device &&
                      jobs.back().candidates.size() < kMostInJob;
    if (!fits) {
        jobs.push_back({owner, device, {}});
    }
    jobs.back().candidates.push_back(candidate);
}

void AdoptionJobs::retry()
{
    for (auto& each : std::exchange(kept_back_, {})) {
        add(each.owner, each.device, each.candidates.front());
    }
}

std::shared_ptr<AdoptionJob> AdoptionJobs::begin()
{
    for (std::size_t passed_over = 0; taken_count() < kMostTaken && passed_over < waiting_.size(); ++passed_over) {
        auto next = waiting_.upper_bound(last_user_);
        next = next == waiting_.end() ? waiting_.begin() : next;
        last_user_ = next->first;
        auto& jobs = next->second;
        const auto first = std::ranges::find_if(jobs, [&](const AdoptionJob& each) { return !is_taken(key_of(each)); });
        if (first == jobs.end()) {
            continue;
        }
        // Of the same process the last one, which has the newest: the kernel lists the handles in a file so.
        const auto last = std::find_if(jobs.rbegin(), jobs.rend(),
                                       [&](const AdoptionJob& each) { return key_of(each) == key_of(*first); });
        auto job = std::make_shared<AdoptionJob>(std::move(*last));
        job->stage = AdoptionStage::Taken;
        jobs.erase(std::next(last).base());
        if (jobs.empty()) {
            waiting_.erase(next);
        }
        begun_.push_back(job);
        return job;
    }
    return nullptr;
}

void AdoptionJobs::note_gone(const std::string& device, std::uint32_t number)
{
    if (!is_idle()) {
        gone_.emplace(device, number);
    }
    for (const auto& job : begun_) {
        if (job->stage != AdoptionStage::Placed || job->device != device) {
            continue;
        }
        for (auto& candidate : job->candidates) {
            candidate.gone |= candidate.sought.number == number;
        }
    }
}

std::map<std::uint32_t, QueuePairRef> AdoptionJobs::placed(const Identity& owner, const std::string& device) const
{
    std::map<std::uint32_t, QueuePairRef> refs;
    for (const auto& job : begun_) {
        if (job->stage != AdoptionStage::Placed || job->device != device || job->owner->pid != owner.pid ||
            job->owner->start_time != owner.start_time) {
            continue;
        }
        for (const auto& candidate : job->candidates) {
            refs.insert_or_assign(candidate.sought.number, candidate.ref);
        }
    }
    return refs;
}

void AdoptionJobs::forget_gone_if_idle()
{
    if (is_idle()) {
        gone_.clear();
    }
}

std::size_t AdoptionJobs::taken_count() const
{
    return static_cast<std::size_t>(
        std::ranges::count(begun_, AdoptionStage::Taken, [](const auto& job) { return job->stage; }));
}

bool AdoptionJobs::is_taken(const Key& key) const
{
    return std::ranges::any_of(
        begun_, [&](const auto& job) { return job->stage == AdoptionStage::Taken && key_of(*job) == key; });
}

}    // namespace rdmaqos
