// Inside plan(): whole percents for the classes that divide a port by weight. Not for users of this folder.
//
//     wanted                     weights     reached
//     66.5 %, 28.5 %, 5 %        67:28:5     67 %, 28 %, 5 %
//     14.3 % (its cap), 85.7 %   15:85       14.3 %, 85.7 %     who is capped needs a weight that is large enough
//     0.4 %, 99.6 %              1:99        1 %, 99 %          who has a share has 1 % at least
//
// They always sum to the same whole, although some drivers take less: what such a driver does with the rest is in no
// manual.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace rdmaqos::port_classes {

// In parts of what the classes divide.
struct WeightWish {
    double wanted = 0;
    double at_least = 0;                                      // guaranteed, when all are busy
    double most = std::numeric_limits<double>::infinity();    // its cap
};

// At least 1 each, `whole` together; `whole` is not less than the number of wishes. Those that miss the least of what
// is guaranteed; of these, those with the smallest sum of |reached - wanted|; of these, those whose worst deviation in
// parts of what is wanted is the least. Where somebody is capped, several may differ from these by less than a
// hundredth: then those that are nearest to what is wanted themselves.
[[nodiscard]] std::vector<std::uint8_t> choose_percents(std::span<const WeightWish> wishes, std::uint32_t whole);

// What each gets with these weights when all are busy.
[[nodiscard]] std::vector<double> reached_with(std::span<const WeightWish> wishes,
                                               std::span<const std::uint8_t> percents);

}    // namespace rdmaqos::port_classes
