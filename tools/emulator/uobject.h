// What a uverbs file holds, and the kernel's lock on it.
//
// Every call takes the objects it names for reading or, to change their existence, for itself. Nobody waits: who comes
// second gets EBUSY.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <variant>
#include <vector>

#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>

#include "lib/model/firmware.h"
#include "tools/emulator/datapath/doorbell_page.h"
#include "tools/emulator/datapath/hardware.h"
#include "tools/emulator/devx_queue_pair.h"
#include "tools/emulator/pacing_rows.h"

namespace rdmaqos::emulator {

enum class ObjectType : std::uint8_t {
    ProtectionDomain,
    CompletionQueue,
    QueuePair,
    SharedReceiveQueue,
    AddressHandle,
    MemoryRegion,
    Uar,
    DevxObject,
    DevxMemory,
    PacingEntry,
};
[[nodiscard]] std::string_view to_string(ObjectType type);    // "protection-domain", ...

struct QueuePairData {
    std::uint8_t verbs_type = 0;    // enum ib_uverbs_qp_type
    QueuePairType type = QueuePairType::Rc;
    std::uint32_t port = 0;    // as first set: the kernel remembers it in RESET
    ib_uverbs_qp_cap cap{};
    bool signal_all = false;
    bool connected = false;    // has been in RTR
    std::mutex mutex;          // held while its state changes
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"    // it ends in an array without a length
    ib_uverbs_modify_qp attributes{};          // as last set
#pragma GCC diagnostic pop
};

struct SharedReceiveQueueData {
    SharedReceiveQueueData(std::uint32_t of_max_wr, std::uint32_t of_max_sge, std::uint32_t of_limit)
        : max_wr(of_max_wr), max_sge(of_max_sge), limit(of_limit)
    {
    }
    const std::uint32_t max_wr;
    const std::uint32_t max_sge;
    std::atomic<std::uint32_t> limit;
};

struct CompletionQueueData {
    explicit CompletionQueueData(std::uint32_t of_entries) : entries(of_entries) {}
    std::atomic<std::uint32_t> entries;
};

struct ElementData {
    ObjectId id{};
    ElementForm form = ElementForm::Object;
};

struct DevxQueuePairData {
    std::mutex mutex;         // held while its state changes
    mlx5::Mailbox context;    // as the program's commands have left it
};

struct Creator {
    pid_t process = 0;
    pid_t thread = 0;
};

struct Object {
    Object(ObjectType of_type, std::uint32_t of_number) : type(of_type), number(of_number) {}

    const ObjectType type;
    const std::uint32_t number;    // the device's: QP, CQ, SRQ or PD number, key
    std::uint32_t handle = 0;      // the file's
    std::uint64_t age = 0;         // counts the file's objects
    Creator creator;
    std::uint64_t user_handle = 0;
    std::uint32_t events = 0;    // asynchronous ones sent for it
    std::vector<std::shared_ptr<Object>> uses;
    std::atomic<int> users{0};    // objects that use it: it cannot go before them
    std::variant<std::monostate, std::unique_ptr<QueuePairData>, MemoryRegion, SharedReceiveQueueData,
                 CompletionQueueData, ElementData, std::unique_ptr<DevxQueuePairData>, DevxMemoryData,
                 std::shared_ptr<PacingRow>, std::shared_ptr<DoorbellPage>>
        data;

    // What it has outside of the file goes with it, once.
    void end()
    {
        std::call_once(ended_, [this] {
            if (on_end) {
                on_end();
            }
        });
    }
    std::function<void()> on_end;    // set before it is published; may be empty

    [[nodiscard]] bool try_read()
    {
        int now = lock_.load();
        while (now >= 0) {
            if (lock_.compare_exchange_weak(now, now + 1)) {
                return true;
            }
        }
        return false;
    }
    [[nodiscard]] bool try_write()
    {
        int idle = 0;
        return lock_.compare_exchange_strong(idle, -1);
    }
    void end_read() { --lock_; }
    void end_write() { lock_ = 0; }

private:
    std::atomic<int> lock_{0};    // readers; -1: one writer
    std::once_flag ended_;
};

}    // namespace rdmaqos::emulator
