#include "tools/rdma-qos-run/default_tos.h"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/file.h"

namespace rdmaqos::run {
namespace {

namespace fs = std::filesystem;

struct Before {
    fs::path file;
    std::string tos;
};

Result<std::string> read_setting(const fs::path& file)
{
    std::ifstream stream(file);
    std::string text;
    if (!std::getline(stream, text)) {
        return fail(ErrorCode::Io, fmt::format("{} cannot be read", file.string()));
    }
    return text;
}

Result<void> write_setting(const fs::path& file, const std::string& value)
{
    const UniqueFd fd(open(file.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
    const std::string line = value + "\n";
    if (!fd || write(fd.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
        return fail(error_from_errno(ErrorCode::Io, errno, file.string()));
    }
    return {};
}

void restore(const std::vector<Before>& all)
{
    for (const Before& each : all) {
        (void)write_setting(each.file, each.tos);
    }
}

// Runs until the process behind `ended` has ended.
[[noreturn]] void guard(int ended, const std::vector<Before>& all)
{
    setsid();
    sigset_t none;
    sigfillset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);    // what ends the program's group must not end this
    prctl(PR_SET_NAME, "rdma-qos-run");
    // Whoever reads what the program writes must not wait for this process.
    const int nothing = open("/dev/null", O_RDWR);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        dup2(nothing, fd);
    }
    if (ended != STDERR_FILENO + 1) {
        dup2(ended, STDERR_FILENO + 1);
    }
    close_range(STDERR_FILENO + 2, ~0U, 0);
    pollfd wait{STDERR_FILENO + 1, POLLIN, 0};
    while (poll(&wait, 1, -1) < 0 && errno == EINTR) {
    }
    restore(all);
    _exit(0);
}

// A child of nobody that the program knows: it is not among those that the program waits for.
Result<void> start_guard(const std::vector<Before>& all)
{
    const UniqueFd ended(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
    if (!ended) {
        return fail(error_from_errno(ErrorCode::Io, errno, "a descriptor of this process"));
    }
    const pid_t between = fork();
    if (between == 0) {
        const pid_t guardian = fork();
        if (guardian == 0) {
            guard(ended.get(), all);
        }
        _exit(guardian < 0 ? 1 : 0);
    }
    int status = 1;
    if (between < 0 || waitpid(between, &status, 0) != between || status != 0) {
        return fail(error_from_errno(ErrorCode::Io, errno, "a process that restores the default type of service"));
    }
    return {};
}

Result<Before> set_one(const fs::path& configfs, const DefaultTos& wanted)
{
    const fs::path folder = configfs / "rdma_cm" / wanted.device;
    // The kernel makes what is in it.
    if (mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) {
        return fail(error_from_errno(ErrorCode::Io, errno, folder.string()));
    }
    const fs::path file = folder / "ports" / std::to_string(wanted.port) / "default_roce_tos";
    auto before = read_setting(file);
    if (!before) {
        return fail(before.error());
    }
    if (auto written = write_setting(file, std::to_string(wanted.tos)); !written) {
        return fail(written.error());
    }
    return Before{file, *before};
}

}    // namespace

Result<DefaultTos> parse_default_tos(const std::string& text)
{
    const auto wrong = [&] {
        return fail(
            ErrorCode::InvalidArgument,
            fmt::format("`{}` is not DEVICE/PORT=TOS with a type of service from 0 to 255, as mlx5_0/1=104", text));
    };
    const auto slash = text.find('/');
    const auto equals = text.find('=', slash == std::string::npos ? 0 : slash);
    if (slash == std::string::npos || slash == 0 || equals == std::string::npos || text.starts_with('.')) {
        return wrong();
    }
    DefaultTos result;
    result.device = text.substr(0, slash);
    const std::string port = text.substr(slash + 1, equals - slash - 1);
    const auto parsed = std::from_chars(port.data(), port.data() + port.size(), result.port);
    const std::string tos = text.substr(equals + 1);
    char* end = nullptr;
    const unsigned long value = std::strtoul(tos.c_str(), &end, 0);
    if (parsed.ec != std::errc() || parsed.ptr != port.data() + port.size() || result.port == 0 || tos.empty() ||
        tos.front() == '-' || *end != '\0' || value > 255) {
        return wrong();
    }
    result.tos = static_cast<std::uint8_t>(value);
    return result;
}

Result<void> set_until_the_end(const fs::path& configfs, const std::vector<DefaultTos>& all)
{
    std::vector<Before> done;
    for (const DefaultTos& each : all) {
        auto before = set_one(configfs, each);
        if (!before) {
            restore(done);
            return fail(before.error());
        }
        done.insert(done.begin(), std::move(*before));    // the last one is restored first
    }
    if (done.empty()) {
        return {};
    }
    if (auto started = start_guard(done); !started) {
        restore(done);
        return started;
    }
    return {};
}

}    // namespace rdmaqos::run
