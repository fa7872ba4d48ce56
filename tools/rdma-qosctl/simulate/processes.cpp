#include "tools/rdma-qosctl/simulate/processes.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rdmaqos::ctl {
namespace {

constexpr std::uint64_t kTreeForAll = 0;
// Numbers of senders that are only imagined: no process has one of these.
constexpr std::uint64_t kFirstImagined = 1ULL << 32U;
constexpr std::uint64_t kMostOfLeaf = 1ULL << 24U;

// So many queue pairs, or senders, of one process.
struct Part {
    std::uint64_t process = 0;
    std::size_t count = 1;
};

// Who sends in a leaf: processes that are there first, each of the others as a process of its own.
std::vector<Part> parts_of(const LoadedTree& loaded, const ElementPath& leaf)
{
    const bool is_outside = loaded.outside_leaves.contains(leaf);
    if (!loaded.is_per_process && !is_outside) {
        return {{kTreeForAll}};
    }
    std::vector<Part> parts;
    std::size_t known = 0;
    for (const auto& [process, senders] : loaded.processes) {
        if (const std::size_t count = senders.count(leaf); count > 0) {
            parts.push_back({process, count});
            known += count;
        }
    }
    const auto found = loaded.senders.find(leaf);
    const std::size_t all = std::max<std::size_t>(found == loaded.senders.end() ? 0 : found->second, 1);
    const auto index = static_cast<std::uint64_t>(std::distance(loaded.tree.begin(), loaded.tree.find(leaf)));
    for (std::size_t i = known; i < all; ++i) {
        parts.push_back({kFirstImagined + index * kMostOfLeaf + i});
    }
    return parts;
}

template <typename Take>
void for_each_part(const LoadedTree& loaded, const Demands& demands, Take&& take)
{
    for (const auto& [leaf, demand] : demands) {
        const auto parts = parts_of(loaded, leaf);
        std::size_t all = 0;
        for (const Part& part : parts) {
            all += part.count;
        }
        for (const Part& part : parts) {
            take(part.process, leaf,
                 demand ? std::optional(Bandwidth::from_kbps(demand->kbps() * part.count / all)) : std::nullopt);
        }
    }
}

void add(Allocation& sum, const Allocation& part, double& largest)
{
    sum.kbps += part.kbps;
    const bool is_held = part.bottleneck != Bottleneck::Demand;
    if (is_held && part.kbps > largest) {
        largest = part.kbps;
        sum.bottleneck = part.bottleneck;
        sum.bottleneck_class = part.bottleneck_class;
        sum.bottleneck_at = part.bottleneck == Bottleneck::Cap ? path_in_device(part.bottleneck_at) : ElementPath();
    }
}

}    // namespace

bool has_many_trees(const LoadedTree& loaded)
{
    return loaded.is_per_process || !loaded.outside_leaves.empty();
}

ElementPath path_in_device(const ElementPath& path)
{
    if (path.is_root()) {
        return path;
    }
    const std::string& text = path.text();
    const auto second = text.find('/', 1);
    return second == std::string::npos ? ElementPath() : ElementPath(text.substr(second));
}

Tree trees_of(const LoadedTree& loaded, const Demands& everybody)
{
    ProcessSenders senders;
    for_each_part(loaded, everybody,
                  [&](std::uint64_t process, const ElementPath& leaf, std::optional<Bandwidth> rate) {
                      senders[process].add(leaf, rate);
                  });
    return trees_of_processes(loaded.tree, senders, loaded.caps);
}

Demands demands_of_trees(const LoadedTree& loaded, const Demands& demands)
{
    Demands all;
    for_each_part(loaded, demands, [&](std::uint64_t process, const ElementPath& leaf, std::optional<Bandwidth> rate) {
        all.emplace(path_in_process(process, leaf), rate);
    });
    return all;
}

ClassAllocations folded(const LoadedTree& loaded, ClassAllocations of_trees)
{
    ClassAllocations all;
    all.classes = std::move(of_trees.classes);
    std::map<ElementPath, double> largest;
    for (const auto& [path, element] : loaded.tree) {
        all.elements.emplace(path, Allocation{});
        largest.emplace(path, -1);
    }
    for (const auto& [path, allocation] : of_trees.elements) {
        const ElementPath at = path_in_device(path);
        if (!at.empty()) {
            add(all.elements[at], allocation, largest[at]);
        }
    }
    for (const auto& [port_class, elements] : of_trees.kbps_in_class) {
        for (const auto& [path, kbps] : elements) {
            if (const ElementPath at = path_in_device(path); !at.empty()) {
                all.kbps_in_class[port_class][at] += kbps;
            }
        }
    }
    return all;
}

}    // namespace rdmaqos::ctl
