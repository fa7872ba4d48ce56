#include "lib/smp/packet.h"

#include <algorithm>

#include <fmt/format.h>

namespace rdmaqos::smp {
namespace {

constexpr std::uint8_t kBaseVersion = 1;
constexpr std::uint8_t kGet = 0x01;
constexpr std::uint8_t kGetResponse = 0x81;
constexpr std::uint16_t kStatus = 0x7fff;    // the highest bit is that of the direction

// Where fields begin.
constexpr std::size_t kMethodAt = 3;
constexpr std::size_t kStatusAt = 4;
constexpr std::size_t kTransactionAt = 8;    // 8 bytes; the kernel has the upper 4 for itself
constexpr std::size_t kLowTransactionAt = 12;
constexpr std::size_t kAttributeAt = 16;
constexpr std::size_t kModifierAt = 20;
constexpr std::size_t kSourceLidAt = 32;
constexpr std::size_t kDestinationLidAt = 34;
constexpr std::size_t kDataAt = 64;

void put(Packet& packet, std::size_t at, std::uint32_t value, std::size_t bytes)
{
    for (std::size_t i = bytes; i-- > 0; value >>= 8U) {
        packet.at(at + i) = static_cast<std::uint8_t>(value);
    }
}

std::uint32_t number_at(const Packet& packet, std::size_t at, std::size_t bytes)
{
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
        value = value << 8U | packet.at(at + i);
    }
    return value;
}

}    // namespace

Packet get(Attribute attribute, std::uint32_t modifier, std::uint32_t transaction)
{
    Packet packet{};
    packet[0] = kBaseVersion;
    packet[1] = kDirectedRoute;
    packet[2] = kVersion;
    packet[kMethodAt] = kGet;
    put(packet, kLowTransactionAt, transaction, 4);
    put(packet, kAttributeAt, static_cast<std::uint16_t>(attribute), 2);
    put(packet, kModifierAt, modifier, 4);
    put(packet, kSourceLidAt, kPermissiveLid, 2);
    put(packet, kDestinationLidAt, kPermissiveLid, 2);
    static_assert(kTransactionAt + 4 == kLowTransactionAt);
    return packet;
}

Result<Data> data_of(const Packet& question, const Packet& answer)
{
    const bool is_of_question = answer[1] == kDirectedRoute && answer[kMethodAt] == kGetResponse &&
                                number_at(answer, kLowTransactionAt, 4) == number_at(question, kLowTransactionAt, 4) &&
                                number_at(answer, kAttributeAt, 2) == number_at(question, kAttributeAt, 2);
    if (!is_of_question) {
        return fail(ErrorCode::DeviceFailed, "the port answered something else than was asked");
    }
    if (const std::uint32_t status = number_at(answer, kStatusAt, 2) & kStatus; status != 0) {
        return fail(ErrorCode::Unsupported, fmt::format("the port refused the question (status 0x{:x})", status));
    }
    return Data(answer.data() + kDataAt, kDataBytes);
}

}    // namespace rdmaqos::smp
