// Shares between processes on a device that only has a tree for each of them (attach mode per-process): the caps of
// their leaves follow what is measured, so that each gets what the policy's tree would give it.
//
//     policy       process    sends      weighted max-min    cap of its leaf
//     rpc   70     17         all        70 %                70.7 %
//     bulk  30     18         all        30 %                30.3 %
//
//     rpc   70     17         20 %       20 %                70 %, its part, so that it gets that at once
//     bulk  30     18         all        80 %                80.8 %
//
// How a device divides itself among processes is not known, and nothing here depends on it: where as much is sent as
// the caps of those who want more allow, each has its part under any scheduler.
//
// What a process would send if nothing held it cannot be measured. What is known of each copy of a leaf is one of two:
//
//   * it wants more: it sends as much as its cap allows, or sends more than before while the port is full;
//   * it has enough, with what it sends: it was seen below its cap while the port was not full.
//
// While the port is full, one that had enough and stays below its cap may be held by the others. It is not, as long as
// it sends what it has sent; so every half second, who has most beyond what it is promised leaves some of the port
// free for one step, and who takes that wants more.
//
// Rates of copies and of the port need not be measured alike: what a port carries has headers.
//
// A step is a function of what was measured and of the steps before. Not thread-safe.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/tree/element.h"

namespace rdmaqos::adapt {

// A leaf in the tree of one process.
struct LeafCopy {
    std::uint64_t process = 0;    // any number that is its own
    ElementPath leaf;             // in the policy's tree

    friend auto operator<=>(const LeafCopy&, const LeafCopy&) = default;
};

struct Sample {
    TimePoint taken_at{};
    Bandwidth link_speed;
    std::map<LeafCopy, double> sent_kbps;    // since the sample before; of all copies that are measured
    // All that the port has sent since the last sample that had this. Once a second is enough; empty: not known.
    std::optional<double> port_kbps{};
};

struct CapChange {
    LeafCopy copy;
    std::optional<Bandwidth> cap;    // empty: the policy's cap of the leaf, if it has one

    friend bool operator==(const CapChange&, const CapChange&) = default;
};

// Of any period of a second.
inline constexpr std::size_t kMostChanges = 20;

class CapController {
public:
    // The tree as the policy has it, of which processes have copies. Those of leaves that stay are known further on.
    void set_tree(Tree tree) { tree_ = std::move(tree); }

    // What to change, most urgent first. Samples are to be 20 to 200 ms apart; a copy that is not in a sample has
    // ended. The caps are taken to be set; where one is not, say so before the next step.
    [[nodiscard]] std::vector<CapChange> step(const Sample& sample);
    void not_set(const LeafCopy& copy);

    // Nobody wants more than it has, and the port has room: nothing needs to be seen at once.
    [[nodiscard]] bool is_at_rest() const { return has_room_since_.has_value(); }

    // What holds without measuring: each has an equal part of the caps that it is below, so that those hold for all
    // processes together. `copies`: all there are. Forgets what was measured.
    [[nodiscard]] std::vector<CapChange> stop(const std::vector<LeafCopy>& copies);

private:
    struct State {
        std::optional<Bandwidth> cap;
        bool is_unknown = false;    // the device has not taken it
        bool wants_more = false;
        bool wanted_more = false;    // in the step before
        double enough_kbps = 0;      // if it does not want more
        double sent_kbps = 0;
        double part_kbps = 0;    // in the step before
        std::optional<TimePoint> sent_at;
    };
    using Rates = std::map<LeafCopy, double>;    // kbit/s
    struct Parts {
        Rates now;         // those who want more get all they can
        Rates due;         // all who have sent lately want more
        Rates promised;    // all want more
    };
    struct Probe {
        const LeafCopy* copy = nullptr;
        double kbps = 0;    // that it leaves for one step
    };
    struct Target {
        LeafCopy copy;
        State* state = nullptr;
        double cap_kbps = 0;
        double urgency = 0;
    };

    [[nodiscard]] static bool is_active(const State& state, TimePoint now);
    template <typename F>
    void for_caps_above(const ElementPath& leaf, F call) const;
    // What a copy may send at most: the link, or the lowest cap of the policy above it.
    [[nodiscard]] double most_of(const LeafCopy& copy, double link) const;
    [[nodiscard]] double cap_in_force(const LeafCopy& copy, const State& state, double link) const;
    // Elements in the trees of processes that hold those below them.
    [[nodiscard]] std::set<std::pair<std::uint64_t, ElementPath>> full_elements() const;
    void measure_room(const Sample& sample);
    void observe(const Sample& sample);
    [[nodiscard]] Parts parts(const Sample& sample) const;
    [[nodiscard]] bool some_wait(const Parts& parts) const;
    // What it gets at least as soon as it wants it.
    [[nodiscard]] static double part_of(const LeafCopy& copy, const State& state, const Sample& sample,
                                        const Parts& parts);
    [[nodiscard]] double cap_of_contented(const LeafCopy& copy, const State& state, const Sample& sample,
                                          const Parts& parts, bool others_wait) const;
    // Who has most beyond what it is promised, while others send less than that and seem to have enough.
    [[nodiscard]] std::optional<Probe> probe(const Sample& sample, const Parts& parts);
    [[nodiscard]] std::vector<CapChange> choose(std::vector<Target> targets, const Sample& sample);

    Tree tree_;
    std::map<LeafCopy, State> copies_;
    std::deque<TimePoint> changes_;    // of the last second
    std::optional<TimePoint> has_room_since_;
    std::optional<TimePoint> probed_at_;
    double probe_kbps_ = 0;    // left free by the step before
    Bandwidth link_;
    std::optional<double> room_kbps_;    // for all copies
    bool is_full_ = false;               // by what copies send
    double all_kbps_ = 0;                // that they have sent since the last sample with the port's rate
    double all_count_ = 0;               // of samples
};

}    // namespace rdmaqos::adapt
