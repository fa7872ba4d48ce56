// DEVX: commands to the firmware as they are. Refusals come in the mailbox with status and syndrome, and EREMOTEIO; on
// kernels that do not copy it, only an errno is left.
#include <algorithm>
#include <bit>
#include <cerrno>

#include <fmt/format.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "tools/emulator/methods.h"
#include "lib/mlx5/prm.h"

namespace rdmaqos::emulator {
namespace {

using namespace mlx5;
using namespace mlx5::prm;

void need_devx(const Context& context)
{
    if (!context.file.has_devx()) {
        throw Failure(EINVAL);
    }
}

Mailbox answer_of(std::size_t bytes)
{
    return Mailbox(std::max(bytes, kHeaderBytes));
}

[[noreturn]] void refuse(Context& context, std::uint16_t out, const Refusal& refusal)
{
    context.call.note("status", to_string(refusal.status));
    context.call.note("refusal", refusal.message);
    if (!refusal.mailbox || !context.behaviour.mailbox_on_error) {
        throw Failure(refusal.sys_errno);
    }
    Mailbox answer = answer_of(0);
    set(answer, kStatus, static_cast<std::uint64_t>(refusal.status));
    set(answer, kSyndrome, refusal.syndrome);
    context.call.note("syndrome", refusal.syndrome);
    context.call.out(out, answer);
    throw Failure(EREMOTEIO);
}

template <typename T>
T expect(Context& context, std::uint16_t out, Answer<T> answer)
{
    if (!answer) {
        refuse(context, out, answer.error());
    }
    if constexpr (!std::is_void_v<T>) {
        return *std::move(answer);
    }
}

// Of a command that is not played.
[[noreturn]] void refuse_opcode(Context& context, std::uint16_t out, std::uint64_t opcode)
{
    Refusal refusal = make_refusal(RefusalReason::SchedulingNotSupported,
                                   fmt::format("the emulator does not play command {:#x}", opcode));
    refusal.syndrome = 0;
    refusal.sys_errno = EINVAL;
    refuse(context, out, refusal);
}

void note_command(Context& context, const Mailbox& command)
{
    const auto opcode = get(command, kOpcode);
    const auto name = name_of(opcode);
    if (name.empty()) {
        context.call.note("command", opcode);
    } else {
        context.call.note("command", name);
    }
}

// ---- QUERY_HCA_CAP ----

std::uint64_t log2_of(std::uint64_t size)
{
    return size == 0 ? 0 : static_cast<std::uint64_t>(std::bit_width(size) - 1);
}

void fill_general(const Device& device, Mailbox& answer)
{
    const bool scheduling = device.capabilities().scheduling;
    const auto put = [&](Field field, std::uint64_t value) { set(answer, at(kCapability, field), value); };
    put(general::kLogMaxQp, 17);
    put(general::kLogMaxCq, 24);
    put(general::kLogMaxPd, 23);
    put(general::kNumPorts, device.ports().size());
    put(general::kQos, scheduling || device.capabilities().pacing.table_size > 0 ? 1 : 0);
    put(general::kQpcExtension, scheduling ? 1 : 0);
    put(general::kGeneralObjectTypes, scheduling ? 1ULL << kSchedulingElement : 0);
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
    put(qos::kPacketPacingTableSize, pacing.table_size);
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

void other_command(Context& context)
{
    need_devx(context);
    const Mailbox command = context.call.in(MLX5_IB_ATTR_DEVX_OTHER_CMD_IN, kHeaderBytes);
    note_command(context, command);
    const auto opcode = get(command, kOpcode);
    if (opcode != QueryHcaCap) {
        if (!name_of(opcode).empty()) {
            throw Failure(EINVAL);    // it is about an object, and the kernel lets only general commands through here
        }
        refuse_opcode(context, MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT, opcode);
    }
    Mailbox answer = answer_of(kCapabilityBytes);
    const auto type = get(command, kOpMod) >> 1;
    context.call.note("capabilities", type);
    if (type == kGeneralCapabilities) {
        fill_general(context.device, answer);
    } else if (type == kQosCapabilities) {
        fill_qos(context.device.capabilities(), answer);
    }
    context.call.out(MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT, answer);
}

void query_uar(Context& context)
{
    need_devx(context);
    const auto index = static_cast<std::uint32_t>(context.call.value(MLX5_IB_ATTR_DEVX_QUERY_UAR_USER_IDX));
    context.call.out_as(MLX5_IB_ATTR_DEVX_QUERY_UAR_DEV_IDX, index);
}

void query_eqn(Context& context)
{
    need_devx(context);
    if (context.call.value(MLX5_IB_ATTR_DEVX_QUERY_EQN_USER_VEC) >= 2) {
        throw Failure(EINVAL);
    }
    context.call.out_as(MLX5_IB_ATTR_DEVX_QUERY_EQN_DEV_EQN, std::uint32_t{4});
}

// ---- scheduling elements ----

SchedulingFields fields_of(const Mailbox& command)
{
    static_assert(element::kSelectBwShare == kSchedulingShare && element::kSelectMaxAverageBw == kSchedulingMaxRate);
    SchedulingFields fields;
    fields.flags = static_cast<std::uint32_t>(get(command, at(kObject, element::kModifySelect)));
    fields.share = static_cast<std::uint32_t>(get(command, at(kObject, element::kBwShare)));
    fields.max_rate_mbps = static_cast<std::uint32_t>(get(command, at(kObject, element::kMaxAverageBw)));
    return fields;
}

void note_fields(Context& context, const SchedulingFields& fields)
{
    if ((fields.flags & kSchedulingShare) != 0) {
        context.call.note("bw-share", fields.share);
    }
    if ((fields.flags & kSchedulingMaxRate) != 0) {
        context.call.note("max-average-bw", fields.max_rate_mbps);
    }
}

void need_scheduling_element(Context& context, std::uint16_t out, const Mailbox& command)
{
    if (get(command, kObjectType) != kSchedulingElement) {
        refuse_opcode(context, out, get(command, kOpcode));
    }
}

void create_element(Context& context, const Mailbox& command)
{
    constexpr auto kOut = MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT;
    need_scheduling_element(context, kOut, command);
    CreateCommand create;
    create.context = context.context();
    const auto type = get(command, at(kObject, element::kType));
    create.kind = type == element::kQueueGroup ? ElementKind::Leaf : ElementKind::Node;
    if (const auto parent = get(command, at(kObject, element::kParent)); parent != 0) {
        create.parent = ObjectId{static_cast<std::uint32_t>(parent)};
        context.call.note("parent", parent);
    }
    create.fields = fields_of(command);
    context.call.note("element", create.kind == ElementKind::Leaf ? "queue-group" : "tsar");
    note_fields(context, create.fields);
    if (get(command, at(kObject, element::kHierarchy)) != element::kHierarchyNic ||
        (type != element::kQueueGroup && type != element::kTsar)) {
        refuse_opcode(context, kOut, get(command, kOpcode));
    }
    const ObjectId id = expect(context, kOut, context.device.firmware().create(create));
    const auto object = std::make_shared<Object>(ObjectType::DevxObject, static_cast<std::uint32_t>(id));
    object->data = ElementData{id};
    const std::uint32_t handle = context.publish(object);
    context.call.note("id", object->number);
    Mailbox answer = answer_of(0);
    set(answer, kObjectId, object->number);
    context.call.out(kOut, answer);
    context.call.out_handle(MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE, handle);
}

void query_element(Context& context, const Mailbox& command, ObjectId id)
{
    constexpr auto kOut = MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT;
    need_scheduling_element(context, kOut, command);
    const ElementRecord record = expect(context, kOut, context.device.firmware().query(context.context(), id));
    Mailbox answer = answer_of(kObjectBytes);
    const auto put = [&](Field field, std::uint64_t value) { set(answer, at(kObject, field), value); };
    put(element::kHierarchy, element::kHierarchyNic);
    put(element::kType, record.kind == ElementKind::Leaf ? element::kQueueGroup : element::kTsar);
    put(element::kParent, record.parent ? static_cast<std::uint32_t>(*record.parent) : 0);
    put(element::kBwShare, record.share);
    put(element::kMaxAverageBw, record.max_rate_mbps);
    context.call.out(kOut, answer);
}

// ---- queue pairs, made by verbs or by DEVX ----

void create_queue_pair(Context& context, const Mailbox& command)
{
    constexpr auto kOut = MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT;
    const auto service = static_cast<std::uint8_t>(get(command, at(kQpc, qpc::kServiceType)));
    const std::uint32_t number = context.device.next_queue_pair();
    const auto object = std::make_shared<Object>(ObjectType::DevxObject, number);
    object->data = DevxQueuePairData{service};
    context.create_queue_pair(number, QueuePairType::Devx);
    const std::uint32_t handle = context.publish(object);
    context.call.note("qpn", number);
    Mailbox answer = answer_of(0);
    set(answer, kQpn, number);
    context.call.out(kOut, answer);
    context.call.out_handle(MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE, handle);
}

QueuePairRecord record_of(Context& context, std::uint16_t out, std::uint32_t number)
{
    const auto record = context.device.firmware().queue_pair(number);
    if (!record) {
        refuse(context, out,
               make_refusal(RefusalReason::NoSuchQueuePair, fmt::format("the device has no queue pair {}", number)));
    }
    return *record;
}

void attach(Context& context, const QueuePairRecord& record, std::uint64_t requester, std::uint64_t responder)
{
    constexpr auto kOut = MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT;
    AttachCommand attach;
    attach.context = context.context();
    attach.queue_pair = record.number;
    attach.type = record.type;
    attach.requester = ObjectId{static_cast<std::uint32_t>(requester)};
    attach.responder = ObjectId{static_cast<std::uint32_t>(responder)};
    context.call.note("requester", requester);
    if (responder != 0) {
        context.call.note("responder", responder);
    }
    expect(context, kOut, context.device.firmware().attach(attach));
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

[[noreturn]] void refuse_state(Context& context, const QueuePairRecord& record)
{
    refuse(context, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT,
           make_refusal(RefusalReason::QueuePairState,
                        fmt::format("queue pair {} is in state {}", record.number, to_string(record.state))));
}

void modify_queue_pair(Context& context, const Mailbox& command, const QueuePairRecord& record)
{
    constexpr auto kOut = MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT;
    const auto opcode = get(command, kOpcode);
    Firmware& firmware = context.device.firmware();
    if (opcode == Qp2Err || opcode == Qp2Rst) {
        firmware.set_queue_pair_state(record.number,
                                      opcode == Qp2Err ? QueuePairState::Error : QueuePairState::Reset);
        return;
    }
    const auto* transition = std::find_if(std::begin(kTransitions), std::end(kTransitions),
                                          [opcode](const Transition& each) { return each.opcode == opcode; });
    if (transition == std::end(kTransitions)) {
        refuse_opcode(context, kOut, opcode);
    }
    const bool extended = get(command, kQpcExt) != 0 && (get(command, kOptParamMaskHigh) & kOptQueueGroup) != 0;
    if (extended && (opcode == Init2Init || opcode == Rts2Rts)) {
        // The model's rules speak first: they say which states there are.
        if (record.state == QueuePairState::Init || record.state == QueuePairState::Rts) {
            if (record.state != transition->from) {
                refuse_state(context, record);
            }
        }
        attach(context, record, get(command, kQueueGroupRequester), get(command, kQueueGroupResponder));
        return;
    }
    if (record.state != transition->from) {
        refuse_state(context, record);
    }
    firmware.set_queue_pair_state(record.number, transition->to);
}

void modify_send_queue(Context& context, const Mailbox& command, const QueuePairRecord& record)
{
    if (get(command, kSqState) != kSqReady || get(command, at(kSqc, kSqcState)) != kSqReady) {
        refuse_opcode(context, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT, ModifySq);
    }
    if ((get(command, kSqModifyBitmask) & kSqSelectQueueGroup) != 0) {
        attach(context, record, get(command, at(kSqc, kSqcQueueGroup)), 0);
    }
}

// ---- commands by handle ----

void create_object(Context& context)
{
    need_devx(context);
    const Mailbox command = context.call.in(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN, kHeaderBytes);
    note_command(context, command);
    switch (get(command, kOpcode)) {
    case CreateGeneralObject:
        return create_element(context, command);
    case CreateQp:
        return create_queue_pair(context, command);
    default:
        refuse_opcode(context, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT, get(command, kOpcode));
    }
}

// The kernel lets a command reach only the object whose handle was given.
void need_number(const Mailbox& command, Field field, std::uint32_t number)
{
    if (get(command, field) != number) {
        throw Failure(EINVAL);
    }
}

void modify_object(Context& context)
{
    need_devx(context);
    constexpr auto kOut = MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT;
    const Mailbox command = context.call.in(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN, kHeaderBytes);
    note_command(context, command);
    const Object& object = context.object(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE);
    const auto opcode = get(command, kOpcode);
    if (const auto* element = std::get_if<ElementData>(&object.data); element != nullptr) {
        if (opcode != ModifyGeneralObject) {
            throw Failure(EINVAL);
        }
        need_number(command, kObjectId, object.number);
        need_scheduling_element(context, kOut, command);
        context.call.note("id", object.number);
        const SchedulingFields fields = fields_of(command);
        note_fields(context, fields);
        expect(context, kOut, context.device.firmware().modify(context.context(), element->id, fields));
    } else if (const auto* data = std::get_if<std::unique_ptr<QueuePairData>>(&object.data);
               data != nullptr && (*data)->type == QueuePairType::RawPacket && opcode == ModifySq) {
        need_number(command, kSqn, (*data)->sq_number);
        context.call.note("sqn", (*data)->sq_number);
        modify_send_queue(context, command, record_of(context, kOut, object.number));
    } else if (data != nullptr || std::holds_alternative<DevxQueuePairData>(object.data)) {
        if (opcode < CreateQp || opcode > Init2Init) {
            throw Failure(EINVAL);
        }
        need_number(command, kQpn, object.number);
        context.call.note("qpn", object.number);
        modify_queue_pair(context, command, record_of(context, kOut, object.number));
    } else {
        throw Failure(EINVAL);
    }
    context.call.out(kOut, answer_of(0));
}

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

void query_object(Context& context)
{
    need_devx(context);
    constexpr auto kOut = MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT;
    const Mailbox command = context.call.in(MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN, kHeaderBytes);
    note_command(context, command);
    const Object& object = context.object(MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE);
    const auto opcode = get(command, kOpcode);
    if (const auto* element = std::get_if<ElementData>(&object.data);
        element != nullptr && opcode == QueryGeneralObject) {
        need_number(command, kObjectId, object.number);
        context.call.note("id", object.number);
        return query_element(context, command, element->id);
    }
    const bool is_queue_pair = object.type == ObjectType::QueuePair ||
                               std::holds_alternative<DevxQueuePairData>(object.data);
    if (!is_queue_pair || opcode != QueryQp) {
        throw Failure(EINVAL);
    }
    need_number(command, kQpn, object.number);
    const auto state = expect(context, kOut, context.device.firmware().query_queue_pair(object.number));
    // As the hardware counts: RST, INIT, RTR, RTS, SQER, SQD, ERR.
    constexpr std::uint8_t kHardware[] = {0, 1, 2, 3, 5, 4, 6};
    Mailbox answer = answer_of(kQueryQpBytes);
    set(answer, at(kQpc, qpc::kState), kHardware[static_cast<std::size_t>(state)]);
    if (const auto* devx = std::get_if<DevxQueuePairData>(&object.data); devx != nullptr) {
        set(answer, at(kQpc, qpc::kServiceType), devx->service_type);
    } else {
        const auto& data = std::get<std::unique_ptr<QueuePairData>>(object.data);
        set(answer, at(kQpc, qpc::kServiceType), service_type_of(data->type));
    }
    context.call.note("qpn", object.number);
    context.call.note("state", to_string(state));
    context.call.out(kOut, answer);
}

void destroy_object(Context& context)
{
    need_devx(context);
    const Object& object = context.object(MLX5_IB_ATTR_DEVX_OBJ_DESTROY_HANDLE);
    if (const auto* element = std::get_if<ElementData>(&object.data); element != nullptr) {
        context.call.note("id", object.number);
        const auto answer = context.device.firmware().destroy(context.context(), element->id);
        if (!answer) {
            context.call.note("refusal", answer.error().message);
            // No mailbox comes back from a destroy: the kernel translates the status.
            throw Failure(answer.error().mailbox ? errno_of(answer.error().status) : answer.error().sys_errno);
        }
        return;
    }
    context.call.note("qpn", object.number);
    context.device.firmware().destroy_queue_pair(object.number);
}

// ---- memory for DEVX objects ----

void reg_umem(Context& context)
{
    need_devx(context);
    Call& call = context.call;
    const auto start = call.value(MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR);
    const auto length = call.value(MLX5_IB_ATTR_DEVX_UMEM_REG_LEN);
    if (length == 0 || start + length < start) {
        throw Failure(EINVAL);
    }
    call.touch(start);
    call.touch(start + length - 1);
    const auto memory = std::make_shared<Object>(ObjectType::DevxMemory, context.device.next_number());
    call.out_handle(MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE, context.publish(memory));
    call.out_as(MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, memory->number);
}

void nothing(Context&) {}

}    // namespace

std::vector<Method> devx_methods()
{
    using enum ObjectType;
    return {
        {MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_OTHER, "devx.other",
         {MLX5_IB_ATTR_DEVX_OTHER_CMD_IN, MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT}, {}, other_command},
        {MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_QUERY_UAR, "devx.query-uar",
         {MLX5_IB_ATTR_DEVX_QUERY_UAR_USER_IDX, MLX5_IB_ATTR_DEVX_QUERY_UAR_DEV_IDX}, {}, query_uar},
        {MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_QUERY_EQN, "devx.query-eqn",
         {MLX5_IB_ATTR_DEVX_QUERY_EQN_USER_VEC, MLX5_IB_ATTR_DEVX_QUERY_EQN_DEV_EQN}, {}, query_eqn},
        {MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_CREATE, "devx-object.create",
         {MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN,
          MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT},
         {}, create_object},
        {MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_DESTROY, "devx-object.destroy", {},
         {{MLX5_IB_ATTR_DEVX_OBJ_DESTROY_HANDLE, DevxObject, Access::Destroy}}, destroy_object},
        {MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_MODIFY, "devx-object.modify",
         {MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT},
         {{MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE, std::nullopt, Access::Write}}, modify_object},
        {MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_QUERY, "devx-object.query",
         {MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN, MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT},
         {{MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE, std::nullopt, Access::Read}}, query_object},
        {MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_REG, "devx-memory.register",
         {MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE, MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR, MLX5_IB_ATTR_DEVX_UMEM_REG_LEN,
          MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS, MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID,
          MLX5_IB_ATTR_DEVX_UMEM_REG_PGSZ_BITMAP},
         {}, reg_umem},
        {MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_DEREG, "devx-memory.deregister", {},
         {{MLX5_IB_ATTR_DEVX_UMEM_DEREG_HANDLE, DevxMemory, Access::Destroy}}, nothing},
    };
}

}    // namespace rdmaqos::emulator
