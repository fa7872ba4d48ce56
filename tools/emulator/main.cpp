// rdma-qos-emulator: mlx5 devices that are not there, for programs that use libibverbs and libmlx5.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/signal_process.h"
#include "lib/model/profile.h"
#include "policy/yaml/simulation_reader.h"
#include "tools/emulator/control.h"
#include "tools/emulator/control_client.h"
#include "tools/emulator/control_socket.h"
#include "tools/emulator/firmware_process.h"
#include "tools/emulator/protocol.h"
#include "tools/emulator/server.h"

namespace {

using namespace rdmaqos;
using namespace rdmaqos::emulator;
namespace fs = std::filesystem;

constexpr int kLeaked = 99;
constexpr int kNotStarted = 127;    // as shells say it
constexpr const char* kPreload = "librdmaqos-emulator-preload.so";
constexpr const char* kTwoDevices = R"(version: 1
devices:
  - {name: mlx5_0, link-speed: 100Gbps, gids: ["fd00:20::1", "::ffff:10.2.0.1"]}
  - {name: mlx5_1, link-speed: 100Gbps, gids: ["fd00:21::1", "::ffff:10.3.0.1"]}
)";

int complain(const std::string& message)
{
    fmt::print(stderr, "rdma-qos-emulator: {}\n", message);
    return 1;
}

struct Options {
    std::string devices;
    std::string directory;
    std::string isolation = std::string(to_string(Isolation::None));
    bool release_busy_leaf = false;
    bool no_data_path = false;
    bool any_user = false;
    std::vector<std::string> port_classes;
    bool json = false;
    bool summary = false;
    std::vector<std::string> modules = {"fake_mlx5"};
    bool plug = false;
    std::vector<std::string> words;
};

// 255 stands for all of them.
constexpr std::uint32_t kMostPorts = 254;

ServerOptions server_options(const Options& options)
{
    const auto read = options.devices.empty()
                          ? read_simulation(std::make_shared<SourceFile>(SourceFile{"built in", kTwoDevices}),
                                            default_capabilities())
                          : read_simulation(fs::path(options.devices), default_capabilities());
    if (!read.value) {
        throw std::runtime_error(render(read.diagnostics, Colour::Off));
    }
    for (const auto& device : *read.value) {
        if (device.port > kMostPorts) {
            throw std::runtime_error(fmt::format("{}: port {} cannot be emulated: a port number in the kernel's calls "
                                                 "has 8 bits, so the most is {}",
                                                 device.name, device.port, kMostPorts));
        }
    }
    const auto classes = parse_port_classes(options.port_classes);
    if (!classes) {
        throw std::runtime_error(fmt::format("--port-classes: {}", classes.error().message));
    }
    return {fs::canonical(options.directory),
            *read.value,
            isolation_of(options.isolation).value_or(Isolation::None),    // the option checks the word
            !options.release_busy_leaf,
            !options.no_data_path,
            options.any_user,
            *classes};
}

// Beside the program in a build tree, else where it is installed.
fs::path preload_library()
{
    const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
    const fs::path beside = here / kPreload;
    return fs::exists(beside) ? beside : (here / RDMAQOS_PRELOAD_FOLDER / kPreload).lexically_normal();
}

