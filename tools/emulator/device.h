// One emulated device: its ports, its firmware (lib/model), and what the kernel counts for it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/model/firmware.h"
#include "lib/model/port_classes.h"
#include "policy/model/simulation.h"
#include "tools/emulator/call.h"
#include "tools/emulator/datapath/traffic.h"
#include "tools/emulator/dcb_faults.h"
#include "tools/emulator/dcb_port.h"
#include "tools/emulator/ordered_numbers.h"
#include "tools/emulator/pacing_rows.h"
#include "tools/emulator/queue_pair_counters.h"

namespace rdmaqos::emulator {

class Hardware;
class UverbsFile;

// How the kernel behaves; may change while calls are running.
struct Behaviour {
    // Kernels before be551ee15742 (2024) lock an object for a DEVX modify as they do for its end.
    std::atomic<bool> exclusive_modify{false};
    // Older kernels return before they copy the mailbox of a refused command.
    std::atomic<bool> mailbox_on_error{true};
    // Unpinning memory takes its time: how long the last close of a file does.
    std::atomic<std::uint32_t> close_milliseconds{0};
    // Every call of any kind takes this much longer.
    std::atomic<std::uint32_t> call_microseconds{0};
    // Before Linux 6.16, counters of queue pairs count no bytes.
    std::atomic<bool> counts_bytes{true};
};

enum class PortEvent : std::uint8_t { Active, Error };

class Device {
public:
    // Ports of one name, in order.
    Device(std::vector<SimulatedDevice> ports, const FirmwareOptions& options, unsigned index);

    [[nodiscard]] const std::string& name() const { return ports_.front().name; }
    [[nodiscard]] const std::vector<SimulatedDevice>& ports() const { return ports_; }
    [[nodiscard]] const Capabilities& capabilities() const { return ports_.front().capabilities; }
    [[nodiscard]] Firmware& firmware() { return firmware_; }
    // Its data path, which outlives its files; null: it has none.
    [[nodiscard]] Hardware* hardware() const { return hardware_; }
    void set_hardware(Hardware& hardware) { hardware_ = &hardware; }
    [[nodiscard]] std::optional<DeviceTraffic> traffic();    // empty: it has no data path
    // Another one whenever the firmware or a port may have changed.
    [[nodiscard]] std::uint64_t generation() const { return firmware_.generation() + changes_of_ports_; }
    // N of uverbsN: as in the kernel, the lowest that is free when the device appears, so often the same one again.
    [[nodiscard]] unsigned index() const { return index_; }
    // Another one each time: RDMA netlink's number of the device, and what tells the node's inodes apart.
    [[nodiscard]] unsigned appearance() const { return appearance_; }
    void set_appearance(unsigned index, unsigned appearance)
    {
        index_ = index;
        appearance_ = appearance;
        pacing_rows_.forget();
    }
    // The first of these: where the device is plugged in.
    [[nodiscard]] unsigned slot() const { return slot_; }

    // Of a port; 0 on Ethernet. The subnet manager has the first one.
    [[nodiscard]] std::uint16_t lid(std::uint32_t port) const;
    [[nodiscard]] bool port_is_up(std::uint32_t port) const;    // 1...
    void set_port(std::uint32_t port, bool up);
    [[nodiscard]] Bandwidth link_speed(std::uint32_t port) const;
    void set_link_speed(std::uint32_t port, Bandwidth speed);
    // Of the first port, whose speed is the link's of all.
    [[nodiscard]] PortClasses port_classes() const;
    void set_port_classes(const PortClasses& classes);
    // The same as DCB netlink has it.
    [[nodiscard]] DcbPort dcb_port() const;
    // Its errno. Also what is refused may have changed something.
    int change_dcb_port(const std::function<int(DcbPort&)>& change);
    // As it is made: what the firmware had is lost when it is reset.
    void lose_port_classes();
    // Requests that set DCB: counts one, and says what happens to it.
    [[nodiscard]] std::optional<DcbFault> count_dcb_write();
    [[nodiscard]] std::uint64_t dcb_writes() const;
    void order_dcb_fault(std::uint64_t nth, std::uint64_t times, const DcbFault& fault);
    void clear_dcb_faults();
    // As the subnet manager set them; those of the description until then.
    [[nodiscard]] std::vector<std::uint16_t> pkeys(std::uint32_t port) const;
    void set_pkeys(std::uint32_t port, std::vector<std::uint16_t> pkeys);

    [[nodiscard]] std::uint32_t next_number() { return 1 + next_number_++ % 0xfffffe; }
    // Queue pair numbers have 24 bits; the first ones are the device's own.
    [[nodiscard]] std::uint32_t next_queue_pair();
    [[nodiscard]] PacingRows& pacing_rows() { return pacing_rows_; }
    // The next queue pairs get these, in this order. False, and nothing is ordered: one of them is taken, ordered
    // already, or no number of a queue pair.
    [[nodiscard]] bool order_queue_pairs(const std::vector<std::uint32_t>& numbers);

    // What `use` makes of the counters of its queue pairs, which nobody else touches meanwhile.
    template <typename Use>
    auto with_counters(Use use)
    {
        const std::lock_guard lock(counters_mutex_);
        return use(counters_);
    }

    // ---- files ----

    void add(const std::shared_ptr<UverbsFile>& file);
    [[nodiscard]] std::vector<std::shared_ptr<UverbsFile>> files() const;
    void remove(const UverbsFile* file, std::size_t leaked);
    // Elements that could not be destroyed when their file closed.
    [[nodiscard]] std::size_t leaked() const { return leaked_; }

private:
    std::vector<SimulatedDevice> ports_;
    Firmware firmware_;
    Hardware* hardware_ = nullptr;
    PacingRows pacing_rows_;
    const unsigned slot_;
    std::atomic<unsigned> index_;
    std::atomic<unsigned> appearance_;
    std::atomic<std::uint32_t> next_number_{0};
    std::atomic<std::uint32_t> next_queue_pair_{0x100};
    std::atomic<std::size_t> leaked_{0};
    mutable std::mutex mutex_;
    std::atomic<std::uint64_t> changes_of_ports_{0};
    std::set<std::uint32_t> ports_down_;
    std::map<std::uint32_t, Bandwidth> link_speeds_;    // of ports whose speed is no longer the described one
    PortClasses port_classes_;
    DcbPort dcb_port_ = first_dcb_port();
    DcbFaults dcb_faults_;
    std::map<std::uint32_t, std::vector<std::uint16_t>> pkeys_;    // by port, where they were set
    OrderedNumbers ordered_;
    std::mutex counters_mutex_;
    QueuePairCounters counters_;
    std::vector<std::shared_ptr<UverbsFile>> files_;
};

}    // namespace rdmaqos::emulator
