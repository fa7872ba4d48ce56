// The real rdma-qosd below a temporary root, with simulated devices (or emulated ones, emulated_nics.h) and, if wanted,
// a private system bus that uses our shipped bus policy. Everything it starts ends with it.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/types.h>

#include "lib/bus/client.h"
#include "lib/bus/names.h"
#include "tests/support/emulated_nics.h"
#include "tests/support/process.h"
#include "tests/support/temp_dir.h"

namespace rdmaqos::test {

struct DaemonOptions {
    std::string policy;      // text of /etc/rdma-qos/policy.yaml
    std::string devices;     // text of the simulation file
    std::string settings;    // text of rdma-qosd.yaml; empty: none
    bool system_bus = true;
    std::string program = RDMAQOS_DAEMON;
    bool host_devices = false;    // those of the emulator that the test runs below; `devices` is empty then
};

extern const char* const kTwoLevelPolicy;
extern const char* const kTwoDevices;

// Without a message bus.
inline DaemonOptions direct_only(const std::string& settings = {})
{
    return {kTwoLevelPolicy, kTwoDevices, settings, false, RDMAQOS_DAEMON};
}

class Daemon {
public:
    // Throws when it does not become ready.
    explicit Daemon(DaemonOptions options = {kTwoLevelPolicy, kTwoDevices, "", true, RDMAQOS_DAEMON});
    ~Daemon();
    Daemon(const Daemon&) = delete;
    Daemon& operator=(const Daemon&) = delete;

    [[nodiscard]] std::filesystem::path root() const { return dir_.path(); }
    [[nodiscard]] std::filesystem::path socket() const { return dir_.path() / "run/rdma-qos/bus"; }
    [[nodiscard]] const TempDir& dir() const { return dir_; }
    [[nodiscard]] Child& process() { return *process_; }
    [[nodiscard]] PrivateBus* bus() { return bus_.get(); }
    [[nodiscard]] const std::string& bus_address() const { return bus_->address(); }
    [[nodiscard]] std::string log() const;

    // Each throws when it cannot be made.
    [[nodiscard]] bus::Client direct() const;
    [[nodiscard]] bus::Client by_bus() const;
    [[nodiscard]] bus::Client by(bool system_bus) const { return system_bus ? by_bus() : direct(); }
    // How many sessions there are.
    [[nodiscard]] std::size_t sessions() const;
    // Ends it with SIGTERM; the wait status.
    [[nodiscard]] std::optional<int> stop();
    // Ends it with SIGKILL, and waits.
    void kill();

private:
    TempDir dir_;
    std::unique_ptr<PrivateBus> bus_;
    std::unique_ptr<EmulatedNics> nics_;
    std::unique_ptr<Child> process_;
    bool killed_ = false;
};

// What a test does with a client, in one line each.
struct Registered {
    std::string path;
    bus::Dict grant;
};
[[nodiscard]] Result<Registered> register_session(bus::Client& client, const bus::Dict& request);
// "Reconcile", "Verify", "Disable", "Enable" or "Release" of a device, as rdma-qosctl finds it; "": of all.
[[nodiscard]] Result<std::vector<bus::Dict>> manage(bus::Client& client, const std::string& method,
                                                    const std::string& device);
// On an emulated device a real one of this process.
[[nodiscard]] bus::Dict queue_pair(const std::string& device, std::uint32_t number, const std::string& type = "rc");
[[nodiscard]] Result<std::vector<bus::Dict>> attach(bus::Client& client, const std::string& session,
                                                    const std::vector<bus::Dict>& queue_pairs);
// Throws when they cannot be listed.
[[nodiscard]] std::vector<bus::Dict> queue_pairs_of(bus::Client& client, const std::string& session);
// "policy.yaml:2:1: error: unknown key `bogus` | bogus: 1", a line each; without the last part where nothing is quoted.
[[nodiscard]] std::string spelled(const std::vector<bus::Dict>& diagnostics);
// The diagnostics in a dictionary, spelled.
[[nodiscard]] std::string diagnostics_of(const bus::Dict& dict);
// A text or number of a dictionary as text; "absent".
[[nodiscard]] std::string text_of(const bus::Dict& dict, std::string_view key);

}    // namespace rdmaqos::test
