#include "daemon/service/adoption_search.h"

#include <utility>

namespace rdmaqos {

void AdoptionSearch::begin(const std::shared_ptr<AdoptionJob>& job)
{
    files_.find(job->owner, [this, job](Result<std::vector<std::shared_ptr<ClientFile>>> files) {
        if (files) {
            job->search.files = std::move(*files);
        } else {
            job->search.problem = files.error();
        }
        search(job);
    });
}

void AdoptionSearch::search(const std::shared_ptr<AdoptionJob>& job)
{
    std::vector<SoughtQueuePair> sought;
    if (prune_(*job)) {
        for (const auto& candidate : job->candidates) {
            if (!job->search.found.contains(candidate.sought.number)) {
                sought.push_back(candidate.sought);
            }
        }
    }
    if (sought.empty() || job->search.file >= job->search.files.size()) {
        done_(job);
        return;
    }
    const auto& file = job->search.files[job->search.file];
    if (job->search.known.empty()) {
        job->search.known = adopted_handles(*job, file);
    }
    ManagedDevice& device = *devices_.find(job->device);
    device.find_queue_pairs(file, std::move(sought), job->search.known, [this, job](Result<QueuePairSearch> found) {
        if (!found) {
            // Of another device: one of several that its process has.
            if (found.error().code != ErrorCode::WrongDevice) {
                job->search.problem = found.error();
            }
            found = QueuePairSearch{};
        }
        take_found(job, *found);
    });
}

void AdoptionSearch::take_found(const std::shared_ptr<AdoptionJob>& job, const QueuePairSearch& found)
{
    for (const auto& each : found.found) {
        job->search.known.insert(each.handle);
        job->search.found.emplace(each.number, std::pair(each, job->search.files[job->search.file]));
    }
    job->search.known.insert(found.others.begin(), found.others.end());
    const bool stuck = !found.complete && found.found.empty() && found.others.empty();
    if (found.complete || stuck) {
        ++job->search.file;
        job->search.known.clear();
    }
    search(job);
}

std::set<std::uint32_t> AdoptionSearch::adopted_handles(const AdoptionJob& job,
                                                        const std::shared_ptr<ClientFile>& file) const
{
    std::set<std::uint32_t> handles;
    const ManagedDevice* device = devices_.find(job.device);
    const Session* session = sessions_.adopted(*job.owner);
    const auto numbers = session == nullptr ? decltype(session->queue_pairs.end())()
                                            : session->queue_pairs.find(job.device);
    if (device == nullptr || session == nullptr || numbers == session->queue_pairs.end()) {
        return handles;
    }
    const auto placed = jobs_.placed(*job.owner, job.device);
    for (const std::uint32_t number : numbers->second) {
        const auto being_placed = placed.find(number);
        const Member* member = device->book().find(number);
        const QueuePairRef* ref = being_placed != placed.end() ? &being_placed->second
                                  : member != nullptr          ? &member->ref
                                                               : nullptr;
        if (ref != nullptr && ref->file == file) {
            handles.insert(ref->handle);
        }
    }
    return handles;
}

}    // namespace rdmaqos
