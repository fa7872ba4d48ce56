// The firmware of a model NIC: scheduling elements, queue pairs and their rules, in the terms of the device's own
// commands. The rules are those of mlx5dv_sched_node_create(3), mlx5dv_modify_qp_sched_elem(3) and
// ibv_modify_qp_rate_limit(3); what those leave open is an option below.
//
//     context              one open device file ("uid"): owns elements and queue pairs
//     └── root TSAR        node without a parent: neither share nor rate
//         ├── TSAR         node: children compete by share, together capped by max_rate
//         │   └── queue group      leaf: holds queue pairs
//         └── queue group
//
// Object ids count up and are not used again during the life of a Firmware, so a stale id is always noticed.
//
// Thread-safe. Delays of ordered faults pass in the calling thread, without a lock held.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/model/faults.h"
#include "lib/model/pacing.h"
#include "lib/model/refusal.h"
#include "lib/tree/capabilities.h"
#include "lib/tree/element.h"

namespace rdmaqos {

enum class ObjectId : std::uint32_t {};
// In an attach command: no leaf.
constexpr ObjectId kNoObject{0};

enum class ContextId : std::uint32_t {};
// The context that exists without being opened.
constexpr ContextId kHostContext{0};
// Never open.
constexpr ContextId kNoContext{0xffffffffU};

// By which command an element was made: as a general object, which belongs to its context, or by the older
// CREATE_SCHEDULING_ELEMENT, whose layout has no field for one.
enum class ElementForm : std::uint8_t { Object, Legacy };

// What firmware keeps apart between contexts. No source says.
enum class Isolation : std::uint8_t {
    None,       // a queue pair may use any leaf, an element any parent
    All,        // both of its own context only
    Objects,    // the same of general objects; legacy elements belong to nobody
    Attach      // a queue pair: leaves of its own context only; an element: any parent
};
inline constexpr std::array kIsolations{Isolation::None, Isolation::All, Isolation::Objects, Isolation::Attach};
// As the emulator's `set queue-groups` has it: "shared", "isolated", "isolated-objects", "isolated-attach".
[[nodiscard]] std::string_view to_string(Isolation isolation);

// Which fields of SchedulingFields count; the others are ignored.
constexpr std::uint32_t kSchedulingShare = 1U << 0;
constexpr std::uint32_t kSchedulingMaxRate = 1U << 1;

struct SchedulingFields {
    std::uint32_t flags = 0;
    std::uint32_t share = 0;            // weight among siblings; 0: the device's default
    std::uint32_t max_rate_mbps = 0;    // Mbit/s; 0: unlimited
};

struct CreateCommand {
    ContextId context = kHostContext;
    ElementKind kind = ElementKind::Node;
    std::optional<ObjectId> parent;    // empty: a root
    SchedulingFields fields;
    ElementForm form = ElementForm::Object;
};

// What a query answers, and more than a real device would tell (`level` and what it holds).
struct ElementRecord {
    ObjectId id{};
    ContextId context = kHostContext;
    ElementKind kind = ElementKind::Node;
    std::optional<ObjectId> parent;
    std::uint32_t share = 0;
    std::uint32_t max_rate_mbps = 0;
    std::uint32_t level = 1;    // the root is 1
    std::uint32_t children = 0;
    std::uint32_t queue_pairs = 0;    // attachments: a queue pair attached on both sides counts twice
    ElementForm form = ElementForm::Object;

    friend bool operator==(const ElementRecord&, const ElementRecord&) = default;
};

// Both sides are stated whole; kNoObject takes the queue pair out on that side.
struct AttachCommand {
    ContextId context = kHostContext;    // of the queue pair's owner
    std::uint32_t queue_pair = 0;
    QueuePairType type = QueuePairType::Rc;
    ObjectId requester = kNoObject;
    ObjectId responder = kNoObject;
};

struct RateCommand {
    ContextId context = kHostContext;
    std::uint32_t queue_pair = 0;
    QueuePairType type = QueuePairType::Rc;
    std::optional<RateLimit> rate;    // empty: lift the limit
};

struct QueuePairRecord {
    std::uint32_t number = 0;
    ContextId context = kHostContext;
    QueuePairType type = QueuePairType::Rc;
    QueuePairState state = QueuePairState::Rts;
    ObjectId requester = kNoObject;
    ObjectId responder = kNoObject;
    std::optional<RateLimit> rate;
    bool implicit = false;    // never created by anybody: exists because a command named it

