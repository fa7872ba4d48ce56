// What one reconciler leaves on a device for the next one, of another process: the elements, and where the queue pairs
// are that it has put into them. The next one cannot reach those until their programs name them again, but must not
// take their leaves away.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lib/nic/backend.h"
#include "lib/tree/plan.h"

namespace rdmaqos {

struct LeftElement {
    ElementId id{};
    ActualElement element;
    ElementHandle handle{};

    friend bool operator==(const LeftElement&, const LeftElement&) = default;
};

struct LeftQueuePair {
    QueuePairId queue_pair;
    ClientFile::Owner owner;    // its process; pid 0: not known
    ActualPlacement placement;

    friend bool operator==(const LeftQueuePair&, const LeftQueuePair&) = default;
};

struct Inheritance {
    std::vector<LeftElement> elements;    // parents first
    std::vector<LeftQueuePair> queue_pairs;
    BackendNotes notes;

    [[nodiscard]] bool empty() const { return elements.empty() && queue_pairs.empty() && notes.empty(); }

    friend bool operator==(const Inheritance&, const Inheritance&) = default;
};

// Keeps what is believed of a device, as it changes. What a call says replaces what was said of the same element or
// queue pair before.
class StateRecorder {
public:
    virtual ~StateRecorder() = default;

    virtual void element_is(const LeftElement& element) = 0;
    virtual void element_is_gone(ElementId element) = 0;
    virtual void queue_pair_is(const LeftQueuePair& queue_pair) = 0;
    virtual void queue_pair_is_gone(QueuePairId queue_pair) = 0;
    // Of the backend; as NoteKeeper.
    virtual void note_is(const std::string& key, const std::string& text) = 0;
};

// Whether this process still runs.
using ProcessRuns = std::function<bool(const ClientFile::Owner& process)>;

}    // namespace rdmaqos
