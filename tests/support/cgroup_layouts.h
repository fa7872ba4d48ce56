// Cgroup trees as workload managers make them, in tests/integration/cgroups/layouts: "hierarchy v1" or "v2", then lines
// "PRINCIPAL PATH", where "-" is nobody.
#pragma once

#include <array>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/golden.h"

namespace rdmaqos::test {

struct CgroupLayout {
    struct Process {
        std::string principal;
        std::string path;
    };
    std::string hierarchy;
    std::vector<Process> processes;
};

inline constexpr std::array kCgroupLayouts{"slurm-v2", "slurm-v1", "kubernetes-systemd", "kubernetes-cgroupfs"};

inline CgroupLayout read_layout(std::string_view name)
{
    CgroupLayout layout;
    std::istringstream lines(
        read_text(source_dir() + "/tests/integration/cgroups/layouts/" + std::string(name) + ".txt"));
    for (std::string line; std::getline(lines, line);) {
        const auto blank = line.find(' ');
        if (line.starts_with('#')) {
            continue;
        }
        if (line.starts_with("hierarchy ")) {
            layout.hierarchy = line.substr(blank + 1);
        } else {
            layout.processes.push_back({line.substr(0, blank), line.substr(blank + 1)});
        }
    }
    return layout;
}

}    // namespace rdmaqos::test
