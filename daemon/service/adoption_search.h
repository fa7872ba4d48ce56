// Stage Taken of adoption: finds the device files of a program on a thread, and on the worker thread of the device the
// handles and paths of the job's queue pairs in them, one file after the other.
//
// Thread: the main loop.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "daemon/adoption/file_finder.h"
#include "daemon/service/adoption_jobs.h"
#include "daemon/service/device_table.h"
#include "daemon/service/session_table.h"

namespace rdmaqos {

class AdoptionSearch {
public:
    // Removes from a job what is not to be adopted any longer; false: nothing is left, or its device is gone.
    using Prune = std::function<bool(AdoptionJob& job)>;
    // The search is over, with what was found.
    using Done = std::function<void(const std::shared_ptr<AdoptionJob>& job)>;

    // All must outlive it.
    AdoptionSearch(FileFinder& files, const DeviceTable& devices, SessionTable& sessions, const AdoptionJobs& jobs,
                   Prune prune, Done done)
        : files_(files), devices_(devices), sessions_(sessions), jobs_(jobs), prune_(std::move(prune)),
          done_(std::move(done))
    {
    }

    void begin(const std::shared_ptr<AdoptionJob>& job);

private:
    // Goes on with the file that is its turn.
    void search(const std::shared_ptr<AdoptionJob>& job);
    void take_found(const std::shared_ptr<AdoptionJob>& job, const QueuePairSearch& found);
    // Of queue pairs in a file that are adopted: a search passes them over.
    [[nodiscard]] std::set<std::uint32_t> adopted_handles(const AdoptionJob& job,
                                                          const std::shared_ptr<ClientFile>& file) const;

    FileFinder& files_;
    const DeviceTable& devices_;
    SessionTable& sessions_;
    const AdoptionJobs& jobs_;
    Prune prune_;
    Done done_;
};

}    // namespace rdmaqos
