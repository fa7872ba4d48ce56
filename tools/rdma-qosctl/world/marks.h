// Whether queue pairs carry the DSCP of their level, and what would make them: pure functions, but for the question.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/api/session.h"
#include "lib/bus/client.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

// Empty: no level with a DSCP has queue pairs, or the daemon is older and does not say.
[[nodiscard]] std::vector<api::MarkCount> fetch_marks(bus::Client& client);

// Of one level on one device.
struct LevelMarks {
    std::string device;
    std::string level;
    std::uint8_t dscp = 0;
    std::uint64_t right = 0;
    std::map<std::uint8_t, std::uint64_t> wrong{};    // queue pairs, by the DSCP that they carry
    std::map<std::string, std::uint64_t> unseen{};    // by why

    [[nodiscard]] std::uint64_t all_wrong() const;
    [[nodiscard]] std::uint64_t all_unseen() const;
};
[[nodiscard]] std::vector<LevelMarks> sum_marks(const std::vector<api::MarkCount>& counts);

// "3 of 5 queue pairs of level bulk on mlx5_0/1 do not carry its DSCP 26 but 0; of 2 more it cannot be seen (2
// datagram)"; empty: all that are seen do.
[[nodiscard]] std::string wrong_in_words(const LevelMarks& marks);

// What the packets of a queue pair would have it by: launcher, variables, functions. A sentence without a full stop.
[[nodiscard]] std::string how_to_mark(std::string_view level, std::uint8_t dscp, std::string_view device);

// Why it is not known, for a word of MarkCount::unseen or HostQueuePair::mark_unseen.
[[nodiscard]] std::string why_unseen(std::string_view word);

}    // namespace rdmaqos::ctl
