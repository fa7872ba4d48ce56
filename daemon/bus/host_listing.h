// The host's queue pairs: ListQueuePairs, written piece by piece, CountQueuePairs and CountMarks.
#pragma once

#include "daemon/bus/endpoint.h"
#include "daemon/model/host_survey.h"

namespace rdmaqos {

// One that the kernel knows.
void write(bus::Writer& writer, const HostQueuePair& queue_pair, const HostStanding& standing);

void on_list_queue_pairs(BusEndpoint& endpoint, const Call& call, const Peer& peer);
void on_count_queue_pairs(BusEndpoint& endpoint, const Call& call, const Peer& peer);
void on_count_marks(BusEndpoint& endpoint, const Call& call, const Peer& peer);

}    // namespace rdmaqos
