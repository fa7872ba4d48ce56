#include "policy/model/identity.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <limits>
#include <optional>
#include <span>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/base/try.h"
#include "policy/model/cgroup_layouts.h"

namespace rdmaqos {
namespace {

// stat holds some 400 bytes, cgroup a line per hierarchy, status up to 65,536 groups of 11 bytes.
constexpr std::size_t kMaxStat = 4096;
constexpr std::size_t kMaxCgroup = 16384;
constexpr std::size_t kMaxStatus = 1024U * 1024;
constexpr std::size_t kMaxLink = 4096;

constexpr std::string_view kDeleted = " (deleted)";    // the kernel's mark on the path of what was removed

Result<UniqueFd> open_process(const std::filesystem::path& proc, pid_t pid)
{
    if (pid <= 0) {
        return fail(ErrorCode::Io, "the client's process is not visible from here (another PID namespace)");
    }
    // All further reads go by this descriptor: should the pid be used again, they fail instead of mixing two processes.
    UniqueFd fd(open(fmt::format("{}/{}", proc.native(), pid).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!fd) {
        return fail(error_from_errno(ErrorCode::Io, errno, fmt::format("process {} cannot be read", pid)));
    }
    return fd;
}

// Fills `buffer` from a file of the process; what does not fit is left out. Returns the number of bytes or -errno.
ssize_t read_at(int process, const char* name, std::span<char> buffer)
{
    const UniqueFd fd(openat(process, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    if (!fd) {
        return -errno;
    }
    std::size_t length = 0;
    while (length < buffer.size()) {
        const ssize_t got = read(fd.get(), buffer.data() + length, buffer.size() - length);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return -errno;
        }
        const bool is_all = static_cast<std::size_t>(got) < buffer.size() - length;
        length += static_cast<std::size_t>(got);
        if (is_all) {
            break;    // these files of /proc come in one piece: a short read was the last
        }
    }
    return static_cast<ssize_t>(length);
}

std::string_view as_text(std::span<const char> buffer, ssize_t length)
{
    return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

Error process_error(pid_t pid, ssize_t negative_errno, std::string_view file)
{
    return error_from_errno(ErrorCode::Io, static_cast<int>(-negative_errno), fmt::format("process {}: {}", pid, file));
}

// What stands before the first of `ends` (all, if there is none); removed from `text` with the character itself.
std::string_view take_until(std::string_view& text, std::string_view ends)
{
    const auto position = text.find_first_of(ends);
    const auto part = text.substr(0, position);
    text.remove_prefix(position == std::string_view::npos ? text.size() : position + 1);
    return part;
}

template <typename T>
std::optional<T> to_number(std::string_view text)
{
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::string_view without_suffix(std::string_view text, std::string_view suffix)
{
    return text.ends_with(suffix) ? text.substr(0, text.size() - suffix.size()) : text;
}

struct Stat {
    std::string_view command;
    std::uint64_t start_time = 0;
};

// "4711 (some (odd) name) S 1 ..."; only the name may hold blanks and parentheses.
std::optional<Stat> parse_stat(std::string_view text)
{
    constexpr int kFieldsBeforeStartTime = 19;    // behind the name: fields 3 to 21 of proc(5)
    const auto begin = text.find('(');
    const auto end = text.rfind(')');
    if (begin == std::string_view::npos || end == std::string_view::npos || end < begin || end + 2 >= text.size()) {
        return std::nullopt;
    }
    auto rest = text.substr(end + 2);
    for (int i = 0; i < kFieldsBeforeStartTime; ++i) {
        take_until(rest, " ");
    }
    const auto start_time = to_number<std::uint64_t>(take_until(rest, " "));
    return start_time ? std::optional(Stat{text.substr(begin + 1, end - begin - 1), *start_time}) : std::nullopt;
}

// Of /proc/PID/cgroup.
struct Cgroups {
    std::string_view path;
    std::string slurm_job;
    std::string kubernetes_pod;
};

// Lines "hierarchy:controllers:path". Cgroup v2 is "0::path"; where systemd uses its own v1 hierarchy, v2 says "/".
// With cgroup v1, Slurm has jobs in the hierarchies of its controllers only.
Cgroups parse_cgroups(std::string_view text)
{
    std::string_view unified;
    std::string_view systemd;
    Cgroups cgroups;
    while (!text.empty()) {
        auto line = take_until(text, "\n");
        const auto hierarchy = take_until(line, ":");
        const auto controllers = take_until(line, ":");
        if (hierarchy == "0" && controllers.empty()) {
            unified = line;
        } else if (controllers == "name=systemd") {
            systemd = line;
        }
        if (cgroups.slurm_job.empty()) {
            cgroups.slurm_job = slurm_job_of_cgroup(without_suffix(line, kDeleted));
        }
        if (cgroups.kubernetes_pod.empty()) {
            cgroups.kubernetes_pod = kubernetes_pod_of_cgroup(without_suffix(line, kDeleted));
        }
    }
    const bool use_unified = !unified.empty() && (unified != "/" || systemd.empty());
    cgroups.path = without_suffix(use_unified ? unified : systemd, kDeleted);
    return cgroups;
}

// Of /proc/PID/status.
struct Status {
    pid_t process = 0;                   // of which this is a thread
    std::optional<std::uint32_t> uid;    // the effective one
    std::vector<std::uint32_t> gids;     // the effective group and the supplementary ones
};

Status parse_status(std::string_view text)
{
    Status status;
    while (!text.empty()) {
        auto line = take_until(text, "\n");
        const auto key = take_until(line, ":");
        if (key != "Tgid" && key != "Uid" && key != "Gid" && key != "Groups") {
            continue;
        }
        std::vector<std::uint32_t> numbers;
        while (!line.empty()) {
            if (const auto number = to_number<std::uint32_t>(take_until(line, " \t"))) {
                numbers.push_back(*number);
            }
        }
        constexpr std::size_t kEffective = 1;    // "Gid: real effective saved file-system"
        if (key == "Groups") {
            status.gids.insert(status.gids.end(), numbers.begin(), numbers.end());
        } else if (key == "Tgid") {
            status.process = numbers.empty() ? 0 : static_cast<pid_t>(numbers.front());
        } else if (numbers.size() > kEffective && key == "Gid") {
            status.gids.push_back(numbers[kEffective]);
        } else if (numbers.size() > kEffective) {
            status.uid = numbers[kEffective];
        }
    }
    return status;
}

Result<Status> read_status(int process, pid_t pid)
{
    // Nearly always the small buffer does; a process may be in thousands of groups.
    for (std::size_t size = kMaxStat; size <= kMaxStatus; size *= 16) {
        std::string buffer(size, '\0');
        const ssize_t length = read_at(process, "status", buffer);
        if (length < 0) {
            return fail(process_error(pid, length, "status"));
        }
        if (static_cast<std::size_t>(length) < size) {
            return parse_status(as_text(buffer, length));
        }
    }
    return fail(ErrorCode::Io, fmt::format("process {}: status is longer than {} bytes", pid, kMaxStatus));
}

// Where a program was replaced while it runs (an upgrade), the path it had.
std::string read_executable(int process)
{
    std::array<char, kMaxLink> buffer;    // NOLINT(cppcoreguidelines-pro-type-member-init): filled below
    const ssize_t length = readlinkat(process, "exe", buffer.data(), buffer.size());
    return printable(without_suffix(as_text(buffer, length), kDeleted));
}

Result<Stat> read_stat(int process, pid_t pid, std::span<char> buffer)
{
    const ssize_t length = read_at(process, "stat", buffer);
    if (length < 0) {
        return fail(process_error(pid, length, "stat"));
    }
    const auto stat = parse_stat(as_text(buffer, length));
    if (!stat) {
        return fail(ErrorCode::Io, fmt::format("process {}: unexpected format of stat (see proc(5))", pid));
    }
    return *stat;
}

bool is_unit(std::string_view name)
{
    constexpr std::string_view kService = ".service";
    constexpr std::string_view kScope = ".scope";
    return (name.ends_with(kService) && name.size() > kService.size()) ||
           (name.ends_with(kScope) && name.size() > kScope.size());
}

// systemd puts "_" before a name that the kernel could take for a file of its own.
std::string_view unescaped(std::string_view name)
{
    return name.starts_with('_') ? name.substr(1) : name;
}

}    // namespace

Result<Identity> read_identity(const std::filesystem::path& proc, const PeerCredentials& credentials)
{
    const auto process = open_process(proc, credentials.pid);
    if (!process) {
        return fail(process.error());
    }
    Identity identity;
    identity.pid = credentials.pid;
    identity.uid = credentials.uid;
    identity.gids = credentials.gids;
    if (identity.gids.empty()) {
        auto status = TRY(read_status(process->get(), credentials.pid));
        identity.gids = std::move(status.gids);
    }
    std::sort(identity.gids.begin(), identity.gids.end());
    identity.gids.erase(std::unique(identity.gids.begin(), identity.gids.end()), identity.gids.end());

    std::array<char, kMaxCgroup> buffer;    // NOLINT(cppcoreguidelines-pro-type-member-init): filled below
    const ssize_t length = read_at(process->get(), "cgroup", buffer);
    if (length < 0 && length != -ENOENT) {    // a kernel without cgroups has no such file
        return fail(process_error(credentials.pid, length, "cgroup"));
    }
    Cgroups cgroups = parse_cgroups(as_text(buffer, length));
    identity.cgroup = printable(cgroups.path);
    identity.slurm_job = std::move(cgroups.slurm_job);
    identity.kubernetes_pod = std::move(cgroups.kubernetes_pod);
    identity.unit = unit_of_cgroup(identity.cgroup);
    identity.executable = read_executable(process->get());

    // Last: that it can still be read proves that all before was this process.
    const auto stat = TRY(read_stat(process->get(), credentials.pid, buffer));
    identity.start_time = stat.start_time;
    identity.command = printable(stat.command);
    return identity;
}

Result<Identity> read_identity_of_thread(const std::filesystem::path& proc, pid_t thread)
{
    const auto opened = open_process(proc, thread);
    auto status = opened ? read_status(opened->get(), thread) : Result<Status>(fail(opened.error()));
    if (!status) {
        return fail(std::move(status).error());
    }
    if (status->process == 0 || !status->uid) {
        return fail(ErrorCode::Io, fmt::format("process {}: unexpected format of status (see proc(5))", thread));
    }
    // Credentials may differ from thread to thread; the process has those of its first one.
    if (status->process != thread) {
        return read_identity_of_thread(proc, status->process);
    }
    return read_identity(proc, {status->process, *status->uid, std::move(status->gids)});
}

Result<std::uint64_t> read_start_time(const std::filesystem::path& proc, pid_t pid)
{
    const auto process = TRY(open_process(proc, pid));
    std::array<char, kMaxStat> buffer;    // NOLINT(cppcoreguidelines-pro-type-member-init): filled below
    const auto stat = TRY(read_stat(process.get(), pid, buffer));
    return stat.start_time;
}

std::string unit_of_cgroup(std::string_view cgroup)
{
    std::string_view unit;
    while (!cgroup.empty()) {
        const auto name = unescaped(take_until(cgroup, "/"));
        if (is_unit(name)) {
            unit = name;
        }
    }
    return std::string(unit);
}

std::string system_unit_of_cgroup(std::string_view cgroup)
{
    while (!cgroup.empty()) {
        const auto name = unescaped(take_until(cgroup, "/"));
        if (!name.empty() && !name.ends_with(".slice")) {
            return std::string(is_unit(name) ? name : std::string_view());
        }
    }
    return {};
}

}    // namespace rdmaqos
