// Emulated mlx5 devices below the daemon of a test, instead of simulated ones in it.
//
// tests/integration/daemon/emulated.sh runs a test program so. The environment of a process says for all its life where
// the emulator is, so the devices of every test are served in the same directory, one emulator after the other.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "lib/bus/value.h"

namespace rdmaqos::test {

class Child;

class EmulatedNics {
public:
    // Whether tests run so.
    [[nodiscard]] static bool wanted();
    // And their firmware keeps user contexts apart.
    [[nodiscard]] static bool isolated();

    // Serves the devices of the file; throws if the emulator does not start.
    EmulatedNics(const std::filesystem::path& devices, const std::filesystem::path& log);
    // Destroys the queue pairs that this process made on them, and fails the test if the emulator has to complain.
    ~EmulatedNics();
    EmulatedNics(const EmulatedNics&) = delete;
    EmulatedNics& operator=(const EmulatedNics&) = delete;

private:
    const std::filesystem::path log_;
    std::unique_ptr<Child> process_;
};

// `rdma-qos-emulator ctl WORDS`, without a process: some tests make thousands of queue pairs. False: refused.
bool order(const std::vector<std::string>& words);

// What Attach wants to know of a queue pair of this process with this number and type ("rc", "raw-packet"), which is
// made and brought to RTS the first time. Where there is no such device, or the number cannot be, only what was given.
[[nodiscard]] bus::Dict emulated_queue_pair(const std::string& device, std::uint32_t number, const std::string& type);

}    // namespace rdmaqos::test
