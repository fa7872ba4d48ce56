// What adoption has to do, in jobs: each for some queue pairs of one process on one device. Users have their turns one
// after the other; of a process, one job at a time is done on a device.
//
// Thread: the main loop.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/clock.h"
#include "lib/nic/backend.h"
#include "policy/model/identity.h"

namespace rdmaqos {

struct AdoptionCandidate {
    SoughtQueuePair sought;
    TimePoint seen_at{};
    std::uint32_t attempts = 0;    // that came too early
};

struct AdoptionJob {
    std::shared_ptr<const Identity> owner;
    std::string device;    // key
    std::vector<AdoptionCandidate> candidates;
};

class AdoptionJobs {
public:
    void add(const std::shared_ptr<const Identity>& owner, const std::string& device,
             const AdoptionCandidate& candidate);
    // To be added by again().
    void keep_back(const std::shared_ptr<const Identity>& owner, const std::string& device,
                   const AdoptionCandidate& candidate)
    {
        kept_back_.push_back({owner, device, {candidate}});
    }
    void again();

    // The next one, until end(); empty: there is none, or enough are being done.
    [[nodiscard]] std::optional<AdoptionJob> begin();
    void end(const AdoptionJob& job) { running_.erase(key_of(job)); }

    // But for those that are being done.
    void clear()
    {
        waiting_.clear();
        kept_back_.clear();
    }
    // Nothing is to be done, or being done.
    [[nodiscard]] bool empty() const { return waiting_.empty() && kept_back_.empty() && running_.empty(); }

private:
    using Key = std::pair<pid_t, std::string>;    // process, key of the device

    [[nodiscard]] static Key key_of(const AdoptionJob& job) { return {job.owner->pid, job.device}; }

    std::map<std::uint32_t, std::deque<AdoptionJob>> waiting_;    // by user
    std::uint32_t last_user_ = 0;                                 // who had a turn
    std::vector<AdoptionJob> kept_back_;
    std::set<Key> running_;
};

}    // namespace rdmaqos
