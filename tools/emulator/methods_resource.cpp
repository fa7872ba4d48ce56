// Everything beside queue pairs that a program allocates: protection domains, memory regions, completion queues and
// channels, shared receive queues, address handles, doorbell pages.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <infiniband/verbs.h>
#include <net/ethernet.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "lib/mlx5/prm.h"
#include "tools/emulator/datapath/client_memory.h"
#include "tools/emulator/datapath/hardware.h"
#include "tools/emulator/methods.h"
#include "tools/emulator/page_size.h"

namespace rdmaqos::emulator {
namespace {

constexpr std::uint32_t kMaxCqe = 4194303;
constexpr std::uint32_t kMaxSrqWr = 32767;

void refuse_busy(const Object& object)
{
    if (object.users > 0) {
        throw Failure(EBUSY);
    }
}

std::shared_ptr<Object> make(Context& context, ObjectType type)
{
    return std::make_shared<Object>(type, context.device.next_number());
}

// ---- protection domains ----

void alloc_pd(Context& context)
{
    const auto domain = make(context, ObjectType::ProtectionDomain);
    ib_uverbs_alloc_pd_resp answer{};
    answer.pd_handle = context.publish(domain);
    context.call.out_as(kCoreOut, answer);
    context.call.out_as(UVERBS_ATTR_UHW_OUT, mlx5_ib_alloc_pd_resp{domain->number});
    context.call.note("pdn", domain->number);
}

void destroy_pd(Context& context)
{
    refuse_busy(context.object(UVERBS_ATTR_DESTROY_PD_HANDLE));
}

void query_pd(Context& context)
{
    context.call.out_as(MLX5_IB_ATTR_QUERY_PD_RESP_PDN, context.object(MLX5_IB_ATTR_QUERY_PD_HANDLE).number);
}

// ---- memory regions ----

void check_memory(Context& context, std::uint64_t start, std::uint64_t length)
{
    if (length == 0) {
        return;
    }
    if (start + length < start) {
        throw Failure(EINVAL);
    }
    context.call.touch(start);
    context.call.touch(start + length - 1);
}

void check_access(std::uint32_t flags)
{
    const bool local_write = (flags & IB_UVERBS_ACCESS_LOCAL_WRITE) != 0;
    const auto remote = IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_ATOMIC;
    if ((flags & remote) != 0 && !local_write) {
        throw Failure(EINVAL);
    }
}

void check_translation(std::uint64_t start, std::uint64_t virtual_address)
{
    if (start % page_size() != virtual_address % page_size()) {
        throw Failure(EINVAL);
    }
}

void reg_mr(Context& context)
{
    const auto request = context.call.in_as<ib_uverbs_reg_mr>(kCoreIn);
    check_translation(request.start, request.hca_va);
    check_access(request.access_flags);
    const auto domain = context.take(request.pd_handle, ObjectType::ProtectionDomain, Access::Read);
    check_memory(context, request.start, request.length);
    const auto region = std::make_shared<Object>(ObjectType::MemoryRegion, context.device.next_number() << 8);
    region->uses = {domain};
    const MemoryRegion memory{
        region->number,      domain->number, {context.call.caller().pid, context.call.caller().uid},
        request.start,       request.length, request.hca_va,
        request.access_flags};
    region->data = memory;
    if (Hardware* const hardware = context.device.hardware()) {
        hardware->add(context.device, memory);
        region->on_end = [hardware, &device = context.device, key = region->number] {
            hardware->remove_region(device, key);
        };
    }
    ib_uverbs_reg_mr_resp answer{};
    answer.mr_handle = context.publish(region);
    answer.lkey = region->number;
    answer.rkey = region->number;
    context.call.out_as(kCoreOut, answer);
    context.call.note("length", request.length);
}

// The kernel may give the region another key; where the device can change it in place, as here, it keeps its key.
void rereg_mr(Context& context)
{
    const auto request = context.call.in_as<ib_uverbs_rereg_mr>(kCoreIn);
    const bool moves = (request.flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
    const bool changes_domain = (request.flags & IBV_REREG_MR_CHANGE_PD) != 0;
    const bool changes_access = (request.flags & IBV_REREG_MR_CHANGE_ACCESS) != 0;
    constexpr std::uint32_t kKnown = IBV_REREG_MR_FLAGS_SUPPORTED;
    if (request.flags == 0 || (request.flags & ~kKnown) != 0) {
        throw Failure(request.flags == 0 ? EINVAL : EOPNOTSUPP);
    }
    if (moves) {
        check_translation(request.start, request.hca_va);
    }
    const auto region = context.take(request.mr_handle, ObjectType::MemoryRegion, Access::Write);
    auto memory = std::get<MemoryRegion>(region->data);
    if (changes_access) {
        check_access(request.access_flags);
        memory.access = request.access_flags;
    }
    const auto domain = changes_domain ? context.take(request.pd_handle, ObjectType::ProtectionDomain, Access::Read)
                                       : nullptr;
    if (moves) {
        check_memory(context, request.start, request.length);
        memory.owner = {context.call.caller().pid, context.call.caller().uid};
        memory.start = request.start;
        memory.length = request.length;
        memory.virtual_address = request.hca_va;
    }
    if (domain) {
        memory.domain = domain->number;
        context.file.set_uses(*region, {domain});
    }
    region->data = memory;
    if (Hardware* const hardware = context.device.hardware()) {
        hardware->remove_region(context.device, memory.key);
        hardware->add(context.device, memory);
    }
    context.call.out_as(kCoreOut, ib_uverbs_rereg_mr_resp{region->number, region->number});
}

void query_mr(Context& context)
{
    const Object& region = context.object(UVERBS_ATTR_QUERY_MR_HANDLE);
    const auto& data = std::get<MemoryRegion>(region.data);
    context.call.out_as(UVERBS_ATTR_QUERY_MR_RESP_LKEY, region.number);
    context.call.out_as(UVERBS_ATTR_QUERY_MR_RESP_RKEY, region.number);
    context.call.out_as(UVERBS_ATTR_QUERY_MR_RESP_LENGTH, data.length);
    context.call.out_as(UVERBS_ATTR_QUERY_MR_RESP_IOVA, data.virtual_address);
}

void destroy_mr(Context& context)
{
    refuse_busy(context.object(UVERBS_ATTR_DESTROY_MR_HANDLE));
}

// Of memory that is registered on demand. The emulator reads memory wherever it is: there is nothing to fetch.
void advise_mr(Context& context)
{
    Call& call = context.call;
    if ((call.value(UVERBS_ATTR_ADVISE_MR_FLAGS) & ~static_cast<std::uint64_t>(IB_UVERBS_ADVISE_MR_FLAG_FLUSH)) != 0) {
        throw Failure(EINVAL);
    }
    const auto advice = call.value(UVERBS_ATTR_ADVISE_MR_ADVICE);
    if (advice > IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT) {
        throw Failure(EOPNOTSUPP);
    }
    const auto bytes = call.in(UVERBS_ATTR_ADVISE_MR_SGE_LIST, sizeof(ib_uverbs_sge));
    std::vector<ib_uverbs_sge> pieces(bytes.size() / sizeof(ib_uverbs_sge));
    std::memcpy(pieces.data(), bytes.data(), pieces.size() * sizeof(ib_uverbs_sge));
    const std::uint32_t domain = context.object(UVERBS_ATTR_ADVISE_MR_PD_HANDLE).number;
    const auto objects = context.file.objects();
    for (const ib_uverbs_sge& piece : pieces) {
        const auto found = std::ranges::find_if(objects, [&piece](const auto& each) {
            return each->type == ObjectType::MemoryRegion && each->number == piece.lkey;
        });
        if (found == objects.end() || !(*found)->try_read()) {
            throw Failure(ENOENT);
        }
        const MemoryRegion memory = std::get<MemoryRegion>((*found)->data);
        (*found)->end_read();
        const bool writes = advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE;
        if ((memory.access & IB_UVERBS_ACCESS_ON_DEMAND) == 0) {
            throw Failure(ENOENT);
        }
        if (memory.domain != domain || (writes && (memory.access & IB_UVERBS_ACCESS_LOCAL_WRITE) == 0)) {
            throw Failure(EPERM);
        }
    }
}

// ---- completion queues and channels ----

// Completion events are written to it, if data moves. It is readable, too, when the device is gone.
void create_comp_channel(Context& context)
{
    const UniqueFd channel = context.file.open_channel();
    context.call.out_descriptor_at(kCoreOut, offsetof(ib_uverbs_create_comp_channel_resp, fd), channel);
}

// Programs that nothing can be moved for: they would wait for completions, and not know why. Each is named once.
void warn_of_unreadable_memory(const Caller& caller)
{
    static std::atomic<pid_t> last{0};
    const int error = why_not_usable({caller.pid, caller.uid});
    if ((error != EPERM && error != EACCES) || last.exchange(caller.pid) == caller.pid) {
        return;
    }
    fmt::print(
        stderr,
        "rdma-qos-emulator: no data moves for process {} of uid {}: its memory cannot be read ({}).\n"
        "  Run the emulator as that user or as root, or give it CAP_SYS_PTRACE (docker: --cap-add SYS_PTRACE). If\n"
        "  it has that, look at kernel.yama.ptrace_scope: 3 forbids it to everybody.\n",
        caller.pid, caller.uid, std::generic_category().message(error));
}

// The end of the channel that this process has kept, which the caller knows by this number. Not what the number leads
// to: the caller may not write to that.
UniqueFd channel_of(const Context& context, std::uint32_t descriptor)
{
    const std::string path = "/proc/" + std::to_string(context.call.caller().pid) + "/fd/" + std::to_string(descriptor);
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) {
        throw Failure(EBADF);
    }
    UniqueFd channel = context.file.channel(status.st_dev, status.st_ino);
    if (!channel) {
        throw Failure(EINVAL);
    }
    return channel;
}

// Where it is in the program's memory.
void add_memory(Context& context, Hardware& hardware, Object& queue, std::uint32_t entries)
{
    Call& call = context.call;
    const auto vendor = call.vendor_in_as<mlx5_ib_create_cq>();
    CompletionQueueMemory memory;
    memory.number = queue.number;
    memory.owner = {call.caller().pid, call.caller().uid};
    memory.buffer = vendor.buf_addr;
    memory.record = vendor.db_addr;
    memory.entry_bytes = vendor.cqe_size;
    memory.entries = entries;
    memory.user_handle = queue.user_handle;
    memory.page = vendor.uar_page_index;
    memory.event = context.sender_for(queue);
    warn_of_unreadable_memory(call.caller());
    if (call.has(UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL)) {
        memory.channel = channel_of(context, call.handle(UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL));
    }
    hardware.add(context.device, std::move(memory));
    queue.on_end = [&hardware, &device = context.device, number = queue.number] {
        static_cast<void>(hardware.remove_completion_queue(device, number));
    };
}

void create_cq(Context& context)
{
    Call& call = context.call;
    const auto cqe = static_cast<std::uint32_t>(call.value(UVERBS_ATTR_CREATE_CQ_CQE));
    if (cqe == 0 || cqe > kMaxCqe || call.value(UVERBS_ATTR_CREATE_CQ_COMP_VECTOR) >= 2) {
        throw Failure(EINVAL);
    }
    const auto queue = make(context, ObjectType::CompletionQueue);
    queue->user_handle = call.value(UVERBS_ATTR_CREATE_CQ_USER_HANDLE);
    // The queue has a power of two entries, one of them in reserve.
    const std::uint32_t entries = std::bit_ceil(cqe + 1) - 1;
    queue->data.emplace<CompletionQueueData>(entries);
    if (Hardware* const hardware = context.device.hardware()) {
        add_memory(context, *hardware, *queue, entries + 1);
    }
    call.out_handle(UVERBS_ATTR_CREATE_CQ_HANDLE, context.publish(queue));
    call.out_as(UVERBS_ATTR_CREATE_CQ_RESP_CQE, entries);
    call.out_as(UVERBS_ATTR_UHW_OUT, mlx5_ib_create_cq_resp{queue->number, 0});
    call.note("cqn", queue->number);
}

void destroy_cq(Context& context)
{
    Object& queue = context.object(UVERBS_ATTR_DESTROY_CQ_HANDLE);
    refuse_busy(queue);
    ib_uverbs_destroy_cq_resp answer{};
    if (Hardware* const hardware = context.device.hardware()) {
        answer.comp_events_reported = hardware->remove_completion_queue(context.device, queue.number);
    }
    answer.async_events_reported = context.file.settle_events(queue);
    context.call.out_as(UVERBS_ATTR_DESTROY_CQ_RESP, answer);
}

void resize_cq(Context& context)
{
    const auto request = context.call.in_as<ib_uverbs_resize_cq>(kCoreIn);
    if (request.cqe == 0 || request.cqe > kMaxCqe) {
        throw Failure(EINVAL);
    }
    const auto queue = context.take(request.cq_handle, ObjectType::CompletionQueue, Access::Read);
    const std::uint32_t entries = std::bit_ceil(request.cqe + 1) - 1;
    const auto vendor = context.call.vendor_in_as<mlx5_ib_resize_cq>();
    Hardware* const hardware = context.device.hardware();
    if (hardware != nullptr &&
        !hardware->resize(context.device, queue->number, vendor.buf_addr, vendor.cqe_size, entries + 1)) {
        throw Failure(EINVAL);    // more is waiting in it
    }
    std::get<CompletionQueueData>(queue->data).entries = entries;
    context.call.out_as(kCoreOut, entries);
}

// ---- shared receive queues ----

void create_srq(Context& context)
{
    Call& call = context.call;
    if (call.value(UVERBS_ATTR_CREATE_SRQ_TYPE) != IB_UVERBS_SRQT_BASIC) {
        throw Failure(EOPNOTSUPP);    // XRC and tag matching are not played
    }
    const auto wr = static_cast<std::uint32_t>(call.value(UVERBS_ATTR_CREATE_SRQ_MAX_WR));
    const auto sge = static_cast<std::uint32_t>(call.value(UVERBS_ATTR_CREATE_SRQ_MAX_SGE));
    if (wr > kMaxSrqWr || sge > 31) {
        throw Failure(EINVAL);
    }
    const auto queue = make(context, ObjectType::SharedReceiveQueue);
    queue->user_handle = call.value(UVERBS_ATTR_CREATE_SRQ_USER_HANDLE);
    queue->uses = {context.object_or_null(UVERBS_ATTR_CREATE_SRQ_PD_HANDLE)};
    queue->data.emplace<SharedReceiveQueueData>(wr, sge,
                                                static_cast<std::uint32_t>(call.value(UVERBS_ATTR_CREATE_SRQ_LIMIT)));
    if (Hardware* const hardware = context.device.hardware()) {
        const auto vendor = call.vendor_in_as<mlx5_ib_create_srq>();
        SharedReceiveQueueMemory memory;
        memory.number = queue->number;
        memory.owner = {call.caller().pid, call.caller().uid};
        memory.buffer = vendor.buf_addr;
        memory.record = vendor.db_addr;
        memory.entries = std::bit_ceil(wr + 1);
        memory.stride = std::bit_ceil(std::max(32U, 16 + sge * 16));
        memory.limit = std::get<SharedReceiveQueueData>(queue->data).limit;
        memory.event = [send = context.sender_for(*queue), object = queue.get()](AsyncEvent event) {
            std::get<SharedReceiveQueueData>(object->data).limit = 0;
            send(event);
        };
        hardware->add(context.device, std::move(memory));
        queue->on_end = [hardware, &device = context.device, number = queue->number] {
            hardware->remove_shared_receive_queue(device, number);
        };
    }
    call.out_handle(UVERBS_ATTR_CREATE_SRQ_HANDLE, context.publish(queue));
    call.out_as(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, wr);
    call.out_as(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, sge);
    call.out_as(UVERBS_ATTR_UHW_OUT, mlx5_ib_create_srq_resp{queue->number, 0});
    call.note("srqn", queue->number);
}

void modify_srq(Context& context)
{
    const auto request = context.call.in_as<ib_uverbs_modify_srq>(kCoreIn);
    const auto queue = context.take(request.srq_handle, ObjectType::SharedReceiveQueue, Access::Read);
    auto& data = std::get<SharedReceiveQueueData>(queue->data);
    constexpr std::uint32_t kMaxWrBit = 1U << 0;
    constexpr std::uint32_t kLimitBit = 1U << 1;
    if ((request.attr_mask & kMaxWrBit) != 0 ||
        ((request.attr_mask & kLimitBit) != 0 && request.srq_limit >= data.max_wr)) {
        throw Failure(EINVAL);    // mlx5 does not resize them
    }
    if ((request.attr_mask & kLimitBit) != 0) {
        data.limit = request.srq_limit;
        if (Hardware* const hardware = context.device.hardware()) {
            hardware->set_limit(context.device, queue->number, request.srq_limit);
        }
    }
}

void query_srq(Context& context)
{
    const auto request = context.call.in_as<ib_uverbs_query_srq>(kCoreIn);
    const auto queue = context.take(request.srq_handle, ObjectType::SharedReceiveQueue, Access::Read);
    const auto& data = std::get<SharedReceiveQueueData>(queue->data);
    context.call.out_as(kCoreOut, ib_uverbs_query_srq_resp{data.max_wr, data.max_sge, data.limit, 0});
}

void destroy_srq(Context& context)
{
    Object& queue = context.object(UVERBS_ATTR_DESTROY_SRQ_HANDLE);
    refuse_busy(queue);
    context.call.out_as(UVERBS_ATTR_DESTROY_SRQ_RESP, ib_uverbs_destroy_srq_resp{context.file.settle_events(queue)});
}

// ---- address handles: on Ethernet the kernel finds the MAC address ----

void create_ah(Context& context)
{
    const auto request = context.call.in_as<ib_uverbs_create_ah>(kCoreIn);
    const auto domain = context.take(request.pd_handle, ObjectType::ProtectionDomain, Access::Read);
    const auto& ports = context.device.ports();
    const auto port = request.attr.port_num;
    if (port == 0 || port > ports.size() ||
        (request.attr.is_global != 0 && request.attr.grh.sgid_index >= ports[port - 1U].gids.size())) {
        throw Failure(EINVAL);
    }
    if (!ports[port - 1U].infiniband && request.attr.is_global == 0) {
        throw Failure(EINVAL);
    }
    const auto handle = make(context, ObjectType::AddressHandle);
    handle->uses = {domain};
    ib_uverbs_create_ah_resp answer{};
    answer.ah_handle = context.publish(handle);
    context.call.out_as(kCoreOut, answer);
    mlx5_ib_create_ah_resp vendor{};
    vendor.response_length = sizeof(vendor);
    vendor.dmac[0] = 0x02;    // locally administered, by the destination
    std::copy_n(&request.attr.grh.dgid[11], ETH_ALEN - 1, &vendor.dmac[1]);
    context.call.out_as(UVERBS_ATTR_UHW_OUT, vendor);
}

void destroy_ah(Context& context)
{
    const auto request = context.call.in_as<ib_uverbs_destroy_ah>(kCoreIn);
    (void)context.take(request.ah_handle, ObjectType::AddressHandle, Access::Destroy);
}

// ---- doorbell pages ----

void alloc_uar(Context& context)
{
    const auto page = make(context, ObjectType::Uar);
    if (Hardware* const hardware = context.device.hardware()) {
        const auto memory = std::make_shared<DoorbellPage>();
        hardware->add_page(context.device, page->number, memory);
        page->data = memory;
        page->on_end = [hardware, &device = context.device, number = page->number] {
            hardware->remove_page(device, number);
        };
    }
    context.call.out_handle(MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, context.publish(page));
    context.call.out_as(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, std::uint64_t{page->number} * page_size());
    context.call.out_as(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, static_cast<std::uint32_t>(page_size()));
    context.call.out_as(MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, page->number);
}

// ---- rows of the table of rates ----

void alloc_pacing_entry(Context& context)
{
    Call& call = context.call;
    const auto rate = call.in(MLX5_IB_ATTR_PP_OBJ_ALLOC_CTX, 1);
    const auto flags = call.value(MLX5_IB_ATTR_PP_OBJ_ALLOC_FLAGS);
    if ((flags & ~static_cast<std::uint64_t>(MLX5_IB_UAPI_PP_ALLOC_FLAGS_DEDICATED_INDEX)) != 0 ||
        context.device.capabilities().pacing.supported_types.empty()) {
        throw Failure(EOPNOTSUPP);
    }
    const auto kbps = Bandwidth::from_kbps(mlx5::get(rate, {0, 32}));
    const PacingCapabilities& can = context.device.capabilities().pacing;
    if (!context.file.has_devx() || kbps.kbps() == 0 || (can.min_rate && kbps < *can.min_rate) ||
        (can.max_rate && kbps > *can.max_rate)) {
        throw Failure(EINVAL);
    }
    auto row = context.device.pacing_rows().take(rate, flags != 0);
    if (!row) {
        throw Failure(ENOSPC);
    }
    const auto entry = std::make_shared<Object>(ObjectType::PacingEntry, row->index);
    entry->data = std::move(row);
    call.note("rate-kbps", kbps.kbps());
    call.out_handle(MLX5_IB_ATTR_PP_OBJ_ALLOC_HANDLE, context.publish(entry));
    call.out_as(MLX5_IB_ATTR_PP_OBJ_ALLOC_INDEX, static_cast<std::uint16_t>(entry->number));
}

}    // namespace

std::vector<Method> resource_methods()
{
    using enum ObjectType;
    return {
        {UVERBS_OBJECT_PD,
         UVERBS_METHOD_PD_DESTROY,
         "protection-domain.destroy",
         {},
         {{UVERBS_ATTR_DESTROY_PD_HANDLE, ProtectionDomain, Access::Destroy}},
         destroy_pd},
        {UVERBS_OBJECT_PD,
         MLX5_IB_METHOD_PD_QUERY,
         "protection-domain.query",
         {MLX5_IB_ATTR_QUERY_PD_RESP_PDN},
         {{MLX5_IB_ATTR_QUERY_PD_HANDLE, ProtectionDomain}},
         query_pd},
        {UVERBS_OBJECT_MR,
         UVERBS_METHOD_MR_DESTROY,
         "memory-region.destroy",
         {},
         {{UVERBS_ATTR_DESTROY_MR_HANDLE, MemoryRegion, Access::Destroy}},
         destroy_mr},
        {UVERBS_OBJECT_MR,
         UVERBS_METHOD_QUERY_MR,
         "memory-region.query",
         {UVERBS_ATTR_QUERY_MR_RESP_LKEY, UVERBS_ATTR_QUERY_MR_RESP_RKEY, UVERBS_ATTR_QUERY_MR_RESP_LENGTH,
          UVERBS_ATTR_QUERY_MR_RESP_IOVA},
         {{UVERBS_ATTR_QUERY_MR_HANDLE, MemoryRegion}},
         query_mr},
        {UVERBS_OBJECT_MR,
         UVERBS_METHOD_ADVISE_MR,
         "memory-region.advise",
         {UVERBS_ATTR_ADVISE_MR_ADVICE, UVERBS_ATTR_ADVISE_MR_FLAGS, UVERBS_ATTR_ADVISE_MR_SGE_LIST},
         {{UVERBS_ATTR_ADVISE_MR_PD_HANDLE, ProtectionDomain}},
         advise_mr},
        {UVERBS_OBJECT_CQ,
         UVERBS_METHOD_CQ_CREATE,
         "completion-queue.create",
         {UVERBS_ATTR_CREATE_CQ_HANDLE, UVERBS_ATTR_CREATE_CQ_CQE, UVERBS_ATTR_CREATE_CQ_USER_HANDLE,
          UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, UVERBS_ATTR_CREATE_CQ_FLAGS,
          UVERBS_ATTR_CREATE_CQ_RESP_CQE, UVERBS_ATTR_CREATE_CQ_EVENT_FD, UVERBS_ATTR_UHW_IN, UVERBS_ATTR_UHW_OUT},
         {},
         create_cq},
        {UVERBS_OBJECT_CQ,
         UVERBS_METHOD_CQ_DESTROY,
         "completion-queue.destroy",
         {UVERBS_ATTR_DESTROY_CQ_RESP},
         {{UVERBS_ATTR_DESTROY_CQ_HANDLE, CompletionQueue, Access::Destroy}},
         destroy_cq},
        {UVERBS_OBJECT_SRQ,
         UVERBS_METHOD_SRQ_CREATE,
         "shared-receive-queue.create",
         {UVERBS_ATTR_CREATE_SRQ_HANDLE, UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE, UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE,
          UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, UVERBS_ATTR_CREATE_SRQ_MAX_WR, UVERBS_ATTR_CREATE_SRQ_MAX_SGE,
          UVERBS_ATTR_CREATE_SRQ_LIMIT, UVERBS_ATTR_CREATE_SRQ_MAX_NUM_TAGS, UVERBS_ATTR_CREATE_SRQ_TYPE,
          UVERBS_ATTR_CREATE_SRQ_EVENT_FD, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE,
          UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM, UVERBS_ATTR_UHW_IN, UVERBS_ATTR_UHW_OUT},
         {{UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, ProtectionDomain}},
         create_srq},
        {UVERBS_OBJECT_SRQ,
         UVERBS_METHOD_SRQ_DESTROY,
         "shared-receive-queue.destroy",
         {UVERBS_ATTR_DESTROY_SRQ_RESP},
         {{UVERBS_ATTR_DESTROY_SRQ_HANDLE, SharedReceiveQueue, Access::Destroy}},
         destroy_srq},
        {UVERBS_OBJECT_AH,
         UVERBS_METHOD_AH_DESTROY,
         "address-handle.destroy",
         {},
         {{UVERBS_ATTR_DESTROY_AH_HANDLE, AddressHandle, Access::Destroy}},
         nothing},
        {MLX5_IB_OBJECT_UAR,
         MLX5_IB_METHOD_UAR_OBJ_ALLOC,
         "uar.alloc",
         {MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET,
          MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID},
         {},
         alloc_uar},
        {MLX5_IB_OBJECT_PP,
         MLX5_IB_METHOD_PP_OBJ_ALLOC,
         "pacing-entry.alloc",
         {MLX5_IB_ATTR_PP_OBJ_ALLOC_HANDLE, MLX5_IB_ATTR_PP_OBJ_ALLOC_CTX, MLX5_IB_ATTR_PP_OBJ_ALLOC_FLAGS,
          MLX5_IB_ATTR_PP_OBJ_ALLOC_INDEX},
         {},
         alloc_pacing_entry},
        {MLX5_IB_OBJECT_PP,
         MLX5_IB_METHOD_PP_OBJ_DESTROY,
         "pacing-entry.destroy",
         {},
         {{MLX5_IB_ATTR_PP_OBJ_DESTROY_HANDLE, PacingEntry, Access::Destroy}},
         nothing},
        {MLX5_IB_OBJECT_UAR,
         MLX5_IB_METHOD_UAR_OBJ_DESTROY,
         "uar.destroy",
         {},
         {{MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE, Uar, Access::Destroy}},
         nothing},
    };
}

std::vector<WriteCommand> resource_commands()
{
    return {
        {IB_USER_VERBS_CMD_ALLOC_PD, "alloc-pd", sizeof(ib_uverbs_alloc_pd), sizeof(ib_uverbs_alloc_pd_resp), alloc_pd},
        {IB_USER_VERBS_CMD_REG_MR, "reg-mr", sizeof(ib_uverbs_reg_mr), sizeof(ib_uverbs_reg_mr_resp), reg_mr},
        {IB_USER_VERBS_CMD_REREG_MR, "rereg-mr", sizeof(ib_uverbs_rereg_mr), sizeof(ib_uverbs_rereg_mr_resp), rereg_mr},
        {IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, "create-comp-channel", sizeof(ib_uverbs_create_comp_channel),
         sizeof(ib_uverbs_create_comp_channel_resp), create_comp_channel},
        {IB_USER_VERBS_CMD_RESIZE_CQ, "resize-cq", sizeof(ib_uverbs_resize_cq), 4, resize_cq},
        {IB_USER_VERBS_CMD_MODIFY_SRQ, "modify-srq", sizeof(ib_uverbs_modify_srq), 0, modify_srq},
        {IB_USER_VERBS_CMD_QUERY_SRQ, "query-srq", sizeof(ib_uverbs_query_srq), sizeof(ib_uverbs_query_srq_resp),
         query_srq},
        {IB_USER_VERBS_CMD_CREATE_AH, "create-ah", sizeof(ib_uverbs_create_ah), sizeof(ib_uverbs_create_ah_resp),
         create_ah},
        {IB_USER_VERBS_CMD_DESTROY_AH, "destroy-ah", sizeof(ib_uverbs_destroy_ah), 0, destroy_ah},
    };
}

}    // namespace rdmaqos::emulator
