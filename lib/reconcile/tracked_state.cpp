#include "lib/reconcile/tracked_state.h"

#include <algorithm>
#include <cassert>
#include <iterator>

namespace rdmaqos {
namespace {

void add_to(std::uint32_t& counter, int by)
{
    assert(by >= 0 || counter >= static_cast<std::uint32_t>(-by));
    counter = by >= 0 ? counter + static_cast<std::uint32_t>(by) : counter - static_cast<std::uint32_t>(-by);
}

bool is_one_of(const std::vector<ElementId>& doomed, std::optional<ElementId> leaf)
{
    return leaf && std::ranges::find(doomed, *leaf) != doomed.end();
}

}    // namespace

std::vector<ElementId> TrackedState::with_path(const ElementPath& path) const
{
    std::vector<ElementId> ids;
    for (auto it = by_path_.lower_bound({path, ElementId{0}}); it != by_path_.end() && it->first == path; ++it) {
        ids.push_back(it->second);
    }
    std::reverse(ids.begin(), ids.end());
    return ids;
}

ElementPath TrackedState::path(std::optional<ElementId> id) const
{
    return id ? actual_.elements.at(*id).path : ElementPath();
}

void TrackedState::add(ElementId id, ActualElement element, ElementHandle handle)
{
    if (element.parent) {
        add_to(records_.at(*element.parent).usage.children, 1);
    }
    by_path_.emplace(element.path, id);
    records_.emplace(id, Record{handle, {}});
    leaves_ += element.kind == ElementKind::Leaf ? 1 : 0;
    shared_elements_.insert_or_assign(id, element);
    actual_.elements.emplace(id, std::move(element));
    actual_.next_id = std::max(actual_.next_id, static_cast<std::uint64_t>(id) + 1);
    ++revision_;
    record(id);
}

void TrackedState::set_attributes(ElementId id, const ElementAttributes& attributes)
{
    ActualElement& element = actual_.elements.at(id);
    element.attributes = attributes;
    shared_elements_.insert_or_assign(id, element);
    ++revision_;
    record(id);
}

void TrackedState::remove(ElementId id)
{
    const auto element = actual_.elements.find(id);
    assert(element != actual_.elements.end());
    assert(usage(id).children == 0 && !usage(id).holds_queue_pairs());
    if (element->second.parent) {
        add_to(records_.at(*element->second.parent).usage.children, -1);
    }
    by_path_.erase({element->second.path, id});
    records_.erase(id);
    leaves_ -= element->second.kind == ElementKind::Leaf ? 1 : 0;
    shared_elements_.erase(id);
    actual_.elements.erase(element);
    ++revision_;
    record(id);
}

std::vector<RemovedElement> TrackedState::remove_subtree(ElementId id)
{
    std::vector<ElementId> doomed{id};
    for (std::size_t i = 0; i < doomed.size(); ++i) {
        const ElementId parent = doomed[i];
        for (const auto& [candidate, element] : actual_.elements) {
            if (element.parent == parent) {
                doomed.push_back(candidate);
            }
        }
    }
    const auto goes = [&](std::optional<ElementId> leaf) { return is_one_of(doomed, leaf); };
    std::vector<std::pair<QueuePairId, ActualPlacement>> stranded;
    for (const auto& [queue_pair, placement] : actual_.queue_pairs) {
        if (goes(placement.requester) || goes(placement.responder)) {
            stranded.emplace_back(queue_pair, placement);
        }
    }
    for (const auto& [queue_pair, placement] : stranded) {
        place(queue_pair, goes(placement.requester) ? std::nullopt : placement.requester,
              goes(placement.responder) ? std::nullopt : placement.responder);
    }
    strand_left_in(doomed);
    std::vector<RemovedElement> removed;
    for (auto it = doomed.rbegin(); it != doomed.rend(); ++it) {
        removed.push_back({*it, path(*it), handle(*it)});
        remove(*it);
    }
    return removed;
}

void TrackedState::count(const ActualPlacement& placement, int by)
{
    if (placement.requester) {
        add_to(records_.at(*placement.requester).usage.requesters, by);
        count_in(actual_.elements.at(*placement.requester).path, by);
    }
    if (placement.responder) {
        add_to(records_.at(*placement.responder).usage.responders, by);
    }
    revision_ += placement.requester || placement.responder ? 1 : 0;
}

// By path: an old and a new element of the same one may both hold queue pairs.
void TrackedState::count_in(const ElementPath& leaf, int by)
{
    const std::uint32_t* before = requesters_in_.find(leaf);
    std::uint32_t now = before == nullptr ? 0 : *before;
    add_to(now, by);
    if (now == 0) {
        requesters_in_.erase(leaf);
    } else {
        requesters_in_.insert_or_assign(leaf, now);
    }
}

void TrackedState::erase_if_idle(QueuePairId queue_pair)
{
    const auto it = actual_.queue_pairs.find(queue_pair);
    if (it != actual_.queue_pairs.end() && it->second == ActualPlacement{}) {
        actual_.queue_pairs.erase(it);
    }
    record(queue_pair);
}

void TrackedState::place(QueuePairId queue_pair, std::optional<ElementId> requester, std::optional<ElementId> responder)
{
    auto& placement = actual_.queue_pairs[queue_pair];
    count(placement, -1);
    placement.requester = requester;
    placement.responder = responder;
    count(placement, 1);
    erase_if_idle(queue_pair);
}

void TrackedState::set_rate(QueuePairId queue_pair, const std::optional<RateLimit>& rate)
{
    actual_.queue_pairs[queue_pair].rate = rate;
    erase_if_idle(queue_pair);
}

void TrackedState::forget(QueuePairId queue_pair)
{
    const auto it = actual_.queue_pairs.find(queue_pair);
    if (it != actual_.queue_pairs.end()) {
        count(it->second, -1);
        actual_.queue_pairs.erase(it);
        record(queue_pair);
    }
    owners_.erase(queue_pair);
}

void TrackedState::add_left(const LeftQueuePair& queue_pair)
{
    forget_left(queue_pair.queue_pair);
    count(queue_pair.placement, 1);
    left_.emplace(queue_pair.queue_pair, queue_pair);
    record(queue_pair.queue_pair);
}

bool TrackedState::claim_left(QueuePairId queue_pair)
{
    auto claimed = left_.extract(queue_pair);
    if (claimed.empty()) {
        return false;
    }
    actual_.queue_pairs.insert_or_assign(queue_pair, claimed.mapped().placement);
    owners_.try_emplace(queue_pair, claimed.mapped().owner);
    return true;
}

void TrackedState::forget_left(QueuePairId queue_pair)
{
    if (const auto gone = left_.extract(queue_pair); !gone.empty()) {
        count(gone.mapped().placement, -1);
        record(queue_pair);
    }
}

void TrackedState::strand_left_in(const std::vector<ElementId>& doomed)
{
    std::vector<QueuePairId> stranded;
    for (const auto& [queue_pair, left] : left_) {
        if (is_one_of(doomed, left.placement.requester) || is_one_of(doomed, left.placement.responder)) {
            stranded.push_back(queue_pair);
        }
    }
    for (const auto queue_pair : stranded) {
        forget_left(queue_pair);
    }
}

void TrackedState::record(ElementId id)
{
    if (recorder_ == nullptr) {
        return;
    }
    if (const auto found = actual_.elements.find(id); found != actual_.elements.end()) {
        recorder_->element_is({id, found->second, handle(id)});
    } else {
        recorder_->element_is_gone(id);
    }
}

void TrackedState::record(QueuePairId queue_pair)
{
    if (recorder_ == nullptr) {
        return;
    }
    if (const auto found = actual_.queue_pairs.find(queue_pair); found != actual_.queue_pairs.end()) {
        const auto owner = owners_.find(queue_pair);
        recorder_->queue_pair_is(
            {queue_pair, owner == owners_.end() ? ClientFile::Owner{} : owner->second, found->second});
    } else if (const auto left = left_.find(queue_pair); left != left_.end()) {
        recorder_->queue_pair_is(left->second);
    } else {
        recorder_->queue_pair_is_gone(queue_pair);
    }
}

void TrackedState::clear()
{
    while (!left_.empty()) {
        forget_left(left_.begin()->first);
    }
    while (!actual_.queue_pairs.empty()) {
        forget(actual_.queue_pairs.begin()->first);
    }
    while (!actual_.elements.empty()) {
        remove(std::prev(actual_.elements.end())->first);
    }
    owners_.clear();
    ++revision_;
}

}    // namespace rdmaqos
