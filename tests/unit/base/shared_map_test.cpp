#include "lib/base/shared_map.h"

#include <map>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace rdmaqos {
namespace {

using Map = SharedMap<int, std::string>;
using Plain = std::map<int, std::string>;

Plain plain(const Map& map)
{
    return {map.begin(), map.end()};
}

RC_GTEST_PROP(SharedMap, IsAsAMapAndItsCopiesStayAsTheyAre, (const std::vector<std::pair<int, std::uint8_t>>& steps))
{
    Map map;
    Plain reference;
    std::vector<std::pair<Map, Plain>> copies;
    for (const auto& [number, what] : steps) {
        const int key = number % 16;
        if (what % 3 == 0) {
            map.erase(key);
            reference.erase(key);
        } else {
            map.insert_or_assign(key, std::to_string(what));
            reference.insert_or_assign(key, std::to_string(what));
        }
        RC_ASSERT(plain(map) == reference);
        RC_ASSERT(map.size() == reference.size());
        RC_ASSERT(map.contains(key) == reference.contains(key));
        copies.emplace_back(map, reference);
    }
    for (const auto& [copy, as_it_was] : copies) {
        RC_ASSERT(plain(copy) == as_it_was);
    }
}

// A value that counts how often it is copied: what a change costs.
struct Counted {
    static inline std::size_t copies = 0;
    Counted() = default;
    Counted(const Counted& /*unused*/) { ++copies; }
    Counted(Counted&& /*unused*/) noexcept {}
    Counted& operator=(const Counted&) = default;
    Counted& operator=(Counted&&) = default;
    ~Counted() = default;
};

std::size_t copies_of_changes(int size)
{
    SharedMap<int, Counted> map;
    for (int key = 0; key < size; ++key) {
        map.insert_or_assign(key, Counted());
    }
    Counted::copies = 0;
    constexpr int kChanges = 100;
    for (int i = 0; i < kChanges; ++i) {
        const auto copy = map;
        map.erase(i * (size / kChanges));
        map.insert_or_assign(size + i, Counted());
    }
    return Counted::copies / kChanges;
}

TEST(SharedMap, AChangeCopiesTheWayToIt)
{
    EXPECT_LE(copies_of_changes(100'000), 2 * copies_of_changes(1'000) + 10);
    EXPECT_LE(copies_of_changes(100'000), 100U);
}

}    // namespace
}    // namespace rdmaqos
