// Sends single operations to a device and records in the TrackedState what then is true. What was written to an element
// is read back: a device that says yes and does something else is a failure, and what it did is what is recorded, so
// that the next diff sees it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/nic/backend.h"
#include "lib/reconcile/reconciler.h"
#include "lib/reconcile/tracked_state.h"

namespace rdmaqos {

// One attribute in which an element differs from what is believed of it.
struct Mismatch {
    DriftKind kind;
    std::string expected;
    std::string found;
};

// "share 60", "no max-rate", "max-rate 40 Gbit/s"
[[nodiscard]] std::vector<Mismatch> compare(const TrackedState& device, ElementId id, const ElementState& found);

// Sounds as if an element named in the call is not on the device; for a query it is proof.
[[nodiscard]] bool says_missing(const Error& error);

class DeviceWriter {
public:
    // All must outlive the writer.
    DeviceWriter(Backend& backend, const Clock& clock, TrackedState& device, Counters& counters,
                 OperationsByKind& operations, std::uint32_t busy_retries);

    // After a failure the element may still exist (then only its read-back failed).
    [[nodiscard]] Result<void> create(const CreateElement& operation);
    [[nodiscard]] Result<void> modify(const ModifyElement& operation);
    // The element must be unused as far as is known.
    [[nodiscard]] Result<void> destroy(ElementId id);
    [[nodiscard]] Result<void> cap_copy(const std::shared_ptr<ClientFile>& file, ElementId leaf,
                                        std::optional<Bandwidth> cap);
    // BadQueuePair: the queue pair does not exist any longer; its state is then left to the caller.
    [[nodiscard]] Result<void> place(const QueuePairRef& ref, std::optional<ElementId> requester,
                                     std::optional<ElementId> responder);
    [[nodiscard]] Result<void> set_rate(const QueuePairRef& ref, const std::optional<RateLimit>& rate);

    [[nodiscard]] Result<ElementState> query(ElementId id);
    // Reads an element and records what is found. What is missing, or of another kind or parent than it should be, is
    // no longer of use: it is abandoned together with what is below it.
    [[nodiscard]] Result<void> read_back(ElementId id);
    // For what a query has already found: as read_back() does.
    void record(ElementId id, const ElementState& found);
    void record_missing(ElementId id);

    // Elements whose state is not known for sure, because a call failed half-way.
    [[nodiscard]] const std::set<ElementId>& doubtful() const { return doubtful_; }
    void doubt(ElementId id) { doubtful_.insert(id); }

    // Whether an element was said to be missing since the last question. One answer is no proof.
    [[nodiscard]] bool take_missing() { return std::exchange(missing_, false); }

    // Elements on the device that nobody can use; children first.
    [[nodiscard]] const std::vector<RemovedElement>& abandoned() const { return abandoned_; }
    // Tries to destroy them; those that are still busy stay.
    void destroy_abandoned();

    // The device has said DeviceGone; nothing is sent any more.
    [[nodiscard]] bool gone() const { return gone_; }
    void forget_all();

private:
    template <typename Call>
    auto send(OperationKind kind, Call call);
    template <typename Call>
    auto send_to_queue_pair(OperationKind kind, Call call);
    [[nodiscard]] Error explain(Error error, std::initializer_list<std::optional<ElementId>> involved);
    [[nodiscard]] bool is_gone(ElementHandle element, const Error& error);
    void abandon(ElementId id, bool still_there);
    [[nodiscard]] std::optional<ElementHandle> handle(std::optional<ElementId> id) const;

    Backend& backend_;
    const Clock& clock_;
    TrackedState& device_;
    Counters& counters_;
    OperationsByKind& operations_;
    std::uint32_t busy_retries_;
    std::set<ElementId> doubtful_;
    std::vector<RemovedElement> abandoned_;
    bool missing_ = false;
    bool gone_ = false;
};

}    // namespace rdmaqos
