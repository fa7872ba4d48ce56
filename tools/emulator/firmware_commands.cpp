#include "tools/emulator/firmware_commands.h"

#include <algorithm>
#include <bit>
#include <cerrno>

#include <fmt/format.h>

namespace rdmaqos::emulator {
namespace {

using namespace mlx5;
using namespace mlx5::prm;

// A command on its way to an answer; throws the Refusal that ends it.
class Execution {
public:
    Execution(Firmware& firmware, std::size_t ports, const FirmwareCommand& command)
        : firmware_(firmware), ports_(ports), command_(command), in_(command.mailbox)
    {
    }

    void run();
    FirmwareAnswer take() { return std::move(answer_); }

private:
    template <typename T>
    static T expect(Answer<T> answer)
    {
        if (!answer) {
            throw std::move(answer.error());
        }
        if constexpr (!std::is_void_v<T>) {
            return *std::move(answer);
        }
    }
    [[noreturn]] void refuse_opcode() const { throw not_played(get(in_, kOpcode)); }
    void note(const char* name, std::uint64_t value)
    {
        answer_.notes.push_back({name, static_cast<std::int64_t>(value)});
    }
    void note(const char* name, std::string_view value) { answer_.notes.push_back({name, std::string(value)}); }
    Mailbox& answer(std::size_t bytes = kHeaderBytes)
    {
        answer_.mailbox.resize(bytes);
        return answer_.mailbox;
    }

    void query_capabilities();
    void element_command(const ElementCommands& layout);
    void create_element(const ElementCommands& layout);
    void query_element(const ElementCommands& layout);
    void create_queue_pair();
    void query_queue_pair();
    [[nodiscard]] QueuePairRecord record() const;
    void attach(const QueuePairRecord& record, std::uint64_t requester, std::uint64_t responder);
    void modify_queue_pair();
    void note_marks();
    void query_send_queue();
    void modify_send_queue();

