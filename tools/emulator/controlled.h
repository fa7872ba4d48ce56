// What `ctl` acts on: the emulator's server (server_control.cpp), or the firmware of a real kernel's device
// (firmware_process.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/units.h"
#include "lib/model/firmware.h"
#include "tools/emulator/datapath/traffic.h"
#include "tools/emulator/dcb_faults.h"
#include "tools/emulator/netlink.h"

namespace rdmaqos::emulator {

struct Behaviour;
class Trace;

class ControlledDevice {
public:
    virtual ~ControlledDevice() = default;

    [[nodiscard]] virtual const std::string& name() const = 0;
    [[nodiscard]] virtual Firmware& firmware() = 0;
    [[nodiscard]] virtual std::size_t ports() const = 0;
    [[nodiscard]] virtual std::size_t files() const = 0;     // open ones
    [[nodiscard]] virtual std::size_t leaked() const = 0;    // elements
    // Empty: not known here.
    [[nodiscard]] virtual std::optional<std::string> uverbs() const = 0;     // "uverbs0"
    [[nodiscard]] virtual std::optional<std::size_t> objects() const = 0;    // of all open files
    [[nodiscard]] virtual Result<std::vector<QueuePairOwner>> owners() const = 0;
    // Empty: it has no data path.
    [[nodiscard]] virtual std::optional<DeviceTraffic> traffic() const = 0;
    // As above.
    [[nodiscard]] virtual std::optional<PortClasses> port_classes() const = 0;
    // Requests that set DCB, refused ones too.
    [[nodiscard]] virtual std::optional<std::uint64_t> dcb_writes() const = 0;
    virtual Result<void> order_dcb_fault(std::uint64_t nth, std::uint64_t times, const DcbFault& fault) = 0;
    virtual void clear_dcb_faults() = 0;
    // False, and nothing is ordered: one of them is taken, ordered already, or no number of a queue pair.
    virtual bool order_queue_pairs(const std::vector<std::uint32_t>& numbers) = 0;

    // ---- what happens to it; a port is one of 1 to ports() ----

    virtual Result<void> reset() = 0;
    virtual Result<void> unplug() = 0;
    virtual Result<void> plug() = 0;
    virtual Result<void> set_port(std::uint32_t port, bool up) = 0;
    virtual Result<void> set_link_speed(std::uint32_t port, Bandwidth speed) = 0;
    virtual Result<void> set_port_classes(const PortClasses& classes) = 0;
    virtual Result<void> set_pkeys(std::uint32_t port, std::vector<std::uint16_t> pkeys) = 0;
    // Only the event.
    virtual Result<void> send_device_fatal() = 0;
    // Moves it to ERR and tells its owner.
    virtual Result<void> fail_queue_pair(std::uint32_t number) = 0;
};

class Controlled {
public:
    virtual ~Controlled() = default;

    [[nodiscard]] virtual std::vector<std::shared_ptr<ControlledDevice>> devices() = 0;
    [[nodiscard]] virtual std::uint64_t calls() const = 0;
    [[nodiscard]] virtual std::uint64_t internal_errors() const = 0;
    [[nodiscard]] virtual Behaviour& behaviour() = 0;
    // A kernel that is not played is as it is: why the setting cannot be.
    [[nodiscard]] virtual Result<void> check_setting(const std::string& name, const std::string& value) const = 0;
    [[nodiscard]] virtual Trace& trace() = 0;
};

}    // namespace rdmaqos::emulator
