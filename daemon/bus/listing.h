// Objects with their properties, written piece by piece: sd-bus would write all of a GetManagedObjects before it serves
// anybody else.
#pragma once

#include "daemon/bus/endpoint.h"

namespace rdmaqos {

// Which objects a call of GetManagedObjects is about; nothing: it is another call. Of the devices' folder it gives the
// devices alone, however many sessions there are.
enum class Listed : std::uint8_t { All, Devices };
[[nodiscard]] std::optional<Listed> listed_objects(sd_bus_message* message);
// Answers it, in turns of the loop. Objects that go meanwhile are left out.
void list_objects(BusEndpoint& endpoint, const Call& call, Listed listed);

// ListSessions: a page of sessions, in turns of the loop.
void on_list_sessions(BusEndpoint& endpoint, const Call& call, const Peer& peer);

}    // namespace rdmaqos
