// DEVX: commands to the firmware as they are. Refusals come in the mailbox with status and syndrome, and EREMOTEIO; on
// kernels that do not copy it, only an errno is left.
#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "lib/mlx5/prm.h"
#include "tools/emulator/address_path.h"
#include "tools/emulator/firmware_commands.h"
#include "tools/emulator/methods.h"
#include "tools/emulator/queue_pair_context.h"

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

// A mailbox for the answer; the kernel fills it to its end.
void need_outbox(const Context& context, std::uint16_t out)
{
    context.call.need_out(out, kHeaderBytes);
}

[[noreturn]] void refuse(Context& context, std::uint16_t out, const Refusal& refusal)
{
    context.call.note("status", to_string(refusal.status));
    context.call.note("refusal", refusal.message);
    if (!refusal.mailbox || !context.behaviour.mailbox_on_error) {
        throw Failure(refusal.sys_errno);
    }
    context.call.note("syndrome", refusal.syndrome);
    context.call.out_whole(out, mailbox_of(refusal));
    throw Failure(EREMOTEIO);
}

// The firmware's answer, with its notes; the refusal is the caller's.
FirmwareAnswer ask(Context& context, const Mailbox& command, std::uint32_t queue_pair = 0)
{
    FirmwareAnswer answer = execute(context.device.firmware(), context.device.ports().size(),
                                    {context.context(), queue_pair, command});
    context.call.note(std::move(answer.notes));
    return answer;
}

