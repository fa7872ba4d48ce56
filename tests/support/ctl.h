// The built rdma-qosctl, run as a user runs it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <sys/wait.h>

#include "tests/support/golden.h"
#include "tests/support/patience.h"

namespace rdmaqos::test {

struct Outcome {
    int status = -1;
    std::string output;
    std::string error;
};

// The shell splits the words. Runs in the directory of the root; a hang ends with status 124.
inline Outcome run_program(const std::filesystem::path& root, const std::string& program, const std::string& words)
{
    const std::string command = fmt::format("cd {0} && timeout {3} {1} --root {0} {2} >out 2>err </dev/null",
                                            root.string(), program, words, kManyHung.count());
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_text(root / "out"), read_text(root / "err")};
}

inline Outcome run_ctl(const std::filesystem::path& root, const std::string& words)
{
    return run_program(root, RDMAQOS_CTL, words);
}

}    // namespace rdmaqos::test
