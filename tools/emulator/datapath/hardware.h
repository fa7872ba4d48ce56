// The data path of all devices: one thread that does what the NICs would do with the work that programs have posted, at
// the speeds of their links, in the order their trees say (lib/model/arbiter.h).
//
// What a program has made by verbs is reported here: where its queues are in its memory, which memory it has
// registered. All else is read from there when a doorbell rings. Nothing that a program writes is believed: a request
// that cannot be done ends with an error completion for its owner, and others do not notice.
//
// Thread-safe. What was removed is not used any more when the call returns: programs free their queues next.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include <rdma/ib_user_verbs.h>

#include "lib/base/file.h"
#include "lib/model/firmware.h"
#include "tools/emulator/async_event.h"
#include "tools/emulator/datapath/client_memory.h"
#include "tools/emulator/datapath/doorbell_page.h"
#include "tools/emulator/datapath/traffic.h"

namespace rdmaqos::emulator {

class Device;
class Engine;

// Sends an event about an object to its program. Called from the engine's thread, and not after the object was removed.
using EventSender = std::function<void(AsyncEvent)>;

// Numbers are the device's, addresses the program's.
struct CompletionQueueMemory {
    std::uint32_t number = 0;
    MemoryOwner owner;
    std::uint64_t buffer = 0;
    std::uint64_t record = 0;    // consumer index, arm
    std::uint32_t entry_bytes = 64;
    std::uint32_t entries = 0;    // a power of two
    std::uint64_t user_handle = 0;
    std::uint32_t page = 0;
    UniqueFd channel;    // to which events are written; empty: none
    EventSender event;
};

struct MemoryRegion {
    std::uint32_t key = 0;
    std::uint32_t domain = 0;
    MemoryOwner owner;
    std::uint64_t start = 0;
    std::uint64_t length = 0;
    std::uint64_t virtual_address = 0;    // what programs call `start` by
    std::uint32_t access = 0;             // ibv_access_flags
};

struct SharedReceiveQueueMemory {
    std::uint32_t number = 0;
    MemoryOwner owner;
    std::uint64_t buffer = 0;
    std::uint64_t record = 0;
    std::uint32_t entries = 0;
    std::uint32_t stride = 0;
    std::uint32_t limit = 0;    // fewer requests than that: an event, once
    EventSender event;
};

struct QueuePairMemory {
    std::uint32_t number = 0;
    QueuePairType type = QueuePairType::Rc;
    MemoryOwner owner;
    std::uint64_t send_buffer = 0;
    std::uint64_t receive_buffer = 0;
    std::uint64_t record = 0;         // producer indexes: of receive, of send requests
    std::uint32_t send_blocks = 0;    // powers of two
    std::uint32_t receive_entries = 0;
    std::uint32_t receive_stride = 16;
    std::uint32_t receive_skip = 0;    // bytes in front of the data segments
    std::uint32_t user_index = 0;
    std::uint32_t page = 0;
    std::uint32_t domain = 0;
    std::uint32_t send_queue = 0;    // of completions
    std::uint32_t receive_queue = 0;
    std::uint32_t shared_receive_queue = 0;    // 0: none
    EventSender event;
};

class Hardware {
public:
    Hardware();
    ~Hardware();
    Hardware(const Hardware&) = delete;
    Hardware& operator=(const Hardware&) = delete;

    void add(Device& device);
    void add_page(Device& device, std::uint32_t number, std::shared_ptr<DoorbellPage> page);
    void remove_page(Device& device, std::uint32_t number);
    // The program has mapped the page at this address, and can be notified when it stores into it.
    void watch_page(Device& device, std::uint32_t number, UniqueFd userfault, std::uint64_t address);

    void add(Device& device, CompletionQueueMemory memory);
    // False: more is waiting than there is room for.
    [[nodiscard]] bool resize(Device& device, std::uint32_t number, std::uint64_t buffer, std::uint32_t entry_bytes,
                              std::uint32_t entries);
    // How many of its events were read.
    std::uint32_t remove_completion_queue(Device& device, std::uint32_t number);

    void add(Device& device, const MemoryRegion& region);
    // What is under way in it fails.
    void remove_region(Device& device, std::uint32_t key);
    void add(Device& device, SharedReceiveQueueMemory memory);
    void set_limit(Device& device, std::uint32_t shared_receive_queue, std::uint32_t limit);
    void remove_shared_receive_queue(Device& device, std::uint32_t number);

    void add(Device& device, QueuePairMemory memory);
    void modify(Device& device, std::uint32_t number, QueuePairState to, const ib_uverbs_modify_qp& attributes);
    void remove_queue_pair(Device& device, std::uint32_t number);

    [[nodiscard]] DeviceTraffic traffic(Device& device);
    [[nodiscard]] std::vector<PortTraffic> traffic_of_ports(Device& device);
    // By their numbers.
    [[nodiscard]] std::map<std::uint32_t, SentAndReceived> traffic_of_queue_pairs(Device& device);
    // Its ports count from 0 again.
    void clear_traffic(Device& device);

private:
    std::unique_ptr<Engine> engine_;
};

}    // namespace rdmaqos::emulator