    friend bool operator==(const QueuePairRecord&, const QueuePairRecord&) = default;
};

struct FirmwareOptions {
    Capabilities capabilities;
    // A command that names a queue pair nobody created finds one of the command's type in RTS, which vanishes when it
    // has neither leaf nor rate: clients without hardware need only a number.
    bool implicit_queue_pairs = true;
    Isolation isolation = Isolation::None;
    // Not documented either: a leaf with queue pairs refuses to be destroyed (true), or detaches them (false).
    bool refuse_busy_leaf = true;
    // What a query says of an element without a share, whose default no source names.
    std::uint32_t default_share_reads_as = 0;
    // A context has one tree; 0: any number.
    std::uint32_t roots_per_context = 1;
};

// What has become of a firmware in the meantime.
struct FirmwareChanges {
    // All of them, by id, if one has come, gone or been set; how many queue pairs they have does not count.
    std::optional<std::vector<ElementRecord>> elements;
    // By number. Those that are gone are not among them.
    std::vector<QueuePairRecord> queue_pairs;
};

struct FirmwareUsage {
    std::uint32_t elements = 0;
    std::uint32_t leaves = 0;
    std::uint32_t queue_pairs = 0;    // attached, or with a rate
    std::uint32_t pacing_entries = 0;

    friend bool operator==(const FirmwareUsage&, const FirmwareUsage&) = default;
};

enum class DevicePresence : std::uint8_t { Present, InReset, Removed };

class Firmware {
public:
    explicit Firmware(FirmwareOptions options);
    explicit Firmware(const Capabilities& capabilities);

    [[nodiscard]] const FirmwareOptions& options() const { return options_; }
    [[nodiscard]] Faults& faults() { return faults_; }
    // What no source says of a firmware may change while it runs; see FirmwareOptions.
    void set_isolation(Isolation isolation);
    [[nodiscard]] Isolation isolation() const;
    void set_refuse_busy_leaf(bool refuse);
    void set_default_share_reads_as(std::uint32_t share);
    // The id of the next element, if none has it or a higher one.
    void set_next_object(ObjectId next);

    // ---- commands on elements; context and form must be those by which they were made ----

    [[nodiscard]] Answer<ObjectId> create(const CreateCommand& command);
    [[nodiscard]] Answer<void> modify(ContextId context, ObjectId element, const SchedulingFields& fields,
                                      ElementForm form = ElementForm::Object);
    [[nodiscard]] Answer<ElementRecord> query(ContextId context, ObjectId element,
                                              ElementForm form = ElementForm::Object);
    [[nodiscard]] Answer<void> destroy(ContextId context, ObjectId element, ElementForm form = ElementForm::Object);

    // ---- commands on queue pairs ----

    [[nodiscard]] Answer<void> attach(const AttachCommand& command);
    [[nodiscard]] Answer<void> set_rate(const RateCommand& command);
    [[nodiscard]] Answer<QueuePairState> query_queue_pair(std::uint32_t number);

    // ---- what programs on the host do; no faults apply ----

    [[nodiscard]] Answer<ContextId> open_context();
    // Destroys the context's queue pairs, then its elements bottom-up, as the kernel does at the last close. Returns
    // how many elements could not go because others' queue pairs are in them: those are leaked until a reset.
    std::size_t close_context(ContextId context);

    // Refused if the context is not open (any more): nobody would destroy it.
    Answer<void> create_queue_pair(std::uint32_t number, QueuePairType type, QueuePairState state,
                                   ContextId context = kHostContext);
    // RESET and ERR drop the rate; RESET also takes the queue pair out of its leaves.
    void set_queue_pair_state(std::uint32_t number, QueuePairState state);
    void destroy_queue_pair(std::uint32_t number);

    // ---- what happens to devices ----

