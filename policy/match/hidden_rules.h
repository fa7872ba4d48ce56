// Rules that can never match: whatever they would take, rules above them take, or no client may use their level.
//
// What is found is certain, for the port groups as they are resolved now and the accounts this host has now. What is
// not found may be hidden all the same. Looked for is:
//
//     - one rule above that takes every request and client that this one would (demands.h says how two are compared)
//     - several rules above that each would, but for one and the same demand, and together meet that one: the port
//       ranges 0-9 and 10-19 above 0-19
//     - a level whose `allow` nobody meets, or nobody of the rule's `client`
//
// Not looked for are rules that are only together wider in two demands at once, and whatever follows from one key to
// another (a unit from a cgroup). Rules that ask for something that does not exist (an unknown account, a group without
// members) are left out: that has its own warning.
//
// Most rules are seen to be reachable by one question: an example of what the rule takes is asked of the index, and the
// rule itself decides. Only the others are compared with the rules above them. That is bounded, for a policy as a
// whole, by kMostSteps; beyond, nothing more is found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/base/diagnostic.h"
#include "policy/match/matcher.h"
#include "policy/model/client_keys.h"

namespace rdmaqos {

enum class Hidden : std::uint8_t {
    ByRules,
    ByNobody,      // its level admits nobody
    ByItsLevel,    // its level admits nobody whom its `client` takes
};

struct HiddenRule {
    std::size_t rule = 0;    // index into Policy::rules, as are `by`
    Hidden how = Hidden::ByRules;
    std::vector<std::size_t> by;       // the rules above that take all of it, ascending; none of them can be left out
    bool is_equal = false;             // to the one rule in `by`: either of them would hide the other
    const ClientKey* key = nullptr;    // for ByItsLevel: where `client` and `allow` exclude each other
};

// In the order of the rules.
[[nodiscard]] std::vector<HiddenRule> hidden_rules(const Matcher& matcher);

// A warning for each at its place, with the places of those that hide it; for a great many the first of them, and how
// many more there are.
[[nodiscard]] Diagnostics warnings_of_hidden_rules(const Matcher& matcher);

}    // namespace rdmaqos
