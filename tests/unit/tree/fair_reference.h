// What a policy gives everybody when all are busy, computed anew and in the simplest way: by trying levels. A judge for
// compile(), which must not use its code.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

namespace rdmaqos::test {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

struct Wish {
    double min = 0;    // kbit/s; 0: by share
    double cap = kNoLimit;
    double share = 1;
    bool is_leaf = true;
    std::vector<Wish> below;    // of a node; none: nobody can ever send

    double usable = 0;    // the most it can use
    double rate = 0;      // what it shall have
};

inline double find_usable(Wish& wish)
{
    double sum = wish.is_leaf ? kNoLimit : 0;
    for (auto& child : wish.below) {
        sum += find_usable(child);
    }
    wish.usable = std::min(wish.cap, sum);
    return wish.usable;
}

// Raises the water until all is given away: each has its weight times the level, but not more than it can use.
template <typename Weight>
void raise_water(double whole, std::vector<Wish*>& wishes, Weight weight)
{
    double low = 0;
    double high = 1e18;
    for (int i = 0; i < 300; ++i) {
        const double level = (low + high) / 2;
        double given = 0;
        for (Wish* wish : wishes) {
            wish->rate = std::min(wish->usable, weight(*wish) * level);
            given += wish->rate;
        }
        (given > whole ? high : low) = level;
    }
}

inline void fill(Wish& node, double whole)
{
    std::vector<Wish*> guaranteed;
    std::vector<Wish*> others;
    double mins = 0;
    for (auto& child : node.below) {
        (child.min > 0 ? guaranteed : others).push_back(&child);
        mins += std::min(child.min, child.usable);
    }
    raise_water(std::max(whole - mins, 0.0), others, [](const Wish& wish) { return wish.share; });
    double left = whole;
    for (const Wish* wish : others) {
        left -= wish->rate;
    }
    raise_water(left, guaranteed, [](const Wish& wish) { return wish.min; });
    for (auto& child : node.below) {
        fill(child, child.rate);
    }
}

}    // namespace rdmaqos::test