// The same; a refusal ends the call. Otherwise the mailbox, for the caller to hand out.
Mailbox run_command(Context& context, std::uint16_t out, const Mailbox& command, std::uint32_t queue_pair = 0)
{
    FirmwareAnswer answer = ask(context, command, queue_pair);
    if (answer.refusal) {
        refuse(context, out, *answer.refusal);
    }
    return std::move(answer.mailbox);
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

// What a device answers for everybody. The kernel sends it for a file without DEVX, too.
bool is_for_everybody(std::uint64_t opcode)
{
    constexpr std::uint16_t kOpcodes[] = {QueryHcaCap, 0x752 /* QUERY_ESW_VPORT_CONTEXT */,
                                          0x762 /* QUERY_HCA_VPORT_CONTEXT */};
    return std::find(std::begin(kOpcodes), std::end(kOpcodes), opcode) != std::end(kOpcodes);
}

// devx_is_general_cmd() of the kernel: about no object.
bool is_general(std::uint64_t opcode)
{
    constexpr std::uint16_t kFirst = 0xb00;    // all from here on
    constexpr std::uint16_t kLast = 0xcff;
    constexpr std::uint16_t kOpcodes[] = {
        0x101 /* QUERY_ADAPTER */,
        0x10a /* QUERY_ISSI */,
        0x750 /* QUERY_VPORT_STATE */,
        0x754 /* QUERY_NIC_VPORT */,
        0x760 /* QUERY_ROCE_ADDRESS */,
        0x76f /* QUERY_VNIC_ENV */,
        0x770 /* QUERY_VPORT_COUNTER */,
        0x80a /* GET_DROPPED_PACKETS */,
        0x80d /* NOP */,
        0x822 /* QUERY_CONG_STATUS */,
        0x824 /* QUERY_CONG_PARAMS */,
        0x826 /* QUERY_CONG_STATISTICS */,
        QueryLag,
    };
    return is_for_everybody(opcode) || (opcode >= kFirst && opcode <= kLast) ||
           std::find(std::begin(kOpcodes), std::end(kOpcodes), opcode) != std::end(kOpcodes);
}

void other_command(Context& context)
{
    constexpr auto kOut = MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT;
    need_outbox(context, kOut);
    const Mailbox command = context.call.in(MLX5_IB_ATTR_DEVX_OTHER_CMD_IN, kHeaderBytes);
    note_command(context, command);
    const auto opcode = get(command, kOpcode);
    if (!is_for_everybody(opcode)) {
        need_devx(context);
    }
    if (!is_general(opcode)) {
        throw Failure(EINVAL);
    }
    if (opcode != QueryHcaCap && opcode != QueryLag) {
        refuse(context, kOut, not_played(opcode));
    }
    context.call.out_whole(kOut, run_command(context, kOut, command));
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

// ---- commands by handle ----

void create_element(Context& context, const Mailbox& command, const ElementCommands& layout)
{
    constexpr auto kOut = MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT;
    const Mailbox answer = run_command(context, kOut, command);
    const auto id = static_cast<std::uint32_t>(get(answer, layout.created_id));
    const auto object = std::make_shared<Object>(ObjectType::DevxObject, id);
    object->data = ElementData{ObjectId{id}, layout.is_object ? ElementForm::Object : ElementForm::Legacy};
    const std::uint32_t handle = context.publish(object);
    context.call.note("id", object->number);
    context.call.out_whole(kOut, answer);
    context.call.out_handle(MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE, handle);
}

// Of those of the file that has the device's number; the firmware lets a program name no others. Null: none.
std::shared_ptr<Object> object_of(const Context& context, ObjectType type, std::uint32_t number)
{
    for (auto& object : context.file.objects()) {
        if (object->type == type && object->number == number) {
            return object;
        }
    }
    return nullptr;
}

std::optional<DevxMemoryData> memory_of(const Context& context, std::uint32_t number)
{
    const auto object = object_of(context, ObjectType::DevxMemory, number);
    return object ? std::optional(std::get<DevxMemoryData>(object->data)) : std::nullopt;
}

// Where its queues are in the program's memory. Empty: nothing of it moves.
std::optional<QueuePairMemory> queues_of(const Context& context, const Mailbox& command, std::uint32_t number)
{
    const auto queues = queues_in(command);
    const auto queue = queues ? memory_of(context, queues->queue_memory) : std::nullopt;
    const auto record = queues ? memory_of(context, queues->record_memory) : std::nullopt;
    auto memory = queue && record ? placed(*queues, *queue, *record) : std::nullopt;
    if (!memory || !object_of(context, ObjectType::ProtectionDomain, memory->domain) ||
        !object_of(context, ObjectType::CompletionQueue, memory->send_queue) ||
        !object_of(context, ObjectType::CompletionQueue, memory->receive_queue) ||
        (memory->shared_receive_queue != 0 &&
         !object_of(context, ObjectType::SharedReceiveQueue, memory->shared_receive_queue))) {
        return std::nullopt;
    }
    memory->number = number;
    memory->owner = {context.call.caller().pid, context.call.caller().uid};
    memory->event = [](AsyncEvent) {};    // verbs know nothing of it
    return memory;
}

void create_queue_pair(Context& context, const Mailbox& command)
{
    constexpr auto kOut = MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT;
    const std::uint32_t number = context.device.next_queue_pair();
    const auto object = std::make_shared<Object>(ObjectType::DevxObject, number);
    auto data = std::make_unique<DevxQueuePairData>();
    data->context.resize(kQpcBytes);
    set(data->context, qpc::kServiceType, get(command, at(kQpc, qpc::kServiceType)));
    object->data = std::move(data);
    const FirmwareAnswer answer = ask(context, command, number);
    if (answer.refusal) {
        throw Failure(EIO);    // the file is from before a reset
    }
    Hardware* const hardware = context.device.hardware();
    if (auto queues = queues_of(context, command, number); hardware != nullptr && queues) {
        hardware->add(context.device, std::move(*queues));
        object->on_end = [hardware, &device = context.device, number] { hardware->remove_queue_pair(device, number); };
    }
    const std::uint32_t handle = context.publish(object);
    context.call.note("qpn", number);
    context.call.out_whole(kOut, answer.mailbox);
    context.call.out_handle(MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE, handle);
}

// devx_is_obj_create_cmd() of the kernel: what makes an object.
bool creates(std::uint64_t opcode)
{
    constexpr std::uint16_t kOpcodes[] = {CreateGeneralObject,
                                          CreateQp,
                                          CreateSq,
                                          CreateRq,
                                          0x200 /* CREATE_MKEY */,
                                          0x400 /* CREATE_CQ */,
                                          0x700 /* CREATE_SRQ */,
                                          0x705 /* CREATE_XRC_SRQ */,
                                          0x710 /* CREATE_DCT */,
                                          0x717 /* CREATE_XRQ */,
                                          0x771 /* ALLOC_Q_COUNTER */,
                                          CreateSchedulingElement,
                                          0x800 /* ALLOC_PD */,
                                          0x80e /* ALLOC_XRCD */,
                                          0x816 /* ALLOC_TRANSPORT_DOMAIN */,
                                          0x827 /* ADD_VXLAN_UDP_DPORT */,
                                          0x829 /* SET_L2_TABLE_ENTRY */,
                                          0x900 /* CREATE_TIR */,
                                          0x90c /* CREATE_RMP */,
                                          0x912 /* CREATE_TIS */,
                                          0x916 /* CREATE_RQT */,
                                          0x930 /* CREATE_FLOW_TABLE */,
                                          0x933 /* CREATE_FLOW_GROUP */,
                                          0x939 /* ALLOC_FLOW_COUNTER */,
                                          0x93d /* ALLOC_PACKET_REFORMAT */,
                                          0x940 /* ALLOC_MODIFY_HEADER */};
    return std::find(std::begin(kOpcodes), std::end(kOpcodes), opcode) != std::end(kOpcodes);
}

void create_object(Context& context)
{
    need_devx(context);
    need_outbox(context, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT);
    const Mailbox command = context.call.in(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN, kHeaderBytes);
    note_command(context, command);
    const auto opcode = get(command, kOpcode);
    if (!creates(opcode)) {
        throw Failure(EINVAL);
    }
    if (const auto* const layout = element_commands(opcode)) {
        return create_element(context, command, *layout);
    }
    if (opcode == CreateQp) {
        return create_queue_pair(context, command);
    }
    refuse(context, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT, not_played(opcode));
}

// The kernel lets a command reach only the object whose handle was given.
void need_number(const Mailbox& command, Field field, std::uint32_t number)
{
    if (get(command, field) != number) {
        throw Failure(EINVAL);
    }
}

// By its send and receive queue, not as a queue pair: those are what the device has.
bool is_raw_packet(const Object& object)
{
    const auto* data = std::get_if<std::unique_ptr<QueuePairData>>(&object.data);
    return data != nullptr && (*data)->type == QueuePairType::RawPacket;
}

bool is_queue_pair(const Object& object)
{
    return (object.type == ObjectType::QueuePair && !is_raw_packet(object)) ||
           std::holds_alternative<std::unique_ptr<DevxQueuePairData>>(object.data);
}

bool is_of_queue_pair(std::uint64_t opcode)
{
    constexpr std::uint16_t kOpcodes[] = {Rst2Init, Init2Rtr, Rtr2Rts, Rts2Rts,  Sqerr2Rts,
                                          Qp2Err,   Qp2Rst,   QueryQp, Init2Init};
    return std::find(std::begin(kOpcodes), std::end(kOpcodes), opcode) != std::end(kOpcodes);
}

// The object that a handle names, if the command may be about it: EINVAL otherwise.
enum class Subject : std::uint8_t { Element, QueuePair, SendQueue };
Subject subject_of(Context& context, const Object& object, const Mailbox& command)
{
    const auto opcode = get(command, kOpcode);
    const auto* const element = std::get_if<ElementData>(&object.data);
    const auto* const layout = element == nullptr ? nullptr : element_commands(opcode);
    if (layout != nullptr && layout->is_object == (element->form == ElementForm::Object) &&
        (opcode == layout->modify || opcode == layout->query)) {
        need_number(command, layout->id, object.number);
        if (layout->is_object) {
            need_number(command, kObjectType, static_cast<std::uint32_t>(kSchedulingElement));
        }
        context.call.note("id", object.number);
        return Subject::Element;
    }
    if (is_raw_packet(object) && (opcode == ModifySq || opcode == QuerySq)) {
        need_number(command, kSqn, object.number);
        context.call.note("sqn", object.number);
        return Subject::SendQueue;
    }
    if (is_queue_pair(object) && is_of_queue_pair(opcode)) {
        need_number(command, kQpn, object.number);
        context.call.note("qpn", object.number);
        return Subject::QueuePair;
    }
    throw Failure(EINVAL);
}

bool queries(std::uint64_t opcode)
{
    return opcode == QueryGeneralObject || opcode == QuerySchedulingElement || opcode == QueryQp || opcode == QuerySq;
}

// One that is DEVX's own.
Mailbox modify_queue_pair(Context& context, std::uint32_t number, DevxQueuePairData& data, const Mailbox& command)
{
    const std::lock_guard lock(data.mutex);
    Mailbox answer = run_command(context, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT, command, number);
    apply_transition(data.context, command);
    const auto now = context.device.firmware().queue_pair(number);
    if (Hardware* const hardware = context.device.hardware(); hardware != nullptr && now) {
        const auto port = static_cast<std::uint32_t>(get(data.context, qpc::kPort));
        const bool infiniband = context.is_infiniband(port <= context.device.ports().size() ? port : 0);
        hardware->modify(context.device, number, now->state, attributes_in(data.context, infiniband));
    }
    return answer;
}

void modify_object(Context& context)
{
    need_devx(context);
    constexpr auto kOut = MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT;
    need_outbox(context, kOut);
    const Mailbox command = context.call.in(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN, kHeaderBytes);
    note_command(context, command);
    Object& object = context.object(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE);
    if (queries(get(command, kOpcode))) {
        throw Failure(EINVAL);
    }
    const Subject subject = subject_of(context, object, command);
    if (auto* devx = std::get_if<std::unique_ptr<DevxQueuePairData>>(&object.data); devx != nullptr) {
        return context.call.out_whole(kOut, modify_queue_pair(context, object.number, **devx, command));
    }
    context.call.out_whole(kOut, run_command(context, kOut, command, subject == Subject::Element ? 0 : object.number));
}

// What the kernel wrote into a queue pair's context when a verb changed it.
void add_attributes(const Context& context, QueuePairData& data, Mailbox& answer)
{
    const std::lock_guard lock(data.mutex);
    put_attributes(answer, data, context.is_infiniband(data.attributes.port_num));
}

void query_object(Context& context)
{
    need_devx(context);
    constexpr auto kOut = MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT;
    need_outbox(context, kOut);
    const Mailbox command = context.call.in(MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN, kHeaderBytes);
    note_command(context, command);
    const Object& object = context.object(MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE);
    if (!queries(get(command, kOpcode))) {
        throw Failure(EINVAL);
    }
    const Subject subject = subject_of(context, object, command);
    Mailbox answer = run_command(context, kOut, command, subject == Subject::Element ? 0 : object.number);
    if (const auto* devx = std::get_if<std::unique_ptr<DevxQueuePairData>>(&object.data); devx != nullptr) {
        const std::lock_guard lock((*devx)->mutex);
        const auto state = get(answer, at(kQpc, qpc::kState));    // which it may have lost by itself
        std::copy((*devx)->context.begin(), (*devx)->context.end(), answer.begin() + kQpc / 8);
        set(answer, at(kQpc, qpc::kState), state);
    } else if (const auto* data = std::get_if<std::unique_ptr<QueuePairData>>(&object.data);
               data != nullptr && subject == Subject::QueuePair) {
        add_attributes(context, **data, answer);
    }
    context.call.out_whole(kOut, std::move(answer));
}

void destroy_object(Context& context)
{
    need_devx(context);
    const Object& object = context.object(MLX5_IB_ATTR_DEVX_OBJ_DESTROY_HANDLE);
    if (const auto* element = std::get_if<ElementData>(&object.data); element != nullptr) {
        context.call.note("id", object.number);
        const auto answer = context.device.firmware().destroy(context.context(), element->id, element->form);
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
    memory->data = DevxMemoryData{start, length};
    call.out_handle(MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE, context.publish(memory));
    call.out_as(MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, memory->number);
}

// ---- events of DEVX objects: the emulator has none to send ----

void open_object_events(Context& context)
{
    const auto flags = context.call.value_or(MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_FLAGS, 0);
    if ((flags & ~static_cast<std::uint64_t>(MLX5_IB_UAPI_DEVX_CR_EV_CH_FLAGS_OMIT_DATA)) != 0) {
        throw Failure(EINVAL);
    }
    const UniqueFd events = context.file.open_object_events();
    context.call.out_descriptor(MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_HANDLE, events);
}

// The kernel's is_valid_events_legacy(): what a device may say of an object, and of itself.
bool is_known_event(std::uint16_t type, bool of_an_object)
{
    constexpr std::uint16_t kPortChange = 0x9;
    constexpr std::uint16_t kOfObjects[] = {0x0,  0x1,  0x2,  0x3,  0x4,  0x5,  0x7, 0x10,
                                            0x11, 0x12, 0x13, 0x14, 0x18, 0x1c, 0x1d};
    return of_an_object ? std::find(std::begin(kOfObjects), std::end(kOfObjects), type) != std::end(kOfObjects)
                        : type == kPortChange;
}

void subscribe(Context& context)
{
    need_devx(context);
    static_cast<void>(context.call.value(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_HANDLE));
    const auto types = context.call.in(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_TYPE_NUM_LIST, 0);
    const bool of_an_object = context.object_or_null(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_OBJ_HANDLE) != nullptr;
    constexpr std::size_t kMost = 20;    // MAX_NUM_EVENTS of the kernel
    if (types.size() < 2 || types.size() / 2 > kMost) {
        throw Failure(EINVAL);
    }
    for (std::size_t at = 0; at + 1 < types.size(); at += 2) {
        const auto type = static_cast<std::uint16_t>(types[at] | types[at + 1] << 8U);
        if (!is_known_event(type, of_an_object)) {
            throw Failure(EINVAL);
        }
    }
}

}    // namespace

std::vector<Method> devx_methods()
{
    using enum ObjectType;
    return {
        {MLX5_IB_OBJECT_DEVX,
         MLX5_IB_METHOD_DEVX_OTHER,
         "devx.other",
         {MLX5_IB_ATTR_DEVX_OTHER_CMD_IN, MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT},
         {},
         other_command},
        {MLX5_IB_OBJECT_DEVX,
         MLX5_IB_METHOD_DEVX_QUERY_UAR,
         "devx.query-uar",
         {MLX5_IB_ATTR_DEVX_QUERY_UAR_USER_IDX, MLX5_IB_ATTR_DEVX_QUERY_UAR_DEV_IDX},
         {},
         query_uar},
        {MLX5_IB_OBJECT_DEVX,
         MLX5_IB_METHOD_DEVX_QUERY_EQN,
         "devx.query-eqn",
         {MLX5_IB_ATTR_DEVX_QUERY_EQN_USER_VEC, MLX5_IB_ATTR_DEVX_QUERY_EQN_DEV_EQN},
         {},
         query_eqn},
        {MLX5_IB_OBJECT_DEVX,
         MLX5_IB_METHOD_DEVX_SUBSCRIBE_EVENT,
         "devx.subscribe",
         {MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_HANDLE, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_TYPE_NUM_LIST,
          MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_NUM, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_COOKIE},
         {{MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_OBJ_HANDLE, DevxObject, Access::Read, true}},
         subscribe},
        {MLX5_IB_OBJECT_DEVX_ASYNC_EVENT_FD,
         MLX5_IB_METHOD_DEVX_ASYNC_EVENT_FD_ALLOC,
         "devx-event.alloc",
         {MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_HANDLE, MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_FLAGS},
         {},
         open_object_events},
        {MLX5_IB_OBJECT_DEVX_OBJ,
         MLX5_IB_METHOD_DEVX_OBJ_CREATE,
         "devx-object.create",
         {MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN,
          MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT},
         {},
         create_object},
        {MLX5_IB_OBJECT_DEVX_OBJ,
         MLX5_IB_METHOD_DEVX_OBJ_DESTROY,
         "devx-object.destroy",
         {},
         {{MLX5_IB_ATTR_DEVX_OBJ_DESTROY_HANDLE, DevxObject, Access::Destroy}},
         destroy_object},
        {MLX5_IB_OBJECT_DEVX_OBJ,
         MLX5_IB_METHOD_DEVX_OBJ_MODIFY,
         "devx-object.modify",
         {MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT},
         {{MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE, std::nullopt, Access::Write}},
         modify_object},
        {MLX5_IB_OBJECT_DEVX_OBJ,
         MLX5_IB_METHOD_DEVX_OBJ_QUERY,
         "devx-object.query",
         {MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN, MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT},
         {{MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE, std::nullopt, Access::Read}},
         query_object},
        {MLX5_IB_OBJECT_DEVX_UMEM,
         MLX5_IB_METHOD_DEVX_UMEM_REG,
         "devx-memory.register",
         {MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE, MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR, MLX5_IB_ATTR_DEVX_UMEM_REG_LEN,
          MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS, MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, MLX5_IB_ATTR_DEVX_UMEM_REG_PGSZ_BITMAP},
         {},
         reg_umem},
        {MLX5_IB_OBJECT_DEVX_UMEM,
         MLX5_IB_METHOD_DEVX_UMEM_DEREG,
         "devx-memory.deregister",
         {},
         {{MLX5_IB_ATTR_DEVX_UMEM_DEREG_HANDLE, DevxMemory, Access::Destroy}},
         nothing},
    };
}

}    // namespace rdmaqos::emulator
