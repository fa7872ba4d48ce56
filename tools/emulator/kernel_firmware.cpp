#include "tools/emulator/kernel_firmware.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "tools/emulator/queue_pair_context.h"

namespace rdmaqos::emulator {
namespace {

using namespace mlx5;
using namespace mlx5::prm;

// Those before are for queues that the device's other part numbers.
constexpr std::uint32_t kFirstNumber = 0x10000;

constexpr std::uint16_t kPlayed[] = {
    EnableHca,
    TeardownHca,
    CreateUctx,
    DestroyUctx,
    CreateQp,
    DestroyQp,
    QueryQp,
    Rst2Init,
    Init2Rtr,
    Rtr2Rts,
    Rts2Rts,
    Sqerr2Rts,
    Qp2Err,
    Qp2Rst,
    Init2Init,
    CreateSq,
    ModifySq,
    DestroySq,
    QuerySq,
    CreateRq,
    ModifyRq,
    DestroyRq,
    QueryRq,
    SetPpRateLimit,
    CreateSchedulingElement,
    ModifySchedulingElement,
    QuerySchedulingElement,
    DestroySchedulingElement,
    CreateGeneralObject,
    ModifyGeneralObject,
    QueryGeneralObject,
    DestroyGeneralObject,
};

Refusal no_such_queue(std::uint32_t number)
{
    return make_refusal(RefusalReason::NoSuchQueuePair, fmt::format("the device has no queue {}", number));
}

Refusal wrong_queue_state(std::uint32_t number, std::uint64_t state)
{
    Refusal refusal = make_refusal(RefusalReason::QueuePairState,
                                   fmt::format("queue {} is in state {} of the hardware", number, state));
    refusal.status = FirmwareStatus::BadResourceState;
    return refusal;
}

QueuePairState model_state(std::uint64_t send_queue_state)
{
    return send_queue_state == kSqReady   ? QueuePairState::Rts
           : send_queue_state == kSqReset ? QueuePairState::Reset
                                          : QueuePairState::Error;
}

Mailbox part(const Mailbox& command, std::size_t bit, std::size_t bytes)
{
    Mailbox bytes_of(bytes);
    const std::size_t from = std::min(command.size(), bit / 8);
    std::copy_n(command.begin() + static_cast<std::ptrdiff_t>(from), std::min(bytes, command.size() - from),
                bytes_of.begin());
    return bytes_of;
}

Mailbox with_context(std::size_t bit, const Mailbox& context)
{
    Mailbox answer(bit / 8 + context.size());
    std::copy(context.begin(), context.end(), answer.begin() + static_cast<std::ptrdiff_t>(bit / 8));
    return answer;
}

}    // namespace

struct KernelFirmware::Request {
    const Mailbox& in;
    std::uint64_t opcode;
    std::uint64_t uid;
    std::uint32_t number;    // of the queue that most commands name
    ContextId context;
    Notes notes;

    [[nodiscard]] bool of_user() const { return uid != kKernelUid && uid != kSharedUid; }
    void note(const char* name, std::int64_t value) { notes.push_back({name, value}); }
};

KernelFirmware::KernelFirmware(const FirmwareOptions& options, std::shared_ptr<Behaviour> behaviour)
    : firmware_(options), behaviour_(std::move(behaviour))
{
    firmware_.remove();
}

std::span<const std::uint16_t> KernelFirmware::opcodes()
{
    return kPlayed;
}

FirmwareAnswer KernelFirmware::answer(const Mailbox& command)
{
    if (const auto longer = behaviour_->call_microseconds.load(); longer > 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(longer));
    }
    const auto uid = get(command, kUid);
    Request request{
        command, get(command, kOpcode), uid, static_cast<std::uint32_t>(get(command, kQpn)), context_of(uid), {}};
    FirmwareAnswer answer;
    if (is_of_others(request)) {
        return answer;
    }
    try {
        answer.mailbox = run(request);
        answer.mailbox.resize(std::max(answer.mailbox.size(), kHeaderBytes));
    } catch (Refusal& refusal) {
        answer.mailbox = mailbox_of(refusal);
        answer.refusal = std::move(refusal);
    }
    answer.notes = std::move(request.notes);
    return answer;
}

