#include "tests/support/daemon_fixture.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <sys/wait.h>

namespace rdmaqos::test {
namespace {

std::string read_file(const std::filesystem::path& path)
{
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

}    // namespace

const char* const kTwoLevelPolicy = R"(version: 1
qos-class-names: {bulk-class: 7}
qos-levels:
  - {name: DEFAULT, sl: 0}
  - name: rpc
    sl: 3
    mtu-limit: 4096
    dscp: 26
    schedule: {share: 60, max-rate: 40Gbps, fair-by: process}
  - name: bulk
    sl: 1
    schedule: {share: 40}
  - name: nobody
    allow: {unit: ["no-such.service"]}
qos-match-rules:
  - {qos-class: [bulk-class], qos-level-name: bulk}
)";

const char* const kTwoDevices = R"(version: 1
devices:
  - {name: mlx5_0, node-guid: 0x10, port-guid: 0x11, netdev: ens1, pci: "0000:3b:00.0", link-speed: 100Gbps, gids: ["fd00:20::1"]}
  - {name: mlx5_1, node-guid: 0x20, port-guid: 0x21, netdev: ens2, pci: "0000:5e:00.0", link-speed: 100Gbps, gids: ["fd00:21::1"]}
)";

// ---- the daemon ----

Daemon::Daemon(DaemonOptions options)
{
    // Other users come to the socket too.
    std::filesystem::permissions(root(), std::filesystem::perms::owner_all | std::filesystem::perms::group_read |
                                             std::filesystem::perms::group_exec | std::filesystem::perms::others_read |
                                             std::filesystem::perms::others_exec);
    dir_.write("etc/rdma-qos/policy.yaml", options.policy);
    dir_.write("devices.yaml", options.devices);
    if (!options.settings.empty()) {
        dir_.write("etc/rdma-qos/rdma-qosd.yaml", options.settings);
    }
    std::vector<std::string> command{options.program, "--root", root().string(), "--log-level", "debug"};
    if (!options.devices.empty() && EmulatedNics::wanted()) {
        nics_ = std::make_unique<EmulatedNics>(root() / "devices.yaml", root() / "emulator.log");
        command.emplace_back("--host-devices");
    } else if (!options.devices.empty()) {
        command.insert(command.end(), {"--simulate", (root() / "devices.yaml").string()});
    }
    if (options.host_devices) {
        command.emplace_back("--host-devices");
    }
    std::vector<std::string> environment;
    if (options.system_bus) {
        bus_ = std::make_unique<PrivateBus>(root());
        environment.push_back("DBUS_SYSTEM_BUS_ADDRESS=" + bus_->address());
        command.emplace_back("--system-bus");
    }
    process_ = std::make_unique<Child>(command, environment, root() / "daemon.log");
    const bool ready = eventually([&] { return process_->has_ended() || log().find("ready: ") != std::string::npos; });
    if (!ready || process_->has_ended()) {
        throw std::runtime_error("rdma-qosd does not become ready: " + log());
    }
}

Daemon::~Daemon()
{
    if (::testing::Test::HasFailure()) {
        GTEST_LOG_(INFO) << "log of rdma-qosd:\n" << log();
    }
    const auto status = stop();
    if (!status) {
        ADD_FAILURE() << "rdma-qosd does not end:\n" << log();
    } else if (!killed_ && (!WIFEXITED(*status) || WEXITSTATUS(*status) != 0)) {
        ADD_FAILURE() << "rdma-qosd ended with wait status " << *status << ":\n" << log();    // a sanitizer, perhaps
    }
}

std::string Daemon::log() const
{
    return read_file(root() / "daemon.log");
}

bus::Client Daemon::direct() const
{
    auto client = bus::Client::connect_direct(socket());
    if (!client) {
        throw std::runtime_error(to_string(client.error()) + "\n" + log());
    }
    return std::move(*client);
}

bus::Client Daemon::by_bus() const
{
    setenv("DBUS_SYSTEM_BUS_ADDRESS", bus_->address().c_str(), 1);    // NOLINT(concurrency-mt-unsafe): one thread
    auto client = bus::Client::connect_system_bus();
    if (!client) {
        throw std::runtime_error(to_string(client.error()) + "\n" + log());
    }
    return std::move(*client);
}

std::size_t Daemon::sessions() const
{
    auto client = direct();
    const auto objects = client.managed_objects();
    if (!objects) {
        throw std::runtime_error(to_string(objects.error()));
    }
    std::size_t count = 0;
    for (const auto& [path, interfaces] : *objects) {
        count += interfaces.contains(bus::names::kSession) ? 1U : 0U;
    }
    return count;
}

