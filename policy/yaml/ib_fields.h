// The values of a PathRecord in a file: with units, or as OpenSM's bare numbers, which are echoed in words.
#pragma once

#include "policy/model/ib.h"
#include "policy/yaml/fields.h"

namespace rdmaqos::reader {

[[nodiscard]] std::optional<IbMtu> read_ib_mtu(Context& context, const Field& field);
[[nodiscard]] std::optional<IbRate> read_ib_rate(Context& context, const Field& field);
// 0..63, or a time, which is rounded up to the next 4.096 us * 2^n.
[[nodiscard]] std::optional<std::uint8_t> read_packet_life(Context& context, const Field& field);

}    // namespace rdmaqos::reader
