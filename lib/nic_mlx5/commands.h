// What is said to an mlx5 device: command mailboxes out of the terms of lib/nic, and the answers back.
//
// Pure. For the commands that libmlx5 can send too (mlx5dv_sched_*, mlx5dv_modify_qp_sched_elem) these are its very
// bytes; tests/nic_mlx5/bytes_test.cpp holds them against each other. Field positions: lib/mlx5/prm.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "lib/mlx5/prm.h"
#include "lib/nic/backend.h"

namespace rdmaqos::mlx5 {

// What the firmware calls an element, or a leaf in a queue pair's context.
enum class ObjectId : std::uint32_t {};
constexpr ObjectId kNoObject{0};

// The ids of a queue pair's leaves; kNoObject where there is none.
struct LeafIds {
    ObjectId requester = kNoObject;
    ObjectId responder = kNoObject;

    friend bool operator==(const LeafIds&, const LeafIds&) = default;
};

// Room for the answer of a command that says no more than that it worked.
constexpr std::size_t kAnswerBytes = prm::kHeaderBytes;

// `by`: which of the two kinds of commands, that which made the element.
using ElementCommands = prm::ElementCommands;
using prm::kObjectCommands;
[[nodiscard]] Mailbox create_element(ElementKind kind, ObjectId parent, const ElementAttributes& attributes,
                                     const ElementCommands& by = kObjectCommands);
[[nodiscard]] Mailbox modify_element(ElementKind kind, ObjectId element, const ElementChange& change,
                                     const ElementCommands& by = kObjectCommands);
[[nodiscard]] Mailbox query_element(ObjectId element, const ElementCommands& by = kObjectCommands);

// `state`: the one the queue pair is in, INIT or RTS. kNoObject takes it out of its leaf on that side.
[[nodiscard]] Mailbox place_queue_pair(QueuePairState state, std::uint32_t queue_pair, ObjectId requester,
                                       ObjectId responder);
// Of a raw packet queue pair: its send queue, which must be ready.
[[nodiscard]] Mailbox place_send_queue(std::uint32_t sq_number, ObjectId leaf);
// `with_leaves`: where the device has the capability qpc_extension; the answer has query_queue_pair_bytes().
[[nodiscard]] Mailbox query_queue_pair(std::uint32_t queue_pair, bool with_leaves = false);
[[nodiscard]] constexpr std::size_t query_queue_pair_bytes(bool with_leaves)
{
    return with_leaves ? prm::kQueryQpExtBytes : prm::kQueryQpBytes;
}

// The capabilities in force now, of one type: prm::kGeneralCapabilities, prm::kQosCapabilities.
[[nodiscard]] Mailbox query_capabilities(std::uint64_t type);

struct ElementAnswer {
    ElementKind kind = ElementKind::Node;
    ObjectId parent = kNoObject;
    ElementAttributes attributes;

    friend bool operator==(const ElementAnswer&, const ElementAnswer&) = default;
};
[[nodiscard]] ElementAnswer decode_element(std::span<const std::uint8_t> answer,
                                           const ElementCommands& by = kObjectCommands);

struct QueuePairAnswer {
    std::optional<QueuePairState> state;    // empty: one that verbs do not know
    std::optional<QueuePairType> type;      // empty: not one that can be placed here
    std::optional<QueuePairMark> mark{};    // of one that has a peer; empty: it has none now
    std::optional<LeafIds> leaves{};        // empty: not asked for

    friend bool operator==(const QueuePairAnswer&, const QueuePairAnswer&) = default;
};
[[nodiscard]] QueuePairAnswer decode_queue_pair(std::span<const std::uint8_t> answer);

// What the verbs layer knows of a queue pair that verbs made.
struct VerbsQueuePair {
    QueuePairState state = QueuePairState::Reset;
    std::uint32_t remote = 0;    // number of its peer's; 0: it is not connected
    std::uint8_t port = 0;
    std::uint16_t pkey_index = 0;
    // Its address vector.
    bool is_global = false;    // has a GID
    Gid destination;
    std::uint16_t destination_lid = 0;
    std::uint8_t source_index = 0;    // of the port's GIDs
    std::uint8_t sl = 0;
    std::uint8_t traffic_class = 0;

    friend bool operator==(const VerbsQueuePair&, const VerbsQueuePair&) = default;
};
// The same out of the device's answer, as Linux reads it. Empty: in a state that verbs do not know.
[[nodiscard]] std::optional<VerbsQueuePair> decode_as_verbs(std::span<const std::uint8_t> answer, LinkLayer link_layer);

// Sizes of a device that does not tell them: those of a ConnectX-6 Dx. What it has not, it refuses to make.
constexpr std::uint32_t kDepthNotTold = 4;
constexpr std::uint32_t kLeavesNotTold = 256;
constexpr std::uint32_t kElementsNotTold = 8192;

// What the two capability mailboxes say of scheduling and pacing. Pacing's types and rates are not in them.
[[nodiscard]] Capabilities decode_capabilities(std::span<const std::uint8_t> general,
                                               std::span<const std::uint8_t> qos);

}    // namespace rdmaqos::mlx5
