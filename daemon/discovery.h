// The host's NICs, coming and going: finds them, opens them on threads that may wait, and gives them to the service. A
// device that does not answer holds up no other.
//
// A device that has gone says so itself (Backend, Removed); here it is only found again when it is back.
//
// Thread: the main loop, but for the opening.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/device_claims.h"
#include "daemon/handover/handover.h"
#include "daemon/loop/loop_calls.h"
#include "daemon/service/service.h"
#include "lib/bus/event.h"
#include "lib/nic_mlx5/mlx5_backend.h"
#include "lib/nic_mlx5/watcher.h"
#include "lib/reconcile/worker.h"

namespace rdmaqos {

class Discovery {
public:
    // `state`: /var/lib/rdma-qos, for the answers of self-tests. All must outlive this.
    Discovery(Service& service, bus::EventLoop& loop, Handover& handover, std::filesystem::path state);
    ~Discovery();
    Discovery(const Discovery&) = delete;
    Discovery& operator=(const Discovery&) = delete;

    // Before anything else is done: makes sure that no other daemon manages the devices that are there now. Throws
    // DevicesTaken if one does. A device that appears later and is another's is left alone.
    void claim();
    // Opens what is there now, and waits for it, but not for long; then watches.
    void start();

private:
    struct Found {
        std::unique_ptr<Backend> backend;
        std::shared_ptr<DeviceHandover> handover;
        DeviceInfo port;
        std::string error;    // why it could not be opened; empty: it was
    };

    [[nodiscard]] mlx5::BackendOptions options() const;
    // Tells the service which have gone, and which are not as they were; those to open.
    [[nodiscard]] std::vector<DeviceInfo> consider(std::vector<DeviceInfo> ports);
    // The ports of one device, one after the other.
    std::vector<Found> open(std::vector<DeviceInfo> ports, const mlx5::BackendOptions& options);
    Found open_port(DeviceInfo port, mlx5::BackendOptions options);
    // A thread for each device. Those that have not answered after so long are taken when they do.
    void open_all(std::vector<DeviceInfo> ports, Duration patience);
    // Other daemons on devices that we manage: those who came from where ours cannot be seen.
    struct Looked {
        std::vector<DeviceInfo> ports;
        std::map<std::string, OtherDaemon> others;    // by device
    };
    [[nodiscard]] static std::vector<DeviceInfo> ports_at_start();
    [[nodiscard]] std::set<std::string> managed() const;    // names of devices
    void report(const std::map<std::string, OtherDaemon>& others);
    void look();
    void take(std::vector<Found> found);
    void end_look();
    void look_later();
    void watch();

    Service& service_;
    bus::EventLoop& loop_;
    Handover& handover_;
    const std::filesystem::path state_;
    std::map<std::string, std::string> logged_;     // errors by port, to say each once
    std::map<std::string, pid_t> others_logged_;    // by device
    DeviceClaims claims_;
    std::vector<std::shared_ptr<const void>> first_claims_;        // until the devices are open
    std::map<std::pair<Guid, std::uint32_t>, DeviceInfo> seen_;    // ports there were the last time
    std::set<std::pair<Guid, std::uint32_t>> wanted_again_;        // since the last look
    bool looking_ = false;
    bool look_again_ = false;    // something happened while looking
    std::optional<mlx5::DeviceWatcher> watcher_;
    std::unique_ptr<bus::IoSource> watching_;
    std::unique_ptr<Timer> timer_;
    Worker worker_{"discovery", 4};
    std::map<std::string, std::unique_ptr<Worker>> opening_;    // by device
    LoopCalls calls_;                                           // goes first: what the thread says then is not heard
};

}    // namespace rdmaqos
