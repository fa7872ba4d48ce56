// The scheduling tree played packet by packet, to check the solver against what the solver claims to describe.
//
// Each node serves its children by deficit weighted round robin: a child may send while its deficit covers a packet,
// and gets `share x unit` more per round (the unit makes the heaviest child's part one packet). A cap is a token
// bucket. A leaf's source is saturated or sends its demand evenly into an unlimited queue. The link sends one packet
// at a time and idles only when no leaf may send.
#pragma once

#include <cstdint>
#include <map>

#include "lib/base/units.h"
#include "lib/model/solver.h"
#include "lib/tree/element.h"

namespace rdmaqos {

struct DwrrOptions {
    std::uint32_t packet_bytes = 4096;
    std::uint64_t packets = 100'000;           // packet times of the link that are measured
    std::uint64_t warm_up_packets = 10'000;    // and those before, which are not
    // Depth of the token buckets, in packet times of the link at the cap's rate; at least two packets. Deep enough to
    // bridge the wait for a turn, or an element falls behind its cap.
    std::uint64_t bucket_packet_times = 5'000;
};

// Average rates in kbit/s over the measured time, one per element that hangs from the root.
[[nodiscard]] std::map<ElementPath, double> simulate_dwrr(const Tree& tree, Bandwidth link_speed,
                                                          const Demands& demands, const DwrrOptions& options);

}    // namespace rdmaqos
