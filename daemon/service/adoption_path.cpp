#include "daemon/service/adoption_path.h"

#include <algorithm>

#include <fmt/format.h>

#include "policy/match/adoption.h"

namespace rdmaqos {

void take_ends(const FoundQueuePair& found, const DeviceInfo& port, Request& path)
{
    if (found.source) {
        path.source = *found.source;
    }
    if (found.destination) {
        path.destination = *found.destination;
    }
    const Lid lid{found.destination_lid};
    if (found.destination || port.link_layer != LinkLayer::InfiniBand || !is_unicast(lid)) {
        return;
    }
    path.destination = lid;
    if (port.port_guid != Guid{}) {
        path.source = port.port_guid;
    }
}

std::string unknown_lid(const Matcher& matcher, const Request& path)
{
    const auto* lid = path.destination ? std::get_if<Lid>(&*path.destination) : nullptr;
    if (lid == nullptr || matcher.groups().lids.find(*lid)) {
        return {};
    }
    const Policy& policy = matcher.policy();
    const bool asked = std::ranges::any_of(policy.rules, [&](const MatchRule& rule) {
        return !rule.destination.empty() && adoption_of(policy.levels[rule.level], &rule) == AdoptionVerdict::Adopt;
    });
    return asked
               ? fmt::format("its destination is LID {}, which fabric.yaml does not know; `rdma-qosctl import-fabric` "
                             "writes the LIDs of the subnet into it",
                             lid->value)
               : std::string();
}

}    // namespace rdmaqos
