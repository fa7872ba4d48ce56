// A process of the crowd: a device, and four queue pairs whose partners the parent finds.
#pragma once

#include <cstdint>

#include "tests/bytes/clients/crowd_board.h"

namespace crowd {

// Until the parent's note, its end, or SIGTERM. The exit status.
[[nodiscard]] int run_member(Board& board, unsigned place, std::uint64_t seed, int socket);

}    // namespace crowd
