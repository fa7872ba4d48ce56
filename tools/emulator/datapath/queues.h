// The queues of programs as the hardware has them, and what is under way between them. Not thread-safe: the lock of
// hardware.cpp is held.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "lib/model/arbiter.h"
#include "policy/model/simulation.h"
#include "tools/emulator/datapath/client_memory.h"
#include "tools/emulator/datapath/completion.h"
#include "tools/emulator/datapath/hardware.h"
#include "tools/emulator/datapath/work_request.h"

namespace rdmaqos::emulator {

using Time = Arbiter::Time;    // of the monotonic clock
[[nodiscard]] Time monotonic_now();

// ---- completion queues ----

class CompletionQueue {
public:
    CompletionQueue(CompletionQueueMemory memory, ClientMemory client);

    // False: the queue is, or was once, full of completions that nobody has read. It takes no more.
    [[nodiscard]] bool push(Completion completion);
    // The program may have asked for an event.
    void look_at_arm();
    [[nodiscard]] bool resize(std::uint64_t buffer, std::uint32_t entry_bytes, std::uint32_t entries);
    // Withdraws the events that nobody has read; how many were.
    std::uint32_t close();

private:
    void write(const Completion& completion);
    void send_event();
    [[nodiscard]] std::uint32_t taken() const;

    CompletionQueueMemory memory_;
    ClientMemory client_;
    std::uint32_t produced_ = 0;
    std::uint32_t known_taken_ = 0;
    std::uint32_t solicited_ = 0;    // `produced_` behind the last one that is
    std::uint32_t arm_seen_ = 0;
    bool armed_ = false;
    bool armed_solicited_ = false;
    std::uint32_t armed_at_ = 0;    // what the program had taken then
    std::uint32_t told_ = 0;        // `produced_` at the last event
    std::uint32_t events_ = 0;
    bool overrun_ = false;
};

// ---- receive queues ----

struct ReceiveRequest {
    std::uint16_t index = 0;
    std::vector<Piece> pieces;
};

class SharedReceiveQueue {
public:
    SharedReceiveQueue(SharedReceiveQueueMemory memory, ClientMemory client)
        : memory_(std::move(memory)), client_(std::move(client))
    {
    }

    [[nodiscard]] std::optional<ReceiveRequest> take();
    // The last one that was taken is not needed after all.
    void give_back(ReceiveRequest request) { returned_.push_back(std::move(request)); }
    void set_limit(std::uint32_t limit);

private:
    [[nodiscard]] bool look_at_record();
    void look_at_limit();

    SharedReceiveQueueMemory memory_;
    const ClientMemory client_;
    std::vector<ReceiveRequest> returned_;
    std::uint16_t head_ = 0;
    std::uint16_t taken_ = 0;
    std::uint16_t posted_ = 0;
};

// ---- queue pairs ----

// Memory of a program, found and allowed.
struct Range {
    ClientMemory client;
    std::uint64_t address = 0;
    std::uint64_t length = 0;
    std::uint32_t key = 0;    // by which it was found
};
using Ranges = std::vector<Range>;

struct DeviceState;

struct QueuePair {
    QueuePair(QueuePairMemory of_memory, ClientMemory of_client, DeviceState& of_device);

    [[nodiscard]] bool can_receive() const;
    // Producer indexes from the program's memory. False: it is not there.
    bool look_at_record();
    [[nodiscard]] bool has_work() const { return send_posted != send_done; }
    [[nodiscard]] bool is_connected_to(const QueuePair& other) const;
    // Before a message is sent again: when its receiver does not answer this one (at most 1 s), and when this one has
    // nothing to receive it with.
    [[nodiscard]] Time pause_without_answer() const;
    [[nodiscard]] Time pause_without_receive() const;
    // It is a message's from here on, and completes with it or when this queue pair fails, unless it is given back.
    [[nodiscard]] std::optional<ReceiveRequest> take_receive();
    void give_back(ReceiveRequest request);
    // Where the firmware has it in the tree, and its rate. False: nothing is new.
    bool take_place(const QueuePairRecord& record);
    // The send request at the head of the queue; empty: it is malformed, and `blocks` how much of the queue it takes.
    [[nodiscard]] std::optional<WorkRequest> head(std::uint32_t& blocks) const;

    const QueuePairMemory memory;
    const ClientMemory client;
    DeviceState& device;
    std::shared_ptr<CompletionQueue> send_queue;
    std::shared_ptr<CompletionQueue> receive_queue;
    std::shared_ptr<SharedReceiveQueue> shared;

    // As verbs have set them.
    QueuePairState state = QueuePairState::Reset;
    std::array<std::uint8_t, 16> remote_gid{};
    bool is_global = false;
    std::uint16_t remote_lid = 0;    // if it is not
    std::uint32_t remote_number = 0;
    std::uint32_t send_psn = 0;    // of the first packet in this life
    std::uint32_t receive_psn = 0;
    std::uint64_t packets_sent = 0;    // of messages that have arrived, in this life
    std::uint64_t packets_received = 0;
    std::uint32_t key = 0;
    std::uint32_t access = 0;
    std::optional<Bandwidth> static_rate;    // of the address to which it is connected
    std::uint8_t dscp = 0;                   // of the same
    std::uint8_t timeout = 0;
    std::uint8_t retries = 0;
    std::uint8_t receiver_retries = 0;
    std::uint8_t receiver_timer = 0;
    std::uint8_t port = 1;
    std::uint32_t packet = 1024;    // its path's MTU in bytes
    bool is_established = false;    // something has come from the other end

