// Programs that did not register and are not adopted either: why, and what to do. Pure.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

// A sentence for each of the reasons for which these queue pairs are in no
// leaf. Left out are those whose `reason` says it all. Without any: why they may not be seen (`failures` to look at the
// host are told too), and why no program is adopted at all.
[[nodiscard]] std::vector<std::string> advice_on(const std::vector<api::HostQueuePair>& queue_pairs,
                                                 const api::Adoption& adoption,
                                                 const std::vector<std::string>& failures = {});

// Of these, those of the processes that no session has attached.
[[nodiscard]] std::vector<api::HostQueuePair> not_attached(std::vector<api::HostQueuePair> queue_pairs,
                                                           const std::set<std::uint64_t>& processes);

// The processes of adopted sessions.
[[nodiscard]] std::set<std::uint64_t> adopted_processes(const std::vector<const SessionView*>& sessions);

}    // namespace rdmaqos::ctl
