// The service level and traffic class of a level, in the variables that libraries for parallel programs read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/result.h"

namespace rdmaqos::run {

struct Marks {
    std::string level;
    std::optional<std::uint8_t> sl;
    bool sl_of_host = false;    // it may replace the subnet manager's
    std::optional<std::uint8_t> traffic_class;
};

// What the daemon below `root` answers for a level, or with an empty one for this process. Errors: as of QueryPath, and
// NoDaemon.
[[nodiscard]] Result<Marks> ask_marks(const std::filesystem::path& root, const std::string& level);

// The link layers that ports of this host have. On InfiniBand the subnet manager chooses service levels, and there are
// no traffic classes.
struct HostLinks {
    bool infiniband = false;
    bool ethernet = false;
};
[[nodiscard]] HostLinks links_of_host();

struct Variable {
    std::string name;
    std::string value;
};
// Those that have a value, and that every program here can use. With a port on InfiniBand the service level counts only
// if it is the host's. With no other port the traffic class does not count: a library that sets one may refuse to
// start.
[[nodiscard]] std::vector<Variable> variables_of(const Marks& marks, HostLinks links);

}    // namespace rdmaqos::run
