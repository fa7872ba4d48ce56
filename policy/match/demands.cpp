#include "policy/match/demands.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "lib/base/overloaded.h"
#include "policy/match/glob_inclusion.h"
#include "policy/match/interval_algebra.h"
#include "policy/match/selector_inclusion.h"

namespace rdmaqos {
namespace {

constexpr std::size_t key_number(const ClientKey& key)
{
    return static_cast<std::size_t>(&key - kClientKeys.data());
}

constexpr std::size_t place_in_client(const ClientKey& key)
{
    return kRequestCriteria.size() + key_number(key);
}

constexpr std::size_t place_in_allow(const ClientKey& key)
{
    return kCriteria.size() + key_number(key);
}

bool is_unit(const ClientKey& key)
{
    const auto* names = std::get_if<NameKind>(&key.kind);
    return names != nullptr && names->form == NameForm::Unit;
}

bool is_account(const ClientKey& key)
{
    return std::holds_alternative<AccountKind>(key.kind);
}

bool includes_numbers(const IntervalSet& wide, const IntervalSet& narrow, Effort& effort)
{
    return effort.spend(1 + narrow.intervals().size()) && includes(wide, narrow);
}

IntervalSet numbers_of(const std::vector<std::uint32_t>& values)
{
    std::vector<Interval> intervals;
    intervals.reserve(values.size());
    for (const std::uint32_t value : values) {
        intervals.push_back({value, value});
    }
    return IntervalSet(std::move(intervals));
}

// Larger ones are in no request.
IntervalSet in_range(const IntervalSet& numbers, const NumberKind& kind)
{
    const bool is_class = kind.intervals == &MatchRule::qos_class;
    return intersection(numbers, IntervalSet({{0, is_class ? kHighestQosClass : kind.mask}}));
}

bool accounts_imply(const Demand* client, const Demand* allow, const AccountKind& kind, const Demand& wanted,
                    Effort& effort)
{
    const auto implies = [&](const Demand* own) {
        return own != nullptr && own->is_complete && includes_numbers(wanted.numbers, own->numbers, effort);
    };
    if (kind.is_single && client != nullptr && allow != nullptr && client->is_complete && allow->is_complete) {
        return includes_numbers(wanted.numbers, intersection(client->numbers, allow->numbers), effort);
    }
    return implies(client) || implies(allow);
}

bool names_imply(const Demand* client, const Demand* allow, const Demand& wanted, Effort& effort)
{
    if (client != nullptr && allow != nullptr) {
        return surely_includes(wanted.patterns, client->patterns, allow->patterns, effort);
    }
    const Demand* own = client != nullptr ? client : allow;
    return own != nullptr && surely_includes(wanted.patterns, own->patterns, effort);
}

bool units_imply(const Demand* client, const Demand* allow, ClientUse use, const Demand& wanted, Effort& effort)
{
    if (use == ClientUse::Permit) {
        return names_imply(nullptr, allow, wanted, effort);
    }
    return names_imply(client, nullptr, wanted, effort) || names_imply(nullptr, allow, wanted, effort);
}

bool clients_imply(const Demands& demands, const ClientKey& key, ClientUse use, const Demand& wanted, Effort& effort)
{
    const Demand* client = demands.find(place_in_client(key));
    const Demand* allow = demands.find(place_in_allow(key));
    if (const auto* accounts = std::get_if<AccountKind>(&key.kind)) {
        return accounts_imply(client, allow, *accounts, wanted, effort);
    }
    return is_unit(key) ? units_imply(client, allow, use, wanted, effort) : names_imply(client, allow, wanted, effort);
}

}    // namespace

Demand any_of(std::span<const Demand* const> demands)
{
    Demand any;
    std::vector<Interval> intervals;
    for (const Demand* demand : demands) {
        const auto& numbers = demand->numbers.intervals();
        intervals.insert(intervals.end(), numbers.begin(), numbers.end());
        any.patterns.insert(any.patterns.end(), demand->patterns.begin(), demand->patterns.end());
        any.devices.insert(any.devices.end(), demand->devices.begin(), demand->devices.end());
        any.groups.insert(any.groups.end(), demand->groups.begin(), demand->groups.end());
        any.is_complete &= demand->is_complete;
    }
    any.numbers = IntervalSet(std::move(intervals));
    std::ranges::sort(any.groups);
    any.groups.erase(std::unique(any.groups.begin(), any.groups.end()), any.groups.end());
    return any;
}

Demands::Demands(const Policy& policy, const MatchRule& rule) : level_(rule.level)
{
    for (std::size_t place = 0; place < kCriteria.size(); ++place) {
        const Criterion& criterion = kCriteria[place];
        if (!Evaluator::asks(rule, criterion)) {
            continue;
        }
        if (const auto* key = std::get_if<const ClientKey*>(&criterion.kind)) {
            add_client(*rule.client, **key, place);
            continue;
        }
        Demand demand;
        std::visit(Overloaded{
                       [&](const EndKind& kind) {
                           demand.groups = rule.*kind.groups;
                           std::ranges::sort(demand.groups);
                       },
                       [&](const NumberKind& kind) { demand.numbers = in_range(rule.*kind.intervals, kind); },
                       [&](const DeviceKind& kind) { demand.devices = rule.*kind.selectors; },
                       [](const ClientKey*) {},
                   },
                   criterion.kind);
        places_ |= bit_of_place(place);
        demands_.push_back(std::move(demand));
    }
    const auto& allow = policy.levels[rule.level].allow;
    if (!allow) {
        return;
    }
    admits_nobody_ = true;
    for (const ClientKey& key : kClientKeys) {
        if (permits(*allow, key)) {
            admits_nobody_ = false;
            add_client(*allow, key, place_in_allow(key));
        }
    }
    for (const ClientKey& key : kClientKeys) {
        const Demand* demand = find(place_in_allow(key));
        admits_nobody_ |= demand != nullptr && is_account(key) && demand->numbers.empty();
    }
}

void Demands::add_client(const ClientCriteria& client, const ClientKey& key, std::size_t place)
{
    Demand demand;
    std::visit(Overloaded{
                   [&](const AccountKind& kind) {
                       demand.numbers = numbers_of(client.*kind.numbers);
                       demand.is_complete = (client.*kind.names).size() <= (client.*kind.numbers).size();
                   },
                   [&](const NameKind& kind) { demand.patterns = client.*kind.patterns; },
               },
               key.kind);
    places_ |= bit_of_place(place);
    demands_.push_back(std::move(demand));
}

const Demand* Demands::find(std::size_t place) const
{
    if ((places_ & bit_of_place(place)) == 0) {
        return nullptr;
    }
    return &demands_[static_cast<std::size_t>(std::popcount(places_ & (bit_of_place(place) - 1)))];
}

bool Demands::asks_for_nothing_there_is(PortSets& ports) const
{
    for (std::size_t place = 0; place < kCriteria.size(); ++place) {
        const Demand* demand = find(place);
        if (demand == nullptr) {
            continue;
        }
        const bool nothing = std::visit(
            Overloaded{
                [&](const EndKind&) { return ports.members_of(demand->groups).is_empty(); },
                [&](const NumberKind&) { return demand->numbers.empty(); },
                [](const DeviceKind&) { return false; },
                [&](const ClientKey* key) { return is_account(*key) && demand->numbers.empty(); },
            },
            kCriteria[place].kind);
        if (nothing) {
            return true;
        }
    }
    return false;
}

PlaceMask Demands::places_implied() const
{
    PlaceMask implied = places_;
    for (const ClientKey& key : kClientKeys) {
        const PlaceMask client = bit_of_place(place_in_client(key));
        const PlaceMask allow = bit_of_place(place_in_allow(key));
        if ((places_ & allow) != 0) {
            implied |= client;
        }
        if ((places_ & client) != 0 && !is_unit(key)) {
            implied |= allow;
        }
    }
    return implied;
}

bool surely_imply(const Demands& demands, std::size_t place, const Demand& wanted, PortSets& ports, Effort& effort)
{
    if (place >= kCriteria.size()) {
        return clients_imply(demands, kClientKeys[place - kCriteria.size()], ClientUse::Permit, wanted, effort);
    }
    const Demand* own = demands.find(place);
    return std::visit(
        Overloaded{
            [&](const EndKind&) { return own != nullptr && ports.surely_include(wanted.groups, own->groups, effort); },
            [&](const NumberKind&) { return own != nullptr && includes_numbers(wanted.numbers, own->numbers, effort); },
            [&](const DeviceKind&) { return own != nullptr && surely_includes(wanted.devices, own->devices, effort); },
            [&](const ClientKey* key) { return clients_imply(demands, *key, ClientUse::Classify, wanted, effort); },
        },
        kCriteria[place].kind);
}

const ClientKey* contradiction(const Demands& demands, Effort& effort)
{
    for (const ClientKey& key : kClientKeys) {
        const Demand* client = demands.find(place_in_client(key));
        const Demand* allow = demands.find(place_in_allow(key));
        if (client == nullptr || allow == nullptr || is_unit(key)) {
            continue;
        }
        const auto* accounts = std::get_if<AccountKind>(&key.kind);
        const bool excludes = accounts == nullptr ? surely_disjoint(client->patterns, allow->patterns, effort)
                                                  : accounts->is_single && client->is_complete && allow->is_complete &&
                                                        intersection(client->numbers, allow->numbers).empty();
        if (excludes) {
            return &key;
        }
    }
    return nullptr;
}

}    // namespace rdmaqos
