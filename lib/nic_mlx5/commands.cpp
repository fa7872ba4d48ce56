#include "lib/nic_mlx5/commands.h"

#include <algorithm>
#include <limits>

namespace rdmaqos::mlx5 {
namespace {

using namespace prm;

// From INIT2INIT and RTS2RTS on to the end of their extended queue pair context; MODIFY_SQ to the end of its context.
constexpr std::size_t kPlaceBytes = 16 + 448;
constexpr std::size_t kModifySqBytes = 0x110;

Mailbox element_command(const ElementCommands& by, Opcode opcode, ObjectId id, std::size_t bytes)
{
    Mailbox command(bytes);
    set(command, kOpcode, opcode);
    if (by.is_object) {
        set(command, kObjectType, kSchedulingElement);
    }
    set(command, by.hierarchy, element::kHierarchyNic);    // a query of an object ends before it
    set(command, by.id, static_cast<std::uint32_t>(id));
    return command;
}

// Mbit/s; empty is 0, which is unlimited. Rates are whole Mbit/s when they come here (lib/tree).
std::uint64_t mbps_of(const std::optional<Bandwidth>& rate)
{
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
    return rate ? std::clamp<std::uint64_t>(rate->kbps() / 1000, 1, kMost) : 0;
}

std::uint64_t type_of(ElementKind kind)
{
    return kind == ElementKind::Leaf ? element::kQueueGroup : element::kTsar;
}

bool bit(std::span<const std::uint8_t> capabilities, Field field)
{
    return get(capabilities, at(kCapability, field)) != 0;
}

std::uint32_t number(std::span<const std::uint8_t> capabilities, Field field)
{
    return static_cast<std::uint32_t>(get(capabilities, at(kCapability, field)));
}

// A logarithm of 0 does not say 1: the device does not tell.
std::uint32_t power(std::span<const std::uint8_t> capabilities, Field field, std::uint32_t not_told)
{
    const std::uint32_t log = number(capabilities, field);
    return log == 0 ? not_told : 1U << std::min<std::uint32_t>(log, 31);
}

}    // namespace

Mailbox create_element(ElementKind kind, ObjectId parent, const ElementAttributes& attributes,
                       const ElementCommands& by)
{
    Mailbox command = element_command(by, by.create, kNoObject, by.written_bytes);
    const auto put = [&](Field field, std::uint64_t value) { set(command, at(by.element, field), value); };
    put(element::kType, type_of(kind));
    put(element::kParent, static_cast<std::uint32_t>(parent));
    put(element::kBwShare, attributes.share);
    put(element::kMaxAverageBw, mbps_of(attributes.max_rate));
    if (by.is_object) {
        set(command, by.select,
            (attributes.share != 0 ? element::kSelectBwShare : 0) |
                (attributes.max_rate ? element::kSelectMaxAverageBw : 0));
    }
    return command;
}

Mailbox modify_element(ElementKind kind, ObjectId element_id, const ElementChange& change, const ElementCommands& by)
{
    Mailbox command = element_command(by, by.modify, element_id, by.written_bytes);
    const auto put = [&](Field field, std::uint64_t value) { set(command, at(by.element, field), value); };
    std::uint64_t selected = 0;
    put(element::kType, type_of(kind));
    if (change.share) {
        selected |= element::kSelectBwShare;
        put(element::kBwShare, *change.share);
    }
    if (change.max_rate) {
        selected |= element::kSelectMaxAverageBw;
        put(element::kMaxAverageBw, mbps_of(*change.max_rate));
    }
    set(command, by.select, selected);
    return command;
}

Mailbox query_element(ObjectId element_id, const ElementCommands& by)
{
    return element_command(by, by.query, element_id, by.named_bytes);
}

Mailbox place_queue_pair(QueuePairState state, std::uint32_t queue_pair, ObjectId requester, ObjectId responder)
{
    Mailbox command(kPlaceBytes);
    set(command, kOpcode, state == QueuePairState::Init ? Init2Init : Rts2Rts);
    set(command, kQpcExt, 1);
    set(command, kQpn, queue_pair);
    set(command, kOptParamMaskHigh, kOptQueueGroup);
    set(command, kQueueGroupRequester, static_cast<std::uint32_t>(requester));
    set(command, kQueueGroupResponder, static_cast<std::uint32_t>(responder));
    return command;
}

Mailbox place_send_queue(std::uint32_t sq_number, ObjectId leaf)
{
    Mailbox command(kModifySqBytes);
    set(command, kOpcode, ModifySq);
    set(command, kSqState, kSqReady);
    set(command, kSqn, sq_number);
    set(command, kSqModifyBitmask, kSqSelectQueueGroup);
    set(command, at(kSqc, kSqcState), kSqReady);
    set(command, at(kSqc, kSqcQueueGroup), static_cast<std::uint32_t>(leaf));
    return command;
}

Mailbox query_queue_pair(std::uint32_t queue_pair, bool with_leaves)
{
    Mailbox command(kHeaderBytes);
    set(command, kOpcode, QueryQp);
    set(command, kQpcExt, with_leaves ? 1 : 0);
    set(command, kQpn, queue_pair);
    return command;
}

Mailbox query_capabilities(std::uint64_t type)
{
    Mailbox command(kHeaderBytes);
    set(command, kOpcode, QueryHcaCap);
    set(command, kOpMod, type << 1 | kCurrentCapabilities);
    return command;
}

ElementAnswer decode_element(std::span<const std::uint8_t> answer, const ElementCommands& by)
{
    const auto value = [&](Field field) { return get(answer, at(by.element, field)); };
    ElementAnswer element;
    element.kind = value(element::kType) == element::kQueueGroup ? ElementKind::Leaf : ElementKind::Node;
    element.parent = ObjectId{static_cast<std::uint32_t>(value(element::kParent))};
    element.attributes.share = static_cast<std::uint32_t>(value(element::kBwShare));
    if (const auto mbps = value(element::kMaxAverageBw); mbps != 0) {
        element.attributes.max_rate = Bandwidth::from_mbps(mbps);
    }
    return element;
}

QueuePairAnswer decode_queue_pair(std::span<const std::uint8_t> answer)
{
    using State = QueuePairState;
    constexpr State kStates[] = {State::Reset, State::Init, State::Rtr,   State::Rts,
                                 State::Sqe,   State::Sqd,  State::Error, State::Sqd};
    QueuePairAnswer queue_pair;
    const auto state = get(answer, at(kQpc, qpc::kState));
    if (state < std::size(kStates)) {
        queue_pair.state = kStates[state];
    }
    switch (get(answer, at(kQpc, qpc::kServiceType))) {
    case qpc::kReliableConnection:
        queue_pair.type = QueuePairType::Rc;
        break;
    case qpc::kUnreliableConnection:
        queue_pair.type = QueuePairType::Uc;
        break;
    case qpc::kUnreliableDatagram:
        queue_pair.type = QueuePairType::Ud;
        break;
    default:
        break;
    }
    // The address path is written on the way to RTR, and is what it was after a reset.
    const bool has_peer = queue_pair.type == QueuePairType::Rc || queue_pair.type == QueuePairType::Uc;
    const bool is_connected = queue_pair.state == State::Rtr || queue_pair.state == State::Rts ||
                              queue_pair.state == State::Sqd || queue_pair.state == State::Sqe;
    if (has_peer && is_connected) {
        queue_pair.mark = QueuePairMark{static_cast<std::uint8_t>(get(answer, at(kQpc, qpc::kDscp))),
                                        static_cast<std::uint8_t>(get(answer, at(kQpc, qpc::kEthPriority)))};
    }
    if (answer.size() >= kQueryQpExtBytes) {
        queue_pair.leaves = LeafIds{ObjectId{static_cast<std::uint32_t>(get(answer, kQueueGroupRequester))},
                                    ObjectId{static_cast<std::uint32_t>(get(answer, kQueueGroupResponder))}};
    }
    return queue_pair;
}

std::optional<VerbsQueuePair> decode_as_verbs(std::span<const std::uint8_t> answer, LinkLayer link_layer)
{
    const auto state = decode_queue_pair(answer).state;
    if (!state) {
        return std::nullopt;
    }
    const auto value = [&](Field field) { return get(answer, at(kQpc, at(qpc::kPath, field))); };
    VerbsQueuePair found;
    found.state = *state;
    found.remote = static_cast<std::uint32_t>(get(answer, at(kQpc, qpc::kRemoteQpn)));
    found.port = static_cast<std::uint8_t>(value(path::kPort));
    found.pkey_index = static_cast<std::uint16_t>(value(path::kPkeyIndex));
    if (found.port == 0) {
        return found;    // it has no address yet
    }
    found.is_global = link_layer == LinkLayer::Ethernet || value(path::kGlobal) != 0;
    found.destination_lid = static_cast<std::uint16_t>(value(path::kLid));
    found.sl = static_cast<std::uint8_t>(value(path::kSl));
    if (found.is_global) {
        found.source_index = static_cast<std::uint8_t>(value(path::kGidIndex));
        found.traffic_class = static_cast<std::uint8_t>(value(path::kTrafficClass));
        for (std::size_t byte = 0; byte < found.destination.bytes.size(); ++byte) {
            found.destination.bytes[byte] = static_cast<std::uint8_t>(value({path::kGid + 8 * byte, 8}));
        }
    }
    return found;
}

Capabilities decode_capabilities(std::span<const std::uint8_t> general, std::span<const std::uint8_t> qos)
{
    Capabilities can;
    if (!bit(general, general::kQos)) {
        return can;
    }
    const auto element_types = number(qos, qos::kNicElementType);
    constexpr auto kNeeded = 1U << element::kTsar | 1U << element::kQueueGroup;
    can.scheduling = (element_types & kNeeded) == kNeeded && (number(qos, qos::kNicTsarType) & 1U) != 0;
    can.shares = bit(qos, qos::kNicBwShare);
    can.rate_caps = bit(qos, qos::kNicRateLimit);
    can.max_depth = power(qos, qos::kLogNicMaxSchedDepth, kDepthNotTold);
    can.max_leaves = power(qos, qos::kLogMaxNicQueueGroups, kLeavesNotTold);
    can.max_elements = power(qos, qos::kLogMaxNicSchedulingElements, kElementsNotTold);
    can.max_share = number(qos, qos::kMaxTsarBwShare);
    if (bit(qos, qos::kNicQpScheduling) && bit(general, general::kQpcExtension)) {
        can.attachable = {QueuePairType::Rc, QueuePairType::Uc, QueuePairType::Ud, QueuePairType::Devx};
        can.responder_leaf = true;
    }
    if (bit(qos, qos::kNicSqScheduling)) {
        can.attachable.insert(QueuePairType::RawPacket);
    }
    const auto rows = number(qos, qos::kPacketPacingTableSize);
    can.pacing.table_size = rows == 0 ? 0 : rows - 1;    // the kernel keeps the first one for "no limit"
    can.pacing.burst = bit(qos, qos::kPacketPacingBurst);
    can.pacing.typical_packet = bit(qos, qos::kPacketPacingTypicalSize);
    if (!can.scheduling) {
        const PacingCapabilities pacing = can.pacing;
        can = {};
        can.pacing = pacing;
    }
    return can;
}

}    // namespace rdmaqos::mlx5
