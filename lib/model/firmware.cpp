#include "lib/model/firmware.h"

#include <algorithm>
#include <utility>

namespace rdmaqos {
namespace {

template <typename Key, typename Record>
std::vector<Record> records_of(const std::map<Key, Record>& records)
{
    std::vector<Record> all;
    all.reserve(records.size());
    for (const auto& [key, record] : records) {
        all.push_back(record);
    }
    return all;
}

}    // namespace

Firmware::Firmware(FirmwareOptions options)
    : options_(std::move(options)), contexts_{{kHostContext, 0}}, pacing_(options_.capabilities.pacing)
{
}

Firmware::Firmware(const Capabilities& capabilities)
    : Firmware([&capabilities] {
          FirmwareOptions options;
          options.capabilities = capabilities;
          return options;
      }())
{
}

std::string_view to_string(Isolation isolation)
{
    switch (isolation) {
    case Isolation::None:
        return "shared";
    case Isolation::All:
        return "isolated";
    case Isolation::Objects:
        return "isolated-objects";
    case Isolation::Attach:
        return "isolated-attach";
    }
    return "shared";
}

void Firmware::set_isolation(Isolation isolation)
{
    const std::lock_guard lock(mutex_);
    options_.isolation = isolation;
}

Isolation Firmware::isolation() const
{
    const std::lock_guard lock(mutex_);
    return options_.isolation;
}

void Firmware::set_refuse_busy_leaf(bool refuse)
{
    const std::lock_guard lock(mutex_);
    options_.refuse_busy_leaf = refuse;
}

void Firmware::set_next_object(ObjectId next)
{
    const std::lock_guard lock(mutex_);
    if (elements_.lower_bound(next) == elements_.end()) {
        next_object_ = static_cast<std::uint32_t>(next);
    }
}

void Firmware::set_default_share_reads_as(std::uint32_t share)
{
    const std::lock_guard lock(mutex_);
    options_.default_share_reads_as = share;
}

std::optional<Refusal> Firmware::admit(CommandKind kind)
{
    {
        const std::lock_guard lock(mutex_);
        if (auto refusal = gone()) {
            return refusal;
        }
    }
    return faults_.strike(kind);
}

Answer<ObjectId> Firmware::create(const CreateCommand& command)
{
    if (auto refusal = admit(CommandKind::Create)) {
        return tl::unexpected(std::move(*refusal));
    }
    const Change change(*this);
    if (auto refusal = check_create(command)) {
        return tl::unexpected(std::move(*refusal));
    }
    ElementRecord record;
    record.id = ObjectId{next_object_++};
    record.context = command.context;
    record.kind = command.kind;
    record.parent = command.parent;
    record.form = command.form;
    if ((command.fields.flags & kSchedulingShare) != 0) {
        record.share = command.fields.share;
    }
    if ((command.fields.flags & kSchedulingMaxRate) != 0) {
        record.max_rate_mbps = command.fields.max_rate_mbps;
    }
    if (command.parent) {
        ElementRecord& parent = elements_.at(*command.parent);
        record.level = parent.level + 1;
        ++parent.children;
    } else {
        ++contexts_.at(command.context);
    }
    leaves_ += command.kind == ElementKind::Leaf ? 1 : 0;
    elements_.emplace(record.id, record);
    elements_changed_ = true;
    return record.id;
}

Answer<void> Firmware::modify(ContextId context, ObjectId element, const SchedulingFields& fields, ElementForm form)
{
    if (auto refusal = admit(CommandKind::Modify)) {
        return tl::unexpected(std::move(*refusal));
    }
    const Change change(*this);
    if (auto refusal = check_element(context, element, form)) {
        return tl::unexpected(std::move(*refusal));
    }
    ElementRecord& record = elements_.at(element);
    if (auto refusal = check_fields(fields, !record.parent.has_value())) {
        return tl::unexpected(std::move(*refusal));
    }
    if ((fields.flags & kSchedulingShare) != 0) {
        record.share = fields.share;
    }
    if ((fields.flags & kSchedulingMaxRate) != 0) {
        record.max_rate_mbps = fields.max_rate_mbps;
    }
    elements_changed_ = true;
    return {};
}

Answer<ElementRecord> Firmware::query(ContextId context, ObjectId element, ElementForm form)
{
    if (auto refusal = admit(CommandKind::Query)) {
        return tl::unexpected(std::move(*refusal));
    }
    const std::lock_guard lock(mutex_);
    if (auto refusal = check_element(context, element, form)) {
        return tl::unexpected(std::move(*refusal));
    }
    ElementRecord record = elements_.at(element);
    if (record.share == 0 && record.parent) {
        record.share = options_.default_share_reads_as;
    }
    return record;
}

Answer<void> Firmware::destroy(ContextId context, ObjectId element, ElementForm form)
{
    if (auto refusal = admit(CommandKind::Destroy)) {
        return tl::unexpected(std::move(*refusal));
    }
    const Change change(*this);
    if (auto refusal = check_element(context, element, form)) {
        return tl::unexpected(std::move(*refusal));
    }
    if (auto refusal = check_idle(element)) {
        return tl::unexpected(std::move(*refusal));
    }
    erase_element(element);
    return {};
}

Answer<void> Firmware::attach(const AttachCommand& command)
{
    if (auto refusal = admit(CommandKind::Attach)) {
        return tl::unexpected(std::move(*refusal));
    }
    const Change change(*this);
    if (auto refusal = check_attach(command)) {
        return tl::unexpected(std::move(*refusal));
    }
    put_into(queue_pair_for(command.context, command.queue_pair, command.type), command.requester, command.responder);
    forget_if_idle(command.queue_pair);
    return {};
}

Answer<void> Firmware::set_rate(const RateCommand& command)
{
    if (auto refusal = admit(CommandKind::SetRate)) {
        return tl::unexpected(std::move(*refusal));
    }
    const Change change(*this);
    if (auto refusal = check_rate(command)) {
        return tl::unexpected(std::move(*refusal));
    }
    QueuePairRecord& queue_pair = queue_pair_for(command.context, command.queue_pair, command.type);
    Answer<void> answer;
    if (command.rate != queue_pair.rate) {
        // As the kernel does: the new entry is taken before the old one is given back.
        if (command.rate) {
            answer = pacing_.acquire(static_cast<std::uint32_t>(queue_pair.context), *command.rate);
        }
        if (answer) {
            drop_rate(queue_pair);
            queue_pair.rate = command.rate;
        }
    }
    forget_if_idle(command.queue_pair);
    return answer;
}

Answer<QueuePairState> Firmware::query_queue_pair(std::uint32_t number)
{
    if (auto refusal = admit(CommandKind::QueryQueuePair)) {
        return tl::unexpected(std::move(*refusal));
    }
    const std::lock_guard lock(mutex_);
    const auto found = queue_pairs_.find(number);
    if (found != queue_pairs_.end()) {
        return found->second.state;
    }
    if (auto refusal = check_known(number)) {
        return tl::unexpected(std::move(*refusal));
    }
    return QueuePairState::Rts;
}

Answer<ContextId> Firmware::open_context()
{
    const Change change(*this);
    if (auto refusal = gone()) {
        return tl::unexpected(std::move(*refusal));
    }
    const ContextId context{next_context_++};
    contexts_.emplace(context, 0);
    return context;
}

std::size_t Firmware::close_context(ContextId context)
{
    const Change change(*this);
    std::vector<std::uint32_t> numbers;
    for (const auto& [number, queue_pair] : queue_pairs_) {
        if (queue_pair.context == context) {
            numbers.push_back(number);
        }
    }
    for (const std::uint32_t number : numbers) {
        erase_queue_pair(number);
    }
    // A child is always made after its parent, so the largest id first is bottom-up.
    std::vector<ObjectId> ids;
    for (const auto& [id, record] : elements_) {
        if (record.context == context) {
            ids.push_back(id);
        }
    }
    std::size_t leaked = 0;
    for (auto id = ids.rbegin(); id != ids.rend(); ++id) {
        if (check_idle(*id)) {
            ++leaked;
        } else {
            erase_element(*id);
        }
    }
    contexts_.erase(context);
    return leaked;
}

Answer<void> Firmware::create_queue_pair(std::uint32_t number, QueuePairType type, QueuePairState state,
                                         ContextId context)
{
    const Change change(*this);
    if (auto refusal = check_context(context)) {
        return tl::unexpected(std::move(*refusal));
    }
    erase_queue_pair(number);
    queue_pairs_.emplace(number,
                         QueuePairRecord{number, context, type, state, kNoObject, kNoObject, std::nullopt, false});
    changed_.insert(number);
    return {};
}

void Firmware::set_queue_pair_state(std::uint32_t number, QueuePairState state)
{
    const Change change(*this);
    const auto found = queue_pairs_.find(number);
    if (found == queue_pairs_.end()) {
        return;
    }
    found->second.state = state;
    changed_.insert(number);
    if (state == QueuePairState::Reset) {
        put_into(found->second, kNoObject, kNoObject);
    }
    if (state == QueuePairState::Reset || state == QueuePairState::Error) {
        drop_rate(found->second);
    }
}

void Firmware::destroy_queue_pair(std::uint32_t number)
{
    const Change change(*this);
    erase_queue_pair(number);
}

void Firmware::reset()
{
    lose_everything(DevicePresence::InReset);
}

void Firmware::remove()
{
    lose_everything(DevicePresence::Removed);
}

void Firmware::replug()
{
    const Change change(*this);
    presence_ = DevicePresence::Present;
    contexts_.emplace(kHostContext, 0);
}

DevicePresence Firmware::presence() const
{
    const std::lock_guard lock(mutex_);
    return presence_;
}

void Firmware::lose_everything(DevicePresence presence)
{
    const Change change(*this);
    presence_ = presence;
    elements_.clear();
    elements_changed_ = true;
    queue_pairs_.clear();
    changed_.clear();
    contexts_.clear();
    pacing_.clear();
    leaves_ = 0;
}

bool Firmware::drift(ObjectId element, std::uint32_t share, std::uint32_t max_rate_mbps)
{
    const Change change(*this);
    const auto found = elements_.find(element);
    if (found == elements_.end()) {
        return false;
    }
    found->second.share = share;
    found->second.max_rate_mbps = max_rate_mbps;
    elements_changed_ = true;
    return true;
}

bool Firmware::lose(ObjectId element)
{
    const Change change(*this);
    if (!elements_.contains(element)) {
        return false;
    }
    // Ids grow downwards in a tree, so one pass over the later ones finds everything below.
    std::vector<ObjectId> lost{element};
    for (auto next = elements_.upper_bound(element); next != elements_.end(); ++next) {
        if (next->second.parent && std::binary_search(lost.begin(), lost.end(), *next->second.parent)) {
            lost.push_back(next->first);
        }
    }
    for (auto id = lost.rbegin(); id != lost.rend(); ++id) {
        erase_element(*id);
    }
    return true;
}

std::vector<ElementRecord> Firmware::elements() const
{
    const std::lock_guard lock(mutex_);
    return records_of(elements_);
}

std::vector<QueuePairRecord> Firmware::queue_pairs() const
{
    const std::lock_guard lock(mutex_);
    return records_of(queue_pairs_);
}

std::optional<QueuePairRecord> Firmware::queue_pair(std::uint32_t number) const
{
    const std::lock_guard lock(mutex_);
    const auto found = queue_pairs_.find(number);
    if (found == queue_pairs_.end()) {
        return std::nullopt;
    }
    return found->second;
}

FirmwareChanges Firmware::take_changes()
{
    const std::lock_guard lock(mutex_);
    FirmwareChanges changes;
    if (std::exchange(elements_changed_, false)) {
        changes.elements = records_of(elements_);
    }
    for (const std::uint32_t number : std::exchange(changed_, {})) {
        changes.queue_pairs.push_back(queue_pairs_.at(number));
    }
    return changes;
}

FirmwareUsage Firmware::usage() const
{
    const std::lock_guard lock(mutex_);
    FirmwareUsage usage;
    usage.elements = static_cast<std::uint32_t>(elements_.size());
    usage.leaves = leaves_;
    usage.queue_pairs = static_cast<std::uint32_t>(std::count_if(
        queue_pairs_.begin(), queue_pairs_.end(), [](const auto& entry) { return is_used(entry.second); }));
    usage.pacing_entries = static_cast<std::uint32_t>(pacing_.entries_used());
    return usage;
}

}    // namespace rdmaqos
