#include "tools/emulator/tasks.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include <fmt/format.h>
#include <unistd.h>

namespace rdmaqos::emulator {

std::vector<pid_t> numbers_of(const std::string& task)
{
    std::ifstream status(task + "/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("NSpid:")) {
            std::istringstream words(line.substr(6));
            return {std::istream_iterator<pid_t>(words), {}};
        }
    }
    return {};
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

}    // namespace rdmaqos::emulator
