#include "tools/emulator/tasks.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>

#include <fmt/format.h>
#include <linux/capability.h>
#include <unistd.h>

namespace rdmaqos::emulator {

namespace {

// What stands behind a key of a task's `status`; empty: there is none.
std::string status_of(const std::string& task, std::string_view key)
{
    std::ifstream status(task + "/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with(key)) {
            return line.substr(key.size());
        }
    }
    return {};
}

}    // namespace

std::vector<pid_t> numbers_of(const std::string& task)
{
    std::istringstream words(status_of(task, "NSpid:"));
    return {std::istream_iterator<pid_t>(words), {}};
}

pid_t own_number(pid_t process, pid_t thread)
{
    const std::string folder = fmt::format("/proc/{}/task", process);
    if (access(fmt::format("{}/{}", folder, thread).c_str(), F_OK) == 0) {
        return thread;
    }
    std::error_code failed;
    for (std::filesystem::directory_iterator task(folder, failed), end; !failed && task != end;
         task.increment(failed)) {
        const auto numbers = numbers_of(task->path());
        if (!numbers.empty() && numbers.back() == thread) {
            return numbers.front();
        }
    }
    return process;
}

bool has_net_admin(pid_t process)
{
    const std::string effective = status_of(fmt::format("/proc/{}", process), "CapEff:");
    return (std::strtoull(effective.c_str(), nullptr, 16) >> CAP_NET_ADMIN & 1U) != 0;
}

}    // namespace rdmaqos::emulator
