// What the threads of a process do at the moment.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>
#include <unistd.h>

namespace rdmaqos::test {

inline std::string text_of_proc(const std::filesystem::path& path)
{
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

// The state of a thread or process of this folder as proc(5) has it, 'S' for one that waits; 'X' if there is none.
inline char state_in_proc(const std::filesystem::path& folder)
{
    const std::string text = text_of_proc(folder / "stat");
    const auto name_end = text.rfind(") ");
    return name_end == std::string::npos ? 'X' : text.at(name_end + 2);
}

// How often each thread of a process, but this one, has been on a processor; nothing if one of them does not wait. One
// that was woken does not, even before it has a processor.
inline std::optional<std::string> runs_of(pid_t process)
{
    std::error_code gone;
    std::string runs;
    const std::string self = std::to_string(gettid());
    for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task", gone)) {
        if (thread.path().filename() == self) {
            continue;
        }
        if (std::string_view("SXZ").find(state_in_proc(thread.path())) == std::string_view::npos) {
            return std::nullopt;
        }
        runs += thread.path().filename().string() + " " + text_of_proc(thread.path() / "schedstat");
    }
    return runs;
}

// All of its threads wait, but this one: none computes, and none was woken.
inline bool rests(pid_t process)
{
    const auto before = runs_of(process);
    return before && before == runs_of(process);    // else one may have woken another between two looks
}

}    // namespace rdmaqos::test
