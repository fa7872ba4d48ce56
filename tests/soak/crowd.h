// What the tests with a crowd of programs share: how large and how long, the policies that follow each other, and what
// the daemon holds.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <sys/types.h>

#include "tests/nic_mlx5/program.h"

namespace rdmaqos::test {

constexpr std::size_t kQueuePairs = 8;    // of each program
// So many start at once while others are served. More would only measure the emulator, which takes one call at a time:
// it would be busy with their queue pairs, and the daemon's commands would wait behind theirs.
constexpr std::size_t kComingUp = 16;

inline std::size_t from_environment(const char* name, std::size_t otherwise)
{
    const char* given = getenv(name);    // NOLINT(concurrency-mt-unsafe): nobody sets it
    return given == nullptr ? otherwise : std::strtoul(given, nullptr, 10);
}

inline std::size_t descriptors_of(pid_t pid)
{
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", pid))) {
        ++count;
    }
    return count;
}

inline std::size_t kib_of(pid_t pid)
{
    std::ifstream file(fmt::format("/proc/{}/smaps_rollup", pid));
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("Pss:")) {
            return std::strtoul(line.c_str() + 4, nullptr, 10);
        }
    }
    return 0;
}

// Every second one gives level `bulk` another share.
inline std::string alternate(std::string policy, int round)
{
    if (round % 2 != 0) {
        policy.replace(policy.find("share: 20"), 9, "share: 21");
    }
    return policy;
}

}    // namespace rdmaqos::test
