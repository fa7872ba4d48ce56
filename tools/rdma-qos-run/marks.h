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

// Whether a port of this host is on InfiniBand, where the subnet manager chooses service levels.
[[nodiscard]] bool host_has_infiniband();

struct Variable {
    std::string name;
    std::string value;
};
// Those that have a value. `infiniband`: the service level counts only if it is the host's.
[[nodiscard]] std::vector<Variable> variables_of(const Marks& marks, bool infiniband);

}    // namespace rdmaqos::run
