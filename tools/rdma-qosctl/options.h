// The command line: which command, with which options. Nothing here does anything but read words.
#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "lib/base/result.h"
#include "tools/rdma-qosctl/output/context.h"
#include "tools/rdma-qosctl/output/terminal.h"

namespace rdmaqos::ctl {

struct Invocation {
    std::string root;
    bool system_bus = false;
    bool json = false;
    bool wide = false;
    bool ask_password = true;    // if polkit wants one, and stdin is a terminal
    bool paged = false;    // if stdout is a terminal
    ColourChoice colour = ColourChoice::Auto;
    std::function<Result<int>(const Context&)> run;    // returns the exit status
};

// The text and status of --help, --version and of a command line that makes no sense.
struct Finished {
    int status = 0;
    std::string output;    // stdout
    std::string error;     // stderr
};

// Without the program's name.
[[nodiscard]] std::variant<Invocation, Finished> parse_command_line(const std::vector<std::string>& arguments);

}    // namespace rdmaqos::ctl
