// Programs on their way into the tree, in jobs: each for some queue pairs of one process on one device. Users have
// their turns one after the other; of a process, one job at a time is in stage Taken on a device.
//
//     add() ──▶ Matched ── begin() ──▶ Taken ── found ──▶ Placed ── end() ──▶ no job any longer
//                  ▲                     │ not found         │ too early
//                  └───── retry() ◀──────┴── keep_back() ◀───┘
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
#include "lib/base/result.h"
#include "lib/nic/backend.h"
#include "policy/model/identity.h"

namespace rdmaqos {

// The stages that take longer than a call; adoption.h has all.
enum class AdoptionStage : std::uint8_t {
    Matched,    // rules may concern its program; it waits for its turn
    Taken,      // its device files are being searched
    Placed,     // its device puts it into a leaf
};

struct AdoptionCandidate {
    SoughtQueuePair sought;
    TimePoint seen_at{};
    std::uint32_t attempts = 0;    // that came too early
    QueuePairRef ref{};            // from stage Placed on
    bool gone = false;             // since it is in stage Placed
};

struct AdoptionJob {
    std::shared_ptr<const Identity> owner;
    std::string device;    // key
    std::vector<AdoptionCandidate> candidates;
    AdoptionStage stage = AdoptionStage::Matched;

    // Of stage Taken.
    struct Search {
        std::vector<std::shared_ptr<ClientFile>> files;
        std::size_t file = 0;                                                                     // that is searched
        std::set<std::uint32_t> known;                                                            // handles in it
        std::map<std::uint32_t, std::pair<FoundQueuePair, std::shared_ptr<ClientFile>>> found;    // by number
        std::optional<Error> problem;    // why a file could not be searched
    };
    Search search{};
};

class AdoptionJobs {
public:
    void add(const std::shared_ptr<const Identity>& owner, const std::string& device,
             const AdoptionCandidate& candidate);
    // To be added by retry().
    void keep_back(const std::shared_ptr<const Identity>& owner, const std::string& device,
                   const AdoptionCandidate& candidate)
    {
        kept_back_.push_back({owner, device, {candidate}});
    }
    void retry();

    // The next one, in stage Taken from now on; null: there is none, or enough are.
    [[nodiscard]] std::shared_ptr<AdoptionJob> begin();
    // When one is in stage Placed, the next one of its program may begin. One that has begun is kept until its end.
    void end(const std::shared_ptr<AdoptionJob>& job) { std::erase(begun_, job); }
    // But for those that have begun.
    void clear()
    {
        waiting_.clear();
        kept_back_.clear();
    }

    // A queue pair is gone: jobs until stage Taken drop it when they look next, and in stage Placed it is marked.
    void note_gone(const std::string& device, std::uint32_t number);
    // There is one with this number again.
    void note_back(const std::string& device, std::uint32_t number) { gone_.erase({device, number}); }
    [[nodiscard]] bool is_gone(const std::string& device, std::uint32_t number) const
    {
        return gone_.contains({device, number});
    }
    // Of queue pairs of this program that are in stage Placed.
    [[nodiscard]] std::map<std::uint32_t, QueuePairRef> placed(const Identity& owner, const std::string& device) const;
    // Nothing waits, and nothing is in stage Taken: what was noted as gone concerns nobody.
    void forget_gone_if_idle();

private:
    using Key = std::pair<pid_t, std::string>;    // process, key of the device

    [[nodiscard]] static Key key_of(const AdoptionJob& job) { return {job.owner->pid, job.device}; }
    [[nodiscard]] std::size_t taken_count() const;
    [[nodiscard]] bool is_taken(const Key& key) const;
    [[nodiscard]] bool is_idle() const { return waiting_.empty() && kept_back_.empty() && taken_count() == 0; }

    std::map<std::uint32_t, std::deque<AdoptionJob>> waiting_;    // by user
    std::uint32_t last_user_ = 0;                                 // who had a turn
    std::vector<AdoptionJob> kept_back_;
    std::vector<std::shared_ptr<AdoptionJob>> begun_;
    std::set<std::pair<std::string, std::uint32_t>> gone_;    // by device and number
};

}    // namespace rdmaqos
