// Who gets the entries of a device's pacing table. An entry is a distinct limit (rate, burst, packet size); queue pairs
// with the same one share it. First come, first served: who has an entry keeps it for as long as somebody wants it, and
// a free one goes to the limit whose first queue pair came first.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/tree/element.h"

namespace rdmaqos {

class PacingBudget {
public:
    // 0: the size of the table is not known, and everything is granted.
    explicit PacingBudget(std::uint32_t table_size) : table_size_(table_size) {}

    // What a queue pair wants from now on; empty: nothing. `order`: of arrival.
    void want(std::uint32_t number, std::uint64_t order, const std::optional<RateLimit>& limit);
    void clear();
    // Who has an entry in `other` has it here too, if it is wanted.
    void inherit(const PacingBudget& other) { granted_ = other.granted_; }

    // Takes back entries that nobody wants and gives out free ones; the queue pairs of limits that got one.
    [[nodiscard]] std::vector<std::uint32_t> settle();
    // As settle() has left it.
    [[nodiscard]] bool granted(const RateLimit& limit) const { return table_size_ == 0 || granted_.contains(limit); }
    [[nodiscard]] std::uint32_t table_size() const { return table_size_; }

private:
    using User = std::pair<std::uint64_t, std::uint32_t>;    // order, number

    std::uint32_t table_size_;
    std::map<RateLimit, std::set<User>> users_;
    std::unordered_map<std::uint32_t, std::pair<User, RateLimit>> wants_;
    std::set<RateLimit> granted_;
    bool changed_ = false;
};

}    // namespace rdmaqos