bool KernelFirmware::is_of_others(const Request& request) const
{
    switch (request.opcode) {
    case CreateSq:
    case CreateSchedulingElement:
    case ModifySchedulingElement:
    case QuerySchedulingElement:
    case DestroySchedulingElement:
        return request.uid == kKernelUid;
    case ModifySq:
    case QuerySq:
    case DestroySq:
        return request.uid == kKernelUid && !find(QueueKind::Send, request.number);
    default:
        return false;
    }
}

Mailbox KernelFirmware::run(Request& request)
{
    switch (request.opcode) {
    case EnableHca:
        enable();
        return {};
    case TeardownHca:
        forget();
        firmware_.remove();
        return {};
    case CreateUctx:
        return create_context();
    case DestroyUctx:
        destroy_context(request);
        return {};
    case CreateQp:
        return create(request, QueueKind::QueuePair);
    case DestroyQp:
        destroy(request, QueueKind::QueuePair);
        return {};
    case QueryQp:
        return query_queue_pair(request);
    case CreateSq:
        return create(request, QueueKind::Send);
    case DestroySq:
        destroy(request, QueueKind::Send);
        return {};
    case QuerySq:
        return query_queue(request, QueueKind::Send);
    case ModifySq:
        modify_send_queue(request);
        return {};
    case CreateRq:
        return create(request, QueueKind::Receive);
    case DestroyRq:
        destroy(request, QueueKind::Receive);
        return {};
    case QueryRq:
        return query_queue(request, QueueKind::Receive);
    case ModifyRq:
        modify_receive_queue(request);
        return {};
    case SetPpRateLimit:
        set_rate_limit(request);
        return {};
    default:
        if (element_commands(request.opcode) != nullptr) {
            return shared(request);
        }
        if (std::find(std::begin(kPlayed), std::end(kPlayed), request.opcode) == std::end(kPlayed)) {
            throw not_played(request.opcode);
        }
        modify_queue_pair(request);
        return {};
    }
}

Mailbox KernelFirmware::shared(Request& request, std::uint32_t queue_pair)
{
    FirmwareAnswer answer = execute(firmware_, 1, {request.context, queue_pair, request.in});
    std::move(answer.notes.begin(), answer.notes.end(), std::back_inserter(request.notes));
    if (answer.refusal) {
        throw std::move(*answer.refusal);
    }
    return std::move(answer.mailbox);
}

// ---- the device ----

void KernelFirmware::enable()
{
    firmware_.reset();
    forget();
    firmware_.replug();
}

void KernelFirmware::lose_everything()
{
    firmware_.reset();
    forget();
}

void KernelFirmware::forget()
{
    const std::lock_guard lock(mutex_);
    contexts_.clear();
    driver_uid_ = 0;
    queues_.clear();
    rates_.clear();
}

// ---- user contexts ----

ContextId KernelFirmware::context_of(std::uint64_t uid) const
{
    if (uid == kKernelUid || uid == kSharedUid) {
        return kHostContext;
    }
    const std::lock_guard lock(mutex_);
    const auto found = contexts_.find(static_cast<std::uint16_t>(uid));
    return found == contexts_.end() ? kNoContext : found->second;
}

std::size_t KernelFirmware::files() const
{
    const std::lock_guard lock(mutex_);
    return contexts_.size() - (contexts_.contains(driver_uid_) ? 1 : 0);
}

Mailbox KernelFirmware::create_context()
{
    const auto opened = firmware_.open_context();
    if (!opened) {
        throw Refusal(opened.error());
    }
    const std::lock_guard lock(mutex_);
    if (contexts_.size() >= kSharedUid - 1) {
        firmware_.close_context(*opened);
        throw make_refusal(RefusalReason::NoSuchContext, "all user contexts are taken: a uid has 16 bits");
    }
    do {
        ++last_uid_;
    } while (last_uid_ == kKernelUid || last_uid_ == kSharedUid || contexts_.contains(last_uid_));
    if (contexts_.empty() && driver_uid_ == 0) {
        driver_uid_ = last_uid_;
    }
    contexts_.emplace(last_uid_, *opened);
    Mailbox answer(kHeaderBytes);
    set(answer, kUctxUid, last_uid_);
    return answer;
}

