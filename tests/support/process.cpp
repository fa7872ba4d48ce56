#include "tests/support/process.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/signal_process.h"

namespace rdmaqos::test {
namespace {

// What a child needs of a vector: pointers with a null behind them.
std::vector<char*> pointers(const std::vector<std::string>& texts)
{
    std::vector<char*> result;
    for (const auto& text : texts) {
        result.push_back(const_cast<char*>(text.c_str()));    // NOLINT(*-const-cast): execve's signature
    }
    result.push_back(nullptr);
    return result;
}

constexpr const char* kListenPid = "LISTEN_PID=";

// In the child, which may only do what is safe in a signal handler: descriptors from 3 on, and its pid behind
// `variable`.
void pass(const std::vector<int>& descriptors, char* variable)
{
    constexpr int kFirst = 3;
    const int beyond = kFirst + static_cast<int>(descriptors.size());
    for (std::size_t i = 0; i < descriptors.size(); ++i) {
        // Out of the way of those that come later.
        const int away = fcntl(descriptors[i], F_DUPFD_CLOEXEC, beyond + 1000);
        if (away < 0) {
            _exit(127);
        }
        const_cast<std::vector<int>&>(descriptors)[i] = away;    // NOLINT(*-const-cast): a copy, in this process
    }
    for (std::size_t i = 0; i < descriptors.size(); ++i) {
        dup2(descriptors[i], kFirst + static_cast<int>(i));
    }
    char* digit = variable + strlen(variable);
    *digit = '\0';
    for (auto pid = static_cast<unsigned>(getpid()); pid != 0; pid /= 10) {
        *--digit = static_cast<char>('0' + pid % 10);
    }
    memmove(variable + strlen(kListenPid), digit, strlen(digit) + 1);
}

// The product has time-outs of its own, for a machine that has time for it. A test that wants one sets it; in all
// others, and the processes that they start, they only guard against hangs, as kHung does.
[[maybe_unused]] const bool kPatientProduct = [] {
    // A connection has a fifth of it to be answered.
    setenv("SYSTEMD_BUS_TIMEOUT", std::to_string(5 * kHung.count()).c_str(), 0);    // NOLINT(concurrency-mt-unsafe)
    setenv("RDMA_QOS_RUN_PATIENCE_MS", std::to_string(kHungMs).c_str(), 0);         // NOLINT(concurrency-mt-unsafe)
    return true;
}();

// That a socket is there does not mean that anybody listens yet.
bool accepts(const std::filesystem::path& socket_path)
{
    const std::string path = socket_path.string();
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::copy_n(path.begin(), std::min(path.size(), sizeof(address.sun_path) - 1), address.sun_path);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool accepted = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;    // NOLINT
    close(fd);
    return accepted;
}

}    // namespace

// ---- processes ----

Child::Child(const std::vector<std::string>& command, const std::vector<std::string>& environment,
             const std::filesystem::path& output, const std::vector<int>& passed)
{
    std::vector<std::string> whole = environment;
    const auto is_given = [&](std::string_view entry) {
        const auto name = entry.substr(0, entry.find('=') + 1);
        return std::ranges::any_of(environment, [&](const std::string& each) { return each.starts_with(name); });
    };
    for (char** entry = environ; *entry != nullptr; ++entry) {
        if (!is_given(*entry)) {    // of two with one name some programs take the first, others the last
            whole.emplace_back(*entry);
        }
    }
    if (!passed.empty()) {
        whole.push_back("LISTEN_FDS=" + std::to_string(passed.size()));
        whole.push_back(kListenPid + std::string(10, ' '));    // what it is, the child knows
    }
    auto arguments = pointers(command);
    auto variables = pointers(whole);
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ < 0) {
        throw std::runtime_error("fork");
    }
    if (pid_ == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) {
            _exit(127);
        }
        const int out = open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        dup2(out, STDOUT_FILENO);
        dup2(out, STDERR_FILENO);
        if (!passed.empty()) {
            pass(passed, variables.at(variables.size() - 2));
        }
        execve(arguments.front(), arguments.data(), variables.data());
        _exit(127);
    }
}

Child::Child(const std::function<void()>& function)
{
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ < 0) {
        throw std::runtime_error("fork");
    }
    if (pid_ == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent) {
            function();
        }
        _exit(0);
    }
}

Child::~Child()
{
    if (!status_) {
        signal_process(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
}

void Child::signal(int number) const
{
    if (!status_) {
        signal_process(pid_, number);
    }
}

std::optional<int> Child::wait(std::chrono::milliseconds patience)
{
    const bool ended = eventually(
        [this] {
            int status = 0;
            if (!status_ && waitpid(pid_, &status, WNOHANG) == pid_) {
                status_ = status;
            }
            return status_.has_value();
        },
        patience);
    return ended ? status_ : std::nullopt;
}

// ---- the bus ----

PrivateBus::PrivateBus(const std::filesystem::path& folder)
{
    const auto socket = folder / "system-bus";
    const auto config = folder / "bus.conf";
    std::filesystem::create_directories(folder / "bus.d");
    std::filesystem::copy_file(std::filesystem::path(RDMAQOS_SOURCE_DIR) / "config/org.rdmaqos1.conf",
                               folder / "bus.d/org.rdmaqos1.conf", std::filesystem::copy_options::overwrite_existing);
    std::ofstream(config) << R"(<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>system</type>
  <listen>unix:path=)" << socket.string()
                          << R"(</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/>
    <deny own="*"/>
    <deny send_type="method_call"/>
    <allow send_type="signal"/>
    <allow send_requested_reply="true" send_type="method_return"/>
    <allow send_requested_reply="true" send_type="error"/>
    <allow receive_type="method_call"/>
    <allow receive_type="method_return"/>
    <allow receive_type="error"/>
    <allow receive_type="signal"/>
    <allow send_destination="org.freedesktop.DBus"/>
    <allow send_destination="org.freedesktop.PolicyKit1"/>
  </policy>
  <policy user="root">
    <allow own="org.freedesktop.PolicyKit1"/>
  </policy>
  <includedir>)" << (folder / "bus.d").string()
                          << R"(</includedir>
</busconfig>
)";
    address_ = "unix:path=" + socket.string();
    process_ = std::make_unique<Child>(std::vector<std::string>{"/usr/bin/dbus-daemon",
                                                                "--config-file=" + config.string(), "--nofork",
                                                                "--nopidfile", "--nosyslog"},
                                       std::vector<std::string>{}, folder / "bus.log");
    if (!eventually([&] { return accepts(socket); })) {
        std::ifstream log(folder / "bus.log");
        throw std::runtime_error("dbus-daemon does not start: " + std::string(std::istreambuf_iterator<char>(log), {}));
    }
}

void PrivateBus::stop()
{
    process_.reset();
}

}    // namespace rdmaqos::test
