#include "lib/nic_model/model_backend.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <ranges>
#include <utility>

#include <fmt/format.h>

namespace rdmaqos {
namespace {

ElementHandle handle_of(ObjectId object)
{
    return ElementHandle{static_cast<std::uint64_t>(object)};
}

ErrorCode code_of_injected(const Refusal& refusal)
{
    return refusal.status == FirmwareStatus::ResourceBusy || refusal.sys_errno == EBUSY ? ErrorCode::Busy
                                                                                        : ErrorCode::DeviceFailed;
}

ErrorCode code_of(const Refusal& refusal)
{
    switch (refusal.reason) {
    case RefusalReason::SchedulingNotSupported:
    case RefusalReason::SharesNotSupported:
    case RefusalReason::RateCapsNotSupported:
    case RefusalReason::TypeNotAttachable:
    case RefusalReason::NoResponderLeaf:
    case RefusalReason::PacingNotSupported:
    case RefusalReason::PacingTypeNotSupported:
    case RefusalReason::PacingBurstNotSupported:
    case RefusalReason::PacingPacketNotSupported:
        return ErrorCode::Unsupported;
    case RefusalReason::TooDeep:
    case RefusalReason::TooManyLeaves:
    case RefusalReason::TooManyElements:
    case RefusalReason::PacingTableFull:
        return ErrorCode::NoSpace;
    case RefusalReason::HasChildren:
    case RefusalReason::HasQueuePairs:
        return ErrorCode::Busy;
    case RefusalReason::NoSuchQueuePair:
    case RefusalReason::QueuePairTypeMismatch:
        return ErrorCode::BadQueuePair;
    case RefusalReason::QueuePairState:
        return ErrorCode::BadState;
    case RefusalReason::NoSuchContext:
    case RefusalReason::DeviceGone:
        return ErrorCode::DeviceGone;
    case RefusalReason::Injected:
        return code_of_injected(refusal);
    case RefusalReason::UnknownFlags:
    case RefusalReason::LeafWithoutParent:
    case RefusalReason::SecondRoot:
    case RefusalReason::NoSuchElement:
    case RefusalReason::ForeignElement:
    case RefusalReason::ParentIsLeaf:
    case RefusalReason::ShareOnRoot:
    case RefusalReason::RateOnRoot:
    case RefusalReason::ShareOutOfRange:
    case RefusalReason::NotALeaf:
    case RefusalReason::PacingRateZero:
    case RefusalReason::PacingRateOutOfRange:
        return ErrorCode::InvalidArgument;
    }
    return ErrorCode::DeviceFailed;
}

// Absent: the leaf of no side. Handles outside the firmware's range name an element it never made.
std::optional<ObjectId> object_or_none(std::optional<ElementHandle> element)
{
    if (!element) {
        return std::nullopt;
    }
    return ModelBackend::object_of(*element);
}

}    // namespace

ModelBackend::ModelBackend(DeviceInfo info, const Capabilities& capabilities, std::shared_ptr<Firmware> firmware,
                           AttachMode attach_mode, CapMode caps)
    : info_(std::move(info)), capabilities_(capabilities), attach_{attach_mode, "a simulated device", {}},
      firmware_(firmware ? std::move(firmware) : std::make_shared<Firmware>(capabilities))
{
    attach_.caps = caps;
    context_ = firmware_->open_context().value_or(kNoContext);
}

ModelBackend::~ModelBackend()
{
    firmware_->close_context(context_);
}

DeviceInfo ModelBackend::info() const
{
    const std::lock_guard lock(mutex_);
    DeviceInfo info = info_;
    info.link_up = info.link_up && firmware_->presence() == DevicePresence::Present;
    return info;
}

Capabilities ModelBackend::capabilities() const
{
    return capabilities_;
}

ObjectId ModelBackend::object_of(ElementHandle element)
{
    const auto value = static_cast<std::uint64_t>(element);
    constexpr std::uint64_t kLargest = std::numeric_limits<std::uint32_t>::max();
    return ObjectId{static_cast<std::uint32_t>(value > kLargest ? kLargest : value)};
}

Result<ElementHandle> ModelBackend::create_element(const ElementRequest& request)
{
    ModelOperation operation;
    operation.kind = CommandKind::Create;
    operation.request = request;

    CreateCommand command;
    command.context = context_;
    command.kind = request.kind;
    command.parent = object_or_none(request.parent);
    operation.error = encode(request.attributes, command.fields);
    if (!operation.error) {
        const auto object = firmware_->create(command);
        if (object) {
            operation.element = handle_of(*object);
        } else {
            operation.error = error_of(object.error());
        }
    }
    note(operation);
    if (operation.error) {
        return fail(*operation.error);
    }
    return *operation.element;
}

Result<void> ModelBackend::modify_element(ElementHandle element, const ElementChange& change)
{
    ModelOperation operation;
    operation.kind = CommandKind::Modify;
    operation.element = element;
    operation.change = change;

    SchedulingFields fields;
    operation.error = encode(change, fields);
    if (!operation.error) {
        if (const auto answer = firmware_->modify(context_, object_of(element), fields); !answer) {
            operation.error = error_of(answer.error());
        }
    }
    note(operation);
    return operation.error ? Result<void>(fail(*operation.error)) : Result<void>();
}

Result<ElementState> ModelBackend::query_element(ElementHandle element)
{
    ModelOperation operation;
    operation.kind = CommandKind::Query;
    operation.element = element;
    const auto record = firmware_->query(context_, object_of(element));
    if (!record) {
        operation.error = error_of(record.error());
        note(operation);
        return fail(*operation.error);
    }
    note(operation);
    ElementState state;
    state.kind = record->kind;
    if (record->parent) {
        state.parent = handle_of(*record->parent);
    }
    state.attributes.share = record->share;
    if (record->max_rate_mbps != 0) {
        state.attributes.max_rate = Bandwidth::from_mbps(record->max_rate_mbps);
    }
    return state;
}

Result<void> ModelBackend::destroy_element(ElementHandle element)
{
    ModelOperation operation;
    operation.kind = CommandKind::Destroy;
    operation.element = element;
    if (const auto answer = firmware_->destroy(context_, object_of(element)); !answer) {
        operation.error = error_of(answer.error());
    }
    note(operation);
    return operation.error ? Result<void>(fail(*operation.error)) : Result<void>();
}

std::vector<ObjectId> ModelBackend::strays(const std::vector<ElementHandle>& known) const
{
    std::vector<ObjectId> strays;
    const auto there = firmware_->elements();
    for (const auto& record : std::ranges::reverse_view(there)) {
        const bool is_known = std::ranges::any_of(known, [&](auto handle) { return object_of(handle) == record.id; });
        if (record.context == context_ && !is_known) {
            strays.push_back(record.id);
        }
    }
    return strays;
}

Result<std::size_t> ModelBackend::count_strays(const std::vector<ElementHandle>& known)
{
    return strays(known).size();
}

Result<std::size_t> ModelBackend::destroy_strays(const std::vector<ElementHandle>& known)
{
    std::size_t left = 0;
    for (const auto id : strays(known)) {
        left += firmware_->destroy(context_, id) ? 0 : 1;
    }
    return left;
}

// What an earlier process made is in this context: the model does not tell processes apart.
Result<void> ModelBackend::take_over(const std::vector<KnownElement>& elements, const BackendNotes& /*notes*/)
{
    std::vector<ElementHandle> known;
    for (const auto& element : elements) {
        known.push_back(element.handle);
    }
    for (const auto id : strays(known)) {
        if (const auto answer = firmware_->destroy(context_, id); !answer) {
            return fail(error_of(answer.error()));
        }
    }
    return {};
}

Result<void> ModelBackend::place(const QueuePairRef& queue_pair, std::optional<ElementHandle> requester,
                                 std::optional<ElementHandle> responder)
{
    ModelOperation operation;
    operation.kind = CommandKind::Attach;
    operation.queue_pair = queue_pair.number;
    operation.requester = requester;
    operation.responder = responder;

    AttachCommand command;
    command.context = context_;
    command.queue_pair = queue_pair.number;
    command.type = queue_pair.type;
    command.requester = object_or_none(requester).value_or(kNoObject);
    command.responder = object_or_none(responder).value_or(kNoObject);
    if (const auto answer = firmware_->attach(command); !answer) {
        operation.error = error_of(answer.error());
    }
    note(operation);
    return operation.error ? Result<void>(fail(*operation.error)) : Result<void>();
}

Result<void> ModelBackend::set_rate(const QueuePairRef& queue_pair, const std::optional<RateLimit>& rate)
{
    ModelOperation operation;
    operation.kind = CommandKind::SetRate;
    operation.queue_pair = queue_pair.number;
    operation.rate = rate;
    if (const auto answer = firmware_->set_rate({context_, queue_pair.number, queue_pair.type, rate}); !answer) {
        operation.error = error_of(answer.error());
    }
    note(operation);
    return operation.error ? Result<void>(fail(*operation.error)) : Result<void>();
}

Result<QueuePairState> ModelBackend::query_queue_pair(const QueuePairRef& queue_pair)
{
    ModelOperation operation;
    operation.kind = CommandKind::QueryQueuePair;
    operation.queue_pair = queue_pair.number;
    const auto state = firmware_->query_queue_pair(queue_pair.number);
    if (!state) {
        operation.error = error_of(state.error());
        note(operation);
        return fail(*operation.error);
    }
    note(operation);
    return *state;
}

Result<void> ModelBackend::cap_copy(const std::shared_ptr<ClientFile>& file, ElementHandle leaf,
                                    std::optional<Bandwidth> cap)
{
    const std::lock_guard lock(mutex_);
    if (attach_.mode != AttachMode::PerProcess || attach_.caps != CapMode::Adaptive) {
        return Backend::cap_copy(file, leaf, cap);
    }
    copy_caps_[file.get()] = cap;
    return {};
}

std::map<const ClientFile*, std::optional<Bandwidth>> ModelBackend::copy_caps() const
{
    const std::lock_guard lock(mutex_);
    return copy_caps_;
}

Result<std::optional<QueuePairMark>> ModelBackend::query_mark(const QueuePairRef& queue_pair)
{
    const std::lock_guard lock(mutex_);
    if (marks_.empty()) {
        return fail(ErrorCode::Unsupported, fmt::format("{} does not tell how packets are marked", info_.name));
    }
    const auto found = marks_.find(queue_pair.number);
    return found == marks_.end() ? std::nullopt : found->second;
}

void ModelBackend::set_mark(std::uint32_t queue_pair, std::optional<QueuePairMark> mark)
{
    const std::lock_guard lock(mutex_);
    marks_[queue_pair] = mark;
}

Result<PortCounters> ModelBackend::port_counters()
{
    const std::lock_guard lock(mutex_);
    if (firmware_->presence() != DevicePresence::Present) {
        return fail(ErrorCode::DeviceGone, fmt::format("{}: the device is gone or in reset", info_.name));
    }
    if (!counts_) {
        return fail(ErrorCode::Unsupported, fmt::format("{}/{} has no port counters", info_.name, info_.port));
    }
    return clock_ == nullptr ? PortCounters{} : meter_.read(clock_->now());
}

AttachReport ModelBackend::attach_report() const
{
    const std::scoped_lock lock(mutex_);
    return attach_;
}

void ModelBackend::postpone_test(AttachReport found)
{
    const std::scoped_lock lock(mutex_);
    attach_.postponed = true;
    found_ = std::move(found);
}

void ModelBackend::test_attaching()
{
    const std::scoped_lock lock(mutex_);
    attach_ = found_;
    if (attach_.mode == AttachMode::None) {
        const PacingCapabilities pacing = capabilities_.pacing;
        capabilities_ = {};
        capabilities_.pacing = pacing;
    }
}

void ModelBackend::carry(PortTraffic traffic, const Clock& clock)
{
    const std::lock_guard lock(mutex_);
    traffic_ = traffic;
    clock_ = &clock;
    update_meter();
}

void ModelBackend::withhold_counters()
{
    const std::lock_guard lock(mutex_);
    counts_ = false;
}

void ModelBackend::update_meter()
{
    if (clock_ == nullptr) {
        return;
    }
    PortTraffic carried;
    if (info_.link_up && firmware_->presence() == DevicePresence::Present) {
        carried.transmit = std::min(traffic_.transmit, info_.link_speed);
        carried.receive = std::min(traffic_.receive, info_.link_speed);
    }
    meter_.change(carried, clock_->now());
}

void ModelBackend::set_event_handler(EventHandler handler)
{
    const std::lock_guard lock(mutex_);
    handler_ = std::move(handler);
}

void ModelBackend::set_link(Bandwidth speed, bool up)
{
    {
        const std::lock_guard lock(mutex_);
        info_.link_speed = speed;
        info_.link_up = up;
        update_meter();
    }
    emit(DeviceEventKind::LinkChanged);
}

void ModelBackend::set_addresses(std::vector<Gid> gids, std::vector<std::uint16_t> pkeys, std::string node_description)
{
    {
        const std::lock_guard lock(mutex_);
        info_.gids = std::move(gids);
        info_.pkeys = std::move(pkeys);
        info_.node_description = std::move(node_description);
    }
    emit(DeviceEventKind::LinkChanged);
}

void ModelBackend::set_info(DeviceInfo info)
{
    {
        const std::lock_guard lock(mutex_);
        info_ = std::move(info);
        update_meter();
    }
    emit(DeviceEventKind::LinkChanged);
}

void ModelBackend::reset()
{
    firmware_->reset();
    emit(DeviceEventKind::Reset);
}

void ModelBackend::remove()
{
    firmware_->remove();
    emit(DeviceEventKind::Removed);
}

void ModelBackend::replug()
{
    firmware_->replug();
    {
        const std::lock_guard lock(mutex_);
        update_meter();
        if (clock_ != nullptr) {
            meter_.restart(clock_->now());
        }
    }
    context_ = firmware_->open_context().value_or(kNoContext);
    emit(DeviceEventKind::LinkChanged);
}

std::vector<ModelOperation> ModelBackend::log() const
{
    const std::lock_guard lock(mutex_);
    return {log_.begin(), log_.end()};
}

std::vector<std::string> ModelBackend::log_text() const
{
    const std::lock_guard lock(mutex_);
    std::vector<std::string> lines;
    lines.reserve(log_.size());
    for (const ModelOperation& operation : log_) {
        lines.push_back(to_string(operation));
    }
    return lines;
}

void ModelBackend::clear_log()
{
    const std::lock_guard lock(mutex_);
    log_.clear();
}

void ModelBackend::set_log_limit(std::size_t limit)
{
    const std::lock_guard lock(mutex_);
    log_limit_ = limit;
    while (log_.size() > log_limit_) {
        log_.pop_front();
    }
}

std::uint64_t ModelBackend::operations() const
{
    const std::lock_guard lock(mutex_);
    return operations_;
}

std::uint64_t ModelBackend::writes() const
{
    const std::lock_guard lock(mutex_);
    return writes_;
}

Error ModelBackend::error_of(const Refusal& refusal) const
{
    const int sys_errno = refusal.reason == RefusalReason::NoSuchElement ? ENOENT : refusal.sys_errno;
    return Error{code_of(refusal), sys_errno, refusal.message}.with_context(info_.name);
}

std::optional<Error> ModelBackend::encode(const ElementAttributes& attributes, SchedulingFields& fields) const
{
    if (attributes.share != 0) {
        fields.flags |= kSchedulingShare;
        fields.share = attributes.share;
    }
    return attributes.max_rate ? encode_rate(*attributes.max_rate, fields) : std::nullopt;
}

std::optional<Error> ModelBackend::encode(const ElementChange& change, SchedulingFields& fields) const
{
    if (change.share) {
        fields.flags |= kSchedulingShare;
        fields.share = *change.share;
    }
    if (!change.max_rate) {
        return std::nullopt;
    }
    if (!*change.max_rate) {
        fields.flags |= kSchedulingMaxRate;
        fields.max_rate_mbps = 0;
        return std::nullopt;
    }
    return encode_rate(**change.max_rate, fields);
}

std::optional<Error> ModelBackend::encode_rate(Bandwidth rate, SchedulingFields& fields) const
{
    // Rounding here would be found again as drift at the next read-back.
    if (rate.is_zero() || rate != Bandwidth::from_mbps(rate.mbps()) ||
        rate.mbps() > std::numeric_limits<std::uint32_t>::max()) {
        return Error{ErrorCode::InvalidArgument, EINVAL,
                     fmt::format("{}: the device takes maximum rates in whole Mbit/s from 1 to {}, not {}", info_.name,
                                 std::numeric_limits<std::uint32_t>::max(), to_string(rate))};
    }
    fields.flags |= kSchedulingMaxRate;
    fields.max_rate_mbps = static_cast<std::uint32_t>(rate.mbps());
    return std::nullopt;
}

void ModelBackend::note(ModelOperation operation)
{
    const std::lock_guard lock(mutex_);
    ++operations_;
    writes_ += operation.is_write() ? 1 : 0;
    if (log_limit_ == 0) {
        return;
    }
    if (log_.size() >= log_limit_) {
        log_.pop_front();
    }
    log_.push_back(std::move(operation));
}

void ModelBackend::emit(DeviceEventKind kind)
{
    EventHandler handler;
    {
        const std::lock_guard lock(mutex_);
        handler = handler_;
    }
    if (handler) {
        handler({kind});
    }
}

}    // namespace rdmaqos
