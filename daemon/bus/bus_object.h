// What libraries that know nothing but message buses ask of one, at the direct socket: without it they do not connect.
#pragma once

#include "lib/base/result.h"

namespace rdmaqos {

class BusEndpoint;

// Each connection is a bus of its own, with two on it: the client, and org.rdmaqos1.
[[nodiscard]] Result<void> install_bus_object(BusEndpoint& endpoint);

}    // namespace rdmaqos
