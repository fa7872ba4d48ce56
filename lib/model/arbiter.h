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
// Above the tree are the traffic classes of the port (port_classes.h): a class of a higher rank is first, those of one
// rank share as siblings do. An element has a place in each class in which something below it is, with a virtual time
// there; its cap is one for all of them.
//
//     the link ─▶ a rank ─▶ a class of it ─▶ elements ─▶ a flow
//
// In the long run this gives every element what the solver says (solver.h, class_solver.h), whatever the size of the
// pieces. Where classes compete for one cap, the sum agrees, and the parts need not.
//
// Time is the caller's: any clock that does not go back. Not thread-safe.
#pragma once

#include <array>
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
#include "lib/model/port_classes.h"

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
    // All in class 0 until it is called.
    void set_classes(const PortClasses& port);
    // Adds the flow, or changes it. `leaf` not there: as 0. `port_class`: below kPortClasses.
    void set_flow(FlowNumber number, ElementNumber leaf, std::optional<Bandwidth> cap, std::uint8_t port_class = 0);
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
    [[nodiscard]] std::array<std::uint64_t, kPortClasses> bytes_of_classes() const;

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

    // What holds a flow, or all places of an element.
    struct Rate {
        std::optional<Bandwidth> cap;
        Bucket bucket;
        std::size_t competing = 0;     // its places that compete
        std::size_t backlogged = 0;    // flows below it
        std::uint64_t bytes = 0;       // sent below it

        // Another one starts from zero.
        void set_cap(std::optional<Bandwidth> to, Time now);
    };
    struct Node;
    struct Sibling {
        Node* parent = nullptr;
        unsigned rank = 0;    // higher ones are first
        std::uint32_t share = 1;
        Rate* rate = nullptr;
        std::uint64_t virtual_time = 0;
        std::optional<std::size_t> place;    // among the children of its parent that compete
        std::optional<FlowNumber> flow;      // empty: an element
        bool is_backlogged = false;          // of a flow that has a place: else it is expected, until
        Time expected_until{0};
        bool is_in_queue = false;    // expected_
    };
    // The link, a rank, a class, or the place of an element in a class.
    struct Node : Sibling {
        ElementNumber number = 0;    // 0: no element
        std::uint64_t virtual_time_of_children = 0;
        std::size_t backlogged = 0;    // flows below it
        std::vector<Sibling*> competing;
    };
    struct Flow : Sibling {
        Rate own;
        std::uint8_t port_class = 0;
    };
    struct Element {
        ElementSettings settings;
        Rate rate;
        std::array<std::unique_ptr<Node>, kPortClasses> in_class;    // null: nothing was there yet
    };
    static constexpr std::size_t kRanks = kPortClasses + 2;
    // What is always there, with the rate of each.
    struct Port {
        Node link;
        Rate speed;
        std::array<Node, kRanks> ranks;
        std::array<Rate, kRanks> rates_of_ranks;    // without a cap
        std::array<Node, kPortClasses> classes;
        std::array<Rate, kPortClasses> rates_of_classes;
    };
    struct Choice {
        Sibling* flow = nullptr;
        Sibling* awaited = nullptr;    // an expected flow, if others wait for it
        Time next = Time::max();       // when the first of those that a rate holds may send
    };

    // The place of an element in a class, made if need be; of one that is not there, the class.
    [[nodiscard]] Node& node(std::uint8_t port_class, ElementNumber number);
    [[nodiscard]] ElementNumber parent_of(ElementNumber number, const Element& element) const;
    static void count_backlogged(Node* from, std::size_t flows, Time since);
    void hang(Sibling& child, Node& parent);
    void begin(Sibling& child);
    static void end(Sibling& child);
    static void discount_backlogged(Node* from, std::size_t flows);
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
    Port port_;
    std::map<ElementNumber, Element> elements_;
    std::map<FlowNumber, Flow> flows_;
    // Those that are expected, or were, by when to look at them again.
    std::deque<std::pair<Time, FlowNumber>> expected_;
};

}    // namespace rdmaqos
