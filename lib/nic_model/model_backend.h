// The model NIC as a Backend: a thin translation to lib/model's firmware, which knows all the rules.
//
// Several backends may share one Firmware, as several programs share a device: each has a context of its own. For
// tests the backend keeps a log of the operations that reached it, injects faults (`firmware().faults()`), and plays
// what happens to real devices: a change of the link, reset, removal, return.
//
// Queue pairs are plain numbers. One that nobody created counts as existing, in RTS, of the type the caller states
// (FirmwareOptions::implicit_queue_pairs), so that clients without hardware can use a simulated device.
//
// Thread-safe, unlike backends in general.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "lib/model/firmware.h"
#include "lib/nic/backend.h"
#include "lib/nic_model/traffic_meter.h"

namespace rdmaqos {

// One operation as the backend was asked for it, and how it ended. Only the fields of its kind are set.
struct ModelOperation {
    CommandKind kind = CommandKind::Query;
    std::optional<ElementHandle> element;    // of a create: the new one, if it worked
    std::optional<ElementRequest> request;
    std::optional<ElementChange> change;
    std::uint32_t queue_pair = 0;
    std::optional<ElementHandle> requester;
    std::optional<ElementHandle> responder;
    std::optional<RateLimit> rate;
    std::optional<Error> error;

    [[nodiscard]] bool is_write() const { return kind != CommandKind::Query && kind != CommandKind::QueryQueuePair; }
};

// "create leaf #3 below #1: share 7", "modify #3: share 60", "attach queue pair 17: requester #3, responder none",
// with ": failed: ..." behind an operation that did not work.
[[nodiscard]] std::string to_string(const ModelOperation& operation);

class ModelBackend final : public Backend {
public:
    // Without a firmware of its own: makes one with these capabilities. With one, it must have the same capabilities.
    ModelBackend(DeviceInfo info, const Capabilities& capabilities, std::shared_ptr<Firmware> firmware = nullptr,
                 AttachMode attach_mode = AttachMode::Shared, CapMode caps = CapMode::Whole);
    // Closes the context: what is left of it on the device is destroyed, as at the last close of a device file.
    ~ModelBackend() override;
    ModelBackend(const ModelBackend&) = delete;
    ModelBackend& operator=(const ModelBackend&) = delete;

    [[nodiscard]] DeviceInfo info() const override;
    [[nodiscard]] Capabilities capabilities() const override;
    [[nodiscard]] AttachReport attach_report() const override;
    void test_attaching() override;
    [[nodiscard]] std::vector<DeviceAttribute> attributes() const override { return {}; }

    [[nodiscard]] Result<ElementHandle> create_element(const ElementRequest& request) override;
    [[nodiscard]] Result<void> modify_element(ElementHandle element, const ElementChange& change) override;
    [[nodiscard]] Result<ElementState> query_element(ElementHandle element) override;
    [[nodiscard]] Result<void> destroy_element(ElementHandle element) override;
    [[nodiscard]] Result<void> take_over(const std::vector<KnownElement>& elements, const BackendNotes& notes) override;
    [[nodiscard]] Result<std::size_t> count_strays(const std::vector<ElementHandle>& known) override;
    [[nodiscard]] Result<std::size_t> destroy_strays(const std::vector<ElementHandle>& known) override;
    // A queue pair of the model is nobody's: always.
    [[nodiscard]] Result<Admission> admit(const QueuePairRef&) override { return Admission{}; }
    [[nodiscard]] Result<void> place(const QueuePairRef& queue_pair, std::optional<ElementHandle> requester,
                                     std::optional<ElementHandle> responder) override;
    [[nodiscard]] Result<void> set_rate(const QueuePairRef& queue_pair, const std::optional<RateLimit>& rate) override;
    [[nodiscard]] Result<QueuePairState> query_queue_pair(const QueuePairRef& queue_pair) override;
    [[nodiscard]] Result<std::optional<QueuePairMark>> query_mark(const QueuePairRef& queue_pair) override;
    [[nodiscard]] Result<void> cap_copy(const std::shared_ptr<ClientFile>& file, ElementHandle leaf,
                                        std::optional<Bandwidth> cap) override;
    // Zero until carry() has said what the port moves.
    [[nodiscard]] Result<PortCounters> port_counters() override;
    void set_event_handler(EventHandler handler) override;

