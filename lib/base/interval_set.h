// A set of unsigned 64-bit numbers kept as sorted, disjoint, non-adjacent intervals: the normal form of every range
// list in a policy (OpenSM sorts and merges overlapping and adjacent ranges the same way). A range of 64 million
// GUIDs is one interval; nothing here enumerates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rdmaqos {

struct Interval {
    std::uint64_t first = 0;
    std::uint64_t last = 0;    // inclusive; first <= last

    friend auto operator<=>(const Interval&, const Interval&) = default;
};

class IntervalSet {
public:
    IntervalSet() = default;
    // Any order, overlaps and reversed bounds welcome.
    explicit IntervalSet(std::vector<Interval> intervals);

    // Inserting many: collect them in a vector and construct once.
    void insert(Interval interval);

    [[nodiscard]] bool contains(std::uint64_t value) const;
    [[nodiscard]] bool intersects(Interval interval) const;
    [[nodiscard]] bool empty() const { return intervals_.empty(); }
    [[nodiscard]] std::optional<std::uint64_t> lowest() const;
    [[nodiscard]] const std::vector<Interval>& intervals() const { return intervals_; }

    friend bool operator==(const IntervalSet&, const IntervalSet&) = default;

private:
    std::vector<Interval> intervals_;
};

enum class NumberBase : std::uint8_t { Decimal, Hex };

// "1, 7-9" or "0x1, 0x7-0x9"
[[nodiscard]] std::string to_string(const IntervalSet& set, NumberBase base);

}    // namespace rdmaqos
