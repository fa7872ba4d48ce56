// Sets of rules as the matcher meets and intersects them.
//
// A rule has a position, a number from 0. A set keeps 64 positions to a word and only the words that are not zero, in
// ascending order, so a set of few among many rules is small and two sets are intersected by leaping from one's words
// to the other's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rdmaqos {

// Many sets in one place.
class RuleSets {
public:
    using Set = std::uint32_t;    // a number; 0 is the empty set
    static constexpr std::uint32_t kWordBits = 64;

    RuleSets() : ends_{0} {}

    // Positions in any order.
    [[nodiscard]] Set add(std::vector<std::uint32_t> positions);
    [[nodiscard]] std::size_t memory() const;

private:
    friend class SetUnion;

    std::vector<std::size_t> ends_;       // of a set: the place behind its last word
    std::vector<std::uint32_t> words_;    // the number of the word at a place
    std::vector<std::uint64_t> bits_;     // and what is in it
};

// The union of several sets, read from the front.
class SetUnion {
public:
    struct Word {
        std::uint32_t number;
        std::uint64_t bits;    // never 0
    };
    static constexpr std::uint32_t kNone = 0xFFFFFFFF;

    explicit SetUnion(const RuleSets& sets) : sets_(sets) {}

    // All of them before the first seek().
    void add(RuleSets::Set set);
    // The first word from `number` on; its number is kNone at the end. Questions come in ascending order.
    [[nodiscard]] Word seek(std::uint32_t number);
    void rewind();

private:
    struct Cursor {    // places in sets_; only those in use are initialised
        std::size_t begin;
        std::size_t next;
        std::size_t end;
    };

    void sort_rest();

    const RuleSets& sets_;
    std::array<Cursor, 12> cursors_;
    std::size_t count_ = 0;
    // The words of the sets for which there was no cursor, merged by the first seek().
    std::vector<Word> rest_;
    std::size_t next_of_rest_ = 0;
    bool rest_is_sorted_ = true;
};

}    // namespace rdmaqos
