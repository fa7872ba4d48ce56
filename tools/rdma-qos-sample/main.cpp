// rdma-qos-sample: a small RDMA program that asks rdma-qosd for its class, for people who write one.
//
//     rdma-qos-sample --device mlx5_0 --level rpc --qps 8 -- sleep 600
//
// It makes queue pairs through libibverbs, registers, attaches them, prints what it was granted, and holds them while
// the command runs. Nothing is sent. What a program has to do for its class is in session.cpp; what it should do when
// the daemon or the device goes away is in hold() below: a program must work without the daemon, and a queue pair does
// not survive its device.
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/try.h"
#include "tools/rdma-qos-sample/queue_pairs.h"
#include "tools/rdma-qos-sample/session.h"

namespace rdmaqos::sample {
namespace {

using namespace std::chrono_literals;

constexpr auto kAgain = 100ms;     // between two attempts to join after a loss
constexpr auto kPatience = 30s;    // how long a device or the daemon may take to come back

struct Options {
    std::filesystem::path root;
    Wish wish;
    std::uint8_t port = 1;
    std::size_t count = 1;
    ibv_qp_type type = IBV_QPT_RC;
    std::vector<std::string> command;
};

void say(const std::string& text)
{
    fmt::print("{}\n", text);
    std::fflush(stdout);
}

// The command, which ends when this process does, however that ends.
class Command {
public:
    explicit Command(const std::vector<std::string>& words)
    {
        std::vector<char*> arguments;
        for (const auto& word : words) {
            arguments.push_back(const_cast<char*>(word.c_str()));    // NOLINT: execvp's signature
        }
        arguments.push_back(nullptr);
        const pid_t parent = getpid();
        pid_ = fork();
        if (pid_ == 0) {
            prctl(PR_SET_PDEATHSIG, SIGTERM);
            if (getppid() == parent) {
                execvp(arguments.front(), arguments.data());
                fmt::print(stderr, "rdma-qos-sample: {}: {}\n", words.front(), strerror(errno));
            }
            _exit(127);
        }
        ended_ = UniqueFd(pid_ < 0 ? -1 : static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
    }

    [[nodiscard]] int ended() const { return ended_.get(); }    // readable once it has
    [[nodiscard]] bool has_ended() const
    {
        pollfd ended{ended_.get(), POLLIN, 0};
        return poll(&ended, 1, 0) != 0;
    }
    [[nodiscard]] int wait() const
    {
        int status = 0;
        while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
        }
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }

private:
    pid_t pid_ = -1;
    UniqueFd ended_;
};

struct Membership {
    bus::Client client;    // the session ends with it
    Session session;
};

Result<Membership> register_and_attach(const Options& options, const QueuePairs& queue_pairs)
{
    auto client = TRY(bus::Client::connect(options.root));
    auto session = TRY(join(client, options.wish, queue_pairs));
    if (all_refused(session)) {
        return fail(ErrorCode::BadQueuePair, describe(session));
    }
    say(describe(session));
    return Membership{std::move(client), std::move(session)};
}

Result<QueuePairs> make_queue_pairs(const Options& options)
{
    return QueuePairs::make(options.wish.device, options.port, options.type, options.count);
}

enum class Happened : std::uint8_t { CommandEnded, DeviceLost, DaemonLost };

// Serves the connection to the daemon meanwhile.
Happened wait_for_something(bus::Client& client, const QueuePairs& queue_pairs, const Command& command)
{
    const UniqueFd both(epoll_create1(EPOLL_CLOEXEC));
    for (const int fd : {command.ended(), queue_pairs.context().async_fd}) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.fd = fd;
        epoll_ctl(both.get(), EPOLL_CTL_ADD, fd, &event);
    }
    while (client.wait_for(both.get())) {
        epoll_event event{};
        if (epoll_wait(both.get(), &event, 1, 0) != 1) {
            continue;
        }
        if (event.data.fd == command.ended()) {
            return Happened::CommandEnded;
        }
        if (!queue_pairs.take_event()) {
            return Happened::DeviceLost;
        }
    }
    return Happened::DaemonLost;
}

// Until it works, the command has ended, or patience is over: then nothing, and the last error was said.
template <typename Attempt>
auto again(const Command& command, const Attempt& attempt)
{
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    auto result = attempt();
    while (!result && !command.has_ended() && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(kAgain);
        result = attempt();
    }
    if (!result) {
        say(to_string(result.error()));
    }
    return result ? std::optional(std::move(*result)) : std::nullopt;
}

// Joins, runs the command, and joins again after a loss. The command's exit status.
Result<int> hold(const Options& options)
{
    auto first = TRY(make_queue_pairs(options));
    auto joined = TRY(register_and_attach(options, first));
    std::optional<QueuePairs> queue_pairs = std::move(first);
    std::optional<Membership> membership = std::move(joined);
    const Command command(options.command);
    while (queue_pairs && membership) {
        switch (wait_for_something(membership->client, *queue_pairs, command)) {
        case Happened::CommandEnded:
            return command.wait();
        case Happened::DaemonLost:
            // Traffic goes on without a class until the daemon is back.
            say("rdma-qosd is gone: registering again");
            membership.reset();
            break;
        case Happened::DeviceLost:
            // The queue pairs are lost, and with them what the session knew of them.
            say(fmt::format("{} is gone: making new queue pairs", options.wish.device));
            membership.reset();
            queue_pairs.reset();
            queue_pairs = again(command, [&] { return make_queue_pairs(options); });
            break;
        }
        if (queue_pairs) {
            membership = again(command, [&] { return register_and_attach(options, *queue_pairs); });
        }
    }
    return command.wait();
}

std::optional<Options> parse(int argc, char** argv, int& status)
{
    const std::map<std::string, ibv_qp_type> types{
        {"rc", IBV_QPT_RC}, {"uc", IBV_QPT_UC}, {"ud", IBV_QPT_UD}, {"raw-packet", IBV_QPT_RAW_PACKET}};
    Options options;
    CLI::App app{"Holds queue pairs in a class of rdma-qosd while a command runs."};
    app.add_option("--root", options.root, "The daemon's --root");
    app.add_option("--device", options.wish.device, "RDMA device, as ibv_devices names it")->required();
    app.add_option("--port", options.port, "Port of the device")->check(CLI::Range(1, 255));
    app.add_option("--level", options.wish.level, "Level to ask for; else the policy's rules decide");
    app.add_option("--destination", options.wish.destinations,
                   "GID that the queue pairs are said to talk to; given more than once, they are dealt to them in turn")
        ->allow_extra_args(false);
    app.add_option("--qps", options.count, "How many queue pairs")->check(CLI::Range(1, 4096));
    app.add_option("--type", options.type, "rc, uc, ud or raw-packet (which needs CAP_NET_RAW)")
        ->transform(CLI::CheckedTransformer(types));
    app.add_option("command", options.command, "What to run meanwhile")->required();
    app.prefix_command();
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        status = app.exit(error);
        return std::nullopt;
    }
    for (const auto& word : app.remaining()) {
        if (word != "--") {
            options.command.push_back(word);
        }
    }
    return options;
}

}    // namespace
}    // namespace rdmaqos::sample

int main(int argc, char** argv)
{
    int status = 0;
    const auto options = rdmaqos::sample::parse(argc, argv, status);
    if (!options) {
        return status;
    }
    const auto held = rdmaqos::sample::hold(*options);
    if (!held) {
        fmt::print(stderr, "rdma-qos-sample: {}\n", to_string(held.error()));
        return static_cast<int>(rdmaqos::exit_status(held.error().code));
    }
    return *held;
}
