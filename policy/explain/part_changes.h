// What differs between the rules, port groups and partitions of two policies, in words.
#pragma once

#include <vector>

#include "policy/model/policy.h"
#include "policy/model/policy_change.h"

namespace rdmaqos {

// Rules in the order of `after`, then those removed; groups and partitions likewise:
//
//     match rule 2: new (client.unit backup*.service: level bulk)
//     match rule 3: level bulk -> level rpc (service-id 0x50)
//     match rule 5: was match rule 1 (qos-class 7)
//     match rule 4: removed (everything: level bulk)
//     port-group storage: port-guid 0x7 -> 0x7-0x8
//
// A rule is known again by what it asks for. Its number alone, which changes with every rule before it, is no change;
// its place among the rules that stay is one. `use` has no effect and is left out.
[[nodiscard]] std::vector<PartChange> part_changes(const Policy& before, const Policy& after);

}    // namespace rdmaqos
