#include "lib/model/senders.h"

#include <algorithm>
#include <limits>

namespace rdmaqos {

void Senders::add(const ElementPath& leaf, std::optional<Bandwidth> rate, std::size_t count)
{
    if (count > 0) {
        Leaf& here = leaves_[leaf];
        (rate ? here.paced[rate->kbps()] : here.unpaced) += count;
    }
}

std::size_t Senders::count(const ElementPath& leaf) const
{
    const auto found = leaves_.find(leaf);
    if (found == leaves_.end()) {
        return 0;
    }
    std::size_t all = found->second.unpaced;
    for (const auto& [kbps, count] : found->second.paced) {
        all += count;
    }
    return all;
}

std::optional<Bandwidth> Senders::most(const ElementPath& leaf) const
{
    const auto found = leaves_.find(leaf);
    if (found == leaves_.end() || found->second.unpaced > 0) {
        return std::nullopt;
    }
    std::uint64_t sum = 0;
    for (const auto& [kbps, count] : found->second.paced) {
        sum += kbps * count;
    }
    return Bandwidth::from_kbps(sum);
}

std::vector<std::optional<Bandwidth>> Senders::rates(const ElementPath& leaf) const
{
    std::vector<std::optional<Bandwidth>> all;
    if (const auto found = leaves_.find(leaf); found != leaves_.end()) {
        for (const auto& [kbps, count] : found->second.paced) {
            all.insert(all.end(), count, Bandwidth::from_kbps(kbps));
        }
        all.insert(all.end(), found->second.unpaced, std::nullopt);
    }
    return all;
}

Demands Senders::demands() const
{
    Demands demands;
    for (const auto& [path, leaf] : leaves_) {
        demands.emplace_hint(demands.end(), path, most(path));
    }
    return demands;
}

Bandwidth Senders::part(const ElementPath& leaf, Bandwidth of_leaf,
                        const std::vector<std::optional<Bandwidth>>& rates) const
{
    const auto found = leaves_.find(leaf);
    if (found == leaves_.end()) {
        return {};
    }
    // The level up to which every queue pair is served, found by serving the slowest first.
    constexpr double kEverything = std::numeric_limits<double>::infinity();
    double left = static_cast<double>(of_leaf.kbps());
    auto unserved = static_cast<double>(count(leaf));
    double level = kEverything;
    for (const auto& [kbps, count] : found->second.paced) {
        const auto rate = static_cast<double>(kbps);
        if (rate * unserved >= left) {
            level = left / unserved;
            break;
        }
        left -= rate * static_cast<double>(count);
        unserved -= static_cast<double>(count);
    }
    if (level == kEverything && found->second.unpaced > 0) {
        level = left / static_cast<double>(found->second.unpaced);
    }
    Allocation sum;
    for (const auto& rate : rates) {
        sum.kbps += std::min(level, rate ? static_cast<double>(rate->kbps()) : level);
    }
    return std::min(sum.rate(), of_leaf);
}

}    // namespace rdmaqos
