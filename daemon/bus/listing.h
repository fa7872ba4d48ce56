// GetManagedObjects, written piece by piece: sd-bus would write the properties of all objects before it serves anybody
// else.
#pragma once

#include "daemon/bus/endpoint.h"

namespace rdmaqos {

// True: the message asks for all objects.
[[nodiscard]] bool asks_for_all_objects(sd_bus_message* message);
// Answers it, in turns of the loop. Objects that go meanwhile are left out.
void list_all_objects(BusEndpoint& endpoint, const Call& call);

}    // namespace rdmaqos
