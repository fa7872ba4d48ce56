// What one device port's next daemon needs to go on where this one ends, however it ends: the device file on which the
// elements depend, and a record of them and of the queue pairs in them. Both are kept by the service manager.
//
//     begin ──▶ in the store: file, record        (a kill at any instruction: the next daemon takes both)
//     changes ──▶ record                          as they happen
//     forget ──▶ the store has neither
//
// Thread: one at a time; first the one that opens the device, then the device's worker. But for is_kept().
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/handover/descriptor_store.h"
#include "daemon/handover/record_text.h"
#include "lib/base/memory_log.h"

namespace rdmaqos {

// Which opening of a port is the newest: an earlier one, which ends later, must not remove what the newer one has put
// into the store. Thread-safe.
class Openings {
public:
    [[nodiscard]] std::uint64_t begin(const std::string& device);
    // Unless a newer one has begun.
    void remove_from(DescriptorStore& store, const std::string& device, std::uint64_t opening);
    // Only the record.
    void remove_record_from(DescriptorStore& store, const std::string& device, std::uint64_t opening);

private:
    std::mutex mutex_;
    std::uint64_t last_ = 0;
    std::map<std::string, std::uint64_t> newest_;
};

// Of an earlier daemon; each may be missing.
struct KeptDescriptors {
    UniqueFd elements_file;
    UniqueFd record;
};

class DeviceHandover final : public StateRecorder {
public:
    // `device`: what the port is known by, as long as it exists; `key`: for people.
    DeviceHandover(std::shared_ptr<DescriptorStore> store, std::shared_ptr<Openings> openings, std::string device,
                   std::string key, KeptDescriptors kept);

    // Whether a file is of the device as it is now. Busy: that cannot be found out at this time.
    using MayUse = Result<bool> (*)(int fd, const DeviceInfo& port);
    // The file that an earlier daemon left, with a record that can be read; null: there is none. Busy: not at this
    // time.
    [[nodiscard]] Result<std::shared_ptr<const UniqueFd>> left_file(MayUse may_use, const DeviceInfo& port);
    // In that file, or in those of programs.
    [[nodiscard]] bool has_left_elements() const { return !record_.elements.empty(); }
    // The device is open, or its elements are made elsewhere from now on. What changes is recorded, if they outlive
    // this process. Busy: nothing can be kept at this time, for want of descriptors or memory.
    [[nodiscard]] Result<void> begin(const Lifeline& lifeline);
    // What was left, for Reconciler::inherit().
    [[nodiscard]] Inheritance left() const { return record_.inheritance(); }
    // Whether the next daemon can go on: the device must not be emptied when this one is restarted.
    // Any thread.
    [[nodiscard]] bool is_kept() const { return is_kept_; }
    // The device is given up. Closes what the service manager has.
    void forget();

    void element_is(const LeftElement& element) override;
    void element_is_gone(ElementId element) override;
    void queue_pair_is(const LeftQueuePair& queue_pair) override;
    void queue_pair_is_gone(QueuePairId queue_pair) override;
    void note_is(const std::string& key, const std::string& text) override;

private:
    [[nodiscard]] Result<void> read_kept_record();
    [[nodiscard]] Result<void> keep(int elements_file);
    void append(std::string_view line);
    // Nothing is recorded, and nothing kept for the next daemon.
    void end();
    // There is no room for what is on the device. The next daemon gets its file, whose last close would leak elements
    // that are in use, and builds a new tree beside the old one.
    void lose_record();
    // After that, once there is room again.
    void keep_again();

    const std::shared_ptr<DescriptorStore> store_;
    const std::shared_ptr<Openings> openings_;
    const std::string device_;
    const std::string key_;
    const std::uint64_t opening_;
    KeptDescriptors kept_;    // one that cannot be used is closed when the device is: its elements have queue pairs
    std::shared_ptr<const UniqueFd> left_file_;
    DeviceRecord record_;
    std::optional<MemoryLog> log_;    // while changes are recorded
    std::atomic<bool> is_kept_{false};
    std::size_t size_when_short_ = 0;
    int begun_with_ = -1;     // the file of the lifeline
    bool is_lost_ = false;    // what is on the device is not recorded, as there was no room for it
};

// Of a port, in the store: "0x0010000000000001/1/0000-3b-00.0". Functions of one card may have one node GUID.
[[nodiscard]] std::string stable_name(const DeviceInfo& port);
// The names of the two descriptors.
[[nodiscard]] std::string elements_file_name(std::string_view device);
[[nodiscard]] std::string record_name(std::string_view device);

}    // namespace rdmaqos
