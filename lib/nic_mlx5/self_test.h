// Whether firmware lets a queue pair of one uverbs context use a leaf of another is not documented. The self-test finds
// out on the device itself:
//
//     this process                                  helper process (no capabilities)
//     leaves of each row, in contexts of its own    queue pair in a context of its own, to INIT
//     and, by the helper's descriptor, in that   <── descriptor, handle, number
//     change, read back
//     attach, detach, for each leaf
//                                               ──▶ to RTR, then to RTS (connected to itself)
//     attach, detach again
//                                               ──▶ another queue pair, by DEVX
//     of the best row that works: attach, detach that; destroy the leaf while the first is in it
//     more elements, read back
//
// A row is a kind of leaf, a step of it a cell of the matrix: what the firmware allows with such a leaf. The answer
// depends on card, firmware and kernel, and is kept for them.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lib/nic/backend.h"

namespace rdmaqos::mlx5 {

struct SelfTestOptions {
    // Program and arguments of the helper; the device's name, the port and the number of a socket are appended. It
    // calls self_test_client().
    std::vector<std::string> helper;
    // Where answers are kept; empty: nowhere.
    std::filesystem::path cache;
};

// Runs it now. Never fails: what could not be tested is a step that says so, and mode none if nothing worked.
// `can`: what the device advertises.
[[nodiscard]] AttachReport run_self_test(const DeviceInfo& port, const Capabilities& can,
                                         const SelfTestOptions& options);
// From the cache; empty: there is none of this card, firmware and kernel. Errors: as load_self_test().
[[nodiscard]] Result<std::optional<AttachReport>> kept_self_test(const DeviceInfo& port,
                                                                 const SelfTestOptions& options);
// run_self_test(), logged and kept.
[[nodiscard]] AttachReport self_test(const DeviceInfo& port, const Capabilities& can, const SelfTestOptions& options);

// Only the steps that read elements back, as they are made in this mode; quick, and without a helper.
[[nodiscard]] std::vector<SelfTestStep> run_read_back(const DeviceInfo& port, const Capabilities& can, AttachMode mode);

// The mode that follows from the steps, with its reason. Pure.
[[nodiscard]] AttachReport judge(std::vector<SelfTestStep> steps);
// AttachReport::unreadable, from the steps. Pure.
[[nodiscard]] std::string why_unreadable(const std::vector<SelfTestStep>& steps);

// AttachReport::devx_refused, from the steps. Pure.
[[nodiscard]] std::string why_devx_refused(const std::vector<SelfTestStep>& steps);

// Whether the same steps would say the same tomorrow: RTS was reached, and nothing failed for a reason that passes (a
// busy or dead device, no memory) other than a queue pair that could not be made by DEVX. Only then is it kept. Pure.
[[nodiscard]] bool is_final(const AttachReport& report);

// Kinds of leaves, the best first.
namespace row {
constexpr const char* kSharedLeaf = "shared leaf";                  // the daemon's, made as a general object
constexpr const char* kSharedLegacy = "shared leaf, legacy";        // the same, by CREATE_SCHEDULING_ELEMENT
constexpr const char* kSharedNode = "shared node";                  // in the process's file, below the daemon's root
constexpr const char* kSharedNodeLegacy = "shared node, legacy";    // the same by the older commands
constexpr const char* kOwnTree = "own tree";                        // root and leaf in the process's file
}    // namespace row

// The names of the steps that judge() looks at, and of those of a row.
namespace step {
constexpr const char* kElements = "create elements";
constexpr const char* kMoreElements = "create more elements";
constexpr const char* kReadNode = "read back a node without a share";
constexpr const char* kReadLeaf = "read back a leaf without a share";
constexpr const char* kReadShare = "read back a share";
constexpr const char* kReadCap = "read back a cap";
constexpr const char* kReadOddCap = "read back a cap that is no round number";
constexpr const char* kReadChange = "read back a change";
inline constexpr std::array kReadBack{kReadNode, kReadLeaf, kReadShare, kReadCap, kReadOddCap, kReadChange};
constexpr const char* kHelper = "queue pair of another process";
constexpr const char* kChange = "change";
constexpr const char* kRead = "read back";
constexpr const char* kDestroy = "destroy";
constexpr const char* kReadyToReceive = "queue pair to RTR";
constexpr const char* kAttachRtr = "attach in RTR";
constexpr const char* kDetachRtr = "detach in RTR";
constexpr const char* kAttachInit = "attach in INIT";
constexpr const char* kDetachInit = "detach in INIT";
constexpr const char* kReadyToSend = "queue pair to RTS";
constexpr const char* kAttachRts = "attach in RTS";
constexpr const char* kDetachRts = "detach in RTS";
constexpr const char* kDevxQueuePair = "queue pair made by DEVX";
constexpr const char* kAttachDevx = "attach the one made by DEVX";
constexpr const char* kDetachDevx = "detach the one made by DEVX";
constexpr const char* kBusyLeaf = "busy leaf refuses to be destroyed";
}    // namespace step

// What the helper does; its exit status.
[[nodiscard]] int self_test_client(const std::string& device, std::uint32_t port, int socket);

}    // namespace rdmaqos::mlx5
