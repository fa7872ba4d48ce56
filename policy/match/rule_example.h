// A request and a client that a rule takes: what can be asked of a Matcher to see whether the rule ever decides.
#pragma once

#include <cstddef>

#include "policy/match/demands.h"
#include "policy/match/port_sets.h"
#include "policy/model/identity.h"
#include "policy/model/request.h"

namespace rdmaqos {

struct RuleExample {
    Request request;
    Identity identity;
};

constexpr std::size_t kRuleExamples = 4;

// Has what is demanded and as little else as possible, so that few other rules take it. For each number below
// kRuleExamples another one, as far as there are others. Not always one that the rule takes: a unit and a cgroup that
// are both demanded may not fit together.
[[nodiscard]] RuleExample example_of(const Demands& demands, PortSets& ports, std::size_t number);

}    // namespace rdmaqos
