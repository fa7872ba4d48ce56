// A daemon with programs of every kind, to which faults happen; and what must be so afterwards, whatever happened.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/faults/call_watch.h"
#include "tests/nic_mlx5/restarted_daemon.h"
#include "tests/nic_mlx5/stranger.h"

namespace rdmaqos::test {

// Of kAdoptingPolicy, after a reload: every element changes, comes or goes.
extern const char* const kPolicyAfter;
constexpr const char* kInRpcAfter = "rate 0 share 1 < rate 30000 share 61 < rate 60000 share 5 < root";

// A bystander registers again whenever it loses the daemon, as programs of the C library do. A silent one does not, as
// those of busctl; it is a process of its own.
class Scene {
public:
    Scene();

    // ---- what a fault does ----

    // The device is reset, and the programs that had it open end.
    static void reset_device() { emulator("reset mlx5_0"); }
    // What the daemon has left for the next one is not what it was. One way or another, by the number.
    void damage_what_is_left(std::size_t way);

    // ---- afterwards ----

    // Starts the daemon if it has ended, and again if that fails, as systemd would.
    void recover();
    // A device that could not be opened at the start is opened at the next look.
    void wait_for_device() const;
    // Both have queue pairs of a device that was reset, or elements that nobody knows any longer.
    void replace_programs();
    void end_silent() { silent_.reset(); }
    void replace_silent();
    // As every program of the C library does; it may be refused.
    void let_bystander_register();
    // The bystander is in its leaf for the policy in force; registers again if it must. Throws what is wrong.
    void expect_bystander(const std::string& place, bool daemon_has_ended);
    // The silent one, without its doing anything.
    void expect_silent(const std::vector<std::string>& places) const;
    // Exactly these elements, soon, and as many descriptors as in the beginning.
    void expect_elements() const;
    void expect_descriptors();

    std::size_t copies_left = 0;    // of elements, which nobody knew any longer

    CallWatch watch;
    RestartedDaemon daemon;

private:
    [[nodiscard]] std::vector<std::string> descriptors() const;

    std::unique_ptr<Program> bystander_;
    std::uint32_t bystanders_ = 0;    // the number of its queue pair
    std::unique_ptr<Processes> silent_;
    std::uint32_t silents_ = 0;
    std::vector<std::string> elements_;
    std::size_t leaked_before_ = 0;    // by an earlier scene, which has failed
    pid_t counted_ = 0;                // the daemon whose descriptors were counted
    std::vector<std::string> descriptors_;
};

}    // namespace rdmaqos::test
