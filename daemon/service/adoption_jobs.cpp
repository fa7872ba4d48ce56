#include "daemon/service/adoption_jobs.h"

#include <algorithm>

namespace rdmaqos {
namespace {

constexpr std::size_t kMostInJob = 64;
constexpr std::size_t kMostRunning = 8;

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

void AdoptionJobs::again()
{
    for (auto& each : std::exchange(kept_back_, {})) {
        add(each.owner, each.device, each.candidates.front());
    }
}

std::optional<AdoptionJob> AdoptionJobs::begin()
{
    for (std::size_t passed_over = 0; running_.size() < kMostRunning && passed_over < waiting_.size(); ++passed_over) {
        auto next = waiting_.upper_bound(last_user_);
        next = next == waiting_.end() ? waiting_.begin() : next;
        last_user_ = next->first;
        auto& jobs = next->second;
        const auto first = std::ranges::find_if(
            jobs, [&](const AdoptionJob& each) { return !running_.contains(key_of(each)); });
        if (first == jobs.end()) {
            continue;
        }
        // Of the same process the last one, which has the newest: the kernel lists the handles in a file so.
        const auto last = std::find_if(jobs.rbegin(), jobs.rend(),
                                       [&](const AdoptionJob& each) { return key_of(each) == key_of(*first); });
        AdoptionJob job = std::move(*last);
        jobs.erase(std::next(last).base());
        if (jobs.empty()) {
            waiting_.erase(next);
        }
        running_.insert(key_of(job));
        return job;
    }
    return std::nullopt;
}

}    // namespace rdmaqos
