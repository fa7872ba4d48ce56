// Why queue pairs of programs that did not register are in no leaf, one by one, for the lists of all queue pairs.
//
// Thread: the main loop.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <sys/types.h>

#include "daemon/model/host_survey.h"
#include "policy/match/adoption.h"
#include "policy/model/policy.h"
#include "policy/model/settings.h"

namespace rdmaqos {

// Why it leads to no adoption, in a word.
[[nodiscard]] std::string_view word_of(AdoptionVerdict verdict);
// In a sentence; empty: the word says it all. `policy`: by which it was chosen.
[[nodiscard]] std::string reason_of(const AdoptionChoice& choice, const Policy& policy);
// The level that it would be in if that were not only monitored; empty: none.
[[nodiscard]] std::string level_if_enforced(const AdoptionChoice& choice);

struct AdoptionVerdictOf {
    std::string_view word;    // kNoRule and its like
    std::string reason;       // a sentence with what to do; may be empty
    pid_t process = 0;        // whose it was; a number is used again
    std::string level{};      // level_if_enforced()
};

class AdoptionVerdicts {
public:
    Unregistered setting = Unregistered::Count;
    std::string unavailable;    // why none is adopted at all; empty: they are

    void refuse(const std::string& device, std::uint32_t number, AdoptionVerdictOf verdict)
    {
        AdoptionVerdictOf& present = verdicts_[{device, number}];
        if (present.word != verdict.word || present.process != verdict.process) {
            ++refused_[verdict.word];
        }
        present = std::move(verdict);
    }
    void remove(const std::string& device, std::uint32_t number) { verdicts_.erase({device, number}); }
    void clear() { verdicts_.clear(); }
    // Queue pairs that were refused, ever, by word.
    [[nodiscard]] const std::map<std::string_view, std::uint64_t>& refused() const { return refused_; }

    // Of a tracked one that no session has.
    [[nodiscard]] std::string_view word(const HostQueuePair& queue_pair) const;
    [[nodiscard]] std::string reason(const HostQueuePair& queue_pair) const;
    [[nodiscard]] std::string level(const HostQueuePair& queue_pair) const;

    // Of a device by name ("mlx5_0"), or of all (""): how many would be in each level that is only monitored.
    [[nodiscard]] std::map<std::string, std::uint32_t> monitored(const std::string& device) const;

private:
    [[nodiscard]] const AdoptionVerdictOf* find(const HostQueuePair& queue_pair) const;

    std::map<std::pair<std::string, std::uint32_t>, AdoptionVerdictOf> verdicts_;    // by device ("mlx5_0") and number
    std::map<std::string_view, std::uint64_t> refused_;
};

}    // namespace rdmaqos
