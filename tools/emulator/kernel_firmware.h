// The firmware of a device that a real kernel's driver drives: lib/model's, behind the commands of its command queue.
//
// The driver's commands name user contexts by uid, queue pairs and queues by numbers that this side hands out. What
// belongs to a user context is in the model: queue pairs of type RC, UC and UD, and the send queues of raw packet queue
// pairs as queue pairs with the send queue's number. What belongs to the kernel itself (uid 0) is stored outside the
// model: it can be queried, but is not shown. The kernel's send queues are left to the module, which processes their
// work requests. A queue pair's context is kept as commands set it.
//
// The model's device is there from the driver's ENABLE_HCA on, and away after TEARDOWN_HCA; before, every command but
// ENABLE_HCA is for a device that is not there.
//
// Thread-safe. Delays pass in the calling thread, without a lock held.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "lib/mlx5/prm.h"
#include "lib/model/firmware.h"
#include "tools/emulator/device.h"
#include "tools/emulator/firmware_commands.h"
#include "tools/emulator/ordered_numbers.h"

namespace rdmaqos::emulator {

class KernelFirmware {
public:
    // Devices of one process share their behaviour.
    explicit KernelFirmware(const FirmwareOptions& options,
                            std::shared_ptr<Behaviour> behaviour = std::make_shared<Behaviour>());

    // What answer() plays; all others are somebody else's.
    [[nodiscard]] static std::span<const std::uint16_t> opcodes();
    // The mailbox may have any bytes; what is too short reads as zeros. An answer without a byte: this command is of
    // the device's other part, though its opcode is one of ours.
    [[nodiscard]] FirmwareAnswer answer(const mlx5::Mailbox& command);

    [[nodiscard]] Firmware& firmware() { return firmware_; }
    [[nodiscard]] Behaviour& behaviour() { return *behaviour_; }
    // User contexts; the driver's own one is not counted.
    [[nodiscard]] std::size_t files() const;
    // Elements that were left when their context was destroyed.
    [[nodiscard]] std::size_t leaked() const { return leaked_; }
    // As Device::order_queue_pairs(), for queue pairs of user contexts.
    [[nodiscard]] bool order_queue_pairs(const std::vector<std::uint32_t>& numbers);
    // Everything is lost, and every command refused until the driver enables the device again.
    void lose_everything();

private:
    enum class QueueKind : std::uint8_t { QueuePair, Send, Receive };
    struct Queue {
        QueueKind kind = QueueKind::QueuePair;
        bool modelled = false;
        mlx5::Mailbox context;    // qpc, sqc or rqc
    };
    struct Request;

    void enable();
    void forget();
    [[nodiscard]] ContextId context_of(std::uint64_t uid) const;
    [[nodiscard]] std::uint32_t next_number(bool of_user);
    [[nodiscard]] std::optional<Queue> find(QueueKind kind, std::uint32_t number) const;
    [[nodiscard]] Queue need(QueueKind kind, std::uint32_t number) const;
    template <typename Change>
    void change(std::uint32_t number, const Change& apply);

    [[nodiscard]] bool is_of_others(const Request& request) const;
    mlx5::Mailbox run(Request& request);
    mlx5::Mailbox create_context();
    void destroy_context(Request& request);
    mlx5::Mailbox create(Request& request, QueueKind kind);
    void destroy(Request& request, QueueKind kind);
    mlx5::Mailbox query_queue_pair(Request& request);
    void modify_queue_pair(Request& request);
    mlx5::Mailbox query_queue(Request& request, QueueKind kind);
    void modify_send_queue(Request& request);
    void modify_receive_queue(Request& request);
    void set_rate(Request& request, std::uint32_t number);
    void set_rate_limit(Request& request);
    // The part that the emulator plays as well; throws its refusal.
    mlx5::Mailbox shared(Request& request, std::uint32_t queue_pair = 0);

    Firmware firmware_;
    const std::shared_ptr<Behaviour> behaviour_;
    std::atomic<std::size_t> leaked_{0};
    mutable std::mutex mutex_;
    std::map<std::uint16_t, ContextId> contexts_;    // by uid
    std::uint16_t driver_uid_ = 0;                   // the first one: it is made before programs can open the device
    std::uint16_t last_uid_ = 0;
    std::map<std::uint32_t, Queue> queues_;    // by number: queue pairs and queues share them
    std::uint32_t last_number_ = 0xffff;       // as the one after it is the first
    OrderedNumbers ordered_;
    std::map<std::uint64_t, RateLimit> rates_;    // by index
};

}    // namespace rdmaqos::emulator
