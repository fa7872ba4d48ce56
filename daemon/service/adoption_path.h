// The path of a queue pair that is to be adopted, from its address vector.
#pragma once

#include <string>

#include "lib/nic/backend.h"
#include "policy/match/matcher.h"
#include "policy/model/request.h"

namespace rdmaqos {

// Source and destination; absent where there are none, as of datagrams. Without GIDs, as within a subnet of InfiniBand,
// the source is `port` itself, which has the queue pair, and the destination a LID.
void take_ends(const FoundQueuePair& found, const DeviceInfo& port, Request& path);

// Where no rule led a queue pair with this path anywhere: a sentence, if that may be because nobody knows whose LID its
// destination is. Else empty.
[[nodiscard]] std::string unknown_lid(const Matcher& matcher, const Request& path);

}    // namespace rdmaqos
