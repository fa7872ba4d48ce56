#include "lib/model/class_solver.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include "lib/model/indexed_tree.h"

namespace rdmaqos {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();
constexpr std::size_t kRoot = 0;

struct Reason {
    Bottleneck what = Bottleneck::Demand;
    ElementPath at;
    std::uint8_t port_class = 0;
};

// What an element has in one class.
struct Part {
    double kbps = 0;
    double speed = 0;             // how fast it fills
    std::size_t unfilled = 0;     // leaves at or below it that are not full
    std::size_t weight = 0;       // of its children that are not full
    bool sends = false;           // something at or below it was asked for
    double demand = 0;            // of a leaf
    std::optional<Reason> why;    // something above its leaves has held it; empty: they have what they ask for
};

struct Class {
    std::uint8_t number = 0;
    unsigned rank = 0;
    double weight = 1;
    double cap = kUnlimited;
    std::vector<Part> parts;    // as the indexed tree

    [[nodiscard]] bool is_full() const { return parts[kRoot].unfilled == 0; }
};

class Filling {
public:
    Filling(const Tree& tree, Bandwidth link_speed, const PortClasses& port, const ClassDemands& demands)
        : tree_(index_tree(tree)), link_left_(static_cast<double>(link_speed.kbps())), link_(link_left_)
    {
        for (const auto& [number, wanted] : demands) {
            if (!tree_.empty()) {
                add(number, port, wanted);
            }
        }
    }

    ClassAllocations fill()
    {
        std::vector<unsigned> ranks;
        for (const Class& each : classes_) {
            ranks.push_back(each.rank);
        }
        std::sort(ranks.begin(), ranks.end(), std::greater<>());
        ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
        for (const unsigned rank : ranks) {
            fill(rank);
        }
        return result();
    }

private:
    void add(std::uint8_t number, const PortClasses& port, const Demands& wanted)
    {
        const PortClass& of_port = port.classes.at(number);
        Class added{number, rank_of(port, number), static_cast<double>(weight_of(of_port)), kUnlimited, {}};
        if (of_port.max_rate) {
            added.cap = static_cast<double>(of_port.max_rate->kbps());
        }
        added.parts.resize(tree_.size());
        for (std::size_t at = tree_.size(); at-- > 0;) {
            Part& part = added.parts[at];
            const auto demand = tree_[at].kind == ElementKind::Leaf ? wanted.find(*tree_[at].path) : wanted.end();
            if (demand != wanted.end()) {
                part.demand = demand->second ? static_cast<double>(demand->second->kbps()) : kUnlimited;
                part.sends = true;
                part.unfilled = part.demand > 0 ? 1 : 0;
            }
            if (at != kRoot) {
                Part& above = added.parts[tree_[at].parent];
                above.sends = above.sends || part.sends;
                above.unfilled += part.unfilled;
            }
        }
        classes_.push_back(std::move(added));
    }

    void fill(unsigned rank)
    {
        while (set_speeds(rank)) {
            const double step = longest_step();
            for (Class& each : classes_) {
                for (Part& part : each.parts) {
                    part.kbps += step * part.speed;
                }
            }
            link_left_ = std::max(0.0, link_left_ - step);
            end_what_is_full();
        }
    }

    // False: all classes of the rank are full.
    bool set_speeds(unsigned rank)
    {
        double weight = 0;
        for (const Class& each : classes_) {
            weight += each.rank == rank && !each.is_full() ? each.weight : 0;
        }
        for (Class& each : classes_) {
            for (Part& part : each.parts) {
                part.speed = 0;
                part.weight = 0;
            }
            if (each.rank != rank || each.is_full()) {
                continue;
            }
            for (std::size_t at = 1; at < tree_.size(); ++at) {
                each.parts[tree_[at].parent].weight += each.parts[at].unfilled > 0 ? tree_[at].weight : 0;
            }
            each.parts[kRoot].speed = each.weight / weight;
            for (std::size_t at = 1; at < tree_.size(); ++at) {
                const Part& above = each.parts[tree_[at].parent];
                if (each.parts[at].unfilled > 0) {
                    each.parts[at].speed = above.speed * static_cast<double>(tree_[at].weight) /
                                           static_cast<double>(above.weight);
                }
            }
        }
        return weight > 0;
    }

