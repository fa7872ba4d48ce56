#include "tools/rdma-qos-run/default_tos.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <fstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "lib/base/try.h"

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

// Says on `line` that it is ready, and runs until the process behind `ended` has ended, or says that nothing is set.
[[noreturn]] void guard(int ended, int line, const std::vector<Before>& all)
{
    enum { kEnded = STDERR_FILENO + 1, kLine, kFirstOther };
    setsid();
    sigset_t every;
    sigfillset(&every);
    sigprocmask(SIG_SETMASK, &every, nullptr);    // what ends the program's group must not end this
    prctl(PR_SET_NAME, "rdma-qos-run");
    // Where the program has no standard input, they may be in its place.
    const int kept_ended = fcntl(ended, F_DUPFD, kFirstOther);
    const int kept_line = fcntl(line, F_DUPFD, kFirstOther);
    // A reader of what the program writes must not wait for this process.
    const int nothing = open("/dev/null", O_RDWR);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        dup2(nothing, fd);
    }
    dup2(kept_ended, kEnded);
    dup2(kept_line, kLine);
    close_range(kFirstOther, ~0U, 0);

    bool is_set = write(kLine, "+", 1) == 1;
    std::array<pollfd, 2> waits{pollfd{kEnded, POLLIN, 0}, pollfd{kLine, POLLIN, 0}};
    while (is_set && waits[0].revents == 0) {
        if (poll(waits.data(), waits.size(), -1) <= 0 || waits[1].revents == 0) {
            continue;
        }
        char word = 0;
        is_set = read(kLine, &word, 1) != 1;
        waits[1] = {-1, 0, 0};    // it goes with the exec, or the end
    }
    if (is_set) {
        restore(all);
    }
    _exit(0);
}

// A child of nobody that the program knows: it is not among those that the program waits for. A process that writes to
// what it gives back makes it forget what it was to restore.
Result<UniqueFd> start_guard(const std::vector<Before>& all)
{
    const auto refused = [] {
        return fail(error_from_errno(ErrorCode::Io, errno, "a process that restores the default type of service"));
    };
    const UniqueFd ended(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
    int ends[2] = {-1, -1};
    if (!ended || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return refused();
    }
    UniqueFd ours(ends[0]);
    UniqueFd theirs(ends[1]);
    const pid_t between = fork();
    if (between == 0) {
        const pid_t guardian = fork();
        if (guardian == 0) {
            guard(ended.get(), theirs.get(), all);
        }
        _exit(guardian < 0 ? 1 : 0);
    }
    theirs.reset();
    int status = 1;
    char word = 0;
    if (between < 0 || waitpid(between, &status, 0) != between || status != 0 || read(ours.get(), &word, 1) != 1) {
        return refused();
    }
    return ours;
}

// What a setting is now.
Result<Before> look_at(const fs::path& configfs, const DefaultTos& wanted)
{
    const fs::path folder = configfs / "rdma_cm" / wanted.device;
    // The kernel makes what is in it.
    if (mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) {
        return fail(error_from_errno(ErrorCode::Io, errno, folder.string()));
    }
    const fs::path file = folder / "ports" / std::to_string(wanted.port) / "default_roce_tos";
    auto before = TRY(read_setting(file));
    return Before{file, before};
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
    std::vector<Before> before;
    for (const DefaultTos& each : all) {
        auto found = TRY(look_at(configfs, each));
        before.push_back(std::move(found));
    }
    if (before.empty()) {
        return {};
    }
    // First: this process can be killed at any moment.
    const auto guardian = TRY(start_guard(before));
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (auto written = write_setting(before[i].file, std::to_string(all[i].tos)); !written) {
            restore(before);
            (void)write(guardian.get(), "-", 1);
            return written;
        }
    }
    return {};
}

}    // namespace rdmaqos::run