void KernelFirmware::destroy_context(Request& request)
{
    const auto uid = get(request.in, kUctxUid);
    const ContextId context = context_of(uid);
    if (context == kNoContext || context == kHostContext) {
        throw make_refusal(RefusalReason::NoSuchContext, fmt::format("there is no user context {}", uid));
    }
    // A time that is set meanwhile holds for it, too.
    const auto begin = std::chrono::steady_clock::now();
    const auto left = [&] {
        return begin + std::chrono::milliseconds(behaviour_->close_milliseconds.load()) -
               std::chrono::steady_clock::now();
    };
    while (left() > std::chrono::nanoseconds(0)) {
        std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(left(), std::chrono::milliseconds(10)));
    }
    const auto elements = firmware_.elements();
    leaked_ += static_cast<std::size_t>(std::count_if(
        elements.begin(), elements.end(), [&](const ElementRecord& each) { return each.context == context; }));
    firmware_.close_context(context);
    const std::lock_guard lock(mutex_);
    contexts_.erase(static_cast<std::uint16_t>(uid));
}

// ---- queues of all kinds ----

std::uint32_t KernelFirmware::next_number(bool of_user)
{
    if (const auto ordered = of_user ? ordered_.take() : std::nullopt) {
        return *ordered;
    }
    do {
        last_number_ = last_number_ == OrderedNumbers::kLast ? kFirstNumber : last_number_ + 1;
    } while (queues_.contains(last_number_));
    return last_number_;
}

bool KernelFirmware::order_queue_pairs(const std::vector<std::uint32_t>& numbers)
{
    const std::lock_guard lock(mutex_);
    return ordered_.order(numbers, [&](std::uint32_t number) { return queues_.contains(number); });
}

std::optional<KernelFirmware::Queue> KernelFirmware::find(QueueKind kind, std::uint32_t number) const
{
    const std::lock_guard lock(mutex_);
    const auto found = queues_.find(number);
    return found == queues_.end() || found->second.kind != kind ? std::nullopt : std::optional(found->second);
}

KernelFirmware::Queue KernelFirmware::need(QueueKind kind, std::uint32_t number) const
{
    auto queue = find(kind, number);
    if (!queue) {
        throw no_such_queue(number);
    }
    return *std::move(queue);
}

template <typename Change>
void KernelFirmware::change(std::uint32_t number, const Change& apply)
{
    const std::lock_guard lock(mutex_);
    if (const auto found = queues_.find(number); found != queues_.end()) {
        apply(found->second.context);
    }
}

Mailbox KernelFirmware::create(Request& request, QueueKind kind)
{
    const bool is_pair = kind == QueueKind::QueuePair;
    Queue queue{kind, false, is_pair ? part(request.in, kQpc, kQpcBytes) : part(request.in, kSqc, kSqcBytes)};
    set(queue.context, is_pair ? qpc::kState : kSqcState, 0);
    std::optional<QueuePairType> type;
    if (request.of_user() && kind != QueueKind::Receive) {
        type = is_pair ? type_of_service(get(queue.context, qpc::kServiceType)) : QueuePairType::RawPacket;
    }
    std::uint32_t number = 0;
    {
        const std::lock_guard lock(mutex_);
        number = next_number(request.of_user() && kind != QueueKind::Receive);
        queue.modelled = type.has_value();
        queues_.emplace(number, std::move(queue));
    }
    if (type) {
        if (auto made = firmware_.create_queue_pair(number, *type, QueuePairState::Reset, request.context); !made) {
            const std::lock_guard lock(mutex_);
            queues_.erase(number);
            throw std::move(made.error());
        }
    }
    Mailbox answer(kHeaderBytes);
    set(answer, kQpn, number);
    request.note("qpn", number);
    return answer;
}

void KernelFirmware::destroy(Request& request, QueueKind kind)
{
    const Queue queue = need(kind, request.number);
    request.note("qpn", request.number);
    if (queue.modelled) {
        firmware_.destroy_queue_pair(request.number);
    }
    const std::lock_guard lock(mutex_);
    queues_.erase(request.number);
}

// ---- queue pairs ----

Mailbox KernelFirmware::query_queue_pair(Request& request)
{
    Queue queue = need(QueueKind::QueuePair, request.number);
    // The kernel's own queries are no commands that faults were ordered for.
    if (queue.modelled && request.of_user()) {
        (void)shared(request, request.number);
    }
    if (const auto record = queue.modelled ? firmware_.queue_pair(request.number) : std::nullopt) {
        set(queue.context, qpc::kState, hardware_state(record->state));
        Mailbox answer = with_context(kQpc, queue.context);
        add_leaves(answer, *record, request.in);
        return answer;
    }
    return with_context(kQpc, queue.context);
}