    // Until the next one is full. The link fills at speed 1.
    [[nodiscard]] double longest_step() const
    {
        double step = link_left_;
        const auto bound = [&step](double left, double speed) {
            if (speed > 0) {
                step = std::min(step, std::max(0.0, left) / speed);
            }
        };
        for (const Class& each : classes_) {
            bound(each.cap - each.parts[kRoot].kbps, each.parts[kRoot].speed);
            for (const Part& part : each.parts) {
                bound(part.demand - part.kbps, part.demand > 0 ? part.speed : 0);
            }
        }
        for (std::size_t at = 0; at < tree_.size(); ++at) {
            if (tree_[at].cap_kbps) {
                bound(*tree_[at].cap_kbps - sum(at, &Part::kbps), sum(at, &Part::speed));
            }
        }
        return step;
    }

    [[nodiscard]] double sum(std::size_t at, double Part::*what) const
    {
        double all = 0;
        for (const Class& each : classes_) {
            all += each.parts[at].*what;
        }
        return all;
    }

    [[nodiscard]] static bool is_reached(double limit, double kbps)
    {
        constexpr double kRounding = 1e-9;
        return limit != kUnlimited && limit - kbps <= kRounding * std::max(1.0, limit);
    }

    // The lowest ones first: who has all that it asks for is not held by what is above it.
    void end_what_is_full()
    {
        for (std::size_t at = tree_.size(); at-- > 0;) {
            for (Class& each : classes_) {
                const Part& part = each.parts[at];
                if (part.demand > 0 && part.unfilled > 0 && is_reached(part.demand, part.kbps)) {
                    end(each, at, std::nullopt);
                }
            }
            if (tree_[at].cap_kbps && is_reached(*tree_[at].cap_kbps, sum(at, &Part::kbps))) {
                for (Class& each : classes_) {
                    end(each, at, Reason{Bottleneck::Cap, *tree_[at].path, 0});
                }
            }
        }
        for (Class& each : classes_) {
            if (is_reached(each.cap, each.parts[kRoot].kbps)) {
                end(each, kRoot, Reason{Bottleneck::Class, {}, each.number});
            }
            if (is_reached(link_, link_ - link_left_)) {
                end(each, kRoot, Reason{Bottleneck::Link, {}, 0});
            }
        }
    }

    // The element and all below it get no more in this class.
    void end(Class& in, std::size_t at, const std::optional<Reason>& why)
    {
        Part& part = in.parts[at];
        if (why && part.sends && !part.why) {
            part.why = why;
        }
        if (part.unfilled == 0) {
            return;
        }
        const std::size_t ended = part.unfilled;
        end_below(in, at, why);
        while (at != kRoot) {
            at = tree_[at].parent;
            in.parts[at].unfilled -= ended;
        }
    }

    void end_below(Class& in, std::size_t at, const std::optional<Reason>& why)
    {
        Part& part = in.parts[at];
        if (part.unfilled == 0) {
            return;
        }
        part.unfilled = 0;
        if (!part.why) {
            part.why = why;
        }
        const IndexedElement& element = tree_[at];
        for (std::size_t child = element.first_child; child < element.first_child + element.child_count; ++child) {
            end_below(in, child, why);
        }
    }

    [[nodiscard]] static Allocation allocation(double kbps, const std::optional<Reason>& why)
    {
        const Reason reason = why.value_or(Reason{});
        return {kbps, reason.what, reason.at, reason.port_class};
    }

    [[nodiscard]] ClassAllocations result() const
    {
        ClassAllocations all;
        for (std::size_t at = 0; at < tree_.size(); ++at) {
            std::optional<Reason> why;
            for (const Class& each : classes_) {
                const Part& part = each.parts[at];
                if (part.sends) {
                    all.kbps_in_class[each.number].emplace(*tree_[at].path, part.kbps);
                }
                if (!why) {
                    why = part.why;
                }
            }
            all.elements.emplace(*tree_[at].path, allocation(sum(at, &Part::kbps), why));
        }
        for (const Class& each : classes_) {
            all.classes.emplace(each.number, allocation(each.parts[kRoot].kbps, each.parts[kRoot].why));
        }
        return all;
    }

    const std::vector<IndexedElement> tree_;
    std::vector<Class> classes_;
    double link_left_;
    const double link_;
};

}    // namespace

ClassAllocations solve(const Tree& tree, Bandwidth link_speed, const PortClasses& port, const ClassDemands& demands)
{
    return Filling(tree, link_speed, port, demands).fill();
}

}    // namespace rdmaqos
