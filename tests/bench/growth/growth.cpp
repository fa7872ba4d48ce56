// How costs grow with what there is: each series is run with a tenth and with all of a number, and the exponent of that
// decade is printed. 1 is linear, 2 quadratic, 0 does not depend on the number. Fails where an exponent is above what
// is claimed.
//
// Costs are processor time, of the daemon or of this program, so that a busy machine does not matter much; of three
// runs the cheapest counts.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/device/placement.h"
#include "lib/base/signal_process.h"
#include "lib/base/text.h"
#include "lib/reconcile/reconciler.h"
#include "policy/explain/changes.h"
#include "policy/load/host_files.h"
#include "policy/match/matcher.h"
#include "tests/support/daemon_fixture.h"
#include "tests/support/temp_dir.h"
#include "tools/rdma-qosctl/rendering/why.h"
#include "tools/rdma-qosctl/simulate/loaded_tree.h"
#include "tools/rdma-qosctl/world/why.h"

namespace rdmaqos::test {
namespace {

constexpr int kRuns = 3;
constexpr double kLinear = 1.2;
// Of what does not depend on the number: half as much again for ten times as much.
constexpr double kConstant = 0.18;

// `--daemon`.
std::string& daemon_program()
{
    static std::string program = RDMAQOS_DAEMON;
    return program;
}

// Seconds.
double own_time()
{
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

double time_of(const std::function<void()>& work)
{
    double best = 0;
    for (int run = 0; run < kRuns; ++run) {
        const double before = own_time();
        work();
        const double took = own_time() - before;
        best = run == 0 ? took : std::min(best, took);
    }
    return best;
}

// Of all threads of a process: in the first field of their schedstat, in nanoseconds.
double time_of_process(pid_t pid)
{
    double sum = 0;
    for (const auto& task : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid))) {
        std::uint64_t nanoseconds = 0;
        std::ifstream(task.path() / "schedstat") >> nanoseconds;
        sum += static_cast<double>(nanoseconds) / 1e9;
    }
    return sum;
}

// A cost, in seconds, with so many.
struct Series {
    const char* what;
    std::size_t most;
    double claimed;
    std::function<double(std::size_t)> cost;
};

void expect(const auto& result)
{
    if (!result) {
        throw std::runtime_error(to_string(result.error()));
    }
}

Policy policy_of(std::size_t levels, std::uint8_t sl)
{
    Policy policy;
    policy.levels.resize(levels);
    for (std::size_t i = 0; i < levels; ++i) {
        QosLevel& level = policy.levels[i];
        level.name = i == 0 ? "DEFAULT" : fmt::format("level-{}", i);
        level.sl = sl;
        level.schedule.emplace();
    }
    return policy;
}

// plan: what differs between the levels of two policies.
double differing_levels(std::size_t levels)
{
    const Policy before = policy_of(levels, 1);
    const Policy after = policy_of(levels, 2);
    return time_of([&] { static_cast<void>(level_changes(before, after)); });
}

// Register with a level that does not exist.
double unknown_level(std::size_t levels)
{
    const Policy policy = policy_of(levels, 1);
    const Matcher matcher(policy, {});
    Request request;
    request.level = "levle-17";
    constexpr int kCalls = 1000;
    return time_of([&] {
               for (int i = 0; i < kCalls; ++i) {
                   static_cast<void>(matcher.match(request, {}));
               }
           }) /
           kCalls;
}

ctl::World world_of(std::size_t levels)
{
    ctl::World world;
    ctl::DeviceView device;
    device.name = "mlx5_0";
    device.link_speed = Bandwidth::from_gbps(100);
    device.state = "ready";
    device.attach_mode = "shared";
    device.tree.push_back({"/", "", ElementKind::Node, {}, {}});
    for (std::size_t i = 0; i < levels; ++i) {
        const std::string path = fmt::format("/level-{}", i);
        api::TreeElement leaf{path, "/", ElementKind::Leaf, {}, {}};
        leaf.share = 1;
        leaf.queue_pairs = 1;
        device.tree.push_back(std::move(leaf));
        api::Level level{};
        level.name = fmt::format("level-{}", i);
        level.class_path = path;
        world.manager.levels.push_back(std::move(level));
    }
    world.devices.push_back(std::move(device));
    return world;
}

// simulate, in the tree of the daemon.
double simulated_levels(std::size_t levels)
{
    const ctl::World world = world_of(levels);
    LoadStep step;
    for (const auto& level : world.manager.levels) {
        Load load{};
        load.level = level.name;
        step.loads.push_back(std::move(load));
    }
    return time_of([&] {
        static_cast<void>(ctl::level_names(world));
        static_cast<void>(ctl::load_live_tree(world.manager.levels, world.devices[0], {}, step));
    });
}

// why, of a program with so many sessions.
double explained_sessions(std::size_t sessions)
{
    ctl::World world = world_of(4);
    for (std::size_t i = 0; i < sessions; ++i) {
        ctl::SessionView session;
        session.id = i + 1;
        session.owner.pid = 4711;
        session.state = "active";
        session.level = "level-1";
        session.queue_pairs.push_back({.device = "mlx5_0/1",
                                       .number = static_cast<std::uint32_t>(i + 1),
                                       .level = "level-1",
                                       .leaf = "/level-1",
                                       .enforced = true});
        world.sessions.push_back(std::move(session));
    }
    return time_of([&] {
        ctl::WhyReport report;
        report.sessions = ctl::explain_sessions(world, ctl::sessions_of(world, "4711"));
        static_cast<void>(ctl::render_why(report, Colour::Off));
    });
}

// Which files make up the policy.
double transient_files(std::size_t files)
{
    const TempDir root;
    for (std::size_t i = 0; i < files; ++i) {
        root.write(fmt::format("run/rdma-qos/policy.d/50-rule-{}.yaml", i), "version: 1\n");
    }
    return time_of([&] { static_cast<void>(host_policy_files(root.path())); });
}

Capabilities device_of(std::uint32_t leaves)
{
    Capabilities capabilities;
    capabilities.scheduling = capabilities.shares = capabilities.rate_caps = true;
    capabilities.max_depth = 4;
    capabilities.max_leaves = leaves;
    capabilities.max_elements = 2 * leaves + 16;
    capabilities.max_share = 100;
    capabilities.attachable = {QueuePairType::Rc};
    return capabilities;
}

PlacementBook book_of(std::size_t processes, std::uint32_t leaves)
{
    PlacementBook book(device_of(leaves), Bandwidth::from_gbps(100));
    ScheduleSpec spec;
    SpecElement element;
    element.path = ElementPath("/rpc");
    element.is_class = true;
    element.fair_by = FairBy::Process;
    spec.tree.elements.push_back(element);
    book.set_spec(std::move(spec));
    for (std::size_t i = 0; i < processes; ++i) {
        Member member;
        member.ref.number = static_cast<std::uint32_t>(i + 1);
        auto owner = std::make_shared<Identity>();
        owner->pid = static_cast<pid_t>(i + 1);
        member.owner = owner;
        member.membership.level = "rpc";
        member.membership.class_path = ElementPath("/rpc");
        member.membership.fair_by = FairBy::Process;
        book.add(std::move(member));
    }
    static_cast<void>(book.update());
    return book;
}

// qps: the remark of each queue pair that shares `others`.
double remarks_of_others(std::size_t processes)
{
    const PlacementBook book = book_of(processes, 16);
    return time_of([&] {
        for (std::size_t i = 0; i < processes; ++i) {
            if (book.principals_in_others(ElementPath("/rpc")) == 0) {
                throw std::runtime_error("nobody shares a leaf");
            }
        }
    });
}

std::string levels_text(std::size_t levels)
{
    std::string text = "version: 1\nqos-levels:\n  - {name: DEFAULT, sl: 0}\n"
                       "  - {name: rpc, sl: 3, schedule: {share: 60, fair-by: process}}\n";
    for (std::size_t i = 2; i < levels; ++i) {
        text += fmt::format("  - {{name: level-{}, sl: 1, schedule: {{share: 1}}}}\n", i);
    }
    return text;
}

constexpr const char* kBigDevice =
    "version: 1\ndevices:\n  - {name: mlx5_0, node-guid: 0x10, port-guid: 0x11, link-speed: 100Gbps, "
    "capabilities: {max-leaves: 20000, max-elements: 40000}}\n";
constexpr const char* kNoLimits = "version: 1\nlimits: {requests-per-second-per-uid: 10000000}\n";

bus::Dict request_with(std::uint32_t number)
{
    bus::Dict request;
    request.set("level", "rpc");
    request.set("queue-pairs", std::vector{queue_pair("mlx5_0", number)});
    return request;
}

// Processes that have a session with a queue pair each; they end with this object.
class Processes {
public:
    Processes(const Daemon& daemon, std::size_t count)
    {
        for (std::size_t i = 0; i < count; ++i) {
            const auto number = static_cast<std::uint32_t>(i + 1);
            int pipe_ends[2];
            if (pipe(pipe_ends) != 0) {
                throw std::runtime_error("pipe");
            }
            const pid_t child = fork();
            if (child == 0) {
                auto client = daemon.direct();
                const char result = register_session(client, request_with(number)) ? '+' : '-';
                static_cast<void>(!write(pipe_ends[1], &result, 1));
                pause();
                _exit(0);
            }
            children_.push_back(child);
            close(pipe_ends[1]);
            char result = '-';
            const auto got = read(pipe_ends[0], &result, 1);
            close(pipe_ends[0]);
            if (got != 1 || result != '+') {
                throw std::runtime_error("a process could not register");
            }
        }
    }
    ~Processes()
    {
        for (const pid_t child : children_) {
            signal_process(child, SIGKILL);
            waitpid(child, nullptr, 0);
        }
    }
    Processes(const Processes&) = delete;
    Processes& operator=(const Processes&) = delete;

private:
    std::vector<pid_t> children_;
};

// Of one, all threads of the daemon together.
double attach_and_release(Daemon& daemon)
{
    constexpr int kTurns = 200;
    constexpr std::uint32_t kNumber = 1'000'000;
    auto client = daemon.direct();
    double best = 0;
    for (int run = 0; run < kRuns; ++run) {
        const double before = time_of_process(daemon.process().pid());
        for (int i = 0; i < kTurns; ++i) {
            auto session = register_session(client, request_with(kNumber));
            expect(session);
            expect(client.call(session->path, bus::names::kSession, "Release", {}));
        }
        const double took = (time_of_process(daemon.process().pid()) - before) / kTurns;
        best = run == 0 ? took : std::min(best, took);
    }
    return best;
}

// Register, attach and release while so many other processes have leaves.
double attach_among_processes(std::size_t processes)
{
    Daemon daemon({levels_text(2), kBigDevice, kNoLimits, false, daemon_program()});
    const Processes others(daemon, processes);
    return attach_and_release(daemon);
}

// The same with so many levels.
double attach_among_levels(std::size_t levels)
{
    Daemon daemon({levels_text(levels), kBigDevice, kNoLimits, false, daemon_program()});
    return attach_and_release(daemon);
}

// So many processes start.
double job_start(std::size_t processes)
{
    Daemon daemon({levels_text(2), kBigDevice, kNoLimits, false, daemon_program()});
    const double before = time_of_process(daemon.process().pid());
    const Processes job(daemon, processes);
    return time_of_process(daemon.process().pid()) - before;
}

int run(const std::string& only)
{
    const std::vector<Series> all{
        {"Register, attach and Release, by fair processes", 1000, kConstant, attach_among_processes},
        {"Register, attach and Release, by levels", 4000, kConstant, attach_among_levels},
        {"start of a job, by processes", 1000, kLinear, job_start},
        {"remarks of queue pairs in `others`, by processes", 10'000, kLinear, remarks_of_others},
        {"`why` of a program, by sessions", 10'000, kLinear, explained_sessions},
        {"`simulate`, by levels", 10'000, kLinear, simulated_levels},
        {"`plan`, by levels", 10'000, kLinear, differing_levels},
        {"Register with an unknown level, by levels", 10'000, kConstant, unknown_level},
        {"finding the policy's files, by transient files", 10'000, kLinear, transient_files},
    };
    int worse = 0;
    fmt::print("| | number | a tenth | all | exponent | claimed |\n|---|--:|--:|--:|--:|--:|\n");
    for (const Series& series : all) {
        if (std::string_view(series.what).find(only) == std::string_view::npos) {
            continue;
        }
        const double tenth = series.cost(series.most / 10);
        const double whole = series.cost(series.most);
        const double exponent = std::log10(whole / tenth);
        worse += exponent > series.claimed ? 1 : 0;
        fmt::print("| {} | {} | {:.3f} ms | {:.3f} ms | {:.2f} | {}{} |\n", series.what, series.most, tenth * 1000,
                   whole * 1000, exponent, series.claimed, exponent > series.claimed ? ", MISSED" : "");
        std::fflush(stdout);
    }
    if (worse != 0) {
        fmt::print("{} grow faster than claimed\n", counted(static_cast<std::size_t>(worse), "cost"));
    }
    return worse == 0 ? 0 : 1;
}

}    // namespace
}    // namespace rdmaqos::test

int main(int count, char** words)
{
    std::string only;
    for (int i = 1; i + 1 < count; i += 2) {
        const std::string_view option = words[i];
        (option == "--daemon" ? rdmaqos::test::daemon_program() : only) = words[i + 1];
    }
    try {
        return rdmaqos::test::run(only);
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
}
