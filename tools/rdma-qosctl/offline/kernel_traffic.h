// Which levels the policy's rules give what the kernel itself sends, and what would give its packets the level's DSCP.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/marks/kernel_protocols.h"
#include "lib/port_lint/rdma_facts.h"
#include "lib/port_lint/values.h"
#include "policy/match/matcher.h"
#include "policy/model/request.h"

namespace rdmaqos::ctl {

// Of connections to one port of rdma_cm's TCP port space.
struct KernelService {
    std::uint16_t port = 0;
    std::uint64_t service_id = 0;
    std::string level;    // empty: none, see `why`
    std::optional<std::uint8_t> traffic_class;
    std::string why;    // "ulp rule 2 (policy.yaml:9:5): service-id 0x1061144 (verified)", or why there is none
};

struct KernelTraffic {
    const marks::KernelProtocol* protocol = nullptr;    // never null
    bool is_loaded = false;
    std::vector<KernelService> services;    // empty: it has no port of its own
};

// The modules of the table that are loaded. What is built into the kernel and has neither parameters nor a version
// cannot be seen, and is left out. `root` is "/".
[[nodiscard]] std::set<std::string> loaded_protocols(const std::filesystem::path& root);

// In the order of the table. `path` is what else is known of the connections: ends, device. They belong to no program:
// the rules are asked as for root, outside of any unit.
[[nodiscard]] std::vector<KernelTraffic> kernel_traffic(const Matcher& matcher, const Request& path,
                                                        const std::set<std::string>& loaded);

// The settings of rdma_cm that these connections fall back to: of each port of the host, and what is wanted of it.
// `unseen`: why no port is known, a sentence; empty: these are all.
[[nodiscard]] std::string render_kernel_traffic(const std::vector<KernelTraffic>& traffic,
                                                const std::vector<port_lint::FoundPort>& ports,
                                                const std::string& unseen);

// For the lint: protocols that are loaded, have nothing but the port's default, and levels that mark packets.
[[nodiscard]] std::vector<port_lint::KernelTraffic> by_default_of_port(const std::vector<KernelTraffic>& traffic);

// Of those that are loaded, have a level that marks packets, and are not told to by the port: sentences without a full
// stop, for nothing here can see whether it is done.
[[nodiscard]] std::vector<std::string> unseen_marks(const std::vector<KernelTraffic>& traffic);

}    // namespace rdmaqos::ctl
