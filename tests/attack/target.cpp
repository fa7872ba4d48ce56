#include "tests/attack/target.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/support/processor_time.h"

namespace rdmaqos::attack {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kLastWords = 2000;

// A class whose processes have leaves of their own, one that is a leaf, and two ports.
constexpr const char* kPolicyOfTarget = R"(version: 1
qos-levels:
  - {name: DEFAULT, sl: 0}
  - name: rpc
    sl: 3
    schedule: {share: 60, max-rate: 40Gbps, fair-by: process}
  - name: bulk
    sl: 1
    schedule: {share: 40}
)";
constexpr const char* kDevices = R"(version: 1
devices:
  - {name: mlx5_0, node-guid: 0x10, port-guid: 0x11, netdev: ens1, link-speed: 100Gbps, gids: ["fd00:20::1"]}
  - {name: mlx5_1, node-guid: 0x20, port-guid: 0x21, netdev: ens2, link-speed: 100Gbps, gids: ["fd00:21::1"]}
)";

std::string given_or(const char* variable, const char* built)
{
    const char* given = std::getenv(variable);    // NOLINT(concurrency-mt-unsafe): nobody sets variables
    return given != nullptr && *given != '\0' ? given : built;
}

std::string text_of(const std::filesystem::path& file)
{
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

// A number of /proc/PID/status: "VmRSS:   1234 kB".
std::size_t field(const std::string& status, std::string_view name)
{
    const auto at = status.find(name);
    return at == std::string::npos ? 0 : std::strtoul(status.c_str() + at + name.size(), nullptr, 10);
}

// Newer kernels say it as the folder's size; with thousands of them that is much less work than counting.
std::size_t descriptors_of(pid_t pid)
{
    const std::string folder = fmt::format("/proc/{}/fd", pid);
    struct stat status {};
    if (stat(folder.c_str(), &status) == 0 && status.st_size > 0) {
        return static_cast<std::size_t>(status.st_size);
    }
    std::error_code gone;
    const std::filesystem::directory_iterator entries(folder, gone);
    return gone ? 0 : static_cast<std::size_t>(std::distance(entries, {}));
}

// Of the processes it has started.
std::size_t own_memory_of_children(pid_t pid)
{
    std::size_t sum = 0;
    std::error_code gone;
    for (const auto& task : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), gone)) {
        std::istringstream children(text_of(task.path() / "children"));
        for (pid_t child = 0; children >> child;) {
            sum += field(text_of(fmt::format("/proc/{}/status", child)), "RssAnon:");
        }
    }
    return sum;
}

}    // namespace

std::string ctl_program()
{
    return given_or("RDMAQOSCTL", RDMAQOS_CTL);
}

Target::Target(const TargetOptions& options)
{
    using std::filesystem::perms;
    // Everybody comes to the socket.
    std::filesystem::permissions(root(), perms::owner_all | perms::group_read | perms::group_exec | perms::others_read |
                                             perms::others_exec);
    dir_.write("etc/rdma-qos/policy.yaml", kPolicyOfTarget);
    dir_.write("devices.yaml", kDevices);
    if (!options.settings.empty()) {
        dir_.write("etc/rdma-qos/rdma-qosd.yaml", options.settings);
    }
    std::vector<std::string> command{given_or("RDMAQOSD", RDMAQOS_DAEMON), "--root", root().string(), "--simulate",
                                     (root() / "devices.yaml").string()};
    std::vector<std::string> environment;
    if (options.system_bus) {
        bus_ = std::make_unique<test::PrivateBus>(root());
        environment.push_back("DBUS_SYSTEM_BUS_ADDRESS=" + bus_->address());
        command.emplace_back("--system-bus");
    }
    const auto log = root() / "daemon.log";
    process_ = std::make_unique<test::Child>(command, environment, log);
    const bool ready = test::eventually(
        [&] { return !is_alive() || text_of(log).find("ready: ") != std::string::npos; });
    if (!ready || !is_alive()) {
        throw std::runtime_error(fmt::format("{} does not become ready: {}", command.front(), text_of(log)));
    }
}

Target::~Target() = default;

bool Target::is_alive()
{
    return !process_->has_ended();
}

Footprint Target::footprint() const
{
    const std::string status = text_of(fmt::format("/proc/{}/status", process_->pid()));
    const std::size_t helpers = own_memory_of_children(process_->pid());
    return {field(status, "VmRSS:") + helpers, field(status, "VmHWM:") + helpers, descriptors_of(process_->pid()),
            field(status, "Threads:")};
}

void Target::reset_peak() const
{
    std::ofstream(fmt::format("/proc/{}/clear_refs", process_->pid())) << "5";
}

bool Target::stop(std::chrono::seconds time)
{
    test::ReadyButWaiting waiting;
    waiting.add(pid());
    const test::TimeOfOurs passed(waiting);
    double took = 0;    // when it was last seen alive
    process_->signal(SIGTERM);
    const bool ended = test::eventually([&] {
        const double now = passed.seconds();
        const bool is_over = process_->has_ended();
        took = is_over ? took : now;
        return is_over;
    });
    const auto status = process_->wait(0ms);
    return ended && WIFEXITED(*status) && WEXITSTATUS(*status) == 0 && took <= static_cast<double>(time.count());
}

std::string Target::last_words()
{
    const std::string log = text_of(root() / "daemon.log");
    const auto status = process_->wait(0ms);
    std::string end = !status                ? "it runs"
                      : WIFSIGNALED(*status) ? fmt::format("it died of signal {}", WTERMSIG(*status))
                                             : fmt::format("it ended with status {}", WEXITSTATUS(*status));
    return fmt::format("{}; its log ends with:\n{}", end, log.substr(log.size() - std::min(log.size(), kLastWords)));
}

}    // namespace rdmaqos::attack
