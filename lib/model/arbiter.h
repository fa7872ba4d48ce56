// Which of many flows sends next over one link: the scheduler of a NIC's tree, one piece of a message at a time.
//
// A flow (a queue pair that has work) competes with the others of its leaf, the leaf with its siblings, and so on up to
// the link. Siblings share by start-time fair queueing: each has a virtual time that grows by what it sends, divided by
// its share, and the earliest one is next. Who had nothing to send, or was held by a cap, does not get that time back.
// Caps of elements and flows, and the link's speed, are token buckets: who had something to send and fell behind his
// rate may catch up, for at most `burst`. Where nobody had anything to send, nothing is caught up with: what comes next
// takes its time from its first bit on.
//
// A flow that has run out of work may be expected back: its program would post more if the host gave it a processor.
// Such a flow keeps its place. Where a rate holds back those that compete with it, they wait for it, no longer than can
// be caught up with. Without this, a sender that is off the processor more often gets less than its share.
//
// In the long run this gives every element what the solver says (solver.h), whatever the size of the pieces.
//
// Time is the caller's: any clock that does not go back. Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "lib/base/units.h"

namespace rdmaqos {

class Arbiter {
public:
    using Time = std::chrono::nanoseconds;
    // As the device numbers them; 0 is the link itself, above all of them.
    using ElementNumber = std::uint32_t;
    using FlowNumber = std::uint64_t;

    struct ElementSettings {
        ElementNumber parent = 0;    // one that is not there: the link
        std::uint32_t share = 1;     // 0 counts as 1
        std::optional<Bandwidth> cap;

        friend bool operator==(const ElementSettings&, const ElementSettings&) = default;
    };

    explicit Arbiter(Time burst);
    ~Arbiter();
    Arbiter(const Arbiter&) = delete;
    Arbiter& operator=(const Arbiter&) = delete;

    void set_link(Bandwidth speed);
    // All that there are. Flows in an element that is gone are the link's own children from now on.
    void set_elements(const std::map<ElementNumber, ElementSettings>& elements);
    // Adds the flow, or changes it. `leaf` not there: as 0.
    void set_flow(FlowNumber number, ElementNumber leaf, std::optional<Bandwidth> cap);
    void remove_flow(FlowNumber number);
    // Whether it has something to send. `late`: if it was expected, for how long its program had no processor to post
    // this with. So much of the time in which nobody used a rate above it can be caught up with.
    void set_backlogged(FlowNumber number, bool backlogged, Time now, Time late = Time(0));
    // It has run out of work, and is expected to have more before `burst` has passed.
    void expect(FlowNumber number, Time now);

    struct Turn {
        std::optional<FlowNumber> flow;       // may send now
        std::optional<Time> next;             // else: when somebody may; empty: nobody has anything to send
        std::optional<FlowNumber> awaited;    // others wait for it: set_backlogged(false) if it will not come back
    };
    [[nodiscard]] Turn turn(Time now);
    // The flow begins to send this much, now. When the last bit has left, by the slowest of the rates above it; not
    // before, the flow has its next turn.
    Time sent(FlowNumber number, std::size_t bytes, Time now);
    // Nobody has anything to send that one of the rates above it, or its own, would hold back; and this much takes so
    // long at that rate, or longer.
    [[nodiscard]] bool has_idle_rate(FlowNumber number, std::size_t bytes, Time least) const;
    // What was sent below each element since it came.
    [[nodiscard]] std::map<ElementNumber, std::uint64_t> bytes_of_elements() const;

private:
    struct Bucket {
        // At the rate, all that was sent would have been sent by then: who is ahead of it waits.
        Time full_until{0};
        // Somebody had to wait, and no time was lost since that cannot be caught up with.
        bool is_short = false;
        // Time was lost by waiting: until then nobody is waited for; `pause` later, the more often it happens.
        Time patient_from{0};
        Time pause{0};

        void charge(std::size_t bytes, Bandwidth rate, Time now, Time burst);
        // Nobody had anything to send until then: there is nothing to catch up with from before.
        void begin(Time from);
    };

    struct Node;
    struct Sibling {
        Node* parent = nullptr;
        std::uint32_t share = 1;
        std::optional<Bandwidth> cap;
        Bucket bucket;
        std::uint64_t virtual_time = 0;
        std::optional<std::size_t> place;    // among the children of its parent that compete
        std::optional<FlowNumber> flow;      // empty: an element
        bool is_backlogged = false;          // of a flow that has a place: else it is expected, until
        Time expected_until{0};
        bool is_in_queue = false;    // expected_
    };
    struct Node : Sibling {
        ElementNumber number = 0;
        std::uint64_t virtual_time_of_children = 0;
        std::uint64_t bytes = 0;
        std::size_t backlogged = 0;    // flows below it
        std::vector<Sibling*> competing;
    };
    struct Choice {
        Sibling* flow = nullptr;
        Sibling* awaited = nullptr;    // an expected flow, if others wait for it
        Time next = Time::max();       // when the first of those that a rate holds may send
    };

    [[nodiscard]] Node& node(ElementNumber number);
    void hang(Sibling& child, Node& parent);
    void begin(Sibling& child);
    static void end(Sibling& child);
    // One more flow at or below `child` has something to send.
    void enter(Sibling& child, Time late);
    static void leave(Sibling& child);
    void set_backlogged(Sibling& flow, bool backlogged, Time late);
    void forget_those_that_did_not_come();
    [[nodiscard]] bool is_held(Sibling& child, Time& next) const;
    enum class Outcome : std::uint8_t { Found, AllAreHeld, Await };
    // Who below `at` is next. `rate_is_short`: of an element above it.
    [[nodiscard]] Outcome choose(Node& at, bool rate_is_short, Choice& choice) const;

    const Time burst_;
    Time now_{0};    // as last given
    Node root_;      // whose cap is the link's speed
    std::map<ElementNumber, std::unique_ptr<Node>> elements_;
    std::map<FlowNumber, Sibling> flows_;
    // Those that are expected, or were, by when to look at them again.
    std::deque<std::pair<Time, FlowNumber>> expected_;
};

}    // namespace rdmaqos