    // Everything is lost and every command is refused until replug(). Contexts opened before stay dead for ever.
    void reset();
    void remove();
    void replug();
    [[nodiscard]] DevicePresence presence() const;

    // Silent drift: changes an element, or loses it and all below it, behind everybody's back. Queue pairs in it are in
    // no leaf afterwards. False: no such element.
    bool drift(ObjectId element, std::uint32_t share, std::uint32_t max_rate_mbps);
    bool lose(ObjectId element);

    // ---- for tests and reports ----

    // Another one whenever something that the functions below tell may have changed.
    [[nodiscard]] std::uint64_t generation() const { return generation_; }

    [[nodiscard]] std::vector<ElementRecord> elements() const;    // by id
    [[nodiscard]] std::vector<QueuePairRecord> queue_pairs() const;
    [[nodiscard]] std::optional<QueuePairRecord> queue_pair(std::uint32_t number) const;
    // Since this was called last. For one caller, to whom many changes are not to cost a look at all there is each
    // time.
    [[nodiscard]] FirmwareChanges take_changes();
    [[nodiscard]] FirmwareUsage usage() const;

private:
    // The lock of what is published, which is another generation then.
    struct Change {
        explicit Change(Firmware& firmware) : lock(firmware.mutex_) { ++firmware.generation_; }
        const std::lock_guard<std::mutex> lock;
    };

    [[nodiscard]] std::optional<Refusal> admit(CommandKind kind);
    [[nodiscard]] std::optional<Refusal> gone() const;
    [[nodiscard]] std::optional<Refusal> check_context(ContextId context) const;
    [[nodiscard]] std::optional<Refusal> check_fields(const SchedulingFields& fields, bool root) const;
    [[nodiscard]] std::optional<Refusal> check_create(const CreateCommand& command) const;
    [[nodiscard]] std::optional<Refusal> check_limits(const CreateCommand& command, std::uint32_t level) const;
    [[nodiscard]] std::optional<Refusal> check_element(ContextId context, ObjectId element, ElementForm form) const;
    [[nodiscard]] std::optional<Refusal> check_parent(const CreateCommand& command) const;
    [[nodiscard]] bool is_kept_from(ContextId context, const ElementRecord& element) const;
    [[nodiscard]] std::optional<Refusal> check_idle(ObjectId element) const;
    [[nodiscard]] std::optional<Refusal> check_known(std::uint32_t number) const;
    [[nodiscard]] std::optional<Refusal> check_queue_pair(std::uint32_t number, QueuePairType type) const;
    [[nodiscard]] std::optional<Refusal> check_attach(const AttachCommand& command) const;
    [[nodiscard]] std::optional<Refusal> check_group(const AttachCommand& command, ObjectId group) const;
    [[nodiscard]] std::optional<Refusal> check_rate(const RateCommand& command) const;

    [[nodiscard]] static bool is_used(const QueuePairRecord& queue_pair);
    QueuePairRecord& queue_pair_for(ContextId context, std::uint32_t number, QueuePairType type);
    void put_into(QueuePairRecord& queue_pair, ObjectId requester, ObjectId responder);
    void drop_rate(QueuePairRecord& queue_pair);
    void forget_if_idle(std::uint32_t number);
    void erase_queue_pair(std::uint32_t number);
    void erase(std::map<std::uint32_t, QueuePairRecord>::iterator queue_pair);
    void erase_element(ObjectId element);
    void lose_everything(DevicePresence presence);

    FirmwareOptions options_;    // the capabilities stay as they are
    Faults faults_;

    std::atomic<std::uint64_t> generation_{0};
    mutable std::mutex mutex_;
    DevicePresence presence_ = DevicePresence::Present;
    std::map<ObjectId, ElementRecord> elements_;
    std::map<std::uint32_t, QueuePairRecord> queue_pairs_;
    bool elements_changed_ = false;
    std::set<std::uint32_t> changed_;                // of queue_pairs_
    std::map<ContextId, std::uint32_t> contexts_;    // roots of each
    PacingTable pacing_;
    std::uint32_t leaves_ = 0;
    std::uint32_t next_object_ = 1;
    std::uint32_t next_context_ = 1;
};

}    // namespace rdmaqos
