// What a simulation sends: `rdma-qosctl simulate --load ...` or a loads file. One situation, or steps over time.
//
//     version: 1
//     steps:
//       - {at: 0s, use: night, loads: {backup: unlimited}}
//       - at: 60s
//         use: the jobs begin
//         loads:
//           rpc: [{senders: 8, rate: 1Gbps}, unlimited]      # eight modest ones and a greedy one
//           nvme.responder: 20Gbps                           # what RDMA READ responses send
//           backup: unlimited
//           outside.dscp26: unlimited                        # a queue pair in no leaf, with this DSCP
//     until: 120s
//     port-classes: [tc1=70, tc2=30, dscp26=1]             # of the port, as lib/model/port_classes.h reads them
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/diagnostic.h"
#include "lib/base/units.h"
#include "lib/model/port_classes.h"
#include "policy/text/read_result.h"

namespace rdmaqos {

// Several loads of one level stand for different senders of it.
struct Load {
    std::string level;    // "rpc", "rpc.responder" or "outside.dscp26", compared ignoring case
    // How many send, each with `rate`: queue pairs of a class that is fair by none or queue-pair, else processes, users
    // or units. Empty: those the class has now, with `rate` for all of them together; one if it has none.
    std::optional<std::uint32_t> senders;
    std::optional<Bandwidth> rate;    // empty: as much as they get
    Location location;                // of the level's name
};

struct LoadStep {
    std::chrono::milliseconds at{0};    // it holds from here to the next step
    std::string use;
    std::vector<Load> loads;    // all there are: a level that is not listed sends nothing
};

struct Loads {
    std::vector<LoadStep> steps;                       // at least one, ascending in time
    std::optional<std::chrono::milliseconds> until;    // the end of the last step; empty: not said
    bool over_time = false;                            // false: one situation without a time
    std::optional<PortClasses> port_classes{};         // of each device; empty: those it has
};

constexpr std::uint32_t kMostSenders = 10'000;    // of one load
constexpr std::size_t kMostLoadSteps = 1'000;

[[nodiscard]] ReadResult<Loads> read_loads(const std::filesystem::path& path);
[[nodiscard]] ReadResult<Loads> read_loads(std::shared_ptr<const SourceFile> source);

// The values of `--load` options, together one situation: "rpc=50Gbps,bulk=inf", "rpc*8=1Gbps".
[[nodiscard]] ReadResult<Loads> parse_loads(std::span<const std::string> options);

// What a load of queue pairs in no leaf has as its DSCP: "outside" (0), "outside.dscp26". Empty: it is of a level.
[[nodiscard]] std::optional<std::uint8_t> dscp_of_outside(std::string_view level);

// An error for every load of a level that is not among `levels`.
[[nodiscard]] Diagnostics check_levels(const Loads& loads, std::span<const std::string> levels);

}    // namespace rdmaqos
