// A policy made ready for many questions of the kind "which level does this request get?".
//
// The order is the one of docs/policy-reference.md:
//
//     level asked for by name  ->  it, or the one that had the name (`renamed-from`), or LevelNotAllowed
//     match rules, then ulps   ->  the first whose criteria all hold and whose level the caller may use
//     the partition's default  ->  if the request has a P_Key of a partition with one
//     DEFAULT
//
// OpenSM criteria mean what they mean there: a rule that asks for a component the request lacks does not match; a rule
// without criteria matches everything; several source (destination) groups are alternatives, source and destination
// must both hold.
//
// A question costs about the same for ten rules and for ten thousand: rules are kept by what they ask for (all those
// with, say, `service-id` and `pkey` together), each criterion has an index from a request's value to the set of rules
// that accept it, and sets are intersected 64 rules at a time:
//
//     service-id 0x10064 ──> interval index ──┐
//     destination fd00::7 ─> port groups ─────┼──> rules that accept all of it ──> the first whose level is allowed
//     unit job-7.scope ────> glob index ──────┘
//
// A scan costs the same for ten rules, and a hundred to a thousand times as much for ten thousand (docs/adr/0030).
// Memory is O(n log n) in the number of intervals plus the length of all globs; no range is ever enumerated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "lib/base/result.h"
#include "policy/match/resolve.h"
#include "policy/model/identity.h"
#include "policy/model/level_index.h"
#include "policy/model/policy.h"
#include "policy/model/request.h"

namespace rdmaqos {

enum class LevelSource : std::uint8_t { Requested, Rule, Partition, Default };

struct Match {
    const QosLevel* level = nullptr;         // points into the policy
    const MatchRule* rule = nullptr;         // for LevelSource::Rule
    const Partition* partition = nullptr;    // for LevelSource::Partition
    LevelSource source = LevelSource::Default;
    // True when nothing but the kernel's word decided: no claim of the client took part, not even by ruling out a rule
    // that stands before the deciding one. Another claim would have led to the same level.
    bool verified = false;
};

class MatchIndex;

// Immutable; may be asked by several threads at once.
class Matcher {
public:
    // `policy` must outlive the matcher; answers point into it.
    Matcher(const Policy& policy, ResolvedGroups groups);
    ~Matcher();
    Matcher(const Matcher&) = delete;
    Matcher& operator=(const Matcher&) = delete;

    // Errors: UnknownLevel (with a hint, unless there are too many levels to compare with), LevelNotAllowed (says what
    // `allow` asks for). LevelNotAllowed also when DEFAULT itself is not allowed and nothing else matched.
    [[nodiscard]] Result<Match> match(const Request& request, const Identity& identity) const;

    // What led to an answer, in words: "match rule 3 (policy.yaml:40:5): service-id 0x10064 (claimed)".
    [[nodiscard]] std::string why(const Match& match, const Request& request, const Identity& identity) const;

    [[nodiscard]] const Policy& policy() const { return *policy_; }
    [[nodiscard]] const ResolvedGroups& groups() const { return groups_; }
    [[nodiscard]] const MatchIndex& index() const { return *index_; }
    // Bytes of the indexes.
    [[nodiscard]] std::size_t memory() const;

private:
    const Policy* policy_;    // never null
    ResolvedGroups groups_;
    LevelIndex levels_;
    std::unique_ptr<const MatchIndex> index_;
};

}    // namespace rdmaqos
