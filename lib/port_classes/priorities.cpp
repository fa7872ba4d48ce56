#include "lib/port_classes/priorities.h"

#include <algorithm>

namespace rdmaqos::port_classes {
namespace {

constexpr std::size_t kNobody = ~std::size_t{0};

class Placement {
public:
    Placement(const std::vector<Group>& groups, const std::vector<std::uint8_t>& wishes,
              const dcb::PortSettings& before, const Rules& rules)
        : groups_(groups), wishes_(wishes), before_(before), rules_(rules), placed_(groups.size())
    {
        owner_.fill(kNobody);
        if (before.pfc) {
            lossless_ = before.pfc->lossless;
        }
        for (const dcb::AppEntry& entry : before.apps) {
            const bool is_ours = entry.selector == dcb::Selector::Dscp &&
                                 std::ranges::any_of(groups, [&](const Group& group) {
                                     return entry.protocol < 64 && group.has(static_cast<std::uint8_t>(entry.protocol));
                                 });
            if (!is_ours && entry.priority < dcb::kPriorities) {
                foreign_[entry.priority] = true;
            }
        }
        // Where the priority is the class, there are as many as groups, without gaps.
        highest_ = rules.priority_is_class ? groups.size() : dcb::kPriorities - 1;
    }

    std::vector<PlacedGroup> place()
    {
        if (!rules_.priority_is_class) {
            keep_lossless(false);
            keep_lossless(true);
        }
        for (const bool has_one : {false, true}) {
            for (std::size_t index = 0; index < groups_.size(); ++index) {
                if (has_any(index) == has_one) {
                    place_rest(index);
                }
            }
        }
        number_classes();
        return std::move(placed_);
    }

private:
    [[nodiscard]] bool is_free(std::size_t priority) const
    {
        return priority != 0 && priority <= highest_ && owner_[priority] == kNobody;
    }
    [[nodiscard]] bool has_any(std::size_t index) const { return std::ranges::find(owner_, index) != owner_.end(); }

    // Each group needs one; a second one only of those that are then left.
    [[nodiscard]] bool may_take_one(std::size_t index) const
    {
        std::size_t left = 0;
        for (std::size_t priority = 1; priority <= highest_; ++priority) {
            left += is_free(priority) ? 1 : 0;
        }
        for (std::size_t other = 0; other < groups_.size(); ++other) {
            left -= has_any(other) ? 0 : 1;
        }
        return !has_any(index) || left > 0;
    }

    // Those whose priority is free keep it, before anybody else chooses; then the others get another lossless one.
    void keep_lossless(bool another)
    {
        for (std::size_t index = 0; index < groups_.size(); ++index) {
            for (const std::uint8_t dscp : groups_[index].dscps) {
                const std::uint8_t had = dcb::priority_of_dscp(before_, dscp);
                if (!lossless_[had] || placed_[index].priority_of_dscp.contains(dscp)) {
                    continue;
                }
                const auto priority = another ? other_lossless(index) : had;
                if (owner_[priority] == index || (is_free(priority) && may_take_one(index))) {
                    owner_[priority] = index;
                    placed_[index].priority_of_dscp[dscp] = priority;
                }
            }
        }
    }

    [[nodiscard]] std::uint8_t other_lossless(std::size_t index) const
    {
        for (std::uint8_t priority = 1; priority < dcb::kPriorities; ++priority) {
            if (lossless_[priority] && (owner_[priority] == index || (is_free(priority) && !foreign_[priority]))) {
                return priority;
            }
        }
        return 0;
    }

    void place_rest(std::size_t index)
    {
        PlacedGroup& placed = placed_[index];
        std::vector<std::uint8_t> rest;
        for (const std::uint8_t dscp : groups_[index].dscps) {
            if (!placed.priority_of_dscp.contains(dscp)) {
                rest.push_back(dscp);
            }
        }
        if (rest.empty()) {
            return;
        }
        const std::uint8_t priority = choose(index, rest);
        owner_[priority] = index;
        for (const std::uint8_t dscp : rest) {
            placed.priority_of_dscp[dscp] = priority;
            const bool was_lossless = lossless_[dcb::priority_of_dscp(before_, dscp)];
            if (was_lossless && !lossless_[priority]) {
                placed.no_longer_lossless.push_back(dscp);
            } else if (!was_lossless && lossless_[priority]) {
                placed.now_lossless.push_back(dscp);
            }
        }
    }

    [[nodiscard]] std::uint8_t choose(std::size_t index, const std::vector<std::uint8_t>& dscps) const
    {
        const bool was_lossless = lossless_[dcb::priority_of_dscp(before_, dscps.front())];
        const auto is_good = [&](std::size_t priority) {
            return may_take_one(index) && is_free(priority) && !foreign_[priority] &&
                   (!lossless_[priority] || was_lossless);
        };
        if (is_good(wishes_[index])) {
            return wishes_[index];
        }
        for (const std::uint8_t dscp : dscps) {
            if (const auto had = dcb::priority_of_dscp(before_, dscp); is_good(had)) {
                return had;
            }
        }
        const auto lowest = [&](auto fits) -> std::uint8_t {
            for (std::uint8_t priority = 1; priority <= highest_; ++priority) {
                if (fits(priority)) {
                    return priority;
                }
            }
            return 0;
        };
        const auto is_bearable = [&](std::size_t priority) {
            return may_take_one(index) && is_free(priority) && !lossless_[priority];
        };
        if (const auto good = lowest(is_good); good != 0) {
            return good;
        }
        // From here on entries that are not ours have to go.
        for (const std::uint8_t dscp : dscps) {
            if (const auto had = dcb::priority_of_dscp(before_, dscp); is_bearable(had)) {
                return had;
            }
        }
        if (const auto bearable = lowest(is_bearable); bearable != 0) {
            return bearable;
        }
        if (const auto own = lowest([&](std::size_t priority) { return owner_[priority] == index; }); own != 0) {
            return own;
        }
        return lowest([&](std::size_t priority) { return is_free(priority); });    // one for each group
    }

    void number_classes()
    {
        const bool is_same_number = !rules_.contiguous_classes && before_.ets->classes == dcb::kTrafficClasses;
        std::uint8_t next = 1;
        for (PlacedGroup& placed : placed_) {
            std::uint8_t lowest = dcb::kPriorities - 1;
            for (const auto& [dscp, priority] : placed.priority_of_dscp) {
                lowest = std::min(lowest, priority);
            }
            placed.traffic_class = is_same_number || rules_.priority_is_class ? lowest : next++;
        }
    }

    const std::vector<Group>& groups_;
    const std::vector<std::uint8_t>& wishes_;
    const dcb::PortSettings& before_;
    const Rules& rules_;
    std::vector<PlacedGroup> placed_;
    std::array<std::size_t, dcb::kPriorities> owner_{};    // index of a group
    std::array<bool, dcb::kPriorities> lossless_{};
    std::array<bool, dcb::kPriorities> foreign_{};
    std::size_t highest_ = 0;
};

}    // namespace

std::vector<PlacedGroup> place_groups(const std::vector<Group>& groups, const std::vector<std::uint8_t>& wishes,
                                      const dcb::PortSettings& before, const Rules& rules)
{
    return Placement(groups, wishes, before, rules).place();
}

}    // namespace rdmaqos::port_classes
