// What the reconciler believes to be on the device: the actual state with its logical ids, the backend's handle of each
// element, and counts kept up to date with every change, so that nobody has to walk 10,000 queue pairs to ask.
//
// Queue pairs that an earlier process left in leaves (inheritance.h) are counted there, but are not part of the actual
// state: nobody here can move them.
//
// Pure bookkeeping: it decides nothing and never talks to the device.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "lib/base/shared_map.h"
#include "lib/nic/backend.h"
#include "lib/reconcile/inheritance.h"
#include "lib/tree/plan.h"

namespace rdmaqos {

// What an element holds.
struct ElementUsage {
    std::uint32_t children = 0;
    std::uint32_t requesters = 0;    // queue pairs that send through this leaf
    std::uint32_t responders = 0;    // queue pairs whose READ responses go through it

    [[nodiscard]] bool holds_queue_pairs() const { return requesters != 0 || responders != 0; }
};

struct RemovedElement {
    ElementId id;
    ElementPath path;
    ElementHandle handle;
};

class TrackedState {
public:
    [[nodiscard]] const ActualState& actual() const { return actual_; }
    // The elements once more, to be shared.
    [[nodiscard]] const SharedMap<ElementId, ActualElement>& shared_elements() const { return shared_elements_; }
    [[nodiscard]] std::size_t leaves() const { return leaves_; }
    // Changes with every change of elements or counts.
    [[nodiscard]] std::uint64_t revision() const { return revision_; }

    [[nodiscard]] bool exists(ElementId id) const { return actual_.elements.contains(id); }
    // Newest first. Several while an element is replaced by another of the same path.
    [[nodiscard]] std::vector<ElementId> with_path(const ElementPath& path) const;
    [[nodiscard]] ElementHandle handle(ElementId id) const { return records_.at(id).handle; }
    [[nodiscard]] const ElementUsage& usage(ElementId id) const { return records_.at(id).usage; }
    // Empty for no element.
    [[nodiscard]] ElementPath path(std::optional<ElementId> id) const;
    // Queue pairs per leaf, requester side; leaves without any are left out.
    [[nodiscard]] const SharedMap<ElementPath, std::uint32_t>& queue_pairs_in() const { return requesters_in_; }

    void add(ElementId id, ActualElement element, ElementHandle handle);
    void set_attributes(ElementId id, const ElementAttributes& attributes);
    // The element must be unused.
    void remove(ElementId id);
    // The element with all below it, children first; its queue pairs are in no leaf afterwards.
    std::vector<RemovedElement> remove_subtree(ElementId id);

    void place(QueuePairId queue_pair, std::optional<ElementId> requester, std::optional<ElementId> responder);
    void set_rate(QueuePairId queue_pair, const std::optional<RateLimit>& rate);
    void forget(QueuePairId queue_pair);

    // Whose it is, for the recorder.
    void set_owner(QueuePairId queue_pair, const ClientFile::Owner& owner) { owners_[queue_pair] = owner; }

    // The leaves must exist.
    void add_left(const LeftQueuePair& queue_pair);
    // Its program has named it again: it is in the actual state, where it was left.
    // False: it was not left.
    bool claim_left(QueuePairId queue_pair);
    [[nodiscard]] const std::map<QueuePairId, LeftQueuePair>& left() const { return left_; }
    void forget_left(QueuePairId queue_pair);

    // Nothing is left, but ids are not used again.
    void clear();

    // Is notified of every change from now on. Must outlive this.
    void set_recorder(StateRecorder& recorder) { recorder_ = &recorder; }

private:
    struct Record {
        ElementHandle handle;
        ElementUsage usage;
    };

    void count(const ActualPlacement& placement, int by);
    void count_in(const ElementPath& leaf, int by);
    void erase_if_idle(QueuePairId queue_pair);
    void strand_left_in(const std::vector<ElementId>& doomed);
    void record(ElementId id);
    void record(QueuePairId queue_pair);

    ActualState actual_;
    SharedMap<ElementId, ActualElement> shared_elements_;
    SharedMap<ElementPath, std::uint32_t> requesters_in_;
    std::size_t leaves_ = 0;
    std::map<ElementId, Record> records_;
    std::set<std::pair<ElementPath, ElementId>> by_path_;
    std::map<QueuePairId, ClientFile::Owner> owners_;
    std::map<QueuePairId, LeftQueuePair> left_;
    StateRecorder* recorder_ = nullptr;
    std::uint64_t revision_ = 0;
};

}    // namespace rdmaqos
