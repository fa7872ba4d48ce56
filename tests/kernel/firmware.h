// The device of module/, as a test loads, drives and reads it: /proc/fake_mlx5.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rdmaqos::test {

// The module with these parameters ("isolate=0 eth=1"), until the end of the object. Throws if the driver does not
// make a uverbs device of it.
class LoadedNic {
public:
    explicit LoadedNic(const std::string& parameters = "");
    ~LoadedNic();
    LoadedNic(const LoadedNic&) = delete;
    LoadedNic& operator=(const LoadedNic&) = delete;
};

// Whether the kernel has the device now; and a wait until it has it, or has not. False: it takes too long.
[[nodiscard]] bool nic_is_present();
[[nodiscard]] bool wait_for_nic(bool present);

// A line for /proc/fake_mlx5; module/control.c has them all. Throws if the module refuses it.
void tell_firmware(std::string_view line);

// What the firmware holds: elements, and queue pairs and send queues of programs.
struct FirmwareElement {
    std::uint32_t parent = 0;
    std::uint64_t share = 0;
    std::uint64_t cap = 0;      // Mbit/s
    std::uint32_t owner = 0;    // a user context
};
struct FirmwareState {
    std::map<std::uint32_t, FirmwareElement> elements;
    std::map<std::uint32_t, std::uint32_t> queue_pairs;    // to the leaf of the requester; 0: none
    std::map<std::uint32_t, std::uint32_t> send_queues;    // to the leaf

    // "rate 40000 share 60 < root", as tests/support/emulated.h tells it of the emulator; "": in no leaf.
    [[nodiscard]] std::string way_up(std::uint32_t element) const;
    // Where a queue pair is; "absent".
    [[nodiscard]] std::string place_of(std::uint32_t queue_pair) const;
};
[[nodiscard]] FirmwareState firmware_state();

// A command that has ended.
struct FirmwareCommand {
    double time = 0;    // CLOCK_MONOTONIC, seconds
    std::string name;
    std::uint32_t status = 0;
    std::map<std::string, std::string> about;    // "qpn" -> "0x41"

    // A number of `about`; -1: it is not there.
    [[nodiscard]] std::int64_t number(const std::string& key) const;
    // Whether it changes elements, or the place of a queue pair.
    [[nodiscard]] bool writes() const;
};

// The commands from its construction on.
class FirmwareLog {
public:
    FirmwareLog();
    [[nodiscard]] std::vector<FirmwareCommand> commands() const;
    // Those that write().
    [[nodiscard]] std::vector<FirmwareCommand> writes() const;

private:
    std::string mark_;
};

// The kernel's complaints from its construction to its end are known, and do not fail the run. `why` goes into its log.
class KnownComplaints {
public:
    explicit KnownComplaints(const std::string& why);
    ~KnownComplaints();
    KnownComplaints(const KnownComplaints&) = delete;
    KnownComplaints& operator=(const KnownComplaints&) = delete;
};

// For messages of failed checks.
[[nodiscard]] std::string spelled(const std::vector<FirmwareCommand>& commands);

}    // namespace rdmaqos::test
