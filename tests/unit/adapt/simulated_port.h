// A port with a tree for each process, and a controller that measures it every 50 ms and sets the caps of their leaves.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "lib/adapt/cap_controller.h"
#include "lib/model/process_trees.h"
#include "lib/model/solver.h"

namespace rdmaqos::test {

using adapt::CapChange;
using adapt::LeafCopy;

inline constexpr Bandwidth kLink = Bandwidth::from_gbps(100);
inline constexpr double kSpeed = 1e8;    // of it, in kbit/s
inline constexpr Duration kStep = std::chrono::milliseconds(50);

// Numbers that are the same with every standard library.
class Dice {
public:
    explicit Dice(std::uint32_t seed) : engine_(seed) {}
    double between(double low, double high)
    {
        return low + (high - low) * (static_cast<double>(engine_()) / 4294967296.0);
    }
    std::uint32_t below(std::uint32_t end) { return static_cast<std::uint32_t>(between(0, end)); }
    double exponential(double mean) { return -mean * std::log(1 - between(0, 1)); }

private:
    std::mt19937 engine_;
};

// What is not known of a device: how it divides its port among processes.
using ProcessShares = std::map<std::uint64_t, std::uint32_t>;    // not in it: 1

class SimulatedPort {
public:
    // In kbit/s; a demand of the link's speed or more is all that it gets.
    using Rates = std::map<LeafCopy, double>;

    explicit SimulatedPort(Tree tree, ProcessShares shares = {}) : tree_(std::move(tree)), shares_(std::move(shares))
    {
        controller.set_tree(tree_);
    }

    void demand(const LeafCopy& copy, double kbps)
    {
        if (const auto found = demands_.find(copy); found == demands_.end() || found->second != kbps) {
            demands_[copy] = kbps;
            sent_.reset();
            ideal_.reset();
        }
    }
    void end(const LeafCopy& copy)
    {
        demands_.erase(copy);
        caps.erase(copy);
        sent_.reset();
        ideal_.reset();
    }

    // What copies send while the caps are as they are.
    [[nodiscard]] const Rates& sent() const
    {
        if (!sent_) {
            sent_ = solve_sent();
        }
        return *sent_;
    }
    // What they would send if all had one tree.
    [[nodiscard]] const Rates& ideal() const
    {
        if (!ideal_) {
            ideal_ = solve_ideal();
        }
        return *ideal_;
    }
    [[nodiscard]] double demanded(const LeafCopy& copy) const { return demands_.at(copy); }
    [[nodiscard]] const Rates& demands() const { return demands_; }

    void pass(Duration time)
    {
        for (const auto& [copy, kbps] : sent()) {
            bytes_[copy] += kbps * std::chrono::duration<double>(time).count();
        }
        passed_ += time;
    }
    // To the end of the step. `measured`: what is said to have been sent, for each rate that was.
    template <typename F>
    std::vector<CapChange> step(F measured)
    {
        pass(kStep - passed_);
        passed_ = {};
        now_ += kStep;
        adapt::Sample sample{now_, link, {}};
        for (const auto& [copy, kbps] : demands_) {
            const double sent = bytes_[copy] / std::chrono::duration<double>(kStep).count();
            carried_ += sent * (1 + headers) + foreign_kbps / static_cast<double>(demands_.size());
            sample.sent_kbps.emplace(copy, measured(sent));
        }
        bytes_.clear();
        if (++steps_ % 20 == 0) {
            sample.port_kbps = std::exchange(carried_, 0.0) / 20;
        }
        const auto changes = controller.step(sample);
        apply(changes);
        return changes;
    }
    std::vector<CapChange> step()
    {
        return step([](double kbps) { return kbps; });
    }
    void set_link(Bandwidth speed)
    {
        link = speed;
        sent_.reset();
        ideal_.reset();
    }
    void apply(const std::vector<CapChange>& changes)
    {
        for (const auto& change : changes) {
            caps[change.copy] = change.cap;
            sent_.reset();
        }
    }

    adapt::CapController controller;
    std::map<LeafCopy, std::optional<Bandwidth>> caps;
    // Sent outside of the tree, whatever is sent in it.
    double foreign_kbps = 0;
    Bandwidth link = kLink;
    // In what the port carries, for what programs send.
    double headers = 0;

private:
    [[nodiscard]] Rates solve_sent() const
    {
        ProcessSenders senders;
        for (const auto& [copy, kbps] : demands_) {
            senders[copy.process].add(copy.leaf, std::nullopt);
        }
        Tree trees = trees_of_processes(tree_, senders, CapMode::Whole);
        for (const auto& [process, share] : shares_) {
            if (const auto root = trees.find(path_in_process(process, ElementPath::root())); root != trees.end()) {
                root->second.attributes.share = share;
            }
        }
        Demands demands;
        for (const auto& [copy, kbps] : demands_) {
            const ElementPath path = path_in_process(copy.process, copy.leaf);
            if (const auto cap = caps.find(copy); cap != caps.end() && cap->second) {
                trees.at(path).attributes.max_rate = cap->second;
            }
            demands.emplace(path, Bandwidth::from_computed(kbps));
        }
        return by_copy(solve(trees, free_for_all(), demands),
                       [](const LeafCopy& copy) { return path_in_process(copy.process, copy.leaf); });
    }
    [[nodiscard]] Rates solve_ideal() const
    {
        Tree tree = tree_;
        Demands demands;
        const auto path_of = [](const LeafCopy& copy) { return path_of_copy(copy.process, copy.leaf); };
        for (const auto& [copy, kbps] : demands_) {
            add_copy(tree, copy.process, copy.leaf);
            demands.emplace(path_of(copy), Bandwidth::from_computed(kbps));
        }
        return by_copy(solve(tree, free_for_all(), demands), path_of);
    }
    [[nodiscard]] Bandwidth free_for_all() const
    {
        return Bandwidth::from_computed(static_cast<double>(link.kbps()) - foreign_kbps);
    }
    template <typename F>
    [[nodiscard]] Rates by_copy(const Allocations& solved, F path_of) const
    {
        Rates rates;
        for (const auto& [copy, kbps] : demands_) {
            rates.emplace(copy, solved.at(path_of(copy)).kbps);
        }
        return rates;
    }

    const Tree tree_;
    const ProcessShares shares_;
    Rates demands_;
    Rates bytes_;    // since the last step
    Duration passed_{};
    TimePoint now_{};
    int steps_ = 0;
    double carried_ = 0;    // kbit/s of steps, since the controller was given it
    mutable std::optional<Rates> sent_;
    mutable std::optional<Rates> ideal_;
};

}    // namespace rdmaqos::test
