// ListCounters: what counters of queue pairs say.
#pragma once

#include "daemon/bus/endpoint.h"

namespace rdmaqos {

void on_list_counters(BusEndpoint& endpoint, const Call& call, const Peer& peer);

}    // namespace rdmaqos
