// The criteria of a rule, one row each, and how a request meets them. A Evaluator looks at one criterion after the
// other and says in words what it sees: what explain() is made of, and what a Matcher is measured by in the tests.
// MatchIndex goes by the same rows.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "policy/match/path_end.h"
#include "policy/match/resolve.h"
#include "policy/model/client_keys.h"
#include "policy/model/identity.h"
#include "policy/model/request.h"

namespace rdmaqos {

// Port groups, of which an end of the path must be in one.
struct EndKind {
    std::vector<std::size_t> MatchRule::*groups;
    std::optional<Endpoint> Request::*end;
};

// Intervals, one of which must hold a number of the request.
struct NumberKind {
    IntervalSet MatchRule::*intervals;
    std::optional<std::uint64_t> (*number)(const Request&);
    std::uint64_t mask;    // the bits of the number that count
    NumberBase base;
};

// Selectors, one of which must select the device.
struct DeviceKind {
    std::vector<DeviceSelector> MatchRule::*selectors;
    std::optional<DeviceNames> Request::*device;
};

struct Criterion {
    std::string_view key;    // as in the policy: "service-id", "client.user"
    Trust trust;
    std::variant<EndKind, NumberKind, DeviceKind, const ClientKey*> kind;
    bool of_path = false;    // of a program that never registered it is known only through its device file
};

// Of what a criterion looks at in this request.
[[nodiscard]] inline Trust trust_in(const Criterion& criterion, const Request& request)
{
    const bool is_of_request = !std::holds_alternative<const ClientKey*>(criterion.kind);
    return request.of_kernel && is_of_request ? Trust::Verified : criterion.trust;
}

template <auto Member>
std::optional<std::uint64_t> number_in(const Request& request)
{
    const auto& number = request.*Member;
    return number ? std::optional<std::uint64_t>(*number) : std::nullopt;
}

// Those that go by the request, in the order of the keys in docs/policy-reference.md.
inline constexpr std::array kRequestCriteria{
    Criterion{"source", Trust::Claimed, EndKind{&MatchRule::source, &Request::source}, true},
    Criterion{"destination", Trust::Claimed, EndKind{&MatchRule::destination, &Request::destination}, true},
    Criterion{"qos-class", Trust::Claimed,
              NumberKind{&MatchRule::qos_class, number_in<&Request::qos_class>, 0xFFFF, NumberBase::Decimal}},
    Criterion{"service-id", Trust::Claimed,
              NumberKind{&MatchRule::service_id, number_in<&Request::service_id>, ~std::uint64_t{0}, NumberBase::Hex}},
    Criterion{"pkey", Trust::Claimed,
              NumberKind{&MatchRule::pkey, number_in<&Request::pkey>, kPKeyMask, NumberBase::Hex}, true},
    Criterion{"device", Trust::Claimed, DeviceKind{&MatchRule::devices, &Request::device}},
};

// All: those, then a rule's `client`.
inline constexpr auto kCriteria = [] {
    std::array<Criterion, kRequestCriteria.size() + kClientKeys.size()> all{};
    auto next = std::ranges::copy(kRequestCriteria, all.begin()).out;
    for (const ClientKey& key : kClientKeys) {
        *next++ = {key.path, key.trust, &key};
    }
    return all;
}();

// As the policy's reference writes it: "7", "0x10064".
[[nodiscard]] std::string in_words(std::uint64_t number, NumberBase base);

// A request prepared for many rules. Refers to its arguments, which must outlive it.
class Evaluator {
public:
    Evaluator(const Policy& policy, const ResolvedGroups& groups, const Request& request, const Identity& identity);

    [[nodiscard]] static bool asks(const MatchRule& rule, const Criterion& criterion);

    // True also for a criterion the rule does not ask for.
    [[nodiscard]] bool holds(const MatchRule& rule, const Criterion& criterion) const;

    // "0x10000-0x1ffff"
    [[nodiscard]] std::string asked(const MatchRule& rule, const Criterion& criterion) const;
    // "0x10064"; "absent" when the request lacks it
    [[nodiscard]] std::string has(const Criterion& criterion) const;
    // "service-id 0x10064 (claimed), uid 1000 (verified)"; "" for a rule without criteria
    [[nodiscard]] std::string reasons(const MatchRule& rule) const;

private:
    [[nodiscard]] static bool is_member(const ResolvedGroup& group, const PathEnd& end);
    [[nodiscard]] bool is_in(const std::vector<std::size_t>& groups, const std::optional<Endpoint>& end) const;

    const Policy& policy_;
    const ResolvedGroups& groups_;
    const Request& request_;
    const Identity& identity_;
};

}    // namespace rdmaqos
