// What decides at the stages of adoption (adoption.h has the drawing), free of devices, threads and timers.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/model/session.h"
#include "daemon/service/adoption_jobs.h"
#include "daemon/service/adoption_verdicts.h"
#include "daemon/service/limits.h"
#include "daemon/service/staging.h"
#include "lib/nic/backend.h"
#include "policy/match/adoption.h"

namespace rdmaqos {

// What adoption may take of the main loop in a turn.
constexpr Duration kAdoptionTurn = std::chrono::microseconds(500);

// Identified: why this port cannot schedule a queue pair that the kernel lists with this type, a sentence with what to
// do; empty: it can.
[[nodiscard]] std::string why_not_schedulable(const DeviceInfo& port, const Capabilities& capabilities,
                                              std::uint8_t kernel_type);

// Matched: what the rules say of a program on a port before the path is known. Asked for each queue pair, answered once
// for each process.
class ProgramVerdicts {
public:
    struct Verdict {
        AdoptionVerdict verdict = AdoptionVerdict::NoRule;
        std::string reason;    // of the verdict, if the word does not say it all
        std::string level;     // level_if_enforced()

        [[nodiscard]] bool may_be_adopted() const
        {
            return verdict == AdoptionVerdict::Adopt || verdict == AdoptionVerdict::NeedsPath;
        }
    };
    // The reference holds until the next call.
    [[nodiscard]] const Verdict& of(const Rules& rules, const Identity& owner, const DeviceInfo& port);
    void clear() { verdicts_.clear(); }

private:
    // Process and port, and when the process started.
    using Key = std::pair<std::pair<pid_t, std::string>, std::uint64_t>;

    std::map<Key, Verdict> verdicts_;
    std::weak_ptr<const Matcher> matcher_;    // that gave them
};

// What became of a candidate.
enum class AdoptionEnd : std::uint8_t {
    Adopted,     // it is in its leaf
    TooEarly,    // tried again after a while, a few times
    Limited,     // its user's limits leave no room: tried again when there may be some
    Refused,     // `verdict` says why
    Vanished,    // it is gone, or another program's: the watch reports what is true now
    NotTried,
};
struct AdoptionOutcome {
    AdoptionCandidate candidate;
    AdoptionEnd end = AdoptionEnd::NotTried;
    Error reason{};                 // of TooEarly and Limited
    AdoptionVerdictOf verdict{};    // of Refused
};

// With the path: the verdict of a program that the rules do not adopt.
[[nodiscard]] AdoptionVerdictOf verdict_of(const AdoptionChoice& choice, const Request& path, const Rules& rules,
                                           pid_t process);

// Placed: the candidates that were found, and that the rules adopt with their path, as requests for the device; the
// others with what became of them.
struct AdoptionPlacement {
    std::vector<QueuePairRequest> requests;
    std::vector<AdoptionCandidate> tried;    // those of the requests, with what these name
    std::vector<AdoptionOutcome> outcomes;
};
[[nodiscard]] AdoptionPlacement plan_placement(const AdoptionJob& job, const DeviceInfo& port, const Rules& rules,
                                               const UidLimits::Room& room);

// What the device made of them.
[[nodiscard]] std::vector<AdoptionOutcome> outcomes_of(const AdoptionJob& job,
                                                       const Result<std::vector<QueuePairResult>>& results);

}    // namespace rdmaqos
