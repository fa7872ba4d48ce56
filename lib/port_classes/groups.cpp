#include "lib/port_classes/groups.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace rdmaqos::port_classes {
namespace {

std::vector<std::uint8_t> dscps_of(const ClassRequest& child)
{
    std::vector<std::uint8_t> dscps;
    for (const LevelMark& mark : child.levels) {
        if (mark.dscp && *mark.dscp != 0) {
            dscps.push_back(*mark.dscp);
        }
    }
    std::ranges::sort(dscps);
    dscps.erase(std::unique(dscps.begin(), dscps.end()), dscps.end());
    return dscps;
}

void add(Group& group, const Group& other)
{
    group.children.insert(group.children.end(), other.children.begin(), other.children.end());
    std::ranges::sort(group.children);
    std::vector<std::uint8_t> dscps;
    std::ranges::set_union(group.dscps, other.dscps, std::back_inserter(dscps));
    group.dscps = std::move(dscps);
    group.is_strict = group.is_strict && other.is_strict;
}

bool share_a_dscp(const Group& a, const Group& b)
{
    return std::ranges::any_of(a.dscps, [&b](std::uint8_t dscp) { return b.has(dscp); });
}

// Larger: needs a class of its own more.
std::tuple<bool, bool, bool, std::uint64_t> need_of(const Requests& requests, const Group& group)
{
    std::tuple<bool, bool, bool, std::uint64_t> need{group.is_strict, false, false, 0};
    for (const std::size_t index : group.children) {
        const ClassRequest& child = requests.children[index];
        std::get<1>(need) |= child.min_rate.has_value();
        std::get<2>(need) |= child.max_rate.has_value();
        std::get<3>(need) += child.share;
    }
    return need;
}

}    // namespace

bool Group::has(std::uint8_t dscp) const
{
    return std::ranges::binary_search(dscps, dscp);
}

std::vector<Group> groups_of(const Requests& requests, std::size_t most)
{
    std::vector<Group> groups;
    for (std::size_t index = 0; index < requests.children.size(); ++index) {
        Group group{{index}, dscps_of(requests.children[index]), requests.children[index].strict, false};
        if (group.dscps.empty()) {
            continue;
        }
        for (auto other = groups.begin(); other != groups.end();) {
            if (share_a_dscp(group, *other)) {
                add(group, *other);
                other = groups.erase(other);
            } else {
                ++other;
            }
        }
        groups.push_back(std::move(group));
    }
    const auto by_child = [](const Group& a, const Group& b) { return a.children.front() < b.children.front(); };
    std::ranges::sort(groups, by_child);
    if (most == 0) {
        return {};
    }
    if (groups.size() > most) {
        std::ranges::stable_sort(
            groups, [&](const Group& a, const Group& b) { return need_of(requests, a) > need_of(requests, b); });
        for (std::size_t index = most; index < groups.size(); ++index) {
            add(groups[most - 1], groups[index]);
        }
        groups[most - 1].is_overflow = true;
        groups.resize(most);
        std::ranges::sort(groups, by_child);
    }
    return groups;
}

std::string in_words(const Requests& requests, const std::vector<std::size_t>& children, std::size_t but)
{
    std::vector<std::string> names;
    for (const std::size_t index : children) {
        if (index != but) {
            names.push_back(requests.children[index].path.text());
        }
    }
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i) {
        text += i == 0 ? "" : i + 1 == names.size() ? " and " : ", ";
        text += names[i];
    }
    return text;
}

}    // namespace rdmaqos::port_classes
