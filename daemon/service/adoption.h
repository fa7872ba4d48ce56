// Takes programs that know nothing of us into the tree (`unregistered: adopt`).
//
//     watch ── a queue pair is ready ──▶ do rules concern its program? ── no ──▶ a verdict, and it is left alone
//                                              │ perhaps
//                                              ▼
//     its device files (thread) ──▶ which handle it is, and its path (device's worker) ──▶ its level ──▶ attach
//
// A queue pair is adopted when it is ready to send (RTS): then its path is known, and it is taken once. What is adopted
// is a session of the daemon's own, which goes when its last queue pair does.
//
// Work is done in jobs, each for some queue pairs of one process on one device; users have their turns one after the
// other.
//
// Thread: the main loop.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/adoption/file_finder.h"
#include "daemon/model/adoption.h"
#include "daemon/service/adoption_jobs.h"
#include "daemon/service/adoption_verdicts.h"
#include "daemon/service/context.h"
#include "daemon/service/device_table.h"
#include "daemon/service/policy_in_force.h"
#include "daemon/service/session_calls.h"
#include "daemon/service/session_table.h"
#include "daemon/survey/queue_pair_watch.h"
#include "policy/match/adoption.h"

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
    void session_changed(SessionId /*id*/, bool /*grant_changed*/) override { room_may_be(); }
    void session_removed(SessionId /*id*/) override { room_may_be(); }

private:
    struct Search;    // of a job that runs
    // By the rules, of a process on a device before the path is known; asked for each queue pair, answered once.
    using ChoiceKey = std::pair<std::pair<pid_t, std::string>, std::uint64_t>;    // and when the process started

    // By what is in force now; the watch is begun and ended a while after that.
    [[nodiscard]] bool adopts() const
    {
        return watch_ != nullptr && policy_.settings().unregistered == Unregistered::Adopt && policy_.exists();
    }
    void look_again_soon();
    void look_again();
    // What the watch says, in turns of the loop.
    void take(HostNews news);
    void take_some();
    void take_gone(const std::string& device, std::uint32_t number,
                   std::map<std::string, std::vector<std::uint32_t>>& gone);
    // Without the path. Holds until the next call.
    struct Chosen {
        AdoptionVerdict verdict = AdoptionVerdict::NoRule;
        std::string reason;    // of the verdict, if the word does not say it all
        std::string level;     // level_if_enforced()
    };
    [[nodiscard]] const Chosen& choose(const Identity& owner, const ManagedDevice& device);
    void consider(const HostQueuePair& ready, TimePoint seen_at);
    void refuse(const std::string& device, std::uint32_t number, pid_t process, std::string_view word,
                std::string reason = {}, std::string level = {});
    // What its user's limits leave no room for; it is told again when there may be some.
    void refuse_by_limit(const std::string& device, std::uint32_t number, pid_t process, const Error& limit);
    void room_may_be();
    [[nodiscard]] UidLimits::Room room_of(const Identity& owner);
    // It is in, or its program sees to that.
    [[nodiscard]] bool is_settled(const ManagedDevice& device, std::uint32_t number, const Identity& owner);
    // What was so when they were told may be otherwise by now: leaves those that are still to be adopted. False: none.
    [[nodiscard]] bool still_sought(AdoptionJob& job);
    // With the path: what the rules say of it.
    void refuse_by_rules(const std::string& device, std::uint32_t number, pid_t process, const AdoptionChoice& choice,
                         const Request& path);
    void start_jobs();
    void run(AdoptionJob job);
    void search_next(const std::shared_ptr<Search>& search);
    void take_found(const std::shared_ptr<Search>& search, const QueuePairSearch& found);
    // Of queue pairs in a file that are adopted: a search passes them over.
    [[nodiscard]] std::set<std::uint32_t> handles_in(const AdoptionJob& job, const std::shared_ptr<ClientFile>& file);
    void finish(const std::shared_ptr<Search>& search);
    void attach(const Search& search);
    void take_results(const AdoptionJob& job, const Result<std::vector<QueuePairResult>>& results);
    // Once more, from the first session.
    void review();
    // Again later, a few times; then with this verdict.
    void try_later(const AdoptionJob& job, AdoptionCandidate candidate, const Error& reason);
    // Lets go of what the rules no longer want, some at a time.
    void review_some();

    ServiceContext& context_;
    const PolicyInForce& policy_;
    const DeviceTable& devices_;
    SessionTable& sessions_;
    SessionCalls& calls_;
    AdoptionVerdicts& verdicts_;
    AdoptionCounters counters_;
    std::deque<HostNews> news_;
    std::size_t taken_ = 0;    // of the first
    std::unique_ptr<Timer> news_timer_;
    std::map<ChoiceKey, Chosen> choices_;
    std::weak_ptr<const Matcher> chosen_by_;
    AdoptionJobs jobs_;
    std::set<std::pair<std::string, std::uint32_t>> gone_;    // while there were jobs: of these, some are for nothing
    struct Attaching {
        QueuePairRef ref;
        bool gone = false;    // since
    };
    std::map<std::pair<std::string, std::uint32_t>, Attaching> attaching_;
    std::unique_ptr<Timer> later_timer_;
    bool limited_ = false;    // since all were told last, some were refused by a limit
    std::unique_ptr<Timer> room_timer_;
    std::unique_ptr<Timer> again_timer_;
    std::uint64_t looks_ = 0;    // at what the rules say
    // The review that is made: the session, and the queue pair in it, that were looked at last.
    SessionId reviewed_{};
    std::optional<QueuePairName> reviewed_queue_pair_;
    std::unique_ptr<Timer> review_timer_;
    std::unique_ptr<HostWatch> watch_;
    FileFinder files_;    // the last member, so destroyed first: what it finds after that is not delivered
};

}    // namespace rdmaqos
