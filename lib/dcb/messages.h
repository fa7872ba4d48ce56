// The bytes of DCB netlink (linux/dcbnl.h): answers and notifications may be any bytes. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/dcb/driver.h"
#include "lib/dcb/port.h"
#include "lib/dcb/port_settings.h"
#include "lib/netlink/message.h"

namespace rdmaqos::dcb {

// ---- requests: a dcbmsg and attributes ----

[[nodiscard]] std::vector<std::uint8_t> get_request(const std::string& interface);
[[nodiscard]] std::vector<std::uint8_t> agent_request(const std::string& interface);
[[nodiscard]] std::vector<std::uint8_t> write_request(const std::string& interface, const Write& write);

// ---- answers: the content of a message, which begins with a dcbmsg ----

// Of an answer to DCB_CMD_IEEE_GET, and of notifications. Empty: it is none.
[[nodiscard]] std::optional<PortSettings> read_settings(netlink::Bytes content);
[[nodiscard]] std::optional<AgentFeatures> read_features(netlink::Bytes content);

// Of an answer to a write: 0, or the errno of the driver. The driver's number is negative in the byte of an attribute.
// Numbers above 255 lose their upper bits: ENOTSUPP, 524, which some drivers return, is ENOMEM. Empty: it is no answer
// to a write.
[[nodiscard]] std::optional<int> read_write_error(netlink::Bytes content, const Write& write);

}    // namespace rdmaqos::dcb
