// Helper processes: programs of this project that do for a daemon what is safer in a process of its own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "lib/base/file.h"
#include "lib/base/result.h"

namespace rdmaqos {

struct HelperProcess {
    pid_t pid = 0;      // a child, to be reaped
    UniqueFd socket;    // SOCK_SEQPACKET to the helper; it reads the end when this is closed
};

// Starts a program, looked for in PATH if its name has no '/', and its arguments; the number of its end of the socket
// is added to them. The helper has that, stdin, stdout and stderr, and no other descriptor of ours; no signal is
// blocked. `what` begins the sentence of an error, which has an errno: "the helper of the self-test".
[[nodiscard]] Result<HelperProcess> start_helper(std::vector<std::string> command, std::string_view what);

}    // namespace rdmaqos
