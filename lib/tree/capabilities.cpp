#include "lib/tree/capabilities.h"

#include <array>
#include <utility>

namespace rdmaqos {
namespace {

constexpr std::array<std::pair<QueuePairType, std::string_view>, 5> kTypes{{
    {QueuePairType::Rc, "rc"},
    {QueuePairType::Uc, "uc"},
    {QueuePairType::Ud, "ud"},
    {QueuePairType::RawPacket, "raw-packet"},
    {QueuePairType::Devx, "devx"},
}};

}    // namespace

std::string_view to_string(QueuePairType type)
{
    for (const auto& [candidate, name] : kTypes) {
        if (candidate == type) {
            return name;
        }
    }
    return "rc";
}

std::optional<QueuePairType> parse_queue_pair_type(std::string_view text)
{
    for (const auto& [type, name] : kTypes) {
        if (name == text) {
            return type;
        }
    }
    return std::nullopt;
}

std::string_view to_string(QueuePairState state)
{
    switch (state) {
    case QueuePairState::Reset:
        return "RESET";
    case QueuePairState::Init:
        return "INIT";
    case QueuePairState::Rtr:
        return "RTR";
    case QueuePairState::Rts:
        return "RTS";
    case QueuePairState::Sqd:
        return "SQD";
    case QueuePairState::Sqe:
        return "SQE";
    case QueuePairState::Error:
        return "ERR";
    }
    return "ERR";
}

}    // namespace rdmaqos
