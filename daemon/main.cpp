// rdma-qosd: wires loop, service, devices and transports together, and ends them in order.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <thread>

#include <malloc.h>

#include <CLI/CLI.hpp>

#include "daemon/adoption/program.h"
#include "daemon/bus/transports.h"
#include "daemon/discovery.h"
#include "daemon/end_in_time.h"
#include "daemon/fabric_watch.h"
#include "daemon/handover/handover.h"
#include "daemon/host_ports.h"
#include "daemon/lifecycle.h"
#include "daemon/log_sink.h"
#include "daemon/loop/gathering.h"
#include "daemon/metrics/metrics_file.h"
#include "daemon/service/device_control.h"
#include "daemon/service/reloads.h"
#include "daemon/simulation.h"
#include "daemon/survey/counter_survey.h"
#include "daemon/survey/host_survey.h"
#include "daemon/transient_watch.h"
#include "lib/base/version.h"
#include "lib/bus/descriptor_helper.h"
#include "lib/bus/names.h"
#include "lib/bus/process_helper.h"
#include "lib/nic_mlx5/self_test.h"
#include "lib/port_bytes/counters.h"

namespace rdmaqos {
namespace {

struct Options {
    std::filesystem::path root;
    std::filesystem::path simulate;
    bool host_devices = false;
    std::filesystem::path socket;
    std::optional<bool> system_bus;
    LogLevel log_level = LogLevel::Info;
};

// What an allocation that fails calls, on any thread: it waits and is tried again. Nothing in between then sees it
// fail: no call that loses its answer, no destructor that ends the program. After 3 s the allocation throws
// std::bad_alloc.
void wait_for_memory()
{
    constexpr auto kPause = std::chrono::milliseconds(10);
    constexpr int kTries = 300;
    thread_local int tries = 0;
    thread_local auto last = std::chrono::steady_clock::time_point();
    if (std::chrono::steady_clock::now() - last > kPause / 10) {    // another allocation than last time
        tries = 0;
    }
    if (++tries > kTries) {
        throw std::bad_alloc();
    }
    if (tries == 1) {
        write_log(LogLevel::Error, {}, "there is no memory: rdma-qosd waits for some");
    }
    std::this_thread::sleep_for(kPause);
    last = std::chrono::steady_clock::now();
}

// Empty: everything was said, end with `status`.
std::optional<Options> parse(int argc, char** argv, int& status)
{
    Options options;
    std::string level = "info";
    CLI::App app{"Keeps the transmit-scheduling trees of RDMA devices equal to a policy."};
    app.set_version_flag("--version", std::string("rdma-qosd ") + kVersion);
    app.add_option("--root", options.root,
                   "Prefix of every path; without --system-bus only the socket below it is served");
    app.add_option("--simulate", options.simulate, "Serve the simulated devices of this file");
    app.add_flag("--host-devices", options.host_devices, "Serve the host's NICs although --root is given");
    app.add_option("--direct-socket", options.socket, "Where to listen, instead of /run/rdma-qos/bus below the root");
    app.add_flag_callback(
        "--system-bus", [&] { options.system_bus = true; }, "Serve the system bus");
    app.add_flag_callback(
        "--no-system-bus", [&] { options.system_bus = false; }, "Serve the socket alone");
    app.add_option("--log-level", level, "debug, info, notice, warning or error")
        ->check(CLI::IsMember({"debug", "info", "notice", "warning", "error"}));
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        status = app.exit(error);
        return std::nullopt;
    }
    options.log_level = *parse_log_level(level);
    return options;
}

// Throws if the file is broken.
void add_simulated(Service& service, const std::filesystem::path& file, const Clock& clock)
{
    auto devices = simulated_devices(file, clock);
    if (!devices) {
        throw std::runtime_error(to_string(devices.error()));
    }
    for (auto& device : *devices) {
        service.device_control().add(std::move(device));
    }
    service.device_control().on_wanted_again([&service, &clock, file](Guid node_guid, std::uint32_t port) {
        if (auto device = simulated_device(file, clock, node_guid, port)) {
            service.device_control().add(std::move(*device));
        } else {
            service.device_control().refused({node_guid, port}, to_string(device.error()));
        }
    });
}

// As ServiceOptions::watch_end.
std::shared_ptr<void> watch_end(bus::EventLoop& loop, std::shared_ptr<const Identity> process,
                                std::function<void()> ended)
{
    struct Watch {
        std::shared_ptr<const Program> program;
        std::unique_ptr<bus::EventSource> exit;
    };
    auto program = Program::open(std::move(process));
    if (!program) {
        return program.error().code == ErrorCode::BadQueuePair ? loop.after(Duration(0), std::move(ended)) : nullptr;
    }
    auto exit = loop.on_exit_of((*program)->pidfd(), std::move(ended));
    return exit ? std::make_shared<Watch>(Watch{std::move(*program), std::move(*exit)}) : nullptr;
}

// With the time that draining may take (lifecycle.cpp) below TimeoutStopSec= of rdma-qosd.service.
constexpr auto kTimeToEnd = std::chrono::seconds(5);

int run(const Options& options, const Clock& clock, EndInTime& end)
{
    // Large pieces are given back when they are freed: left to itself, the threshold grows with them.
    constexpr int kLargePiece = 256 * 1024;
    mallopt(M_MMAP_THRESHOLD, kLargePiece);
    mallopt(M_ARENA_MAX, 4);
    bus::block_signals({SIGTERM, SIGINT, SIGHUP, SIGPIPE});
    bus::EventLoop loop;
    const bool on_host = options.root.empty() || options.root == "/";
    const auto closer = std::make_shared<FileCloser>();
    ServiceOptions of_service{options.root, NameService::host(), !options.simulate.empty()};
    const bool of_host = options.simulate.empty() && (on_host || options.host_devices);
    if (of_host) {
        of_service.survey_host = [] { return survey_host("/proc"); };
        of_service.count_traffic = [&clock](const std::vector<PortToCount>& ports) {
            return survey_counters(ports, clock);
        };
        of_service.program_files = std::make_shared<HostProgramFiles>(
            [closer](std::uint32_t uid, UniqueFd fd) { closer->close(uid, std::move(fd)); });
        of_service.watch_host = [&loop, &clock](HostNewsHandler news) {
            return watch_queue_pairs(loop, clock, std::move(news));
        };
        const auto ports = std::make_shared<HostPorts>();
        of_service.port_kernel = ports;
        of_service.read_interface = port_bytes::read_counters;
        of_service.watch_ports = [&loop, ports](std::function<void(const PortNotice&)> take) {
            return watch_host_ports(loop, ports, std::move(take));
        };
        of_service.why_ports_cannot_be_set = [] { return why_ports_cannot_be_set(); };
        of_service.watch_end = [&loop](std::shared_ptr<const Identity> process, std::function<void()> ended) {
            return watch_end(loop, std::move(process), std::move(ended));
        };
    }
    Service service(std::move(of_service), loop, clock);
    BusTransports transports(service, loop,
                             {options.socket.empty() ? below_root(options.root, bus::names::kSocket) : options.socket,
                              options.system_bus.value_or(on_host), "/proc/self/exe"});
    Lifecycle lifecycle(loop, service);
    Handover handover(of_host ? systemd_store() : nullptr, take_kept_descriptors());
    Discovery discovery(service, loop, handover, below_root(options.root, "/var/lib/rdma-qos"));
    if (of_host) {
        discovery.claim();
    }
    service.reloads().read_files();
    if (!options.simulate.empty()) {
        add_simulated(service, options.simulate, clock);
    }
    if (of_host) {
        discovery.start();
    }
    const auto ready = Gathering::begin([&lifecycle](const Gathering::Missing&) { lifecycle.ready(); });
    ready->expect("policy");
    ready->expect("transports");
    ready->all_expected();
    service.start([ready](const ReloadOutcome& outcome) {
        report(outcome);
        ready->came("policy");
    });
    FabricWatch fabric_watch(service, loop);
    fabric_watch.start();
    TransientWatch transient_watch(service, loop);
    transient_watch.start();
    MetricsFile metrics_file(service, loop, options.root);
    metrics_file.start();
    if (auto opened = transports.open([ready] { ready->came("transports"); }); !opened) {
        throw std::runtime_error(to_string(opened.error()));
    }
    const int status = loop.run();
    end.begin(status);
    return status;
}

}    // namespace
}    // namespace rdmaqos

