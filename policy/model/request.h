// Requests, port groups and answers: the values of the question which level a request gets. The question itself is put
// to a Matcher (match/matcher.h). The order is the one of docs/policy-reference.md:
//
//     level asked for by name  ->  it, or LevelNotAllowed
//     match rules, then ulps   ->  the first whose criteria all hold and whose level the caller may use
//     the partition's default  ->  if the request has a P_Key of a partition with one
//     DEFAULT
//
// OpenSM criteria mean what they mean there: a rule that asks for a component the request lacks does not match; a rule
// without criteria matches everything; several source (destination) groups are alternatives, source and destination
// must both hold.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lib/base/result.h"
#include "policy/model/fabric.h"
#include "policy/model/identity.h"
#include "policy/model/policy.h"

namespace rdmaqos {

// An end of a path as a client names it.
using Endpoint = std::variant<Guid, Gid>;

// "0x..." or "fd00::1": a GUID in hex, else a GID.
[[nodiscard]] std::optional<Endpoint> parse_endpoint(std::string_view text);
[[nodiscard]] std::string to_string(const Endpoint& endpoint);

// A PathRecord component with its selector.
enum class Selector : std::uint8_t { GreaterThan, LessThan, Exactly, Largest };
template <typename T>
struct Selected {
    Selector selector = Selector::Exactly;
    T value{};

    friend bool operator==(const Selected&, const Selected&) = default;
};

// The names of the device (port) a request is about, for the `device:` criterion.
struct DeviceNames {
    std::string device;    // "mlx5_0"
    std::uint32_t port = 1;
    std::string netdev;
    std::string pci_address;

    friend bool operator==(const DeviceNames&, const DeviceNames&) = default;
};

// What a client asks. Everything is optional; an empty request is valid. All of it is a claim of the client.
struct Request {
    std::optional<std::string> level;
    std::optional<std::uint16_t> qos_class;    // 12 bits
    std::optional<std::uint64_t> service_id;
    std::optional<std::uint16_t> pkey;    // with or without membership bit
    std::optional<Endpoint> source;
    std::optional<Endpoint> destination;
    std::optional<DeviceNames> device;
    // Only for a path answer (path.h); they play no part in choosing a level.
    std::optional<std::uint8_t> sl;
    std::optional<Selected<IbMtu>> mtu;
    std::optional<Selected<IbRate>> rate;
    std::optional<Selected<std::uint8_t>> packet_life;

    friend bool operator==(const Request&, const Request&) = default;
};

// The service-id rdma_cm forms of an IP address (rdma_get_service_id() of Linux): port space << 16 | port, with
// RDMA_PS_TCP 0x0106, RDMA_PS_UDP 0x0111, RDMA_PS_IPOIB 0x0002 and RDMA_PS_IB 0x013F. An address of family AF_IB brings
// its own. Errors: InvalidArgument for an unknown space ("tcp", "udp", "ipoib", "ib" are known).
[[nodiscard]] Result<std::uint64_t> service_id_of(std::string_view port_space, std::uint16_t port);

// The QoS-Class rdma_cm puts into the query for an IPv4 address (cma_query_ib_route() of Linux): the type of service
// set with rdma_set_option(RDMA_OPTION_ID_TOS), as it is; 0 if none was set. For IPv6 and AF_IB addresses the query has
// a traffic class and no QoS-Class.
[[nodiscard]] constexpr std::uint16_t qos_class_of_tos(std::uint8_t tos)
{
    return tos;
}

// A port group with its members looked up.
struct ResolvedGroup {
    IntervalSet guids;
    std::vector<GidPrefix> gids;
    NodeTypes node_types;

    friend bool operator==(const ResolvedGroup&, const ResolvedGroup&) = default;
};

// A port of this host, for `node-type: SELF` and for groups by P_Key.
struct LocalPort {
    Guid port_guid;
    Guid node_guid;
    std::uint32_t port = 1;
    std::vector<Gid> gids;
    std::vector<std::uint16_t> pkeys;
    std::string node_description;

    friend bool operator==(const LocalPort&, const LocalPort&) = default;
};

struct ResolvedGroups {
    std::vector<ResolvedGroup> groups;                    // parallel to Policy::groups
    std::vector<std::pair<Guid, NodeType>> node_types;    // of known ports, sorted by GUID
    std::vector<std::string> unresolved;    // "port-group storage: partition Part7 is not in the fabric file"

    friend bool operator==(const ResolvedGroups&, const ResolvedGroups&) = default;
};

[[nodiscard]] ResolvedGroups resolve(const Policy& policy, const Fabric& fabric, const std::vector<LocalPort>& local);

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

// May this client be in this level? `why` is set when not: "level rpc allows user alice; you are uid 1001".
struct Permission {
    bool allowed = true;
    std::string why;
};
[[nodiscard]] Permission may_use(const QosLevel& level, const Identity& identity);

}    // namespace rdmaqos
