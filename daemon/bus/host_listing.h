// The host's queue pairs: ListQueuePairs, written piece by piece, and CountQueuePairs.
#pragma once

#include "daemon/bus/endpoint.h"

namespace rdmaqos {

void on_list_queue_pairs(BusEndpoint& endpoint, const Call& call, const Peer& peer);
void on_count_queue_pairs(BusEndpoint& endpoint, const Call& call, const Peer& peer);

}    // namespace rdmaqos