int main(int argc, char** argv)
{
    // The helper of the self-test (lib/nic_mlx5/self_test.h), which this program starts itself.
    if (argc == 5 && std::string_view(argv[1]) == "self-test-client") {
        return rdmaqos::mlx5::self_test_client(argv[2], static_cast<std::uint32_t>(std::strtoul(argv[3], nullptr, 10)),
                                               std::atoi(argv[4]));
    }
    if (argc == 3 && std::string_view(argv[1]) == rdmaqos::bus::kDescriptorHelperCommand) {
        return rdmaqos::bus::run_descriptor_helper(std::atoi(argv[2]));
    }
    if (argc == 3 && std::string_view(argv[1]) == rdmaqos::bus::kProcessHelperCommand) {
        return rdmaqos::bus::run_process_helper(std::atoi(argv[2]));
    }
    int status = 0;
    const rdmaqos::SteadyClock clock;
    const auto options = rdmaqos::parse(argc, argv, status);
    if (!options) {
        return status;
    }
    rdmaqos::set_log_sink(rdmaqos::make_log_sink(options->log_level, clock));
    std::set_new_handler(rdmaqos::wait_for_memory);
    try {
        rdmaqos::EndInTime end(rdmaqos::kTimeToEnd);
        status = rdmaqos::run(*options, clock, end);
    } catch (const rdmaqos::DevicesTaken& error) {
        rdmaqos::report_refusal(error.what());
        status = rdmaqos::kStatusDevicesTaken;
    } catch (const std::exception& error) {
        rdmaqos::log(rdmaqos::LogLevel::Error, "{}", error.what());
        status = 1;
    }
    rdmaqos::set_log_sink(nullptr);
    return status;
}
