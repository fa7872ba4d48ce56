#include "tools/emulator/methods.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <set>
#include <thread>

#include <rdma/ib_user_ioctl_verbs.h>

#include "tools/emulator/protocol.h"
#include "tools/emulator/tasks.h"

namespace rdmaqos::emulator {
namespace {

template <typename T>
void append(std::vector<T>& to, std::vector<T> more)
{
    std::move(more.begin(), more.end(), std::back_inserter(to));
}

void invoke_write(Context& context);

const Method* find_method(std::uint16_t object, std::uint16_t method)
{
    static const auto table = [] {
        std::vector<Method> all{{UVERBS_OBJECT_DEVICE,
                                 UVERBS_METHOD_INVOKE_WRITE,
                                 "write",
                                 {UVERBS_ATTR_CORE_IN, UVERBS_ATTR_CORE_OUT, UVERBS_ATTR_WRITE_CMD, UVERBS_ATTR_UHW_IN,
                                  UVERBS_ATTR_UHW_OUT},
                                 {},
                                 invoke_write,
                                 false}};
        append(all, device_methods());
        append(all, resource_methods());
        append(all, queue_pair_methods());
        append(all, devx_methods());
        std::map<std::pair<std::uint16_t, std::uint16_t>, Method> by_id;
        for (auto& each : all) {
            by_id.emplace(std::pair(each.object, each.method), std::move(each));
        }
        return by_id;
    }();
    const auto found = table.find({object, method});
    return found == table.end() ? nullptr : &found->second;
}

const WriteCommand* find_command(std::uint32_t command)
{
    static const auto table = [] {
        std::vector<WriteCommand> all = device_commands();
        append(all, resource_commands());
        append(all, queue_pair_commands());
        std::map<std::uint32_t, WriteCommand> by_id;
        for (auto& each : all) {
            by_id.emplace(each.command, each);
        }
        return by_id;
    }();
    const auto found = table.find(command);
    return found == table.end() ? nullptr : &found->second;
}

void need_context(const UverbsFile& file)
{
    if (!file.context()) {
        throw Failure(EINVAL);
    }
}

// The kernel refuses a mandatory attribute it does not know, ignores another, and takes none twice.
void check_attributes(const Call& call, const Method& method)
{
    std::set<std::uint16_t> seen;
    for (const auto& attribute : call.attributes()) {
        const bool known = std::find(method.attributes.begin(), method.attributes.end(), attribute.attr_id) !=
                               method.attributes.end() ||
                           std::any_of(
                               method.handles.begin(), method.handles.end(),
                               [&](const HandleAttribute& handle) { return handle.attribute == attribute.attr_id; });
        if (!known && (attribute.flags & UVERBS_ATTR_F_MANDATORY) != 0) {
            throw Failure(EPROTONOSUPPORT);
        }
        if (!seen.insert(attribute.attr_id).second || attribute.attr_data.reserved != 0) {
            throw Failure(EINVAL);
        }
    }
}

void invoke_write(Context& context)
{
    Call& call = context.call;
    const auto number = static_cast<std::uint32_t>(call.value(UVERBS_ATTR_WRITE_CMD));
    const WriteCommand* command = find_command(number);
    if (command == nullptr) {
        call.note("command", number);
        throw Failure(EOPNOTSUPP);
    }
    call.note("command", command->name);
    const auto& attributes = call.attributes();
    const auto length = [&](std::uint16_t id) -> std::size_t {
        const auto found = std::find_if(attributes.begin(), attributes.end(),
                                        [id](const ib_uverbs_attr& each) { return each.attr_id == id; });
        return found == attributes.end() ? 0 : found->len;
    };
    if (length(kCoreIn) < command->request || length(kCoreOut) < command->response) {
        throw Failure(ENOSPC);
    }
    if (command->needs_context) {
        need_context(context.file);
    }
    command->run(context);
}

void run_method(const Method& method, Context& context)
{
    Call& call = context.call;
    check_attributes(call, method);
    for (const auto& handle : method.handles) {
        if (handle.optional && !call.has(handle.attribute)) {
            continue;
        }
        const std::uint32_t number = call.handle(handle.attribute);
        call.note("handle", number);
        const bool exclusive = handle.access == Access::Write && context.behaviour.exclusive_modify;
        const Access access = handle.access != Access::Write ? handle.access : exclusive ? Access::Write : Access::Read;
        context.bind(handle.attribute, context.take(number, handle.type, access));
    }
    if (method.needs_context) {
        need_context(context.file);
    }
    method.run(context);
    context.complete();
}

// The device is gone. Objects can still be destroyed, since nothing is left of them, and listed: there are none.
int run_on_dead_file(const Method& method, Context& context)
{
    Call& call = context.call;
    check_attributes(call, method);
    if (method.object == UVERBS_OBJECT_DEVICE && method.method == UVERBS_METHOD_INFO_HANDLES) {
        method.run(context);
        return 0;
    }
    for (const auto& handle : method.handles) {
        if (handle.access != Access::Destroy) {
            continue;
        }
        const auto object = context.file.take_lost(call.handle(handle.attribute));
        if (!object) {
            return ENOENT;
        }
        const std::uint32_t reported = context.file.settle_events(*object);
        if (object->type == ObjectType::CompletionQueue) {
            call.out_as(UVERBS_ATTR_DESTROY_CQ_RESP, ib_uverbs_destroy_cq_resp{0, reported});
        } else if (object->type == ObjectType::QueuePair) {
            call.out_as(UVERBS_ATTR_DESTROY_QP_RESP, ib_uverbs_destroy_qp_resp{reported});
        } else if (object->type == ObjectType::SharedReceiveQueue) {
            call.out_as(UVERBS_ATTR_DESTROY_SRQ_RESP, ib_uverbs_destroy_srq_resp{reported});
        }
        return 0;
    }
    return EIO;
}

}    // namespace

Context::~Context()
{
    for (auto& taken : taken_) {
        if (taken.access == Access::Read) {
            taken.object->end_read();
        } else {
            taken.object->end_write();
        }
    }
}

std::shared_ptr<Object> Context::take(std::uint32_t handle, std::optional<ObjectType> type, Access access)
{
    auto found = file.find(handle);
    if (!found) {
        throw Failure(file.is_dead() ? EIO : ENOENT);
    }
    if (type && found->type != *type) {
        throw Failure(EINVAL);
    }
    if (!(access == Access::Read ? found->try_read() : found->try_write())) {
        throw Failure(EBUSY);
    }
    taken_.push_back({found, access});
    if (file.find(handle) != found) {
        throw Failure(ENOENT);    // it went while we came
    }
    return found;
}

Object& Context::object(std::uint16_t attribute) const
{
    auto found = object_or_null(attribute);
    if (!found) {
        throw Failure(EINVAL);
    }
    return *found;
}

std::shared_ptr<Object> Context::object_or_null(std::uint16_t attribute) const
{
    for (const auto& [bound, object] : bound_) {
        if (bound == attribute) {
            return object;
        }
    }
    return nullptr;
}

void Context::bind(std::uint16_t attribute, const std::shared_ptr<Object>& object)
{
    bound_.emplace_back(attribute, object);
}

ContextId Context::context() const
{
    const auto open = file.context();
    if (!open) {
        throw Failure(file.is_dead() ? EIO : EINVAL);
    }
    return *open;
}

bool Context::is_infiniband(std::uint32_t port) const
{
    return device.ports()[port == 0 ? 0 : port - 1].infiniband;
}

void Context::create_queue_pair(std::uint32_t number, QueuePairType type)
{
    if (!device.firmware().create_queue_pair(number, type, QueuePairState::Reset, context())) {
        throw Failure(EIO);
    }
}

std::uint32_t Context::publish(const std::shared_ptr<Object>& object)
{
    const pid_t process = call.caller().pid;
    const auto thread = static_cast<pid_t>(call.caller().thread);
    object->creator = {process, thread == 0 ? process : own_number(process, thread)};
    try {
        const std::uint32_t handle = file.add(object);
        call.note("new-handle", handle);
        return handle;
    } catch (const Failure&) {
        object->end();    // the device went meanwhile
        throw;
    }
}

void Context::complete()
{
    for (const auto& taken : taken_) {
        if (taken.access == Access::Destroy) {
            taken.object->end();
            file.remove(*taken.object);
        }
    }
}

int run_call(Call& call, UverbsFile& file, const Behaviour& behaviour, std::string& name)
{
    try {
        const auto& header = call.header();
        const Method* method = find_method(header.object_id, header.method_id);
        if (header.reserved1 != 0 || header.reserved2 != 0 || method == nullptr) {
            name = "unknown";
            call.note("object", header.object_id);
            call.note("method", header.method_id);
            return EPROTONOSUPPORT;
        }
        name = method->name;
        if (header.driver_id != RDMA_DRIVER_MLX5) {
            return EINVAL;
        }
        Context context(call, file, behaviour);
        if (file.is_dead()) {
            return run_on_dead_file(*method, context);
        }
        run_method(*method, context);
        // With its objects held, as if the device took the time.
        if (const auto delay = behaviour.call_microseconds.load(); delay > 0) {
            std::this_thread::sleep_for(std::chrono::microseconds(delay));
        }
        return file.is_dead() ? EIO : 0;
    } catch (const Failure& failure) {
        return failure.error();
    }
}

}    // namespace rdmaqos::emulator
