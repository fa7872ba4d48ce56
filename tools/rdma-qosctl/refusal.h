// What to say of a command line that makes no sense.
#pragma once

#include <string>
#include <vector>

#include "tools/rdma-qosctl/options.h"

namespace CLI {
class App;
class ParseError;
}    // namespace CLI

namespace rdmaqos::ctl {

// The first word that is no option nor an option's value.
[[nodiscard]] std::string first_word(const std::vector<std::string>& arguments);

[[nodiscard]] Finished refuse(const CLI::App& app, const CLI::ParseError& error,
                              const std::vector<std::string>& arguments);

}    // namespace rdmaqos::ctl
