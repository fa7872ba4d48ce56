// One device that a kernel module plays and the kernel's own driver drives: its commands, answered by KernelFirmware,
// and what `ctl` does to it. firmware_process.h says how module and process talk.
//
// Commands are answered in threads of their own: one that waits holds up no other.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include "lib/base/file.h"
#include "policy/model/simulation.h"
#include "tools/emulator/controlled.h"
#include "tools/emulator/kernel_firmware.h"
#include "tools/emulator/trace.h"
#include "tools/emulator/workers.h"

namespace rdmaqos::emulator {

struct CommandHead {
    std::uint32_t slot = 0;
    std::uint32_t sequence = 0;
    std::uint32_t in_bytes = 0;
    std::uint32_t out_bytes = 0;
};

struct KernelDeviceOptions {
    SimulatedDevice description;      // its name, as the kernel will call it, and what it can do
    std::filesystem::path control;    // of its module
    Isolation isolation = Isolation::None;
    bool refuse_busy_leaf = true;
};

class KernelDevice final : public ControlledDevice {
public:
    // Answers what comes from `commands`, which must not block, until it is destroyed or the other end is gone; then it
    // calls `gone`.
    KernelDevice(KernelDeviceOptions options, UniqueFd commands, std::shared_ptr<Behaviour> behaviour, Trace& trace,
                 std::function<void()> gone);
    ~KernelDevice() override;
    KernelDevice(const KernelDevice&) = delete;
    KernelDevice& operator=(const KernelDevice&) = delete;

    // Has the module give its commands here; to be called before the driver finds the device.
    [[nodiscard]] Result<void> take_over() const;
    [[nodiscard]] KernelFirmware& kernel_firmware() { return firmware_; }
    [[nodiscard]] std::uint64_t calls() const { return calls_; }
    [[nodiscard]] std::uint64_t internal_errors() const { return internal_errors_; }

    [[nodiscard]] const std::string& name() const override { return options_.description.name; }
    [[nodiscard]] Firmware& firmware() override { return firmware_.firmware(); }
    [[nodiscard]] std::size_t ports() const override { return 1; }
    [[nodiscard]] std::size_t files() const override { return firmware_.files(); }
    [[nodiscard]] std::size_t leaked() const override { return firmware_.leaked(); }
    [[nodiscard]] std::optional<std::string> uverbs() const override;
    [[nodiscard]] std::optional<std::size_t> objects() const override { return std::nullopt; }
    [[nodiscard]] Result<std::vector<QueuePairOwner>> owners() const override;
    [[nodiscard]] std::optional<DeviceTraffic> traffic() const override { return std::nullopt; }
    [[nodiscard]] std::optional<PortClasses> port_classes() const override { return std::nullopt; }
    [[nodiscard]] std::optional<std::uint64_t> dcb_writes() const override { return std::nullopt; }
    Result<void> order_dcb_fault(std::uint64_t nth, std::uint64_t times, const DcbFault& fault) override;
    void clear_dcb_faults() override {}
    bool order_queue_pairs(const std::vector<std::uint32_t>& numbers) override
    {
        return firmware_.order_queue_pairs(numbers);
    }

    Result<void> reset() override;
    Result<void> unplug() override { return tell("unplug"); }
    Result<void> plug() override { return tell("plug"); }
    Result<void> set_port(std::uint32_t port, bool up) override;
    Result<void> set_link_speed(std::uint32_t port, Bandwidth speed) override;
    Result<void> set_port_classes(const PortClasses& classes) override;
    Result<void> set_pkeys(std::uint32_t port, std::vector<std::uint16_t> pkeys) override;
    Result<void> send_device_fatal() override;
    Result<void> fail_queue_pair(std::uint32_t number) override;

private:
    [[nodiscard]] Result<void> tell(const std::string& words) const;
    void serve();
    // False: no more will come.
    bool take_command();
    void answer(const CommandHead& head, const mlx5::Mailbox& command);

    const KernelDeviceOptions options_;
    const UniqueFd commands_;
    Trace& trace_;
    const std::function<void()> gone_;
    KernelFirmware firmware_;
    std::atomic<std::uint64_t> calls_{0};
    std::atomic<std::uint64_t> internal_errors_{0};
    UniqueFd wakeup_;
    std::vector<std::uint8_t> buffer_;    // of the thread that reads commands
    Workers workers_{128};
    std::thread thread_;
};

// ---- what the process's threads wait with ----

// An eventfd. Throws std::runtime_error.
[[nodiscard]] UniqueFd make_wakeup();
void wake(const UniqueFd& wakeup);
// Until there is something to read. False: `wakeup` says that it is over.
[[nodiscard]] bool wait_for(int fd, int wakeup);

}    // namespace rdmaqos::emulator
