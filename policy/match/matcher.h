// A policy made ready for many questions of the kind "which level does this request get?".
//
// The order and the meaning are those of match.h. A question costs about the same for ten rules and for ten thousand:
// rules are kept by what they ask for (all those with, say, `service-id` and `pkey` together), each criterion has an
// index from a request's value to the set of rules that accept it, and sets are intersected 64 rules at a time:
//
//     service-id 0x10064 ──> interval index ──┐
//     destination fd00::7 ─> port groups ─────┼──> rules that accept all of it ──> the first whose level is allowed
//     unit job-7.scope ────> glob index ──────┘
//
// Memory is O(n log n) in the number of intervals plus the length of all globs; no range is ever enumerated.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "policy/model/request.h"

namespace rdmaqos {

class MatchIndex;

// Immutable; may be asked by several threads at once.
class Matcher {
public:
    // `policy` must outlive the matcher; answers point into it.
    Matcher(const Policy& policy, ResolvedGroups groups);
    ~Matcher();
    Matcher(const Matcher&) = delete;
    Matcher& operator=(const Matcher&) = delete;

    // Errors: UnknownLevel (with a hint), LevelNotAllowed (says what `allow` asks for). LevelNotAllowed also when
    // DEFAULT itself is not allowed and nothing else matched.
    [[nodiscard]] Result<Match> match(const Request& request, const Identity& identity) const;

    // What led to an answer, in words: "match rule 3 (policy.yaml:40:5): service-id 0x10064 (claimed)".
    [[nodiscard]] std::string why(const Match& match, const Request& request, const Identity& identity) const;

    [[nodiscard]] const Policy& policy() const { return *policy_; }
    [[nodiscard]] const ResolvedGroups& groups() const { return groups_; }
    // Bytes of the indexes.
    [[nodiscard]] std::size_t memory() const;

private:
    const Policy* policy_;    // never null
    ResolvedGroups groups_;
    std::unique_ptr<const MatchIndex> index_;
};

}    // namespace rdmaqos
