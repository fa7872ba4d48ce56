// Which of many lines of one kind are written: the first ones, then one in each interval, which says how many there
// were in between.
//
// In bounded memory, whatever the keys are: when it is used up, further keys share a place until others were quiet for
// as long as their rules say. So a sender that can invent keys hides news of other newcomers at most, and never those
// of who is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "lib/base/clock.h"

namespace rdmaqos {

class RepeatLimit {
public:
    struct Rule {
        std::uint32_t at_once = 1;    // 0: no limit
        Duration interval{};
    };
    // What is said, and who is the reason that it is said again and again.
    struct Key {
        std::uint64_t what = 0;
        std::uint64_t who = 0;

        friend bool operator==(const Key&, const Key&) = default;
    };

    explicit RepeatLimit(std::size_t most_keys) : most_keys_(most_keys) {}

    // Empty: leave it out. Else how many of this key were left out since the last one that was written. `now` does not
    // go back. A key has the same rule each time.
    [[nodiscard]] std::optional<std::uint32_t> take(const Key& key, const Rule& rule, TimePoint now);

    [[nodiscard]] std::size_t size() const { return places_.size(); }

private:
    struct Hash {
        std::size_t operator()(const Key& key) const { return key.what ^ (key.who * 0x9e3779b97f4a7c15U); }
    };
    struct Place {
        TimePoint full_at{};    // when it may be `at_once` again
        std::uint32_t left_out = 0;
    };

    Place& place_of(const Key& key, TimePoint now);

    std::size_t most_keys_;
    std::unordered_map<Key, Place, Hash> places_;
    Place shared_;
    TimePoint sweep_at_{};
};

}    // namespace rdmaqos
