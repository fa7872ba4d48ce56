// Random policies, requests and clients for properties of matching.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <rapidcheck.h>

#include "tests/unit/match/policy_dsl.h"

namespace rdmaqos::test {

inline constexpr std::uint64_t kValues = 6;    // few, so that random rules and requests meet

inline IntervalSet any_set()
{
    std::vector<Interval> intervals;
    for (int i = *rc::gen::inRange(0, 3); i > 0; --i) {
        const auto first = *rc::gen::inRange<std::uint64_t>(0, kValues);
        intervals.push_back({first, *rc::gen::inRange<std::uint64_t>(first, kValues)});
    }
    return IntervalSet(std::move(intervals));
}

inline std::optional<ClientCriteria> any_client()
{
    if (*rc::gen::arbitrary<bool>()) {
        return std::nullopt;
    }
    ClientCriteria criteria;
    criteria.uids = *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange<std::uint32_t>(0, 3));
    criteria.gids = *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange<std::uint32_t>(0, 3));
    return criteria;
}

inline std::vector<std::size_t> any_groups(const Policy& policy)
{
    return *rc::gen::resize(
        2, rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, policy.groups.size())));
}

inline TestPolicy any_policy()
{
    TestPolicy policy;
    for (const auto* name : {"a", "b", "c"}) {
        policy.level(name, [](QosLevel& l) { l.allow = any_client(); });
        policy.group(name, [](PortGroup& g) { g.port_guids = any_set(); });
    }
    for (int i = *rc::gen::inRange(0, 6); i > 0; --i) {
        policy.rule(*rc::gen::element("a", "b", "c", "DEFAULT"), [&](MatchRule& r) {
            r.source = any_groups(policy.policy);
            r.destination = any_groups(policy.policy);
            r.qos_class = any_set();
            r.service_id = any_set();
            r.pkey = any_set();
            r.client = any_client();
        });
    }
    if (*rc::gen::arbitrary<bool>()) {
        policy.partition("p", *rc::gen::inRange<std::uint16_t>(0, kValues), *rc::gen::element("a", "b"));
    }
    return policy;
}

template <typename T>
std::optional<T> maybe()
{
    const auto value = *rc::gen::maybe(rc::gen::inRange<T>(0, kValues));
    return value ? std::optional<T>(*value) : std::nullopt;
}

inline Request any_request()
{
    Request request;
    request.qos_class = maybe<std::uint16_t>();
    request.service_id = maybe<std::uint64_t>();
    request.pkey = maybe<std::uint16_t>();
    if (const auto guid = maybe<std::uint64_t>()) {
        request.source = Guid{*guid};
    }
    if (const auto guid = maybe<std::uint64_t>()) {
        request.destination = Guid{*guid};
    }
    return request;
}

inline Identity anybody()
{
    Identity identity = somebody(*rc::gen::inRange<std::uint32_t>(0, 3));
    identity.gids = {*rc::gen::inRange<std::uint32_t>(0, 3)};
    return identity;
}

}    // namespace rdmaqos::test
