// Puts queue pairs of programs that did not register into the tree (`unregistered: adopt`). A queue pair goes through
// six stages; at each it may end with a verdict (AdoptionVerdicts), which `qps` shows.
//
//     seen ────────▶ identified ────▶ matched ───────▶ taken ────────▶ placed ───────▶ watched
//     it may send    port, owner,     rules without    its handle and  rules with      it is gone, its
//     (RTS)          type             its path         path in its     its path;       program ends, or
//                                                      device file     attached        rules change
//     HostWatch,     consider()       ProgramVerdicts, AdoptionSearch  plan_           HostWatch,
//     AdoptionNews                    AdoptionJobs                     placement()     AdoptionReview
//     thread, loop   loop             loop             threads         loop, device    loop
//                                        ▲                                │
//                                        └──── too early: a few times ────┘
//
// Its path is known only when it may send; so it is placed once. What is adopted is a session of the daemon's own,
// which goes when its last queue pair does, or when its program ends (ProgramEnds).
//
// From matched to placed, queue pairs of one process on one device go together, as an AdoptionJob, which says at which
// stage they are. Before each step, a job drops what is no longer to be adopted (still_sought).
//
// Thread: the main loop.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/adoption/file_finder.h"
#include "daemon/model/adoption.h"
#include "daemon/service/adoption_jobs.h"
#include "daemon/service/adoption_news.h"
#include "daemon/service/adoption_review.h"
#include "daemon/service/adoption_search.h"
#include "daemon/service/adoption_stages.h"
#include "daemon/service/adoption_verdicts.h"
#include "daemon/service/context.h"
#include "daemon/service/device_table.h"
#include "daemon/service/policy_in_force.h"
#include "daemon/service/session_calls.h"
#include "daemon/service/session_table.h"
#include "daemon/survey/queue_pair_watch.h"

namespace rdmaqos {

class Adoption final : public ServiceObserver {
public:
    // All must outlive it.
    Adoption(ServiceContext& context, const PolicyInForce& policy, const DeviceTable& devices, SessionTable& sessions,
             SessionCalls& calls, AdoptionVerdicts& verdicts);
    ~Adoption() override;
    Adoption(const Adoption&) = delete;
    Adoption& operator=(const Adoption&) = delete;

    [[nodiscard]] AdoptionStatus status() const;

    // What the rules say now may differ: all that is ready is looked at once more.
    void policy_changed() override { look_again_soon(); }
    void groups_changed() override { look_again_soon(); }
    void device_added(const std::string& key) override;
    void session_changed(SessionId /*id*/, bool /*grant_changed*/) override { retry_limited(); }
    void session_removed(SessionId /*id*/) override { retry_limited(); }

private:
    using GoneOnDevices = std::map<std::string, std::vector<std::uint32_t>>;    // by key

    // By what is in force now; the watch is begun and ended a while after that.
    [[nodiscard]] bool adopts() const
    {
        return watch_ != nullptr && policy_.settings().unregistered == Unregistered::Adopt && policy_.exists();
    }
    void look_again_soon();
    void look_again();

    // Seen.
    void add_news(HostNews news);
    void look_at_news();
    void note_gone(const std::string& device, std::uint32_t number, GoneOnDevices& gone);
    // Identified, matched.
    void consider(const HostQueuePair& ready, TimePoint seen_at);
    // It is adopted, or its program sees to that.
    [[nodiscard]] bool is_settled(const ManagedDevice& device, std::uint32_t number, const Identity& owner);
    [[nodiscard]] UidLimits::Room room_of(const Identity& owner);
    // Taken: begins as many jobs as may be.
    void begin_jobs();
    // What was so when the watch reported them may differ by now: leaves those that are still to be adopted. False:
    // none.
    [[nodiscard]] bool still_sought(AdoptionJob& job);
    // Placed.
    void place(const std::shared_ptr<AdoptionJob>& job);
    void finish(const std::shared_ptr<AdoptionJob>& job, const Result<std::vector<QueuePairResult>>& results);
    // Of candidates on the device of this name.
    void settle(const AdoptionJob& job, const std::string& device, const std::vector<AdoptionOutcome>& outcomes);
    void try_later(const AdoptionJob& job, const std::string& device, AdoptionCandidate candidate, const Error& reason);
    // What its user's limits leave no room for; the watch reports it again when there may be some.
    void refuse_by_limit(const std::string& device, std::uint32_t number, pid_t process, const Error& limit);
    void retry_limited();

    ServiceContext& context_;
    const PolicyInForce& policy_;
    const DeviceTable& devices_;
    SessionTable& sessions_;
    SessionCalls& calls_;
    AdoptionVerdicts& verdicts_;

    AdoptionNews news_;
    ProgramVerdicts programs_;
    AdoptionJobs jobs_;
    AdoptionReview review_;
    std::uint64_t looks_ = 0;    // at what the rules say
    bool limited_ = false;       // since all were reported last, some were refused by a limit
    AdoptionCounters counters_;
    // Each runs while the next turn of its stage is due.
    std::unique_ptr<Timer> look_timer_;
    std::unique_ptr<Timer> news_timer_;
    std::unique_ptr<Timer> retry_timer_;
    std::unique_ptr<Timer> limited_timer_;
    std::unique_ptr<HostWatch> watch_;
    AdoptionSearch search_;
    FileFinder files_;    // the last member, so destroyed first: what it finds after that is not delivered
};

}    // namespace rdmaqos
