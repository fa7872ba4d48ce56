#include "lib/base/process_state.h"

#include <charconv>
#include <string>
#include <string_view>

#include "lib/base/file.h"
#include "lib/base/text.h"

namespace rdmaqos {

// "4711 (rdma-qosd) S 1 ...": the state follows the name, in which anything may stand.
std::optional<char> task_state(const std::filesystem::path& stat)
{
    const auto text = read_kernel_file(stat);
    const auto end = text ? text->rfind(") ") : std::string::npos;
    if (end == std::string::npos || end + 2 >= text->size()) {
        return std::nullopt;
    }
    return (*text)[end + 2];
}

// What it has computed, what it has waited, and how often it got a processor.
std::optional<ProcessorTimes> task_processor_times(const std::filesystem::path& schedstat)
{
    const auto text = read_kernel_file(schedstat);
    if (!text) {
        return std::nullopt;
    }
    std::uint64_t computed = 0;
    std::uint64_t waited = 0;
    const char* const end = text->data() + text->size();
    const auto first = std::from_chars(text->data(), end, computed);
    if (first.ec != std::errc() || first.ptr == end || std::from_chars(first.ptr + 1, end, waited).ec != std::errc()) {
        return std::nullopt;
    }
    return ProcessorTimes{std::chrono::nanoseconds(computed), std::chrono::nanoseconds(waited)};
}

bool has_died(const std::filesystem::path& proc, pid_t process)
{
    const char state = task_state(proc / std::to_string(process) / "stat").value_or(' ');
    return state == 'Z' || state == 'X';
}

// "Uid:", then real, effective, saved and file system uid.
std::optional<std::uint32_t> real_uid_of(const std::filesystem::path& proc, pid_t process)
{
    constexpr std::string_view kKey = "Uid:";
    const auto status = read_kernel_file(proc / std::to_string(process) / "status");
    for (const std::string_view line : lines_of(status ? std::string_view(*status) : std::string_view())) {
        if (!line.starts_with(kKey)) {
            continue;
        }
        const auto rest = without_leading_blanks(line.substr(kKey.size()));
        std::uint32_t uid = 0;
        const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), uid);
        return error == std::errc() ? std::optional(uid) : std::nullopt;
    }
    return std::nullopt;
}

}    // namespace rdmaqos
