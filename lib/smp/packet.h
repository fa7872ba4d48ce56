// Subnet management packets (SMPs): questions to the InfiniBand port that sends them, and its answers. They take a
// directed route of no hops, which needs no LID and no subnet manager. Pure.
//
// Numbers are those of the InfiniBand Architecture Specification, volume 1, chapter 14.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/base/result.h"

namespace rdmaqos::smp {

inline constexpr std::size_t kPacketBytes = 256;
inline constexpr std::size_t kDataBytes = 64;
using Packet = std::array<std::uint8_t, kPacketBytes>;
using Data = std::span<const std::uint8_t, kDataBytes>;

inline constexpr std::uint8_t kDirectedRoute = 0x81;       // the management class
inline constexpr std::uint8_t kVersion = 1;                // of the class
inline constexpr std::uint16_t kPermissiveLid = 0xffff;    // of a port that needs none

enum class Attribute : std::uint16_t {
    PortInfo = 0x15,
    SlToVl = 0x17,
    VlArbitration = 0x18,
};

// SubnGet of an attribute. `transaction`: by which the answer is known.
[[nodiscard]] Packet get(Attribute attribute, std::uint32_t modifier, std::uint32_t transaction);
// What a port answered to a question. DeviceFailed: it is no answer to it. Unsupported: the port refused the question.
// The data is a part of `answer`.
[[nodiscard]] Result<Data> data_of(const Packet& question, const Packet& answer);

}    // namespace rdmaqos::smp
