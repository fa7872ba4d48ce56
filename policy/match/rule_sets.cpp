#include "policy/match/rule_sets.h"

#include <algorithm>

namespace rdmaqos {
namespace {

// The first place in [next, end) whose number is at least `number`. Most often it is near.
template <typename NumberAt>
std::size_t leap(std::size_t next, std::size_t end, std::uint32_t number, NumberAt number_at)
{
    std::size_t step = 1;
    while (next < end && number_at(next) < number) {
        const std::size_t far = std::min(next + step, end);
        if (far == end || number_at(far) >= number) {
            // In (next, far].
            std::size_t low = next + 1;
            std::size_t high = far;
            while (low < high) {
                const std::size_t middle = low + (high - low) / 2;
                if (number_at(middle) < number) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            return low;
        }
        next = far;
        step *= 2;
    }
    return next;
}

}    // namespace

RuleSets::Set RuleSets::add(std::vector<std::uint32_t> positions)
{
    if (positions.empty()) {
        return 0;
    }
    std::sort(positions.begin(), positions.end());
    for (const std::uint32_t position : positions) {
        const std::uint32_t word = position / kWordBits;
        if (words_.size() == ends_.back() || words_.back() != word) {
            words_.push_back(word);
            bits_.push_back(0);
        }
        bits_.back() |= std::uint64_t{1} << (position % kWordBits);
    }
    ends_.push_back(words_.size());
    return static_cast<Set>(ends_.size() - 1);
}

std::size_t RuleSets::memory() const
{
    return ends_.capacity() * sizeof(ends_[0]) + words_.capacity() * sizeof(words_[0]) +
           bits_.capacity() * sizeof(bits_[0]);
}

void SetUnion::add(RuleSets::Set set)
{
    if (set == 0) {
        return;
    }
    const std::size_t begin = sets_.ends_[set - 1];
    const std::size_t end = sets_.ends_[set];
    if (count_ < cursors_.size()) {
        cursors_[count_++] = {begin, begin, end};
        return;
    }
    for (std::size_t place = begin; place < end; ++place) {
        rest_.push_back({sets_.words_[place], sets_.bits_[place]});
    }
    rest_is_sorted_ = false;
}

void SetUnion::sort_rest()
{
    std::sort(rest_.begin(), rest_.end(), [](const Word& a, const Word& b) { return a.number < b.number; });
    std::size_t kept = 0;
    for (std::size_t i = 1; i < rest_.size(); ++i) {
        if (rest_[i].number == rest_[kept].number) {
            rest_[kept].bits |= rest_[i].bits;
        } else {
            rest_[++kept] = rest_[i];
        }
    }
    rest_.resize(kept + 1);
    rest_is_sorted_ = true;
}

SetUnion::Word SetUnion::seek(std::uint32_t number)
{
    if (!rest_is_sorted_) {
        sort_rest();
    }
    Word found{kNone, 0};
    const auto consider = [&found](std::uint32_t candidate, std::uint64_t bits) {
        if (candidate < found.number) {
            found = {candidate, bits};
        } else if (candidate == found.number) {
            found.bits |= bits;
        }
    };
    for (std::size_t i = 0; i < count_; ++i) {
        Cursor& cursor = cursors_[i];
        cursor.next = leap(cursor.next, cursor.end, number, [this](std::size_t place) { return sets_.words_[place]; });
        if (cursor.next < cursor.end) {
            consider(sets_.words_[cursor.next], sets_.bits_[cursor.next]);
        }
    }
    next_of_rest_ = leap(next_of_rest_, rest_.size(), number,
                         [this](std::size_t place) { return rest_[place].number; });
    if (next_of_rest_ < rest_.size()) {
        consider(rest_[next_of_rest_].number, rest_[next_of_rest_].bits);
    }
    return found;
}

void SetUnion::rewind()
{
    for (std::size_t i = 0; i < count_; ++i) {
        cursors_[i].next = cursors_[i].begin;
    }
    next_of_rest_ = 0;
}

}    // namespace rdmaqos
