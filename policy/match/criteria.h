// The criteria of a rule judged against one request, one by one and in words: what explain() is made of, and what a
// Matcher is measured by in the tests.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/match/path_end.h"
#include "policy/match/resolve.h"
#include "policy/model/identity.h"
#include "policy/model/request.h"

namespace rdmaqos {

enum class Criterion : std::uint8_t {
    Source,
    Destination,
    QosClass,
    ServiceId,
    PKey,
    Device,
    User,
    Group,
    Unit,
    Cgroup,
    Executable,
};

// In the order of the keys in docs/policy-reference.md.
inline constexpr std::array kCriteria{Criterion::Source,    Criterion::Destination, Criterion::QosClass,
                                      Criterion::ServiceId, Criterion::PKey,        Criterion::Device,
                                      Criterion::User,      Criterion::Group,       Criterion::Unit,
                                      Criterion::Cgroup,    Criterion::Executable};

// As in the policy: "service-id", "client.user".
[[nodiscard]] std::string_view key_of(Criterion criterion);

// True for what the kernel says of the client; everything else is the client's claim.
[[nodiscard]] constexpr bool is_verified(Criterion criterion)
{
    return criterion >= Criterion::User;
}

// What the `device:` globs of a rule are compared with: "mlx5_0", "mlx5_0/1", netdev and PCI address.
[[nodiscard]] std::vector<std::string> names_of(const DeviceNames& device);

// A request prepared for many rules. Refers to its arguments, which must outlive it.
class Judge {
public:
    Judge(const Policy& policy, const ResolvedGroups& groups, const Request& request, const Identity& identity);

    [[nodiscard]] static bool asks(const MatchRule& rule, Criterion criterion);

    // True also for a criterion the rule does not ask for.
    [[nodiscard]] bool holds(const MatchRule& rule, Criterion criterion) const;

    // "0x10000-0x1ffff"
    [[nodiscard]] std::string asked(const MatchRule& rule, Criterion criterion) const;
    // "0x10064"; "absent" when the request lacks it
    [[nodiscard]] std::string has(Criterion criterion) const;
    // "service-id 0x10064 (claimed), uid 1000 (verified)"; "" for a rule without criteria
    [[nodiscard]] std::string reasons(const MatchRule& rule) const;

private:
    [[nodiscard]] static bool is_member(const ResolvedGroup& group, const PathEnd& end);
    [[nodiscard]] bool end_holds(const std::vector<std::size_t>& asked, const std::optional<Endpoint>& endpoint,
                                 const PathEnd& end) const;
    [[nodiscard]] bool device_holds(const MatchRule& rule) const;

    const Policy& policy_;
    const ResolvedGroups& groups_;
    const Request& request_;
    const Identity& identity_;
    PathEnd source_;
    PathEnd destination_;
    std::vector<std::string> device_names_;
};

}    // namespace rdmaqos
