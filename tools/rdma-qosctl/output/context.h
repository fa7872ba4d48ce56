// What every verb is given.
#pragma once

#include <string>
#include <vector>

#include "lib/base/diagnostic.h"
#include "tools/rdma-qosctl/output/terminal.h"

namespace rdmaqos::ctl {

struct Context {
    std::string root;           // prefix of every path; empty for the host itself
    bool system_bus = false;    // not the direct socket
    bool json = false;
    bool ask_password = false;             // that polkit wants
    bool on_terminal = false;              // stdout is for somebody who reads, not for a program
    Screen screen = Colour::Off;           // stdout
    Colour error_colour = Colour::Off;     // of stderr
    std::vector<std::string> command{};    // behind `--`: what `request` runs
};

}    // namespace rdmaqos::ctl
