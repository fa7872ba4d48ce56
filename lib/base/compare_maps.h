// What became of each key from one map to another.
#pragma once

#include <map>

namespace rdmaqos {

// visit(key, before, after) for each key of either, in order; a pointer is null where the map has no such key.
template <typename Key, typename Before, typename After, typename Visit>
void compare_maps(const std::map<Key, Before>& before, const std::map<Key, After>& after, Visit visit)
{
    auto old = before.begin();
    auto now = after.begin();
    while (old != before.end() || now != after.end()) {
        const bool goes = now == after.end() || (old != before.end() && old->first < now->first);
        const bool comes = !goes && (old == before.end() || now->first < old->first);
        visit(comes ? now->first : old->first, comes ? nullptr : &old->second, goes ? nullptr : &now->second);
        if (!comes) {
            ++old;
        }
        if (!goes) {
            ++now;
        }
    }
}

}    // namespace rdmaqos