    Firmware& firmware_;
    const std::size_t ports_;
    const FirmwareCommand& command_;
    const Mailbox& in_;
    FirmwareAnswer answer_;
};

// ---- QUERY_HCA_CAP ----

std::uint64_t log2_of(std::uint64_t size)
{
    return size == 0 ? 0 : static_cast<std::uint64_t>(std::bit_width(size) - 1);
}

void fill_general(const Capabilities& can, std::size_t ports, Mailbox& answer)
{
    const auto put = [&](Field field, std::uint64_t value) { set(answer, at(kCapability, field), value); };
    put(general::kLogMaxQp, 17);
    put(general::kLogMaxCq, 24);
    put(general::kLogMaxPd, 23);
    put(general::kLogMaxMessage, 30);
    put(general::kNumPorts, ports);
    put(general::kQos, can.scheduling || can.pacing.table_size > 0 ? 1 : 0);
    put(general::kQpcExtension, can.scheduling ? 1 : 0);
    put(general::kGeneralObjectTypes, can.scheduling ? 1ULL << kSchedulingElement : 0);
}

void fill_qos(const Capabilities& can, Mailbox& answer)
{
    const auto put = [&](Field field, std::uint64_t value) { set(answer, at(kCapability, field), value); };
    const PacingCapabilities& pacing = can.pacing;
    put(qos::kPacketPacing, pacing.supported_types.empty() ? 0 : 1);
    put(qos::kPacketPacingBurst, pacing.burst ? 1 : 0);
    put(qos::kPacketPacingTypicalSize, pacing.typical_packet ? 1 : 0);
    put(qos::kPacketPacingUid, 1);
    put(qos::kPacketPacingMinRate, pacing.min_rate ? pacing.min_rate->kbps() : 0);
    put(qos::kPacketPacingMaxRate, pacing.max_rate ? pacing.max_rate->kbps() : 0);
    put(qos::kPacketPacingTableSize, pacing.table_size + 1);    // the first row is no limit
    if (!can.scheduling) {
        return;
    }
    const auto attaches = [&](QueuePairType type) { return can.attachable.contains(type) ? 1U : 0U; };
    put(qos::kNicSqScheduling, attaches(QueuePairType::RawPacket));
    put(qos::kNicQpScheduling, attaches(QueuePairType::Rc));
    put(qos::kNicBwShare, can.shares ? 1 : 0);
    put(qos::kNicRateLimit, can.rate_caps ? 1 : 0);
    put(qos::kLogNicMaxSchedDepth, log2_of(can.max_depth));
    put(qos::kLogMaxNicQueueGroups, log2_of(can.max_leaves));
    put(qos::kLogMaxNicSchedulingElements, log2_of(can.max_elements));
    put(qos::kMaxTsarBwShare, can.max_share);
    put(qos::kNicElementType, 1U << element::kTsar | 1U << element::kQueueGroup);
    put(qos::kNicTsarType, 1);
}

void Execution::query_capabilities()
{
    Mailbox& out = answer(kCapabilityBytes);
    const auto type = get(in_, kOpMod) >> 1;
    note("capabilities", type);
    constexpr std::uint64_t kTypes = 0x30;
    if (type >= kTypes) {
        Refusal refusal = not_played(QueryHcaCap);
        refusal.status = FirmwareStatus::BadParameter;
        throw std::move(refusal);
    }
    const Capabilities& can = firmware_.options().capabilities;
    if (type == kGeneralCapabilities) {
        fill_general(can, ports_, out);
    } else if (type == kQosCapabilities) {
        fill_qos(can, out);
    }
}

// ---- scheduling elements ----

SchedulingFields fields_of(const Mailbox& command, const ElementCommands& layout)
{
    static_assert(element::kSelectBwShare == kSchedulingShare && element::kSelectMaxAverageBw == kSchedulingMaxRate);
    SchedulingFields fields;
    fields.flags = static_cast<std::uint32_t>(get(command, layout.select));
    fields.share = static_cast<std::uint32_t>(get(command, at(layout.element, element::kBwShare)));
    fields.max_rate_mbps = static_cast<std::uint32_t>(get(command, at(layout.element, element::kMaxAverageBw)));
    return fields;
}

// The older CREATE has no field that selects.
SchedulingFields fields_of_new(const Mailbox& command, const ElementCommands& layout)
{
    SchedulingFields fields = fields_of(command, layout);
    if (!layout.is_object) {
        fields.flags = (fields.share != 0 ? kSchedulingShare : 0) |
                       (fields.max_rate_mbps != 0 ? kSchedulingMaxRate : 0);
    }
    return fields;
}

void add_fields(Notes& notes, const SchedulingFields& fields)
{
    if ((fields.flags & kSchedulingShare) != 0) {
        notes.push_back({"bw-share", static_cast<std::int64_t>(fields.share)});
    }
    if ((fields.flags & kSchedulingMaxRate) != 0) {
        notes.push_back({"max-average-bw", static_cast<std::int64_t>(fields.max_rate_mbps)});
    }
}

ObjectId object_of(const Mailbox& command, const ElementCommands& layout)
{
    return ObjectId{static_cast<std::uint32_t>(get(command, layout.id))};
}

ElementForm form_of(const ElementCommands& layout)
{
    return layout.is_object ? ElementForm::Object : ElementForm::Legacy;
}

void Execution::element_command(const ElementCommands& layout)
{
    const bool is_known = layout.is_object ? get(in_, kObjectType) == kSchedulingElement
                                           : get(in_, layout.hierarchy) == element::kHierarchyNic;
    if (!is_known) {
        refuse_opcode();
    }
    const auto opcode = get(in_, kOpcode);
    if (opcode == layout.create) {
        create_element(layout);
    } else if (opcode == layout.modify) {
        const SchedulingFields fields = fields_of(in_, layout);
        add_fields(answer_.notes, fields);
        expect(firmware_.modify(command_.context, object_of(in_, layout), fields, form_of(layout)));
        answer();
    } else if (opcode == layout.query) {
        query_element(layout);
    } else {
        expect(firmware_.destroy(command_.context, object_of(in_, layout), form_of(layout)));
        answer();
    }
}

void Execution::create_element(const ElementCommands& layout)
{
    CreateCommand create;
    create.context = command_.context;
    create.form = form_of(layout);
    const auto type = get(in_, at(layout.element, element::kType));
    create.kind = type == element::kQueueGroup ? ElementKind::Leaf : ElementKind::Node;
    if (const auto parent = get(in_, at(layout.element, element::kParent)); parent != 0) {
        create.parent = ObjectId{static_cast<std::uint32_t>(parent)};
        note("parent", parent);
    }
    create.fields = fields_of_new(in_, layout);
    note("element", create.kind == ElementKind::Leaf ? "queue-group" : "tsar");
    add_fields(answer_.notes, create.fields);
    if (get(in_, layout.hierarchy) != element::kHierarchyNic ||
        (type != element::kQueueGroup && type != element::kTsar)) {
        refuse_opcode();
    }
    const ObjectId id = expect(firmware_.create(create));
    set(answer(layout.created_bytes), layout.created_id, static_cast<std::uint32_t>(id));
}

void Execution::query_element(const ElementCommands& layout)
{
    const ElementRecord record = expect(firmware_.query(command_.context, object_of(in_, layout), form_of(layout)));
    Mailbox& out = answer(layout.read_bytes);
    const auto put = [&](Field field, std::uint64_t value) { set(out, at(layout.element, field), value); };
    if (layout.is_object) {
        set(out, layout.hierarchy, element::kHierarchyNic);
    }
    put(element::kType, record.kind == ElementKind::Leaf ? element::kQueueGroup : element::kTsar);
    put(element::kParent, record.parent ? static_cast<std::uint32_t>(*record.parent) : 0);
    put(element::kBwShare, record.share);
    put(element::kMaxAverageBw, record.max_rate_mbps);
}

// ---- queue pairs ----

std::uint64_t service_type_of(QueuePairType type)
{
    switch (type) {
    case QueuePairType::Uc:
        return qpc::kUnreliableConnection;
    case QueuePairType::Ud:
        return qpc::kUnreliableDatagram;
    default:
        return qpc::kReliableConnection;
    }
}

void Execution::create_queue_pair()
{
    expect(
        firmware_.create_queue_pair(command_.queue_pair, QueuePairType::Devx, QueuePairState::Reset, command_.context));
    set(answer(), kQpn, command_.queue_pair);
}

void Execution::query_queue_pair()
{
    const auto state = expect(firmware_.query_queue_pair(command_.queue_pair));
    Mailbox& out = answer(kQueryQpBytes);
    set(out, at(kQpc, qpc::kState), hardware_state(state));
    if (const auto known = firmware_.queue_pair(command_.queue_pair)) {
        set(out, at(kQpc, qpc::kServiceType), service_type_of(known->type));
        add_leaves(out, *known, in_);
    }
    note("state", to_string(state));
}

QueuePairRecord Execution::record() const
{
    const auto found = firmware_.queue_pair(command_.queue_pair);
    if (!found) {
        throw make_refusal(RefusalReason::NoSuchQueuePair,
                           fmt::format("the device has no queue pair {}", command_.queue_pair));
    }
    return *found;
}

void Execution::attach(const QueuePairRecord& record, std::uint64_t requester, std::uint64_t responder)
{
    AttachCommand attach;
    attach.context = command_.context;
    attach.queue_pair = record.number;
    attach.type = record.type;
    attach.requester = ObjectId{static_cast<std::uint32_t>(requester)};
    attach.responder = ObjectId{static_cast<std::uint32_t>(responder)};
    note("requester", requester);
    if (responder != 0) {
        note("responder", responder);
    }
    expect(firmware_.attach(attach));
}

struct Transition {
    std::uint64_t opcode;
    QueuePairState from;
    QueuePairState to;
};

constexpr Transition kTransitions[] = {
    {Rst2Init, QueuePairState::Reset, QueuePairState::Init}, {Init2Rtr, QueuePairState::Init, QueuePairState::Rtr},
    {Rtr2Rts, QueuePairState::Rtr, QueuePairState::Rts},     {Rts2Rts, QueuePairState::Rts, QueuePairState::Rts},
    {Sqerr2Rts, QueuePairState::Sqe, QueuePairState::Rts},   {Init2Init, QueuePairState::Init, QueuePairState::Init},
};

Refusal wrong_state(const QueuePairRecord& record)
{
    return make_refusal(RefusalReason::QueuePairState,
                        fmt::format("queue pair {} is in state {}", record.number, to_string(record.state)));
}

void Execution::modify_queue_pair()
{
    const QueuePairRecord record = this->record();
    const auto opcode = get(in_, kOpcode);
    answer();
    if (opcode == Qp2Err || opcode == Qp2Rst) {
        firmware_.set_queue_pair_state(record.number, opcode == Qp2Err ? QueuePairState::Error : QueuePairState::Reset);
        return;
    }
    const auto* transition = std::find_if(std::begin(kTransitions), std::end(kTransitions),
                                          [opcode](const Transition& each) { return each.opcode == opcode; });
    if (transition == std::end(kTransitions)) {
        refuse_opcode();
    }
    const bool extended = get(in_, kQpcExt) != 0 && (get(in_, kOptParamMaskHigh) & kOptQueueGroup) != 0;
    if (extended && (opcode == Init2Init || opcode == Rts2Rts)) {
        // The model's rules speak first: they say which states there are.
        if (record.state == QueuePairState::Init || record.state == QueuePairState::Rts) {
            if (record.state != transition->from) {
                throw wrong_state(record);
            }
        }
        attach(record, get(in_, kQueueGroupRequester), get(in_, kQueueGroupResponder));
        return;
    }
    if (record.state != transition->from) {
        throw wrong_state(record);
    }
    if (opcode == Init2Rtr) {
        note_marks();
    }
    firmware_.set_queue_pair_state(record.number, transition->to);
}

// How the connection asks the network to treat it: on Ethernet by priority and DSCP, on InfiniBand by service level.
void Execution::note_marks()
{
    note("sl", get(in_, at(kQpc, qpc::kSl)));
    note("priority", get(in_, at(kQpc, qpc::kEthPriority)));
    note("dscp", get(in_, at(kQpc, qpc::kDscp)));
}

// The send queue of a raw packet queue pair, which the kernel makes ready with the pair.
std::uint64_t send_queue_state(QueuePairState state)
{
    return state == QueuePairState::Rts ? kSqReady : state == QueuePairState::Error ? kSqError : kSqReset;
}

void Execution::query_send_queue()
{
    const QueuePairRecord record = this->record();
    Mailbox& out = answer(kSqc / 8 + kSqcBytes);
    set(out, at(kSqc, kSqcState), send_queue_state(record.state));
    set(out, at(kSqc, kSqcQueueGroup), static_cast<std::uint32_t>(record.requester));
}

void Execution::modify_send_queue()
{
    const QueuePairRecord record = this->record();
    answer();
    if (get(in_, kSqState) != kSqReady || get(in_, at(kSqc, kSqcState)) != kSqReady) {
        refuse_opcode();
    }
    if ((get(in_, kSqModifyBitmask) & kSqSelectQueueGroup) != 0) {
        attach(record, get(in_, at(kSqc, kSqcQueueGroup)), 0);
    }
}

void Execution::run()
{
    const auto opcode = get(in_, kOpcode);
    if (const auto* const layout = element_commands(opcode)) {
        return element_command(*layout);
    }
    switch (opcode) {
    case QueryHcaCap:
        return query_capabilities();
    case QueryLag:
        answer(kLagBytes);
        return;
    case CreateQp:
        return create_queue_pair();
    case DestroyQp:
        firmware_.destroy_queue_pair(command_.queue_pair);
        answer();
        return;
    case QueryQp:
        return query_queue_pair();
    case ModifySq:
        return modify_send_queue();
    case QuerySq:
        return query_send_queue();
    default:
        if (opcode < CreateQp || opcode > Init2Init) {
            refuse_opcode();
        }
        return modify_queue_pair();
    }
}

}    // namespace

FirmwareAnswer execute(Firmware& firmware, std::size_t ports, const FirmwareCommand& command)
{
    Execution execution(firmware, ports, command);
    std::optional<Refusal> refusal;
    try {
        execution.run();
    } catch (Refusal& refused) {
        refusal = std::move(refused);
    }
    FirmwareAnswer answer = execution.take();
    if (refusal) {
        answer.mailbox = mailbox_of(*refusal);
        answer.refusal = std::move(refusal);
    }
    return answer;
}

Refusal not_played(std::uint64_t opcode)
{
    Refusal refusal = make_refusal(RefusalReason::SchedulingNotSupported,
                                   fmt::format("the emulator does not play command {:#x}", opcode));
    refusal.syndrome = 0;
    refusal.sys_errno = EINVAL;
    return refusal;
}

Mailbox mailbox_of(const Refusal& refusal)
{
    Mailbox mailbox(kHeaderBytes);
    set(mailbox, kStatus, static_cast<std::uint64_t>(refusal.status));
    set(mailbox, kSyndrome, refusal.syndrome);
    return mailbox;
}

std::uint8_t hardware_state(QueuePairState state)
{
    // As IB verbs count: RESET, INIT, RTR, RTS, SQD, SQE, ERR.
    constexpr std::uint8_t kHardware[] = {0, 1, 2, 3, 5, 4, 6};
    return kHardware[static_cast<std::size_t>(state)];
}

void add_leaves(Mailbox& answer, const QueuePairRecord& queue_pair, const Mailbox& query)
{
    if (get(query, kQpcExt) != 0) {
        answer.resize(kQueryQpExtBytes);
        set(answer, kQueueGroupRequester, static_cast<std::uint32_t>(queue_pair.requester));
        set(answer, kQueueGroupResponder, static_cast<std::uint32_t>(queue_pair.responder));
    }
}

}    // namespace rdmaqos::emulator
