// The Manager's methods and property about trials: a policy in force for a while.
#pragma once

#include "daemon/bus/endpoint.h"
#include "lib/bus/message.h"

namespace rdmaqos {

void on_try(BusEndpoint& endpoint, const Call& call, const Peer& peer);
void on_confirm(BusEndpoint& endpoint, const Call& call, const Peer& peer);
void on_revert(BusEndpoint& endpoint, const Call& call, const Peer& peer);
// To those alone who may try one: it is as much as the policy file, which not everybody may read.
void on_tried_text(BusEndpoint& endpoint, const Call& call, const Peer& peer);
// Of the policy in force, whatever became of the files on the disk; likewise.
void on_running_files(BusEndpoint& endpoint, const Call& call, const Peer& peer);

void get_trial(BusContext& context, const char* path, bus::Writer& writer);

}    // namespace rdmaqos
