// A pager for long output on a terminal, as systemctl and git use one.
#pragma once

#include <sys/types.h>

#include "lib/base/file.h"

namespace rdmaqos::ctl {

// While it lives, what is printed goes through $PAGER, or less, which ends at once if all of it fits the terminal. Does
// nothing when stdout is no terminal, or $PAGER is empty or `cat`. For a user who is root by sudo, less is kept from
// running commands (LESSSECURE).
class Pager {
public:
    Pager();
    ~Pager();
    Pager(const Pager&) = delete;
    Pager& operator=(const Pager&) = delete;

private:
    UniqueFd terminal_;
    pid_t pid_ = 0;    // 0: there is none
};

}    // namespace rdmaqos::ctl