    // As the firmware has it.
    std::uint32_t requester_leaf = 0;
    std::uint32_t responder_leaf = 0;
    std::optional<Bandwidth> rate;

    std::uint16_t send_posted = 0;
    std::uint16_t send_done = 0;
    std::uint16_t receive_posted = 0;
    std::uint16_t receive_done = 0;
    // Receive requests that messages under way have taken.
    std::vector<std::uint16_t> receiving;
    std::uint32_t life = 0;    // counts its times in RESET

    struct Transfer {
        WorkRequest request;
        std::shared_ptr<QueuePair> peer;    // null: it goes nowhere
        std::uint32_t peer_life = 0;        // in another one it is somebody else's
        std::optional<ReceiveRequest> receive;
        Ranges local;
        Ranges remote;
        std::uint64_t done = 0;
        std::size_t piece = 0;            // what the link carries of it, after what is done
        std::optional<Time> leaves;       // when that has left; empty: the next one waits for its turn
        DeviceState* sender = nullptr;    // whose link the data takes
        Arbiter::FlowNumber flow = 0;

        // What is read is.
        [[nodiscard]] bool is_sent_by_peer() const { return request.operation == Operation::Read && peer; }
    };
    std::optional<Transfer> transfer;    // what is under way
    std::optional<Time> blocked_until;
    int tries = 0;
    int receiver_tries = 0;
    bool removed = false;
    TrafficCount traffic;    // of its requests
    SentAndReceived wire;    // of what a peer reads, the responder is the one that sends

    // It has run out of work. If that lasts: what the threads of its program had waited for a processor by then.
    struct Idle {
        Time since{0};
        DeviceState* sender = nullptr;
        Arbiter::FlowNumber flow = 0;
        std::size_t length = 0;          // of the last message
        std::map<pid_t, Time> waited;    // empty: nobody has looked
    };
    std::optional<Idle> idle;

    // Others wait until its program has had a processor to post more.
    struct Awaited {
        Time looked_at{0};
        Chance chance;
    };
    std::optional<Awaited> awaited;

private:
    [[nodiscard]] std::optional<ReceiveRequest> take_own_receive();
};

struct DeviceState {
    DeviceState(Device& of_device, std::uint32_t of_number);

    Device& device;
    const std::uint32_t number;
    std::unordered_map<std::uint32_t, std::shared_ptr<QueuePair>> queue_pairs;
    std::unordered_map<std::uint32_t, std::shared_ptr<CompletionQueue>> completion_queues;
    std::unordered_map<std::uint32_t, std::shared_ptr<SharedReceiveQueue>> shared_receive_queues;
    struct Region {
        MemoryRegion memory;
        ClientMemory client;
    };
    std::unordered_map<std::uint32_t, Region> regions;
    struct Port {
        const SimulatedDevice& description;
        bool is_up = true;
        PortTraffic traffic{};
    };
    std::vector<Port> ports;
    struct Page {
        std::shared_ptr<DoorbellPage> page;
        std::vector<std::weak_ptr<QueuePair>> queue_pairs;
        std::vector<std::weak_ptr<CompletionQueue>> completion_queues;
        Time heard{0};
    };
    std::map<std::uint32_t, Page> pages;
    // Longer than the engine's thread, or a program, waits for a processor on a busy host.
    Arbiter arbiter{std::chrono::milliseconds(100)};
    std::uint64_t generation = ~std::uint64_t{0};    // of the device, whose tree the arbiter has
    PortClasses port_classes;                        // that it has, too
    std::map<Arbiter::FlowNumber, std::weak_ptr<QueuePair>> flows;
    // Those of which the link carries a piece, by when that has left.
    std::multimap<Time, std::weak_ptr<QueuePair>> leaving;
};

// That a queue pair of this device uses; the first one if there is none such.
[[nodiscard]] DeviceState::Port& port_of(DeviceState& device, std::uint8_t port);

// Who gets what this queue pair sends to a number at a GID or, if that is null, LID. Null: nobody answers there.
[[nodiscard]] std::shared_ptr<QueuePair> find_peer(std::span<const std::unique_ptr<DeviceState>> devices,
                                                   const QueuePair& from, const std::array<std::uint8_t, 16>* gid,
                                                   std::uint16_t lid, std::uint32_t number);

// The ranges of these pieces, all allowed; empty: one is not, or does not exist.
[[nodiscard]] std::optional<Ranges> find_ranges(const DeviceState& device, std::uint32_t domain,
                                                std::span<const Piece> pieces, std::uint32_t needs);
// `length` bytes from `offset` on. False: not all of them.
[[nodiscard]] bool gather(const Ranges& ranges, std::uint64_t offset, std::span<std::uint8_t> to);
[[nodiscard]] bool scatter(const Ranges& ranges, std::uint64_t offset, std::span<const std::uint8_t> from);
[[nodiscard]] std::uint64_t room_of(std::span<const Piece> pieces);

}    // namespace rdmaqos::emulator
