// What a rule demands of requests and clients, in a form that rules can be compared by: its criteria, and the `allow`
// of the level it leads to, without which it does not decide either.
//
//     rule 3: {service-id: 1-9, client: {user: alice}}     ─┐
//     its level: {allow: {user: [alice, bob], unit: "*"}}  ─┴─▶  service-id, client.user, allow.user, allow.unit
//
// A demand implies another one if everybody who meets it meets the other, too:
//
//     a number of the request   its set is part of the other's
//     source and destination    the members of its groups are among those of the other's, as they are resolved now
//     device                    what its selectors select, the other's select
//     executable, ...           what its patterns match, the other's match
//     user, cgroup              everybody has one: what `client` and `allow` both take counts
//     group                     one can be in many: `client` or `allow` must imply it on its own
//     unit                      `client` takes either of two names, `allow` only the system's: so `allow` implies
//                               `client`, but not the other way round
//
// Nothing is concluded from one key to another: a user from a group, a unit from a cgroup.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/base/interval_set.h"
#include "policy/match/client.h"
#include "policy/match/criteria.h"
#include "policy/match/effort.h"
#include "policy/match/port_sets.h"
#include "policy/model/client_keys.h"
#include "policy/model/policy.h"

namespace rdmaqos {

// Where something can be demanded. The criteria of rules come first, in the order of kCriteria, then the keys of
// `allow`, in the order of kClientKeys.
constexpr std::size_t kPlaceCount = kCriteria.size() + kClientKeys.size();
using PlaceMask = std::uint32_t;
static_assert(kPlaceCount <= 32);

[[nodiscard]] constexpr PlaceMask bit_of_place(std::size_t place)
{
    return PlaceMask{1} << place;
}

// At one place. By the kind of the criterion only one of the lists is used.
struct Demand {
    IntervalSet numbers;    // of accounts, too
    std::vector<std::string> patterns;
    std::vector<DeviceSelector> devices;
    std::vector<std::size_t> groups;    // port groups, sorted
    bool is_complete = true;            // no account of it is missing on this host
};

// Any of them will do.
[[nodiscard]] Demand any_of(std::span<const Demand* const> demands);

class Demands {
public:
    Demands(const Policy& policy, const MatchRule& rule);

    [[nodiscard]] PlaceMask places() const { return places_; }
    [[nodiscard]] std::size_t level() const { return level_; }
    // Of a level whose `allow` admits nobody.
    [[nodiscard]] bool admits_nobody() const { return admits_nobody_; }
    // Null: nothing is demanded there.
    [[nodiscard]] const Demand* find(std::size_t place) const;
    // Precondition: find(place) is not null.
    [[nodiscard]] const Demand& at(std::size_t place) const { return *find(place); }
    // Some of what the rule asks for nothing and nobody has. That has its own warning.
    [[nodiscard]] bool asks_for_nothing_there_is(PortSets& ports) const;
    // Of these places something may be implied.
    [[nodiscard]] PlaceMask places_implied() const;

private:
    void add_client(const ClientCriteria& client, const ClientKey& key, std::size_t place);

    PlaceMask places_ = 0;
    std::size_t level_ = 0;
    bool admits_nobody_ = false;
    std::vector<Demand> demands_;    // of the places that are set, ascending
};

// Everybody who meets `demands` meets `wanted` at `place`, too. False: not so, or not known.
[[nodiscard]] bool surely_imply(const Demands& demands, std::size_t place, const Demand& wanted, PortSets& ports,
                                Effort& effort);

// The key by which `client` and `allow` exclude each other, so that no client meets both. Null: none does, or nobody
// knows. Never `group`, as one can be in many; nor `unit`, as a process can have two, one inside of the other.
[[nodiscard]] const ClientKey* contradiction(const Demands& demands, Effort& effort);

}    // namespace rdmaqos
