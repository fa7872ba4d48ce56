// The command line: which verb, with which options. Nothing here does anything but read words.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/verbs/verb.h"

namespace rdmaqos::ctl {

struct Invocation {
    std::string root;
    bool system_bus = false;
    bool json = false;
    bool wide = false;
    bool ask_password = true;    // if polkit wants one, and stdin is a terminal
    bool paged = false;          // if stdout is a terminal
    ColourChoice colour = ColourChoice::Auto;
    std::vector<std::string> command;    // behind `--`
    Run run;
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