    // ---- what happens to the device ----

    // Nothing was tried on it, until test_attaching() finds this. In mode none, it then has only its pacing.
    void postpone_test(AttachReport found);
    // From now on the port moves this traffic, as far as its link carries it. `clock` must outlive the backend.
    void carry(PortTraffic traffic, const Clock& clock);
    // As its program has connected it; until the first one, the device does not tell how packets are marked.
    void set_mark(std::uint32_t queue_pair, std::optional<QueuePairMark> mark);
    // As a port that does not count.
    void withhold_counters();
    void set_link(Bandwidth speed, bool up = true);    // emits LinkChanged
    // As after a subnet manager or an administrator: emits LinkChanged.
    void set_addresses(std::vector<Gid> gids, std::vector<std::uint16_t> pkeys, std::string node_description);
    // Whatever else can become of a port: emits LinkChanged. Its key must stay.
    void set_info(DeviceInfo info);
    void reset();     // everything is lost, emits Reset; gone until replug()
    void remove();    // the same with Removed
    void replug();    // back, empty; emits LinkChanged

    [[nodiscard]] Firmware& firmware() { return *firmware_; }
    [[nodiscard]] ContextId context() const { return context_.load(); }
    // The firmware's id of an element, for Firmware::drift and lose.
    [[nodiscard]] static ObjectId object_of(ElementHandle element);

    // ---- what was asked ----

    // The last operations in order, at most `log_limit`.
    [[nodiscard]] std::vector<ModelOperation> log() const;
    [[nodiscard]] std::vector<std::string> log_text() const;
    void clear_log();
    void set_log_limit(std::size_t limit);    // default 256: a simulated device in a daemon must not grow
    // Of leaves in trees of processes, by cap_copy().
    [[nodiscard]] std::map<const ClientFile*, std::optional<Bandwidth>> copy_caps() const;
    // Since the start; not changed by clear_log().
    [[nodiscard]] std::uint64_t operations() const;
    [[nodiscard]] std::uint64_t writes() const;

private:
    [[nodiscard]] Error error_of(const Refusal& refusal) const;
    // Those of this context, children before their parents.
    [[nodiscard]] std::vector<ObjectId> strays(const std::vector<ElementHandle>& known) const;
    [[nodiscard]] std::optional<Error> encode(const ElementAttributes& attributes, SchedulingFields& fields) const;
    [[nodiscard]] std::optional<Error> encode(const ElementChange& change, SchedulingFields& fields) const;
    [[nodiscard]] std::optional<Error> encode_rate(Bandwidth rate, SchedulingFields& fields) const;
    // Sets the meter to what the link lets through now. With mutex_ held.
    void update_meter();
    void note(ModelOperation operation);
    void emit(DeviceEventKind kind);

    mutable std::mutex mutex_;
    DeviceInfo info_;
    Capabilities capabilities_;
    AttachReport attach_;
    AttachReport found_;    // by test_attaching()
    const std::shared_ptr<Firmware> firmware_;
    std::atomic<ContextId> context_{kNoContext};
    EventHandler handler_;
    PortTraffic traffic_;
    TrafficMeter meter_;
    std::map<const ClientFile*, std::optional<Bandwidth>> copy_caps_;
    const Clock* clock_ = nullptr;    // null: no traffic
    bool counts_ = true;
    std::map<std::uint32_t, std::optional<QueuePairMark>> marks_;
    std::deque<ModelOperation> log_;
    std::size_t log_limit_ = 256;
    std::uint64_t operations_ = 0;
    std::uint64_t writes_ = 0;
};

}    // namespace rdmaqos
