// The rules of the lint, each a function of one interface, or of all of a host. They are listed in lint.cpp.
#pragma once

#include <span>
#include <vector>

#include "lib/port_lint/values.h"

namespace rdmaqos::port_lint {

using Findings = std::vector<Finding>;

// ---- rules_marks.cpp: which priority packets have ----
void check_trust(const Interface& port, Findings& findings);
void check_data_priority(const Interface& port, Findings& findings);
void check_cnp_class(const Interface& port, Findings& findings);
void check_rdma_cm(const Interface& port, Findings& findings);
void check_roce_mode(const Interface& port, Findings& findings);
void check_forced_class(const Interface& port, Findings& findings);
void check_unforced_queue_pairs(const Interface& port, Findings& findings);

// ---- rules_lossless.cpp: what is lossless, and who reacts to congestion ----
void check_cnp_lossless(const Interface& port, Findings& findings);
void check_unused_pfc(const Interface& port, Findings& findings);
void check_mixed_class(const Interface& port, Findings& findings);
void check_lossy_rdma(const Interface& port, Findings& findings);
void check_buffers(const Interface& port, Findings& findings);
void check_reaction(const Interface& port, Findings& findings);

// ---- rules_shares.cpp: what the traffic classes get ----
void check_min_rates(const Interface& port, Findings& findings);
void check_max_rates(const Interface& port, Findings& findings);
void check_shared_class(const Interface& port, Findings& findings);
void check_strict(const Interface& port, Findings& findings);

// ---- rules_kernel.cpp: what the kernel itself sends ----
void check_kernel_traffic(const Interface& port, Findings& findings);

// ---- rules_host.cpp ----
void check_negotiation(const Interface& port, Findings& findings);
void check_rewrites(const Interface& port, Findings& findings);
void check_virtual_lanes(const Interface& port, Findings& findings);
void check_other_ends(const Interface& port, Findings& findings);
void check_infiniband(std::span<const Interface> host, Findings& findings);
void check_alike(std::span<const Interface> host, Findings& findings);

// ---- what several of them ask; words.cpp ----

// Whether the interface has priorities to speak of: its driver answered something.
[[nodiscard]] bool has_priorities(const Interface& port);
[[nodiscard]] std::uint8_t dscp_of(std::uint8_t packet_class);
// Of a level's packets. A level without a mark has priority 0.
[[nodiscard]] std::uint8_t priority_of(const Interface& port, const Level& level);
[[nodiscard]] std::uint8_t class_of_priority(const Interface& port, std::uint8_t priority);
// Levels that mark their packets; DSCP 0 is no mark.
[[nodiscard]] std::vector<const Level*> marked_levels(const Interface& port);
[[nodiscard]] bool is_lossless(const Interface& port, std::uint8_t priority);
[[nodiscard]] bool has_lossless(const Interface& port);
// Of notifications; empty: not known.
[[nodiscard]] std::optional<std::uint8_t> cnp_priority(const Interface& port);
// What carries a level's packets where they should be: the first lossless priority, else one named `PRIORITY`.
[[nodiscard]] std::string suggested_priority(const Interface& port);
// Whether the application table has an entry of this DSCP.
[[nodiscard]] bool has_entry(const Interface& port, std::uint8_t dscp);
// False: its driver has no entries for DSCPs, or takes them for something else (qede: port numbers).
[[nodiscard]] bool can_map_dscps(const Interface& port);
// Of `dcb app`, for a DSCP that has an entry: where the driver replaces it by itself, `replace` fails when it takes the
// old one away.
[[nodiscard]] const char* verb_that_maps(const Interface& port);
// Empty: the driver cannot. Gives a DSCP this priority ("3", or "PRIORITY"), whatever the driver does with an entry
// that it has: where both would stay the higher counts, so the old one goes; ice takes the new one only after that.
[[nodiscard]] std::string command_that_maps(const Interface& port, std::uint8_t dscp, const std::string& priority);
[[nodiscard]] std::string command_for_default_tos(const Interface& port, std::uint8_t tos);
// NVIDIA's cards do this; other vendors do not say.
inline constexpr const char* kPfcCaution = "setting PFC may take the link down and up";

[[nodiscard]] std::vector<std::string> names_of(const std::vector<const Level*>& levels);
// "level rpc", "levels rpc and bulk"
[[nodiscard]] std::string in_words(const std::vector<std::string>& levels);
// "priority 3", "priorities 3 and 4"
[[nodiscard]] std::string priorities_in_words(const std::vector<std::uint8_t>& priorities);
// "a, b and c"
[[nodiscard]] std::string listed(const std::vector<std::string>& words);

}    // namespace rdmaqos::port_lint
