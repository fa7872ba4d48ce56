#include "tools/rdma-qosctl/simulate/simulation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>

#include "lib/model/class_solver.h"
#include "lib/model/dwrr.h"
#include "lib/tree/drawing.h"
#include "tools/rdma-qosctl/simulate/processes.h"

namespace rdmaqos::ctl {
namespace {

constexpr double kTolerance = 1e-3;    // kbit/s, the solver's
constexpr double kInfinite = std::numeric_limits<double>::infinity();

// Everybody sends who is there, as far as his own rate lets him; a class where nobody is, is represented by its leaf
// `others`.
Demands everybody_there_sends(const LoadedTree& loaded)
{
    std::set<ElementPath> populated;    // nodes with a leaf that somebody is in
    for (const auto& [path, senders] : loaded.senders) {
        populated.insert(loaded.tree.at(path).parent);
    }
    Demands demands = all_backlogged(loaded.tree);
    for (auto& [path, rate] : demands) {
        rate = loaded.there.most(path);
    }
    std::erase_if(demands, [&](const auto& entry) {
        const ElementPath& path = entry.first;
        return path.name() == "others" && !loaded.senders.contains(path) &&
               populated.contains(loaded.tree.at(path).parent);
    });
    return demands;
}

// The tree in the order it is drawn, with what each element asks for and gets.
class Solved {
public:
    Solved(const LoadedTree& loaded, Bandwidth link_speed) : loaded_(loaded)
    {
        for (const auto& [path, element] : loaded.tree) {
            if (!element.parent.empty()) {
                children_[element.parent].push_back(&path);
            }
        }
        for (auto& [parent, paths] : children_) {
            std::sort(paths.begin(), paths.end(), [](const ElementPath* a, const ElementPath* b) {
                return drawing::comes_before(a->name(), b->name());
            });
        }
        for (const auto& place : loaded.levels) {
            levels_.emplace(place.path, &place);
        }
        const Demands everybody = everybody_there_sends(loaded);
        if (has_many_trees(loaded)) {
            const Tree trees = trees_of(loaded, everybody);
            allocations_ = folded(loaded, solved(trees, link_speed, demands_of_trees(loaded, loaded.demands)));
            busy_ = folded(loaded, solved(trees, link_speed, demands_of_trees(loaded, everybody)));
        } else {
            allocations_ = solved(loaded.tree, link_speed, loaded.demands);
            busy_ = solved(loaded.tree, link_speed, everybody);
        }
    }

    std::vector<SimulatedElement> elements()
    {
        if (loaded_.tree.contains(ElementPath::root())) {
            add(ElementPath::root(), 0);
        }
        return std::move(elements_);
    }

    [[nodiscard]] std::vector<SimulatedClass> classes() const
    {
        std::vector<SimulatedClass> all;
        for (const auto& [number, busy] : busy_.classes) {
            SimulatedClass& one = all.emplace_back();
            one.number = number;
            one.port_class = loaded_.port.classes.at(number);
            one.rates.guaranteed = busy.kbps;
            for (const auto& place : loaded_.levels) {
                if (loaded_.port.class_of_dscp(place.dscp) == number) {
                    one.levels.push_back(place.level);
                }
            }
            const auto found = allocations_.classes.find(number);
            if (found == allocations_.classes.end()) {
                continue;
            }
            one.rates.gets = found->second.kbps;
            for (const auto& [path, demand] : loaded_.demands) {
                if (class_of(path) == number) {
                    one.rates.asked += demand ? static_cast<double>(demand->kbps()) : kInfinite;
                }
            }
            one.limit = limit_of(one.rates, found->second);
        }
        return all;
    }

private:
    [[nodiscard]] std::uint8_t class_of(const ElementPath& leaf) const
    {
        const LevelPlace* const place = level_of(leaf);
        return loaded_.port.class_of_dscp(place == nullptr ? std::uint8_t{0} : place->dscp);
    }
    [[nodiscard]] ClassAllocations solved(const Tree& tree, Bandwidth link_speed, const Demands& demands) const
    {
        if (loaded_.port == PortClasses()) {
            ClassAllocations all;
            all.elements = solve(tree, link_speed, demands);
            return all;
        }
        ClassDemands by_class;
        for (const auto& [path, demand] : demands) {
            const ElementPath in_device = has_many_trees(loaded_) ? path_in_device(path) : path;
            by_class[class_of(in_device)].emplace(path, demand);
        }
        return solve(tree, link_speed, loaded_.port, by_class);
    }