std::optional<int> Daemon::stop()
{
    process_->signal(SIGTERM);
    process_->signal(SIGCONT);    // a test that fails may have left it stopped
    return process_->wait();
}

void Daemon::kill()
{
    killed_ = true;
    process_->signal(SIGKILL);
    EXPECT_TRUE(process_->wait().has_value());
}

// ---- calls ----

std::vector<bus::Dict> queue_pairs_of(bus::Client& client, const std::string& session)
{
    auto listed = client.call(session, bus::names::kSession, "ListQueuePairs", {});
    if (!listed) {
        throw std::runtime_error(to_string(listed.error()));
    }
    return *listed->front().as<std::vector<bus::Dict>>();
}

Result<std::vector<bus::Dict>> manage(bus::Client& client, const std::string& method, const std::string& device)
{
    namespace names = bus::names;
    const auto answer = [&]() -> Result<std::vector<bus::Value>> {
        if (device.empty()) {
            return client.call(names::kRoot, names::kManager, method + "All", {});
        }
        const auto found = client.call(names::kRoot, names::kManager, "GetDevice", {bus::Value(device)});
        if (found) {
            return client.call(found->front().as<bus::ObjectPath>()->text, names::kDevice, method, {});
        }
        if (method == "Enable") {
            return client.call(names::kRoot, names::kManager, "EnableDevice", {bus::Value(device)});
        }
        return fail(found.error());
    }();
    if (!answer) {
        return fail(answer.error());
    }
    if (const auto* list = answer->front().as<std::vector<bus::Dict>>()) {
        return *list;
    }
    return std::vector<bus::Dict>{*answer->front().as<bus::Dict>()};
}

Result<Registered> register_session(bus::Client& client, const bus::Dict& request)
{
    auto reply = client.call(bus::names::kRoot, bus::names::kManager, "Register", {bus::Value(request)});
    if (!reply) {
        return fail(std::move(reply).error());
    }
    const auto* path = reply->size() == 2 ? reply->front().as<bus::ObjectPath>() : nullptr;
    const auto* grant = reply->size() == 2 ? reply->back().as<bus::Dict>() : nullptr;
    if (path == nullptr || grant == nullptr) {
        return fail(ErrorCode::Internal, "Register answered something else");
    }
    return Registered{path->text, *grant};
}

bus::Dict queue_pair(const std::string& device, std::uint32_t number, const std::string& type)
{
    if (EmulatedNics::wanted()) {
        return emulated_queue_pair(device, number, type);
    }
    bus::Dict dict;
    dict.set("device", device);
    dict.set("number", number);
    dict.set("type", type);
    return dict;
}

Result<std::vector<bus::Dict>> attach(bus::Client& client, const std::string& session,
                                      const std::vector<bus::Dict>& queue_pairs)
{
    auto reply = client.call(session, bus::names::kSession, "Attach", {bus::Value(queue_pairs)});
    if (!reply) {
        return fail(std::move(reply).error());
    }
    const auto* results = reply->size() == 1 ? reply->front().as<std::vector<bus::Dict>>() : nullptr;
    if (results == nullptr) {
        return fail(ErrorCode::Internal, "Attach answered something else");
    }
    return *results;
}

std::string spelled(const std::vector<bus::Dict>& diagnostics)
{
    std::string text;
    for (const auto& one : diagnostics) {
        text += fmt::format("{}:{}:{}: {}: {}", text_of(one, "file"), text_of(one, "line"), text_of(one, "column"),
                            text_of(one, "severity"), text_of(one, "message"));
        text += one.contains("quote") ? " | " + text_of(one, "quote") + "\n" : "\n";
    }
    return text;
}

std::string diagnostics_of(const bus::Dict& dict)
{
    const auto* value = dict.find("diagnostics");
    const auto* diagnostics = value == nullptr ? nullptr : value->as<std::vector<bus::Dict>>();
    return diagnostics == nullptr ? "no diagnostics" : spelled(*diagnostics);
}

std::string text_of(const bus::Dict& dict, std::string_view key)
{
    const auto* value = dict.find(key);
    if (value == nullptr) {
        return "absent";
    }
    if (const auto* text = value->as<std::string>()) {
        return *text;
    }
    if (const auto* flag = value->as<bool>()) {
        return *flag ? "true" : "false";
    }
    if (const auto number = value->as_unsigned()) {
        return std::to_string(*number);
    }
    return "a " + signature(*value);
}

}    // namespace rdmaqos::test
