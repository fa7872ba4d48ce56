// What a device tells a program without being asked: enum ib_event_type, which user space shares.
#pragma once

#include <cstdint>

namespace rdmaqos::emulator {

enum class AsyncEvent : std::uint32_t {
    CompletionQueueError = 0,
    QueuePairFatal = 1,
    QueuePairRequestError = 2,
    QueuePairAccessError = 3,
    CommunicationEstablished = 4,
    DeviceFatal = 8,
    PortActive = 9,
    PortError = 10,
    PkeyChange = 12,
    SharedReceiveQueueLimit = 15,
    LastRequestReached = 16
};

}    // namespace rdmaqos::emulator
