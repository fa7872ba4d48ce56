// rdma-qos-emulator firmware: a process that answers commands which a kernel module's device gives to it. The module
// plays the rest of the device; the driver above it is the kernel's own.
//
// The module's character device hands out commands and takes answers, one a call:
//
//     read()     CommandHead, then `in_bytes` of inbox
//     write()    the same head, then at most `out_bytes` of outbox; what is missing is zero. Without a byte of outbox:
//     the
//                module answers this command itself
//
// Words written to its control file, one line each:
//
//     delegate OPCODE 1          (hexadecimal) such commands come here from now on
//     plug, unplug               the PCI function appears, disappears; the word does not wait for it
//     fatal                      the device fails: the driver resets it
//     link up|down               the port's state changes, with its event
//     speed GBPS                 its link trains again, to this rate
//
// Commands are answered in threads of their own: one that waits holds up no other.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <mutex>
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

struct FirmwareProcessOptions {
    std::filesystem::path directory;    // exists; holds control.sock
    SimulatedDevice device;             // its name, as the kernel will call it, and what it can do
    std::filesystem::path control;      // of the module
    bool isolate_queue_groups = false;
    bool refuse_busy_leaf = true;
};

// Says `words` to the module: one line to its control file.
[[nodiscard]] Result<void> tell_module(const std::filesystem::path& control, const std::string& words);

class FirmwareProcess final : public Controlled {
public:
    // Answers what comes from `commands`, which must not block, and serves control.sock, until it is destroyed or the
    // other end of `commands` is gone; then it calls `gone`. Throws std::runtime_error when there can be no socket.
    FirmwareProcess(FirmwareProcessOptions options, UniqueFd commands, std::function<void()> gone);
    ~FirmwareProcess() override;
    FirmwareProcess(const FirmwareProcess&) = delete;
    FirmwareProcess& operator=(const FirmwareProcess&) = delete;

    [[nodiscard]] KernelFirmware& firmware() { return firmware_; }
    // Has the module give its commands here; to be called before the driver finds the device.
    [[nodiscard]] Result<void> take_over();

    [[nodiscard]] std::vector<std::shared_ptr<ControlledDevice>> devices() override;
    [[nodiscard]] std::uint64_t calls() const override { return calls_; }
    [[nodiscard]] std::uint64_t internal_errors() const override { return internal_errors_; }
    [[nodiscard]] Behaviour& behaviour() override { return firmware_.behaviour(); }
    [[nodiscard]] Result<void> check_setting(const std::string& name, const std::string& value) const override;
    [[nodiscard]] Trace& trace() override { return trace_; }

private:
    void serve_commands();
    void serve_clients();
    // False: no more will come.
    bool take_command();
    void answer(const CommandHead& head, const mlx5::Mailbox& command);

    const FirmwareProcessOptions options_;
    const UniqueFd commands_;
    const std::function<void()> gone_;
    KernelFirmware firmware_;
    Trace trace_;
    std::atomic<std::uint64_t> calls_{0};
    std::atomic<std::uint64_t> internal_errors_{0};
    UniqueFd listener_;
    UniqueFd wakeup_;
    std::vector<std::uint8_t> buffer_;    // of the thread that reads commands
    Workers workers_{128};
    Workers clients_{16};
    std::thread command_thread_;
    std::thread client_thread_;
};

}    // namespace rdmaqos::emulator
