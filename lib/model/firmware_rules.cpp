// What the firmware refuses, and how it says so; and the bookkeeping behind its commands. Every member function here
// expects the lock to be held.
#include <fmt/format.h>

#include "lib/base/text.h"
#include "lib/model/firmware.h"

namespace rdmaqos {
namespace {

constexpr std::uint32_t kKnownFlags = kSchedulingShare | kSchedulingMaxRate;

std::uint32_t number(ObjectId id)
{
    return static_cast<std::uint32_t>(id);
}

template <typename... Args>
Refusal refuse(RefusalReason reason, fmt::format_string<Args...> format, Args&&... args)
{
    return make_refusal(reason, fmt::format(format, std::forward<Args>(args)...));
}

}    // namespace

bool Firmware::is_used(const QueuePairRecord& queue_pair)
{
    return queue_pair.requester != kNoObject || queue_pair.responder != kNoObject || queue_pair.rate.has_value();
}

std::optional<Refusal> Firmware::gone() const
{
    switch (presence_) {
    case DevicePresence::Present:
        return std::nullopt;
    case DevicePresence::InReset:
        return refuse(RefusalReason::DeviceGone, "the device is in reset; it comes back as a new one");
    case DevicePresence::Removed:
        break;
    }
    return refuse(RefusalReason::DeviceGone, "the device was removed");
}

std::optional<Refusal> Firmware::check_context(ContextId context) const
{
    if (auto refusal = gone()) {
        return refusal;
    }
    if (!contexts_.contains(context)) {
        return refuse(RefusalReason::NoSuchContext,
                      "the device file was closed, or is from before a reset; open the device again");
    }
    return std::nullopt;
}

std::optional<Refusal> Firmware::check_fields(const SchedulingFields& fields, bool root) const
{
    const Capabilities& can = options_.capabilities;
    if ((fields.flags & ~kKnownFlags) != 0) {
        return refuse(RefusalReason::UnknownFlags, "flags {:#x} are not known to the device; it knows {:#x}",
                      fields.flags & ~kKnownFlags, kKnownFlags);
    }
    if ((fields.flags & kSchedulingShare) != 0) {
        if (!can.shares) {
            return refuse(RefusalReason::SharesNotSupported, "the device has no shares; leave the share out");
        }
        if (root && fields.share != 0) {
            return refuse(RefusalReason::ShareOnRoot, "the root has no siblings and takes no share, not {}",
                          fields.share);
        }
        if (fields.share > can.max_share) {
            return refuse(RefusalReason::ShareOutOfRange, "share {} is above the device's maximum of {}", fields.share,
                          can.max_share);
        }
    }
    if ((fields.flags & kSchedulingMaxRate) != 0) {
        if (!can.rate_caps) {
            return refuse(RefusalReason::RateCapsNotSupported,
                          "the device has no maximum rates on elements; leave the maximum rate out");
        }
        if (root && fields.max_rate_mbps != 0) {
            return refuse(RefusalReason::RateOnRoot,
                          "the root takes no maximum rate, not {} Mbit/s; put it on a node below",
                          fields.max_rate_mbps);
        }
    }
    return std::nullopt;
}

std::optional<Refusal> Firmware::check_create(const CreateCommand& command) const
{
    if (auto refusal = check_context(command.context)) {
        return refusal;
    }
    if (!options_.capabilities.scheduling) {
        return refuse(RefusalReason::SchedulingNotSupported, "the device has no transmit scheduling elements");
    }
    std::uint32_t level = 1;
    if (command.parent) {
        if (auto refusal = check_parent(command)) {
            refusal->message.insert(0, "parent: ");
            return refusal;
        }
        const ElementRecord& parent = elements_.at(*command.parent);
        if (parent.kind == ElementKind::Leaf) {
            return refuse(RefusalReason::ParentIsLeaf,
                          "element {} is a leaf and cannot be a parent; leaves hold queue pairs only",
                          number(parent.id));
        }
        level = parent.level + 1;
    } else if (command.kind == ElementKind::Leaf) {
        return refuse(RefusalReason::LeafWithoutParent, "a leaf needs a parent; only the root has none");
    } else if (options_.roots_per_context != 0 && contexts_.at(command.context) >= options_.roots_per_context) {
        return refuse(RefusalReason::SecondRoot, "only the root has no parent, and there is a root already");
    }
    if (auto refusal = check_fields(command.fields, !command.parent.has_value())) {
        return refusal;
    }
    return check_limits(command, level);
}

std::optional<Refusal> Firmware::check_limits(const CreateCommand& command, std::uint32_t level) const
{
    const Capabilities& can = options_.capabilities;
    if (level > can.max_depth) {
        return refuse(RefusalReason::TooDeep, "level {} is below the device's last level {}; make the tree flatter",
                      level, can.max_depth);
    }
    if (command.kind == ElementKind::Leaf && leaves_ >= can.max_leaves) {
        return refuse(RefusalReason::TooManyLeaves,
                      "{} of the device's {} leaves are in use; let queue pairs share leaves", leaves_, can.max_leaves);
    }
    if (elements_.size() >= can.max_elements) {
        return refuse(RefusalReason::TooManyElements,
                      "{} of the device's {} scheduling elements are in use; make the tree smaller", elements_.size(),
                      can.max_elements);
    }
    return std::nullopt;
}

bool Firmware::is_kept_from(ContextId context, const ElementRecord& element) const
{
    const bool belongs = options_.isolation != Isolation::None &&
                         (options_.isolation != Isolation::Objects || element.form == ElementForm::Object);
    return belongs && element.context != context;
}

std::optional<Refusal> Firmware::check_parent(const CreateCommand& command) const
{
    const auto found = elements_.find(*command.parent);
    if (found == elements_.end()) {
        return refuse(RefusalReason::NoSuchElement, "the device knows no element {} (any more)",
                      number(*command.parent));
    }
    if (options_.isolation != Isolation::Attach && is_kept_from(command.context, found->second)) {
        return refuse(RefusalReason::ForeignElement, "element {} belongs to another open device file",
                      number(*command.parent));
    }
    return std::nullopt;
}

std::optional<Refusal> Firmware::check_element(ContextId context, ObjectId element, ElementForm form) const
{
    if (auto refusal = check_context(context)) {
        return refusal;
    }
    const auto found = elements_.find(element);
    if (found == elements_.end()) {
        return refuse(RefusalReason::NoSuchElement, "the device knows no element {} (any more)", number(element));
    }
    if (found->second.context != context) {
        return refuse(RefusalReason::ForeignElement, "element {} belongs to another open device file", number(element));
    }
    if (found->second.form != form) {
        return refuse(RefusalReason::NoSuchElement, "element {} was made by the other kind of command",
                      number(element));
    }
    return std::nullopt;
}

std::optional<Refusal> Firmware::check_idle(ObjectId element) const
{
    const ElementRecord& record = elements_.at(element);
    if (record.children != 0) {
        return refuse(RefusalReason::HasChildren, "element {} still has {}; destroy {} first", number(element),
                      record.children == 1 ? "1 child" : fmt::format("{} children", record.children),
                      record.children == 1 ? "it" : "them");
    }
    if (record.queue_pairs != 0 && options_.refuse_busy_leaf) {
        return refuse(RefusalReason::HasQueuePairs, "leaf {} still holds {}; detach first", number(element),
                      counted(record.queue_pairs, "queue pair"));
    }
    return std::nullopt;
}

std::optional<Refusal> Firmware::check_known(std::uint32_t number_of) const
{
    if (options_.implicit_queue_pairs || queue_pairs_.contains(number_of)) {
        return std::nullopt;
    }
    return refuse(RefusalReason::NoSuchQueuePair, "the device knows no queue pair {} (any more)", number_of);
}

std::optional<Refusal> Firmware::check_queue_pair(std::uint32_t number_of, QueuePairType type) const
{
    if (auto refusal = check_known(number_of)) {
        return refusal;
    }
    const auto found = queue_pairs_.find(number_of);
    if (found != queue_pairs_.end() && found->second.type != type) {
        return refuse(RefusalReason::QueuePairTypeMismatch, "queue pair {} is of type {}, not {}", number_of,
                      to_string(found->second.type), to_string(type));
    }
    return std::nullopt;
}

std::optional<Refusal> Firmware::check_attach(const AttachCommand& command) const
{
    if (auto refusal = check_context(command.context)) {
        return refusal;
    }
    if (auto refusal = check_queue_pair(command.queue_pair, command.type)) {
        return refusal;
    }
    const Capabilities& can = options_.capabilities;
    if (!can.scheduling) {
        return refuse(RefusalReason::SchedulingNotSupported, "the device has no transmit scheduling elements");
    }
    if (!can.attachable.contains(command.type)) {
        return refuse(RefusalReason::TypeNotAttachable, "the device cannot schedule queue pairs of type {}",
                      to_string(command.type));
    }
    if (command.responder != kNoObject) {
        if (!can.responder_leaf) {
            return refuse(
                RefusalReason::NoResponderLeaf,
                "the device has no leaf of their own for RDMA READ responses; name the requester's leaf only");
        }
        if (command.type != QueuePairType::Rc && command.type != QueuePairType::Devx) {
            return refuse(RefusalReason::NoResponderLeaf,
                          "only RC queue pairs answer RDMA READs; queue pair {} of type {} takes no responder leaf",
                          command.queue_pair, to_string(command.type));
        }
    }
    for (const ObjectId group : {command.requester, command.responder}) {
        if (auto refusal = check_group(command, group)) {
            return refusal;
        }
    }
    const auto found = queue_pairs_.find(command.queue_pair);
    const QueuePairState state = found == queue_pairs_.end() ? QueuePairState::Rts : found->second.state;
    const bool raw = command.type == QueuePairType::RawPacket;
    if (state != QueuePairState::Rts && (raw || state != QueuePairState::Init)) {
        Refusal refusal = refuse(
            RefusalReason::QueuePairState,
            "queue pair {} is in state {}; {} can be moved only in {}: attach it again when it is there",
            command.queue_pair, to_string(state), raw ? "the send queue of a raw packet queue pair" : "it",
            raw ? "RTS (ready)" : "INIT or RTS");
        if (raw) {
            refusal.status = FirmwareStatus::BadResourceState;    // it is the send queue's state, not a queue pair's
        }
        return refusal;
    }
    return std::nullopt;
}

std::optional<Refusal> Firmware::check_group(const AttachCommand& command, ObjectId group) const
{
    if (group == kNoObject) {
        return std::nullopt;
    }
    const auto found = elements_.find(group);
    if (found == elements_.end()) {
        return refuse(RefusalReason::NoSuchElement, "the device knows no element {} (any more)", number(group));
    }
    if (is_kept_from(command.context, found->second)) {
        return refuse(RefusalReason::ForeignElement,
                      "leaf {} belongs to another open device file than queue pair {}, and the device keeps them apart",
                      number(group), command.queue_pair);
    }
    if (found->second.kind != ElementKind::Leaf) {
        return refuse(RefusalReason::NotALeaf, "element {} is a node; queue pairs go into leaves", number(group));
    }
    return std::nullopt;
}

std::optional<Refusal> Firmware::check_rate(const RateCommand& command) const
{
    if (auto refusal = check_context(command.context)) {
        return refusal;
    }
    if (auto refusal = check_queue_pair(command.queue_pair, command.type)) {
        return refusal;
    }
    if (!command.rate) {
        return std::nullopt;
    }
    if (auto refusal = pacing_.check(command.type, *command.rate)) {
        return refusal;
    }
    const auto found = queue_pairs_.find(command.queue_pair);
    if (found != queue_pairs_.end() && found->second.state != QueuePairState::Rts) {
        return refuse(RefusalReason::QueuePairState,
                      "queue pair {} is in state {}; a rate can be set only in RTS: set it again when it is there",
                      command.queue_pair, to_string(found->second.state));
    }
    return std::nullopt;
}

QueuePairRecord& Firmware::queue_pair_for(ContextId context, std::uint32_t number_of, QueuePairType type)
{
    changed_.insert(number_of);
    return queue_pairs_
        .try_emplace(number_of, QueuePairRecord{number_of, context, type, QueuePairState::Rts, kNoObject, kNoObject,
                                                std::nullopt, true})
        .first->second;
}

void Firmware::put_into(QueuePairRecord& queue_pair, ObjectId requester, ObjectId responder)
{
    for (const ObjectId left : {queue_pair.requester, queue_pair.responder}) {
        if (left != kNoObject) {
            --elements_.at(left).queue_pairs;
        }
    }
    for (const ObjectId entered : {requester, responder}) {
        if (entered != kNoObject) {
            ++elements_.at(entered).queue_pairs;
        }
    }
    queue_pair.requester = requester;
    queue_pair.responder = responder;
    changed_.insert(queue_pair.number);
}

void Firmware::drop_rate(QueuePairRecord& queue_pair)
{
    if (queue_pair.rate) {
        pacing_.release(static_cast<std::uint32_t>(queue_pair.context), *queue_pair.rate);
        queue_pair.rate.reset();
    }
}

void Firmware::forget_if_idle(std::uint32_t number_of)
{
    const auto found = queue_pairs_.find(number_of);
    if (found != queue_pairs_.end() && found->second.implicit && !is_used(found->second)) {
        erase(found);
    }
}

void Firmware::erase_queue_pair(std::uint32_t number_of)
{
    const auto found = queue_pairs_.find(number_of);
    if (found == queue_pairs_.end()) {
        return;
    }
    put_into(found->second, kNoObject, kNoObject);
    drop_rate(found->second);
    erase(found);
}

void Firmware::erase(std::map<std::uint32_t, QueuePairRecord>::iterator queue_pair)
{
    changed_.erase(queue_pair->first);
    queue_pairs_.erase(queue_pair);
}

void Firmware::erase_element(ObjectId element)
{
    const auto found = elements_.find(element);
    if (found->second.queue_pairs != 0) {
        for (auto entry = queue_pairs_.begin(); entry != queue_pairs_.end();) {
            QueuePairRecord& queue_pair = (entry++)->second;
            put_into(queue_pair, queue_pair.requester == element ? kNoObject : queue_pair.requester,
                     queue_pair.responder == element ? kNoObject : queue_pair.responder);
            forget_if_idle(queue_pair.number);
        }
    }
    leaves_ -= found->second.kind == ElementKind::Leaf ? 1 : 0;
    if (found->second.parent) {
        --elements_.at(*found->second.parent).children;
    } else if (const auto context = contexts_.find(found->second.context); context != contexts_.end()) {
        --context->second;
    }
    elements_.erase(found);
    elements_changed_ = true;
}

}    // namespace rdmaqos
