// How far a word is from many others, for suggestions: one that a client waits for is made on the main loop, and the
// client chooses the word.
//
// An insertion, a deletion, a replacement and a swap of neighbours each cost one; letters of ASCII count whatever their
// case. A column of the table of distances is kept as differences, a bit for each letter of the word (H. Hyyrö, "A
// bit-vector algorithm for computing Levenshtein and Damerau edit distances", 2003): a letter of the other word is a
// step of a dozen operations, whatever the word's length, and nothing is allocated.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace rdmaqos {

inline constexpr std::size_t kLongestWordCompared = 64;

class EditDistance {
public:
    // From this word, of at most kLongestWordCompared letters, which is not empty.
    explicit EditDistance(std::string_view word);

    // To another one; empty: `limit` or more. It stops where that is certain.
    [[nodiscard]] std::optional<std::size_t> below(std::size_t limit, std::string_view other);

    // That all calls have taken together.
    [[nodiscard]] std::size_t steps() const { return steps_; }

private:
    std::size_t length_;
    std::array<std::uint64_t, 256> places_{};    // of each letter in the word
    std::size_t steps_ = 0;
};

}    // namespace rdmaqos