    // The level whose class this is or stands above it by its path, also where the class itself was folded.
    [[nodiscard]] const LevelPlace* level_of(ElementPath path) const
    {
        for (; !path.empty(); path = path.parent()) {
            if (const auto found = levels_.find(path); found != levels_.end()) {
                return found->second;
            }
        }
        return nullptr;
    }

    void add(const ElementPath& path, std::uint32_t depth)
    {
        const Element& element = loaded_.tree.at(path);
        const Allocation& allocation = allocations_.elements.at(path);
        const std::size_t index = elements_.size();
        SimulatedElement& result = elements_.emplace_back();
        result.path = path;
        result.parent = element.parent;
        result.kind = element.kind;
        result.depth = depth;
        result.attributes = element.attributes;
        if (const LevelPlace* place = level_of(path)) {
            result.level = place->level;
            result.is_class = place->path == path;
        }
        result.rates.gets = allocation.kbps;
        result.rates.guaranteed = busy_.elements.at(path).kbps;
        if (const auto demand = loaded_.demands.find(path); demand != loaded_.demands.end()) {
            result.senders = loaded_.senders.at(path);
            result.rates.asked = demand->second ? static_cast<double>(demand->second->kbps()) : kInfinite;
        }
        for (const ElementPath* child : children_[path]) {
            const std::size_t at = elements_.size();
            add(*child, depth + 1);
            elements_[index].senders += elements_[at].senders;
            elements_[index].rates.asked += elements_[at].rates.asked;
        }
        elements_[index].limit = limit_of(elements_[index].rates, allocation);
    }

    [[nodiscard]] Limit limit_of(const Rates& rates, const Allocation& allocation) const
    {
        if (rates.asked <= 0) {
            return {};
        }
        switch (allocation.bottleneck) {
        case Bottleneck::Cap:
            return {Limit::Kind::Cap, allocation.bottleneck_at,
                    loaded_.tree.at(allocation.bottleneck_at).attributes.max_rate};
        case Bottleneck::Link:
            return {Limit::Kind::Link, {}, {}};
        case Bottleneck::Class:
            return {Limit::Kind::PortClass,
                    {},
                    loaded_.port.classes.at(allocation.bottleneck_class).max_rate,
                    allocation.bottleneck_class};
        case Bottleneck::Demand:
            break;
        }
        // The solver counts a capped child's wish as its cap.
        const bool satisfied = rates.gets + kTolerance >= rates.asked;
        return {satisfied ? Limit::Kind::Demand : Limit::Kind::Below, {}, {}};
    }

