// DEVX: commands to the firmware as they are. Refusals come in the mailbox with status and syndrome, and EREMOTEIO; on
// kernels that do not copy it, only an errno is left.
#include <cerrno>
#include <utility>

#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "lib/mlx5/prm.h"
#include "tools/emulator/firmware_commands.h"
#include "tools/emulator/methods.h"

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

[[noreturn]] void refuse(Context& context, std::uint16_t out, const Refusal& refusal)
{
    context.call.note("status", to_string(refusal.status));
    context.call.note("refusal", refusal.message);
    if (!refusal.mailbox || !context.behaviour.mailbox_on_error) {
        throw Failure(refusal.sys_errno);
    }
    context.call.note("syndrome", refusal.syndrome);
    context.call.out(out, mailbox_of(refusal));
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
        refuse(context, MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT, not_played(opcode));
    }
    context.call.out(MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT,
                     run_command(context, MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT, command));
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

void create_element(Context& context, const Mailbox& command)
{
    constexpr auto kOut = MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT;
    const Mailbox answer = run_command(context, kOut, command);
    const auto id = static_cast<std::uint32_t>(get(answer, kObjectId));
    const auto object = std::make_shared<Object>(ObjectType::DevxObject, id);
    object->data = ElementData{ObjectId{id}};
    const std::uint32_t handle = context.publish(object);
    context.call.note("id", object->number);
    context.call.out(kOut, answer);
    context.call.out_handle(MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE, handle);
}

void create_queue_pair(Context& context, const Mailbox& command)
{
    constexpr auto kOut = MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT;
    const auto service = static_cast<std::uint8_t>(get(command, at(kQpc, qpc::kServiceType)));
    const std::uint32_t number = context.device.next_queue_pair();
    const auto object = std::make_shared<Object>(ObjectType::DevxObject, number);
    object->data = DevxQueuePairData{service};
    const FirmwareAnswer answer = ask(context, command, number);
    if (answer.refusal) {
        throw Failure(EIO);    // the file is from before a reset
    }
    const std::uint32_t handle = context.publish(object);
    context.call.note("qpn", number);
    context.call.out(kOut, answer.mailbox);
    context.call.out_handle(MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE, handle);
}

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
        refuse(context, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT, not_played(get(command, kOpcode)));
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
    Mailbox answer;
    if (std::holds_alternative<ElementData>(object.data)) {
        if (opcode != ModifyGeneralObject) {
            throw Failure(EINVAL);
        }
        need_number(command, kObjectId, object.number);
        context.call.note("id", object.number);
        answer = run_command(context, kOut, command);
    } else if (const auto* data = std::get_if<std::unique_ptr<QueuePairData>>(&object.data);
               data != nullptr && (*data)->type == QueuePairType::RawPacket && opcode == ModifySq) {
        need_number(command, kSqn, (*data)->sq_number);
        context.call.note("sqn", (*data)->sq_number);
        answer = run_command(context, kOut, command, object.number);
    } else if (data != nullptr || std::holds_alternative<DevxQueuePairData>(object.data)) {
        if (opcode < CreateQp || opcode > Init2Init) {
            throw Failure(EINVAL);
        }
        need_number(command, kQpn, object.number);
        context.call.note("qpn", object.number);
        if (opcode == CreateQp || opcode == DestroyQp || opcode == QueryQp) {
            refuse(context, kOut, not_played(opcode));    // no change
        }
        answer = run_command(context, kOut, command, object.number);
    } else {
        throw Failure(EINVAL);
    }
    context.call.out(kOut, answer);
}

void query_object(Context& context)
{
    need_devx(context);
    constexpr auto kOut = MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT;
    const Mailbox command = context.call.in(MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN, kHeaderBytes);
    note_command(context, command);
    const Object& object = context.object(MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE);
    const auto opcode = get(command, kOpcode);
    if (std::holds_alternative<ElementData>(object.data) && opcode == QueryGeneralObject) {
        need_number(command, kObjectId, object.number);
        context.call.note("id", object.number);
        return context.call.out(kOut, run_command(context, kOut, command));
    }
    const bool is_queue_pair = object.type == ObjectType::QueuePair ||
                               std::holds_alternative<DevxQueuePairData>(object.data);
    if (!is_queue_pair || opcode != QueryQp) {
        throw Failure(EINVAL);
    }
    need_number(command, kQpn, object.number);
    context.call.note("qpn", object.number);
    Mailbox answer = run_command(context, kOut, command, object.number);
    if (const auto* devx = std::get_if<DevxQueuePairData>(&object.data); devx != nullptr) {
        set(answer, at(kQpc, qpc::kServiceType), devx->service_type);
    }
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
