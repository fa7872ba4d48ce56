// rdma-qos-emulator firmware: a process that answers commands which a kernel module's device gives to it. The module
// plays the rest of the device; the driver above it is the kernel's own. Several modules are several devices.
//
// The module's character device hands out commands and takes answers, one a call:
//
//     read()     CommandHead, then `in_bytes` of inbox
//     write()    the same head, then at most `out_bytes` of outbox; what is missing is zero. Without a byte of outbox:
//                the module answers this command itself
//
// Words written to its control file, one line each:
//
//     delegate OPCODE 1          (hexadecimal) such commands come here from now on
//     plug, unplug               the PCI function appears, disappears; the word does not wait for it
//     fatal                      the device fails: the driver resets it
//     link up|down               the port's state changes, with its event
//     speed GBPS                 its link trains again, to this rate
#pragma once

#include "tools/emulator/kernel_device.h"

namespace rdmaqos::emulator {

// Where one module's commands come from.
struct ModuleEnd {
    KernelDeviceOptions options;
    UniqueFd commands;
};

class FirmwareProcess final : public Controlled {
public:
    // Serves control.sock in `directory`, which exists, until it is destroyed; KernelDevice says what else it does.
    // Throws std::runtime_error when there can be no socket.
    FirmwareProcess(std::filesystem::path directory, std::vector<ModuleEnd> modules, const std::function<void()>& gone);
    ~FirmwareProcess() override;
    FirmwareProcess(const FirmwareProcess&) = delete;
    FirmwareProcess& operator=(const FirmwareProcess&) = delete;

    [[nodiscard]] const std::vector<std::shared_ptr<KernelDevice>>& kernel_devices() const { return devices_; }
    [[nodiscard]] std::vector<std::shared_ptr<ControlledDevice>> devices() override;
    [[nodiscard]] std::uint64_t calls() const override;
    [[nodiscard]] std::uint64_t internal_errors() const override;
    [[nodiscard]] Behaviour& behaviour() override { return *behaviour_; }
    [[nodiscard]] Result<void> check_setting(const std::string& name, const std::string& value) const override;
    [[nodiscard]] Trace& trace() override { return trace_; }

private:
    void serve_clients();

    const std::filesystem::path directory_;
    const std::shared_ptr<Behaviour> behaviour_ = std::make_shared<Behaviour>();
    Trace trace_;
    std::vector<std::shared_ptr<KernelDevice>> devices_;
    UniqueFd listener_;
    UniqueFd wakeup_;
    Workers clients_{16};
    std::thread client_thread_;
};

}    // namespace rdmaqos::emulator
