// Faults on order: what a device can do to its driver, deterministic and from any thread.
//
//     firmware->faults().fail(CommandKind::Create, 3);                       // the third create from now
//     firmware->faults().fail({}, 1, {FirmwareStatus::InternalError, 0, 0, false});    // the next command, errno only
//     firmware->faults().busy(CommandKind::Attach, 2);                       // EBUSY twice
//     firmware->faults().delay(CommandKind::Destroy, 50ms);                  // until cleared
//
// Reset, removal and silent drift change what the device holds and are therefore commands of Firmware.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "lib/model/refusal.h"

namespace rdmaqos {

enum class CommandKind : std::uint8_t { Create, Modify, Query, Destroy, Attach, SetRate, QueryQueuePair };

constexpr std::size_t kCommandKinds = 7;

// "create", "modify", "query", "destroy", "attach", "set-rate", "query-queue-pair"
[[nodiscard]] std::string_view to_string(CommandKind kind);

// How an ordered fault looks to the caller. A failed command has no effect on the device.
struct Failure {
    FirmwareStatus status = FirmwareStatus::InternalError;
    std::uint32_t syndrome = 0;
    int sys_errno = 0;      // 0: that of the status
    bool mailbox = true;    // false: errno only, as older kernels answer
};

class Faults {
public:
    using Sleeper = std::function<void(std::chrono::milliseconds)>;

    // The `nth` command from now on (1: the next) fails, and the `times - 1` after it too. Counted are commands of
    // `kind`, or all. Orders do not replace each other; of several that are due the oldest decides.
    void fail(std::optional<CommandKind> kind, std::uint64_t nth, Failure failure = {}, std::uint64_t times = 1);
    // The next `times` commands of `kind` find the object in use: EBUSY from the kernel, without a mailbox.
    void busy(CommandKind kind, std::uint64_t times);
    // Every command of `kind` (or each) takes at least this long; zero ends it.
    void delay(std::optional<CommandKind> kind, std::chrono::milliseconds time);
    void clear();

    // How a delay passes; empty: the calling thread sleeps.
    void set_sleeper(Sleeper sleeper);

    // Fired faults so far.
    [[nodiscard]] std::uint64_t fired() const;

    // For the firmware: one command arrives. Waits for the delay, then says whether it fails.
    [[nodiscard]] std::optional<Refusal> strike(CommandKind kind);

private:
    struct Order {
        std::optional<CommandKind> kind;
        std::uint64_t skip = 0;     // commands that pass before it is due
        std::uint64_t times = 1;    // then so many fail
        Failure failure;
    };

    mutable std::mutex mutex_;
    std::vector<Order> orders_;
    std::array<std::chrono::milliseconds, kCommandKinds> delays_{};
    Sleeper sleeper_;
    std::uint64_t fired_ = 0;
};

}    // namespace rdmaqos
