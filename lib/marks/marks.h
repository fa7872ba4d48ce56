// The service level and traffic class of a level, in the variables that libraries for parallel programs read.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rdmaqos::marks {

struct Marks {
    std::string level;
    std::optional<std::uint8_t> sl;
    bool sl_of_host = false;    // it may replace the subnet manager's
    std::optional<std::uint8_t> traffic_class;
};

// The link layers that ports of a host have. On InfiniBand the subnet manager chooses service levels, and there are no
// traffic classes.
struct HostLinks {
    bool infiniband = false;
    bool ethernet = false;
};
// Of this host.
[[nodiscard]] HostLinks links_of_host();

enum class Meaning : std::uint8_t { ServiceLevel, TrafficClass };
enum class Layer : std::uint8_t { Any, InfiniBand };

// A row for each variable that some library reads.
struct KnownVariable {
    std::string_view name;
    Meaning meaning;
    Layer layer;                  // where it has this meaning
    std::string_view programs;    // that read it
};
[[nodiscard]] std::span<const KnownVariable> known_variables();

struct Variable {
    std::string name;
    std::string value;
    std::string programs;
};
// Those that have a value, and that every program here can use. With a port on InfiniBand the service level counts only
// if it is the host's. With no other port the traffic class does not count: a library that sets one may refuse to
// start.
[[nodiscard]] std::vector<Variable> variables_of(const Marks& marks, HostLinks links);

// What of the level is in no variable here, and why: sentences without a full stop.
[[nodiscard]] std::vector<std::string> left_out(const Marks& marks, HostLinks links);

// For the shell: a line that exports each variable, and comments.
[[nodiscard]] std::string to_shell(const Marks& marks, HostLinks links);

}    // namespace rdmaqos::marks
