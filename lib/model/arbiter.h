// Which of many flows sends next over one link: the scheduler of a NIC's tree, one piece of a message at a time.
//
// A flow (a queue pair that has work) competes with the others of its leaf, the leaf with its siblings, and so on up to
// the link. Siblings share by start-time fair queueing: each has a virtual time that grows by what it sends, divided by
// its share, and the earliest one is next. Who had nothing to send, or was held by a cap, does not get that time back.
// Caps of elements and flows, and the link's speed, are token buckets: who has been below his rate may catch up, for at
// most `burst`.
//
// In the long run this gives every element what the solver says (solver.h), whatever the size of the pieces.
//
// Time is the caller's: any clock that does not go back. Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
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

    void set_link(Bandwidth speed) { link_speed_ = speed; }
    // All that there are. Flows in an element that is gone are the link's own children from now on.
    void set_elements(const std::map<ElementNumber, ElementSettings>& elements);
    // Adds the flow, or changes it. `leaf` not there: as 0.
    void set_flow(FlowNumber number, ElementNumber leaf, std::optional<Bandwidth> cap);
    void remove_flow(FlowNumber flow);
    // Whether it has something to send.
    void set_backlogged(FlowNumber number, bool backlogged);

    struct Turn {
        std::optional<FlowNumber> flow;    // may send now
        std::optional<Time> next;          // else: when somebody may; empty: nobody has anything to send
    };
    [[nodiscard]] Turn turn(Time now);
    // The flow has sent this much, now.
    void sent(FlowNumber number, std::size_t bytes, Time now);

private:
    // The time at which all that was sent would have been sent at the rate: who is ahead of it waits.
    struct Bucket {
        Time full_until{0};

        void charge(std::size_t bytes, Bandwidth rate, Time now, Time burst);
    };

    struct Node;
    struct Sibling {
        Node* parent = nullptr;
        std::uint32_t share = 1;
        std::optional<Bandwidth> cap;
        Bucket bucket;
        std::uint64_t virtual_time = 0;
        std::optional<std::size_t> place;    // among the backlogged children of its parent
        std::optional<FlowNumber> flow;      // empty: an element
    };
    struct Node : Sibling {
        ElementNumber number = 0;
        std::uint64_t virtual_time_of_children = 0;
        std::vector<Sibling*> backlogged;
    };

    [[nodiscard]] Node& node(ElementNumber number);
    void hang(Sibling& child, Node& parent);
    static void begin(Sibling& child);
    static void end(Sibling& child);
    // The flow below `at` that is next; null: all wait, and `next` becomes no later than the first of them may send.
    [[nodiscard]] Sibling* choose(Node& at, Time now, Time& next) const;

    const Time burst_;
    Bandwidth link_speed_;
    Bucket link_;
    Node root_;
    std::map<ElementNumber, std::unique_ptr<Node>> elements_;
    std::map<FlowNumber, Sibling> flows_;
};

}    // namespace rdmaqos
