#include "lib/base/edit_distance.h"

#include "lib/base/text.h"

namespace rdmaqos {
namespace {

std::size_t letter(char c)
{
    return static_cast<unsigned char>(to_lower(c));
}

}    // namespace

EditDistance::EditDistance(std::string_view word) : length_(word.size())
{
    for (std::size_t i = 0; i < word.size(); ++i) {
        places_[letter(word[i])] |= std::uint64_t{1} << i;
    }
}

std::optional<std::size_t> EditDistance::below(std::size_t limit, std::string_view other)
{
    // A difference in length is the least distance.
    const std::size_t longer = length_ > other.size() ? length_ : other.size();
    const std::size_t shorter = length_ > other.size() ? other.size() : length_;
    if (longer - shorter >= limit || longer > kLongestWordCompared) {
        return std::nullopt;
    }
    const std::uint64_t last = std::uint64_t{1} << (length_ - 1);
    // Of the column: where the distance is one more, or one less, than in the row above; and where it is that of the
    // neighbour up left.
    std::uint64_t more = ~std::uint64_t{0};
    std::uint64_t less = 0;
    std::uint64_t same = 0;
    std::uint64_t before = 0;
    std::size_t distance = length_;
    for (std::size_t i = 0; i < other.size(); ++i) {
        ++steps_;
        const std::uint64_t here = places_[letter(other[i])];
        const std::uint64_t swapped = ((~same & here) << 1U) & before;
        same = (((here & more) + more) ^ more) | here | less | swapped;
        std::uint64_t more_than_left = less | ~(same | more);
        std::uint64_t less_than_left = same & more;
        distance += (more_than_left & last) != 0 ? 1 : 0;
        distance -= (less_than_left & last) != 0 ? 1 : 0;
        // Each letter that is left takes off one at most.
        if (const std::size_t left = other.size() - i - 1; distance >= limit + left) {
            return std::nullopt;
        }
        more_than_left = more_than_left << 1U | 1U;
        less_than_left <<= 1U;
        more = less_than_left | ~(same | more_than_left);
        less = more_than_left & same;
        before = here;
    }
    return distance < limit ? std::optional(distance) : std::nullopt;
}

}    // namespace rdmaqos
