// Which level a program gets that never registered (`unregistered: adopt`), and whether it is adopted at all.
//
// Such a program claims nothing: no level, no service-id, no qos-class. Its source, destination and P_Key ("the path")
// are known only once its device file was taken, which is an intrusion. So the question is first asked without them:
//
//     without the path ──> Adopt, or not: that is the answer, whatever the path is
//                  └────> NeedsPath: take the file, ask the queue pair, and ask here again with the path
//
// A rule that asks for the path perhaps matches until the path is known. As long as no rule that certainly or perhaps
// matches leads to adoption, the program is not touched.
#pragma once

#include <cstdint>

#include "policy/match/matcher.h"

namespace rdmaqos {

enum class AdoptionVerdict : std::uint8_t {
    Adopt,
    NeedsPath,
    NoRule,          // nor the default level of a partition: DEFAULT takes nobody in
    NotScheduled,    // the level has no `schedule`
    Monitored,       // the level is only monitored
    Excluded,        // by `adopt: no` of the rule or the level
};

// Of a rule and a level that a request was led to. Never NeedsPath or NoRule. `rule` is null for a partition's default.
[[nodiscard]] AdoptionVerdict adoption_of(const QosLevel& level, const MatchRule* rule);

struct AdoptionChoice {
    AdoptionVerdict verdict = AdoptionVerdict::NoRule;
    Match match;    // for Adopt, NotScheduled, Monitored and Excluded
};

// With the path the level, the rule and the rest of the match are those of Matcher::match(). Components that the queue
// pair does not have (a datagram's destination) are left out of the request, as there.
//
// Without it, source, destination and pkey of the request are not looked at. What is said then holds for every path,
// with two liberties. Adopt promises the level, not the rule: another rule that asks for the path may lead to the same
// level. And when nothing can lead to adoption, the answer is why the first rule that certainly matches does not, or
// NoRule; with the path it might have been another reason.
//
// `request` asks for no level.
[[nodiscard]] AdoptionChoice choose_for_adoption(const Matcher& matcher, const Request& request,
                                                 const Identity& identity, bool path_known);

}    // namespace rdmaqos
