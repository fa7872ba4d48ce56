// The traffic classes of a port, as they schedule what the scheduling trees below them send.
//
//     the port
//     ├── strict classes         the highest number first, each before all that follow
//     ├── classes with weights   what the strict ones leave, by their weights
//     └── classes of weight 0    what the others leave, in equal parts
//
//     a class                    no faster than its maximum rate
//     └── the device's tree, or one tree for each process: of each leaf, what is in this class
//
// A packet's DSCP gives its priority, and that its class; its queue pair gives the leaf. In which order a port asks the
// two is in no manual. Assumed here: first the class, then the trees. A packet is sent only if both let it. So the
// share of an element counts in each class by itself, and its cap holds for what it sends in all classes together. How
// classes that compete for one cap divide it is assumed as well: the solver fills them at the same time; the arbiter
// gives it to the class whose turn it is, which may be the same one each time. All that show a rate that follows from
// this say so. That weights of 0 are served last, and in equal parts, is what mlx5 does.
//
// Values. lib/dcb has those of the kernel's interface, which say more.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/units.h"

namespace rdmaqos {

inline constexpr std::size_t kPortClasses = 8;
inline constexpr std::size_t kPortPriorities = 8;
inline constexpr std::size_t kDscps = 64;

struct PortClass {
    bool is_strict = false;
    std::uint32_t weight = 0;    // of one that is not strict
    std::optional<Bandwidth> max_rate;

    friend bool operator==(const PortClass&, const PortClass&) = default;
};

// As it is made: everything is in class 0, as if there were no classes.
struct PortClasses {
    std::array<PortClass, kPortClasses> classes{};
    std::array<std::uint8_t, kPortPriorities> class_of_priority{};    // below kPortClasses
    std::array<std::uint8_t, kDscps> priority_of_dscp{};              // below kPortPriorities

    [[nodiscard]] std::uint8_t class_of_dscp(std::uint8_t dscp) const
    {
        return class_of_priority.at(priority_of_dscp.at(dscp % kDscps));
    }
    friend bool operator==(const PortClasses&, const PortClasses&) = default;
};

// Classes of a higher rank are served before all of lower ranks, those of one rank by their weights.
[[nodiscard]] unsigned rank_of(const PortClasses& port, std::size_t number);
// Among those of its rank; 1 or more.
[[nodiscard]] std::uint32_t weight_of(const PortClass& port_class);
// Whether it matters which DSCP a packet has, or that there are classes at all: packets are in different classes, or in
// one that has a maximum rate.
[[nodiscard]] bool divides(const PortClasses& port);

// "weight 70", "strict, at most 10 Gbit/s"
[[nodiscard]] std::string in_words(const PortClass& port_class);

// From words that state all of it: `tc1=70` (weight), `tc2=30,10Gbps` (and maximum rate), `tc6=strict`, `prio3=2` (its
// class), `dscp26=3` (its priority). A priority that is not named is in the class of its number, a DSCP that is not has
// priority 0. No words: as it is made.
[[nodiscard]] Result<PortClasses> parse_port_classes(const std::vector<std::string>& words);
// Such words; none: as it is made.
[[nodiscard]] std::vector<std::string> words_of(const PortClasses& port);

}    // namespace rdmaqos
