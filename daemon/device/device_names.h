// A device as the policy's selectors know it.
#pragma once

#include <optional>

#include "lib/nic/backend.h"
#include "policy/model/device_selector.h"
#include "policy/model/request.h"

namespace rdmaqos {

// A port that is down has no speed: what the kernel says of it then is none of its link's.
[[nodiscard]] DeviceNames names_of(const DeviceInfo& info);
// Where paths begin that leave by it and do not say so: on InfiniBand the GUID of the port, on Ethernet its first GID
// that is not link-local. Empty: it has no address.
[[nodiscard]] std::optional<Endpoint> source_of(const DeviceInfo& info);
// All that is known of a program on it that does not register.
[[nodiscard]] Request request_of(const DeviceInfo& info);

}    // namespace rdmaqos
