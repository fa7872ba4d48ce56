// The emulator: devices, the sockets they are reached by, and what happens to them.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "tools/emulator/datapath/hardware.h"
#include "tools/emulator/device.h"
#include "tools/emulator/netlink_message.h"
#include "tools/emulator/trace.h"
#include "tools/emulator/uevents.h"
#include "tools/emulator/workers.h"

namespace rdmaqos::emulator {

struct ServerOptions {
    std::filesystem::path directory;       // exists; protocol.h says what it will hold
    std::vector<SimulatedDevice> ports;    // those of one name are one device
    Isolation isolation = Isolation::None;
    bool refuse_busy_leaf = true;
    bool move_data = true;         // else posted work never completes
    bool any_user = false;         // else only that of this process may connect
    PortClasses port_classes{};    // of each Ethernet device
};

class Server {
public:
    // Throws std::runtime_error when a socket or the sysfs tree cannot be made.
    explicit Server(const ServerOptions& options);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    [[nodiscard]] Behaviour& behaviour() { return behaviour_; }
    [[nodiscard]] Trace& trace() { return trace_; }
    [[nodiscard]] const std::vector<std::shared_ptr<Device>>& devices() const { return devices_; }
    [[nodiscard]] std::shared_ptr<Device> find(const std::string& name) const;    // null: none

    // Every open file is dead, the device is away.
    void unplug(Device& device);
    // It is there again, as a new one: empty, another uverbsN.
    void plug(Device& device);
    // Both, after an event to everybody who has it open.
    void reset(Device& device);
    // Changes the state of a port and tells everybody.
    void set_port(Device& device, std::uint32_t port, bool up);
    // As a link that trains again: the port goes down, and comes up with this speed.
    void set_link_speed(Device& device, std::uint32_t port, Bandwidth speed);
    // The same for its P_Key table.
    void set_pkeys(Device& device, std::uint32_t port, std::vector<std::uint16_t> pkeys);
    // As by another program of the host, and told so to who listens to DCB.
    void set_port_classes(Device& device, const PortClasses& classes);

    // Calls so far, and those that ended in a way that only a mistake of the emulator explains.
    [[nodiscard]] std::uint64_t calls() const { return calls_; }
    [[nodiscard]] std::uint64_t internal_errors() const { return internal_errors_; }

private:
    // What is at the other end of a descriptor in the loop.
    struct Peer {
        enum class Kind : std::uint8_t {
            DeviceListener,
            ControlListener,
            NetlinkListener,
            UeventListener,
            File,
            Closing,
            Netlink,
            Uevents,
            Wakeup
        };
        Kind kind = Kind::Wakeup;
        UniqueFd fd;                         // not of a File, which has its own
        std::shared_ptr<Device> device;      // of a DeviceListener
        std::shared_ptr<UverbsFile> file;    // of a File or Closing
        UniqueFd copy;                       // of a Closing: of the file's other end
    };

    void listen_at(const std::string& name, Peer::Kind kind, const std::shared_ptr<Device>& device);
    void add_peer(Peer peer);
    void remove_peer(int fd);
    void arm(int fd);
    void loop();
    void count_traffic();
    void show_traffic(const Device& device, const std::vector<PortTraffic>& moved);
    void handle(Peer& peer);
    // Empty also when another user connected who may not.
    [[nodiscard]] UniqueFd accept_from(const Peer& listener) const;
    void welcome(const Peer& listener, UniqueFd fd);
    void take_call(const std::shared_ptr<UverbsFile>& file);
    // False: this process has as many calls running as it may.
    [[nodiscard]] bool begin_call(pid_t process);
    void end_call(pid_t process);
    // Somebody maps a page of the file.
    static void map_page(UverbsFile& file, const UniqueFd& conversation, std::uint64_t offset);
    void run_one(const std::shared_ptr<UverbsFile>& file, UniqueFd reply, Caller caller, std::uint64_t address,
                 std::vector<std::uint8_t> bytes);
    // Somebody has closed a descriptor of the file: he waits if it was the last one.
    void descriptor_closed(Peer& closing);
    void file_closed(const std::shared_ptr<UverbsFile>& file);
    // The kernel closes the files of a process before anybody can learn that it has ended; here that is learnt from a
    // socket, perhaps too late. Waits for files whose last descriptor is closed: of one device those that were opened
    // after `file`, or (null) all.
    void await_closes(UverbsFile* file) const;
    void subscribe(Peer& peer);
    void join_dcb(int fd);
    void tell_dcb(const NetlinkDatagram& notice);
    void tell(const std::vector<Uevent>& events);
    void appear(const std::shared_ptr<Device>& device);
    void disappear(const Device& device);
    void end_files(Device& device);
    [[nodiscard]] unsigned free_index() const;

    const std::filesystem::path directory_;
    const bool any_user_;
    std::mutex counting_;    // held while the sysfs tree of a device comes or goes, or its counters are written
    std::chrono::steady_clock::time_point counted_;
    bool counters_fail_ = false;
    std::map<const Device*, std::vector<PortTraffic>> moved_;    // what the counters say; none: they are new
    Behaviour behaviour_;
    Trace trace_;
    std::atomic<unsigned> next_appearance_{0};    // the devices take theirs from it
    std::vector<std::shared_ptr<Device>> devices_;
    std::unique_ptr<Hardware> hardware_;
    std::atomic<std::uint64_t> next_file_{1};
    std::atomic<std::uint64_t> calls_{0};
    std::atomic<std::uint64_t> internal_errors_{0};

    std::mutex calls_mutex_;
    std::map<pid_t, int> calls_of_;    // running, by process
    std::mutex mutex_;                 // of peers_, uevents and listeners to DCB
    std::map<int, std::shared_ptr<Peer>> peers_;
    std::map<int, std::uint32_t> subscribers_;    // to uevents: groups, by descriptor
    std::set<int> dcb_listeners_;                 // of RTNLGRP_DCB: descriptors
    std::uint64_t uevents_ = 0;                   // so far
    UniqueFd epoll_;
    UniqueFd wakeup_;
    std::atomic<bool> ending_{false};
    std::atomic<int> waiting_{0};
    Workers workers_{4096};
};

}    // namespace rdmaqos::emulator