void KernelFirmware::modify_queue_pair(Request& request)
{
    const Queue queue = need(QueueKind::QueuePair, request.number);
    request.note("qpn", request.number);
    if (queue.modelled) {
        (void)shared(request, request.number);
    }
    change(request.number, [&](Mailbox& context) { apply_transition(context, request.in); });
}

// ---- send and receive queues ----

Mailbox KernelFirmware::query_queue(Request& request, QueueKind kind)
{
    return with_context(kSqc, need(kind, request.number).context);
}

void KernelFirmware::modify_receive_queue(Request& request)
{
    const Queue queue = need(QueueKind::Receive, request.number);
    if (get(request.in, kSqState) != get(queue.context, kSqcState)) {
        throw wrong_queue_state(request.number, get(queue.context, kSqcState));
    }
    change(request.number, [&](Mailbox& context) { set(context, kSqcState, get(request.in, at(kSqc, kSqcState))); });
}

void KernelFirmware::modify_send_queue(Request& request)
{
    const Queue queue = need(QueueKind::Send, request.number);
    request.note("qpn", request.number);
    const auto now = get(queue.context, kSqcState);
    const auto to = get(request.in, at(kSqc, kSqcState));
    if (get(request.in, kSqState) != now) {
        throw wrong_queue_state(request.number, now);
    }
    const auto selected = get(request.in, kSqModifyBitmask);
    if (queue.modelled && to != now) {
        firmware_.set_queue_pair_state(request.number, model_state(to));
    }
    if (queue.modelled && now == kSqReady && to == kSqReady && (selected & kSqSelectQueueGroup) != 0) {
        (void)shared(request, request.number);
    }
    if (queue.modelled && (selected & kSqSelectRateLimit) != 0) {
        try {
            set_rate(request, request.number);
        } catch (const Refusal&) {
            if (to != now) {
                firmware_.set_queue_pair_state(request.number, model_state(now));
            }
            throw;
        }
    }
    change(request.number, [&](Mailbox& context) {
        set(context, kSqcState, to);
        if ((selected & kSqSelectQueueGroup) != 0) {
            set(context, kSqcQueueGroup, get(request.in, at(kSqc, kSqcQueueGroup)));
        }
        if ((selected & kSqSelectRateLimit) != 0) {
            set(context, kSqcRateLimitIndex, get(request.in, at(kSqc, kSqcRateLimitIndex)));
        }
    });
}

// ---- packet pacing ----

void KernelFirmware::set_rate(Request& request, std::uint32_t number)
{
    const auto index = get(request.in, at(kSqc, kSqcRateLimitIndex));
    std::optional<RateLimit> rate;
    if (index != 0) {
        const std::lock_guard lock(mutex_);
        const auto found = rates_.find(index);
        if (found == rates_.end()) {
            throw make_refusal(RefusalReason::PacingRateZero, fmt::format("row {} of the rates is empty", index));
        }
        rate = found->second;
    }
    request.note("rate-kbps", rate ? static_cast<std::int64_t>(rate->rate.kbps()) : 0);
    if (auto set = firmware_.set_rate({request.context, number, QueuePairType::RawPacket, rate}); !set) {
        throw std::move(set.error());
    }
}

void KernelFirmware::set_rate_limit(Request& request)
{
    const auto index = get(request.in, kRateLimitIndex);
    const auto kbps = get(request.in, kRateLimit);
    const std::lock_guard lock(mutex_);
    if (kbps == 0) {
        rates_.erase(index);
        return;
    }
    RateLimit limit{Bandwidth::from_kbps(kbps), {}, {}};
    if (const auto burst = static_cast<std::uint32_t>(get(request.in, kRateLimitBurst)); burst != 0) {
        limit.max_burst = burst;
    }
    if (const auto packet = static_cast<std::uint16_t>(get(request.in, kRateLimitPacket)); packet != 0) {
        limit.typical_packet = packet;
    }
    rates_.insert_or_assign(index, limit);
}

}    // namespace rdmaqos::emulator
