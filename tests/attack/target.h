// The daemon under attack: a real rdma-qosd with simulated devices below a root of its own, optimised, logging as it
// does in use. RDMAQOSD=PATH attacks another build of it.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "tests/support/process.h"
#include "tests/support/temp_dir.h"

namespace rdmaqos::attack {

// What the daemon holds at one moment.
struct Footprint {
    std::size_t resident_kib = 0;    // with what its helpers have of their own
    std::size_t peak_kib = 0;    // of the daemon's resident memory since the last reset_peak(), with the helpers' now
    std::size_t descriptors = 0;
    std::size_t threads = 0;
};

struct TargetOptions {
    bool system_bus = false;    // also on a bus of its own
    std::string settings;       // text of rdma-qosd.yaml; empty: as shipped
};

class Target {
public:
    // Throws when the daemon does not become ready.
    explicit Target(const TargetOptions& options = {});
    // Kills what still runs. A daemon that waits in the kernel for an attacker can be killed only when that one is
    // gone.
    ~Target();
    Target(const Target&) = delete;
    Target& operator=(const Target&) = delete;

    [[nodiscard]] std::filesystem::path root() const { return dir_.path(); }
    [[nodiscard]] std::filesystem::path socket() const { return dir_.path() / "run/rdma-qos/bus"; }
    // Where the private bus listens.
    [[nodiscard]] std::filesystem::path bus_socket() const { return dir_.path() / "system-bus"; }

    [[nodiscard]] bool is_alive();
    [[nodiscard]] Footprint footprint() const;
    void reset_peak() const;
    // SIGTERM; whether it ends with status 0, in this time, less what it waits for a processor.
    [[nodiscard]] bool stop(std::chrono::seconds time);
    [[nodiscard]] pid_t pid() const { return process_->pid(); }
    // The end of the log, and how the daemon ended if it did.
    [[nodiscard]] std::string last_words();

private:
    test::TempDir dir_;
    std::unique_ptr<test::PrivateBus> bus_;
    std::unique_ptr<test::Child> process_;
};

// The rdma-qosctl to ask with: that of the build, or RDMAQOSCTL=PATH.
[[nodiscard]] std::string ctl_program();

}    // namespace rdmaqos::attack
