// The thread of hardware.h, and all that it has. A thread that touches it holds an Access, and the thread rests
// meanwhile.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "tools/emulator/datapath/queues.h"
#include "tools/emulator/datapath/transfers.h"

namespace rdmaqos::emulator {

class Engine {
public:
    Engine();
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    class Access {
    public:
        explicit Access(Engine& engine);
        ~Access();
        Access(const Access&) = delete;
        Access& operator=(const Access&) = delete;

    private:
        Engine& engine_;
        std::unique_lock<std::mutex> lock_;
    };

    // ---- with an Access ----

    [[nodiscard]] DeviceState& of(Device& device);
    [[nodiscard]] ClientMemory memory_of(MemoryOwner owner);
    void remove(const std::shared_ptr<QueuePair>& queue_pair);
    // What is under way there finds no memory any more. By the key: the same memory may be registered more than once.
    void take_away(const DeviceState& device, std::uint32_t key);
    void watch_page(DeviceState& device, std::uint32_t number, UniqueFd userfault, std::uint64_t address);
    void remove_page(DeviceState& device, std::uint32_t number);

    Transfers transfers{devices_};

private:
    void run();
    void wake() const;
    // Which pages were stored into while they were guarded, and which programs have ended.
    void hear(Time now);
    void stop_listening_to(const DoorbellPage& page) const;
    // The tree, the speed of the link and the state of the ports are what the device has.
    void bring_up_to_date(DeviceState& state);
    // True: a bell has rung.
    bool listen(DeviceState& device, Time now);
    // What has left by now is there. True: something is.
    bool arrive(DeviceState& device, Time now, std::optional<Time>& next);
    // True: something was moved.
    bool transmit(DeviceState& device, Time now, std::optional<Time>& next);
    // Others wait for it. If it has had its chance, no longer.
    static void look_at_awaited(DeviceState& device, Arbiter::FlowNumber flow, Time now, std::optional<Time>& next);
    // Of those that have just run out of work: whether their programs have a processor.
    void look_at_idle(Time now, std::optional<Time>& next);
    void look_at_blocked(Time now, std::optional<Time>& next);
    void look_at_failed(Time now, std::optional<Time>& next);
    // Until something happens, or `next`.
    void rest(std::optional<Time> next);

    std::mutex mutex_;    // of all but the next ones
    std::atomic<int> wanting_{0};
    std::atomic<bool> ending_{false};
    UniqueFd wakeup_;
    UniqueFd watched_;    // epoll(7): wakeup_, userfaults of pages, processes
    std::vector<std::unique_ptr<DeviceState>> devices_;
    std::map<pid_t, std::shared_ptr<ClientProcess>> processes_;
    Time failed_looked_at_{0};
    std::thread thread_;    // last
};

}    // namespace rdmaqos::emulator
