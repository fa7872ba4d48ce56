// Whom polkit asks for a password when a command runs in a terminal: pkttyagent, for as long as this lives. Where it is
// not installed, this does nothing.
#pragma once

#include <sys/types.h>

namespace rdmaqos::ctl {

class PasswordAgent {
public:
    // Returns when polkit knows of it.
    PasswordAgent();
    ~PasswordAgent();
    PasswordAgent(const PasswordAgent&) = delete;
    PasswordAgent& operator=(const PasswordAgent&) = delete;

    // Whether somebody is there who can be asked, and need not be root anyway.
    [[nodiscard]] static bool has_somebody_to_ask();

private:
    pid_t pid_ = 0;    // 0: it does not run
};

}    // namespace rdmaqos::ctl
