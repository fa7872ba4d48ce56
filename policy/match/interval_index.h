// Which of many intervals a number lies in, without looking at all of them: a segment tree over the intervals' ends.
//
// An interval is kept at O(log n) nodes of the tree, so memory is O(n log n) however they overlap, and a question walks
// one path from a leaf to the root. Nodes whose intervals carry the same numbers share one list.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace rdmaqos {

// A GID as a number. Also the pattern for a Key: ordered, and successor() finds the next one.
struct Key128 {
    std::uint64_t high = 0;
    std::uint64_t low = 0;

    friend auto operator<=>(const Key128&, const Key128&) = default;
};

[[nodiscard]] constexpr std::optional<std::uint64_t> successor(std::uint64_t key)
{
    return key == std::numeric_limits<std::uint64_t>::max() ? std::nullopt : std::optional(key + 1);
}

[[nodiscard]] constexpr std::optional<Key128> successor(Key128 key)
{
    if (const auto low = successor(key.low)) {
        return Key128{key.high, *low};
    }
    const auto high = successor(key.high);
    return high ? std::optional(Key128{*high, 0}) : std::nullopt;
}

template <typename Key>
class IntervalIndex {
public:
    struct Item {
        Key first{};
        Key last{};              // inclusive; first <= last
        std::uint32_t id = 0;    // of the owner of the interval; several items may have one
    };
    using List = std::vector<std::uint32_t>;    // ids, ascending, each once

    IntervalIndex() = default;
    explicit IntervalIndex(const std::vector<Item>& items)
    {
        for (const auto& item : items) {
            starts_.push_back(item.first);
            if (const auto behind = successor(item.last)) {
                starts_.push_back(*behind);
            }
        }
        std::sort(starts_.begin(), starts_.end());
        starts_.erase(std::unique(starts_.begin(), starts_.end()), starts_.end());
        starts_.shrink_to_fit();

        std::vector<std::pair<std::uint32_t, std::uint32_t>> held;    // (node, id)
        for (const auto& item : items) {
            const auto behind = successor(item.last);
            std::size_t left = leaf_of(item.first);
            std::size_t right = behind ? leaf_of(*behind) : 2 * starts_.size();
            for (; left < right; left /= 2, right /= 2) {
                if (left % 2 == 1) {
                    held.emplace_back(static_cast<std::uint32_t>(left++), item.id);
                }
                if (right % 2 == 1) {
                    held.emplace_back(static_cast<std::uint32_t>(--right), item.id);
                }
            }
        }
        std::sort(held.begin(), held.end());
        held.erase(std::unique(held.begin(), held.end()), held.end());
        keep(held);
    }

    // Calls visit(number of a list) for every list with ids of intervals that `key` lies in. Together they hold all of
    // them; an id may be in several.
    template <typename Visit>
    void stab(const Key& key, Visit visit) const
    {
        const auto after = std::upper_bound(starts_.begin(), starts_.end(), key);
        if (after == starts_.begin()) {
            return;
        }
        for (auto node = static_cast<std::size_t>(after - starts_.begin()) - 1 + starts_.size(); node > 0; node /= 2) {
            if (nodes_[node] != 0) {
                visit(nodes_[node] - 1);
            }
        }
    }

    [[nodiscard]] const std::vector<List>& lists() const { return lists_; }

    // Bytes.
    [[nodiscard]] std::size_t memory() const
    {
        std::size_t ids = 0;
        for (const auto& list : lists_) {
            ids += list.capacity();
        }
        return starts_.capacity() * sizeof(Key) + (nodes_.capacity() + ids) * sizeof(std::uint32_t) +
               lists_.capacity() * sizeof(List);
    }

private:
    [[nodiscard]] std::size_t leaf_of(const Key& start) const
    {
        const auto found = std::lower_bound(starts_.begin(), starts_.end(), start);
        return static_cast<std::size_t>(found - starts_.begin()) + starts_.size();
    }

    // `held` is sorted by node, then id.
    void keep(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& held)
    {
        nodes_.assign(2 * starts_.size(), 0);
        std::map<List, std::uint32_t> known;
        List list;
        for (std::size_t i = 0; i < held.size(); ++i) {
            list.push_back(held[i].second);
            if (i + 1 == held.size() || held[i + 1].first != held[i].first) {
                const auto [entry, is_new] = known.emplace(list, static_cast<std::uint32_t>(lists_.size()));
                if (is_new) {
                    lists_.push_back(list);
                }
                nodes_[held[i].first] = entry->second + 1;
                list.clear();
            }
        }
        lists_.shrink_to_fit();
    }

    std::vector<Key> starts_;    // of the pieces between two ends, ascending
    // The tree: node i has the children 2i and 2i + 1, the leaves from starts_.size() on are the pieces. 0: nothing,
    // else the number of a list + 1.
    std::vector<std::uint32_t> nodes_;
    std::vector<List> lists_;
};

}    // namespace rdmaqos