void allow_many_files()
{
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

std::vector<std::pair<std::string, std::string>> environment_of(const fs::path& directory)
{
    const char* others = std::getenv("LD_PRELOAD");
    const std::string before = others != nullptr && *others != '\0' ? std::string(others) + ":" : "";
    return {{kDirectoryVariable, directory.string()},
            {"SYSFS_PATH", (directory / "sys").string()},
            {"LD_PRELOAD", before + preload_library().string()}};
}

// ---- run ----

volatile std::sig_atomic_t child_pid = 0;

void forward(int signal)
{
    if (child_pid > 0) {
        signal_process(child_pid, signal);
    }
}

// Threads of this process run already, and one of them may hold a lock of the allocator, which a child made by fork()
// would wait for.
pid_t start(const std::vector<std::string>& words)
{
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (const auto& word : words) {
        arguments.push_back(const_cast<char*>(word.c_str()));
    }
    arguments.push_back(nullptr);
    pid_t pid = 0;
    if (const int error = posix_spawnp(&pid, arguments.front(), nullptr, nullptr, arguments.data(), environ);
        error != 0) {
        complain(fmt::format("{}: {}", words.front(), std::strerror(error)));
        return 0;
    }
    return pid;
}

// Files close behind their processes.
void wait_for_closes(const Server& server)
{
    for (int tries = 0; tries < 500; ++tries) {
        bool open = false;
        for (const auto& device : server.devices()) {
            open = open || !device->files().empty();
        }
        if (!open) {
            return;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
}

int judge(const Server& server, int status)
{
    std::size_t leaked = 0;
    for (const auto& device : server.devices()) {
        if (device->leaked() > 0) {
            complain(fmt::format("{}: {} element(s) could not be destroyed when their file closed, because queue pairs "
                                 "of others were in them",
                                 device->name(), device->leaked()));
        }
        leaked += device->leaked();
    }
    return leaked > 0 || server.internal_errors() > 0 ? kLeaked : status;
}

int run(Options options)
{
    std::string folder = (fs::temp_directory_path() / "rdma-qos-emulator.XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr || chmod(folder.c_str(), options.any_user ? 0755 : 0700) != 0) {
        return complain(fmt::format("{}: {}", folder, std::strerror(errno)));
    }
    options.directory = folder;
    int status = 0;
    try {
        allow_many_files();
        // Of the command, which inherits it; set while nobody else can read it.
        for (const auto& [name, value] : environment_of(fs::canonical(folder))) {
            setenv(name.c_str(), value.c_str(), 1);
        }
        const Server server(server_options(options));
        for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
            std::signal(signal, forward);
        }
        const pid_t pid = start(options.words);
        child_pid = pid;
        int how = 0;
        while (pid != 0 && waitpid(pid, &how, 0) < 0 && errno == EINTR) {
        }
        child_pid = 0;
        wait_for_closes(server);
        status = pid == 0 ? kNotStarted : judge(server, WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how));
    } catch (const std::exception& mistake) {
        status = complain(mistake.what());
    }
    fs::remove_all(folder);
    return status;
}

// ---- serve ----

// One that is there keeps its mode: the sockets have their own.
void make_directory(const Options& options)
{
    if (fs::create_directories(options.directory) && !options.any_user) {
        fs::permissions(options.directory, fs::perms::owner_all);
    }
}

int serve(const Options& options)
{
    sigset_t ends;
    sigemptyset(&ends);
    for (const int signal : {SIGINT, SIGTERM}) {
        sigaddset(&ends, signal);
    }
    pthread_sigmask(SIG_BLOCK, &ends, nullptr);
    allow_many_files();
    make_directory(options);
    const Server server(server_options(options));
    for (const auto& [name, value] : environment_of(fs::canonical(options.directory))) {
        fmt::print("export {}={}\n", name, value);
    }
    std::fflush(stdout);
    int signal = 0;
    sigwait(&ends, &signal);
    return judge(server, 0);
}

// ---- firmware ----

// One that the kernel has found is in its list of devices. The next one gets the next name.
bool is_found(const std::string& name)
{
    constexpr auto kPatience = std::chrono::seconds(60);
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (!fs::exists("/sys/class/infiniband/" + name)) {
        if (std::chrono::steady_clock::now() > until) {
            return false;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return true;
}

std::vector<ModuleEnd> open_modules(const Options& options, const ServerOptions& described)
{
    std::vector<ModuleEnd> modules;
    for (const auto& name : options.modules) {
        if (modules.size() == described.ports.size()) {
            throw std::runtime_error(fmt::format("{} modules, but {} devices are described", options.modules.size(),
                                                 described.ports.size()));
        }
        const std::string device = "/dev/" + name;
        UniqueFd commands(open(device.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
        if (!commands) {
            throw std::runtime_error(fmt::format("{}: {}; is the module loaded, and nobody else its firmware?", device,
                                                 std::strerror(errno)));
        }
        modules.push_back(
            {{described.ports[modules.size()], "/proc/" + name, described.isolation, described.refuse_busy_leaf},
             std::move(commands)});
    }
    return modules;
}

int serve_firmware(const Options& options)
{
    sigset_t ends;
    sigemptyset(&ends);
    for (const int signal : {SIGINT, SIGTERM}) {
        sigaddset(&ends, signal);
    }
    pthread_sigmask(SIG_BLOCK, &ends, nullptr);
    fs::create_directories(options.directory);
    const ServerOptions described = server_options(options);
    const FirmwareProcess process(described.directory, open_modules(options, described), [] {
        complain("the module has gone");
        signal_process(getpid(), SIGTERM);
    });
    for (const auto& device : process.kernel_devices()) {
        if (const auto taken = device->take_over(); !taken) {
            return complain(taken.error().message);
        }
        if (const auto plugged = options.plug ? device->plug() : Result<void>(); !plugged) {
            return complain(plugged.error().message);
        }
        if (options.plug && !is_found(device->name())) {
            return complain(
                fmt::format("the driver makes no {} of what was plugged; see the kernel's messages", device->name()));
        }
    }
    fmt::print("export {}={}\n", kDirectoryVariable, described.directory.string());
    std::fflush(stdout);
    int signal = 0;
    sigwait(&ends, &signal);
    std::size_t leaked = 0;
    for (const auto& device : process.kernel_devices()) {
        leaked += device->leaked();
    }
    if (leaked > 0) {
        complain(fmt::format("{} element(s) were left in the device when their file closed", leaked));
    }
    return leaked > 0 || process.internal_errors() > 0 ? kLeaked : 0;
}

// ---- ctl and trace ----

fs::path directory_of(const Options& options)
{
    const char* inherited = std::getenv(kDirectoryVariable);
    const std::string directory = !options.directory.empty() ? options.directory
                                  : inherited != nullptr     ? inherited
                                                             : "";
    if (directory.empty()) {
        throw std::runtime_error(fmt::format("which emulator? give --directory, or run this below `rdma-qos-emulator "
                                             "run` ({} is not set)",
                                             kDirectoryVariable));
    }
    return directory;
}

int show_answer(const Options& options, const std::vector<std::string>& words)
{
    const auto answered = ask(directory_of(options), words, [](std::string_view text) {
        std::fwrite(text.data(), 1, text.size(), stdout);
        std::fflush(stdout);
    });
    if (!answered) {
        fmt::print(stderr, "{}", answered.error().message);
    }
    return answered ? 0 : 1;
}

// top [SECONDS [COUNT]]
int top(const Options& options)
{
    constexpr double kLongest = 3600;
    double seconds = 1;
    unsigned count = 0;
    const auto& words = options.words;
    if ((words.size() > 1 && !CLI::detail::lexical_cast(words[1], seconds)) ||
        (words.size() > 2 && !CLI::detail::lexical_cast(words[2], count)) || words.size() > 3 || seconds < 0.01 ||
        seconds > kLongest) {
        return complain("usage: top [SECONDS [COUNT]], with 0.01 to 3600 seconds");
    }
    return show_rates(directory_of(options), std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000)),
                      count);
}

void add_server_options(CLI::App& command, Options& options)
{
    command.add_option("--devices", options.devices,
                       "The devices, as for rdma-qosd --simulate (default: two of 100 Gbit/s)");
    std::vector<std::string> words;
    for (const Isolation each : kIsolations) {
        words.emplace_back(to_string(each));
    }
    command
        .add_option("--queue-groups", options.isolation,
                    "What the firmware keeps apart between contexts: nothing; leaves and parents; those made as "
                    "general objects only; leaves, but not parents")
        ->check(CLI::IsMember(words));
    command.add_flag_callback(
        "--isolate-queue-groups", [&options] { options.isolation = to_string(Isolation::All); },
        "The same as --queue-groups isolated");
    command.add_flag("--release-busy-leaf", options.release_busy_leaf,
                     "Firmware that destroys a leaf with queue pairs in it");
}

void add_data_path_option(CLI::App& command, Options& options)
{
    command.add_flag("--no-data-path", options.no_data_path, "Moves no data: work that is posted never completes");
    command
        .add_option("--port-classes", options.port_classes,
                    "The traffic classes of Ethernet devices: tc1=70 tc2=30,10Gbps tc6=strict prio3=2 dscp26=3 (weight "
                    "or strict, maximum rate, class of a priority, priority of a DSCP); default: everything in class 0")
        ->delimiter(' ')
        ->allow_extra_args(false);
    command.add_flag("--any-user", options.any_user,
                     "Programs of other users may use the devices, too (default: only those of this one)");
}

CLI::App& add_firmware_command(CLI::App& app, Options& options)
{
    CLI::App& firmware_command = *app.add_subcommand(
        "firmware", "Firmware of devices that kernel modules play and the kernel's own driver drives, until SIGTERM");
    add_server_options(firmware_command, options);
    firmware_command.add_option("--directory", options.directory, "Where the socket of ctl goes")->required();
    firmware_command
        .add_option("--module", options.modules,
                    "The module, which gives out commands at /dev/MODULE and takes words at /proc/MODULE; several for "
                    "several devices, in the order of their description")
        ->capture_default_str();
    firmware_command.add_flag(
        "--plug", options.plug,
        "Has the devices appear, once their commands are answered here, and waits for the driver");
    return firmware_command;
}

CLI::App& add_ctl_command(CLI::App& app, Options& options)
{
    CLI::App& ctl_command = *app.add_subcommand("ctl",
                                                "Changes how the devices behave\n\n" + control_help() +
                                                    "  top [SECONDS [COUNT]]                                      "
                                                    "what moves, every SECONDS (1), COUNT times (no limit)");

    ctl_command.add_option("--directory", options.directory, "Of the emulator; default: the one around this command");
    ctl_command.add_option("words", options.words, "What to do")->required();
    ctl_command.prefix_command();
    return ctl_command;
}

}    // namespace

int main(int argc, char** argv)
{
    CLI::App app(
        "Plays mlx5 devices for unmodified libibverbs and libmlx5, and moves their data at the speed of the links "
        "they describe, in the order of their scheduling trees.");
    app.require_subcommand(1);
    Options options;

    CLI::App& run_command = *app.add_subcommand("run", "Fresh devices around a command; 99 if elements leaked");
    add_server_options(run_command, options);
    add_data_path_option(run_command, options);
    run_command.add_option("command", options.words, "The command")->required();
    run_command.prefix_command();

    CLI::App& serve_command = *app.add_subcommand("serve", "Devices until SIGTERM; prints the environment to use");
    add_server_options(serve_command, options);
    add_data_path_option(serve_command, options);
    serve_command.add_option("--directory", options.directory, "Where the sockets and the sysfs tree go")->required();

    CLI::App& firmware_command = add_firmware_command(app, options);

    CLI::App& ctl_command = add_ctl_command(app, options);

    CLI::App& trace_command = *app.add_subcommand("trace", "Shows every call as it ends");
    trace_command.add_option("--directory", options.directory, "Of the emulator; default: the one around this command");
    auto* json = trace_command.add_flag("--json", options.json, "JSON, a line each");
    trace_command
        .add_flag("--summary", options.summary,
                  "At the end (SIGINT, SIGTERM or the emulator's), a table of the calls, and what has moved")
        ->excludes(json);
    CLI11_PARSE(app, argc, argv);

    try {
        const auto with_rest = [&](const CLI::App& command) {
            for (const auto& word : command.remaining()) {
                if (word != "--") {    // the first one, which ends our own options; later ones are among the words
                    options.words.push_back(word);
                }
            }
        };
        if (run_command) {
            with_rest(run_command);
            return run(options);
        }
        if (serve_command) {
            return serve(options);
        }
        if (firmware_command) {
            return serve_firmware(options);
        }
        if (ctl_command) {
            with_rest(ctl_command);
            return options.words.front() == "top" ? top(options) : show_answer(options, options.words);
        }
        if (options.summary) {
            return show_summary(directory_of(options));
        }
        return show_answer(options, options.json ? std::vector<std::string>{"trace", "--json"}
                                                 : std::vector<std::string>{"trace"});
    } catch (const std::exception& mistake) {
        return complain(mistake.what());
    }
}