    const LoadedTree& loaded_;
    ClassAllocations allocations_;
    ClassAllocations busy_;
    std::map<ElementPath, std::vector<const ElementPath*>> children_;
    std::map<ElementPath, const LevelPlace*> levels_;
    std::vector<SimulatedElement> elements_;
};

// The sum over the leaves of a class that was folded. What limits most of it stands for all.
SimulatedLevel sum_of_leaves(const LevelPlace& place, const std::vector<SimulatedElement>& elements)
{
    SimulatedLevel level{place.level, place.use, place.path, place.fair_by, std::nullopt, 0, {}, {}};
    double most = -1;
    for (const auto& element : elements) {
        if (element.level != place.level || element.kind != ElementKind::Leaf) {
            continue;
        }
        level.senders += element.senders;
        level.rates.asked += element.rates.asked;
        level.rates.gets += element.rates.gets;
        level.rates.guaranteed += element.rates.guaranteed;
        if (element.senders > 0 && element.rates.gets > most) {
            most = element.rates.gets;
            level.limit = element.limit;
        }
    }
    return level;
}

std::vector<SimulatedLevel> levels_of(const std::vector<LevelPlace>& places,
                                      const std::vector<SimulatedElement>& elements)
{
    std::vector<SimulatedLevel> levels;
    for (const auto& element : elements) {
        if (!element.is_class) {
            continue;
        }
        const auto place = std::find_if(places.begin(), places.end(),
                                        [&](const LevelPlace& one) { return one.path == element.path; });
        levels.push_back({place->level, place->use, place->path, place->fair_by, element.attributes, element.senders,
                          element.rates, element.limit});
    }
    for (const auto& place : places) {
        const bool listed = std::any_of(levels.begin(), levels.end(),
                                        [&](const SimulatedLevel& level) { return level.path == place.path; });
        if (!listed) {
            levels.push_back(sum_of_leaves(place, elements));
        }
    }
    return levels;
}

// Long enough for the slowest element that is compared, short enough for a large tree.
DwrrOptions playing_time(double slowest_part, std::size_t elements)
{
    constexpr double kPacketsOfSlowest = 5'000;
    constexpr double kFewest = 100'000;
    constexpr double kWork = 5e7;    // packets times elements
    DwrrOptions options;
    const double wanted = std::max(kFewest, kPacketsOfSlowest / slowest_part);
    options.packets = static_cast<std::uint64_t>(std::min(wanted, kWork / static_cast<double>(elements)));
    options.warm_up_packets = options.packets / 4;
    return options;
}

}    // namespace

SimulatedStep simulate_step(const LoadedTree& loaded, Bandwidth link_speed)
{
    SimulatedStep step;
    Solved solved(loaded, link_speed);
    step.elements = solved.elements();
    step.classes = solved.classes();
    step.levels = levels_of(loaded.levels, step.elements);
    step.outside = loaded.outside;
    step.used = step.elements.empty() ? 0 : step.elements.front().rates.gets;
    return step;
}

Deviation check_by_packets(const LoadedTree& loaded, Bandwidth link_speed)
{
    // Below, a packet more or less is too large a part.
    constexpr double kLeastPart = 1e-3;
    constexpr double kLeastPackets = 500;
    Deviation worst;
    const double link = static_cast<double>(link_speed.kbps());
    const bool has_many = has_many_trees(loaded);
    const Tree tree = has_many ? trees_of(loaded, everybody_there_sends(loaded)) : loaded.tree;
    const Demands demands = has_many ? demands_of_trees(loaded, loaded.demands) : loaded.demands;
    const Allocations solved = solve(tree, link_speed, demands);
    double slowest = 1;
    for (const auto& [path, allocation] : solved) {
        const double part = link > 0 ? allocation.kbps / link : 0;
        slowest = part >= kLeastPart ? std::min(slowest, part) : slowest;
    }
    if (solved.empty() || link <= 0) {
        return worst;
    }
    const DwrrOptions options = playing_time(slowest, solved.size());
    const auto played = simulate_dwrr(tree, link_speed, demands, options);
    for (const auto& [path, allocation] : solved) {
        if (allocation.kbps <= 0) {
            continue;
        }
        if (allocation.kbps / link * static_cast<double>(options.packets) < kLeastPackets) {
            ++worst.too_slow;
            continue;
        }
        ++worst.compared;
        const double percent = 100 * std::abs(played.at(path) - allocation.kbps) / allocation.kbps;
        if (worst.path.empty() || percent > worst.percent) {
            std::tie(worst.path, worst.solver, worst.packets, worst.percent) = std::tuple(path, allocation.kbps,
                                                                                          played.at(path), percent);
        }
    }
    return worst;
}

void set_times(const Loads& loads, std::vector<SimulatedStep>& steps)
{
    constexpr std::chrono::milliseconds kAlone = std::chrono::seconds(1);
    const std::size_t count = std::min(steps.size(), loads.steps.size());
    for (std::size_t i = 0; i < count; ++i) {
        const auto at = loads.steps[i].at;
        steps[i].at = at;
        steps[i].use = loads.steps[i].use;
        steps[i].until = i + 1 < count ? loads.steps[i + 1].at
                         : loads.until ? *loads.until
                         : i > 0       ? at + (at - loads.steps[i - 1].at)
                                       : at + kAlone;
    }
}

std::vector<LeafRun> leaf_runs(const std::vector<SimulatedElement>& elements)
{
    const auto same = [](const SimulatedElement& a, const SimulatedElement& b) {
        const auto key = [](const SimulatedElement& element) {
            return std::tuple(element.parent, element.level, element.attributes.share, element.attributes.max_rate,
                              element.senders, element.rates.asked, element.limit.kind, element.limit.at.text().size());
        };
        return key(a) == key(b) && std::abs(a.rates.gets - b.rates.gets) <= 1 &&
               (a.path.name() == "others") == (b.path.name() == "others");
    };
    std::vector<LeafRun> runs;
    for (std::size_t i = 0; i < elements.size(); ++i) {
        if (elements[i].kind != ElementKind::Leaf || elements[i].is_class) {
            continue;
        }
        const bool joins = !runs.empty() && runs.back().first + runs.back().count == i &&
                           same(elements[runs.back().first], elements[i]);
        if (joins) {
            ++runs.back().count;
        } else {
            runs.push_back({i, 1});
        }
    }
    return runs;
}

}    // namespace rdmaqos::ctl
