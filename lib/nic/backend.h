// The seam between rdma-qosd and a NIC: capabilities, scheduling elements, queue pairs, port counters, events.
// Implementations: mlx5 (lib/nic_mlx5) and the in-process model (lib/nic_model); software RDMA NICs will follow, so
// nothing here speaks their terms.
//
// Threads: a backend belongs to the worker thread of its device; every call may block on firmware. Only the event
// callback is called on another thread, and the constructor's arguments may be read from anywhere.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/base/file.h"
#include "lib/base/net.h"
#include "lib/base/result.h"
#include "lib/base/units.h"
#include "lib/tree/attach_mode.h"
#include "lib/tree/capabilities.h"
#include "lib/tree/element.h"

namespace rdmaqos {

// One port of one device. The key is node GUID + port: names can change.
struct DeviceInfo {
    std::string name;    // "mlx5_0"
    std::uint32_t port = 1;
    Guid node_guid;
    Guid port_guid;
    std::string netdev;         // "ens1f0np0"; empty if none
    std::string pci_address;    // "0000:3b:00.0"; empty if none
    std::string driver;         // "mlx5", "model"
    std::string firmware;
    std::string board_id;    // the vendor's name of this build of the card (PSID); empty if unknown
    bool virtual_function = false;
    std::string bond;    // the bonding netdev that this port, or a port it stands for, is in; empty if none
    LinkLayer link_layer = LinkLayer::Ethernet;
    bool link_up = true;
    Bandwidth link_speed;
    std::uint32_t mtu = 4096;    // active path MTU in bytes: 256, 512, 1024, 2048 or 4096
    std::vector<Gid> gids;
    std::vector<std::uint16_t> pkeys;    // with membership bit
    std::string node_description;        // "host1 mlx5_0"

    // "mlx5_0/1"
    [[nodiscard]] std::string key() const;

    friend bool operator==(const DeviceInfo&, const DeviceInfo&) = default;
};

// One fact that a device states of itself, for people.
struct DeviceAttribute {
    std::string name;       // as in the vendor's or the verbs' own documentation
    std::string value;      // in words; what the device does not have is "unsupported"
    std::string meaning;    // for quality of service; may be empty

    friend bool operator==(const DeviceAttribute&, const DeviceAttribute&) = default;
};

// One step of the test that finds out how queue pairs of other processes can be brought into the tree.
struct SelfTestStep {
    std::string name;    // "attach in INIT"
    bool passed = false;
    int sys_errno = 0;             // 0: none
    std::uint8_t status = 0;       // of the firmware's answer; 0: none arrived
    std::uint32_t syndrome = 0;    // of the firmware's answer
    std::string remark;            // what it means
    // Of a cell of the matrix: "shared leaf" (lib/nic_mlx5/self_test.h); empty: of none.
    std::string row{};

    friend bool operator==(const SelfTestStep&, const SelfTestStep&) = default;
};

struct AttachReport {
    AttachMode mode = AttachMode::Shared;
    std::string reason;                 // one sentence: why this mode
    std::vector<SelfTestStep> steps;    // empty: there was nothing to test
    // Nothing was tried on the device yet; the mode is what to expect. test_attaching() finds out.
    bool postponed = false;
    // Set: a query of an element does not say what was written, with what it said. query_element() then answers with
    // what was written last, and drift cannot be seen.
    std::string unreadable{};
    // Set: the device did not attach a queue pair that was made through DEVX, with what it said. Attaching them is
    // tried all the same.
    std::string devx_refused{};
    // Set: the result cannot be kept, with the reason; the device is tested again at the next start.
    std::string not_kept{};
    // In mode per-process. With Adaptive, the caller measures traffic and sets caps with cap_copy().
    CapMode caps = CapMode::Whole;
    // Set: caps that were to follow what is measured do not, with the reason, and are divided.
    std::string not_adaptive{};

    // What holds now.
    [[nodiscard]] CapMode caps_now() const { return not_adaptive.empty() ? caps : CapMode::Divide; }

    friend bool operator==(const AttachReport&, const AttachReport&) = default;
};

// The backend's own name for an element it made. Valid until the element is destroyed or the device is gone.
enum class ElementHandle : std::uint64_t {};

struct ElementRequest {
    ElementKind kind = ElementKind::Node;
    std::optional<ElementHandle> parent;    // empty: the root
    ElementAttributes attributes;
};

// Only what is set is changed.
struct ElementChange {
    std::optional<std::uint32_t> share;
    std::optional<std::optional<Bandwidth>> max_rate;    // the inner empty lifts the cap

    void apply_to(ElementAttributes& attributes) const
    {
        attributes.share = share.value_or(attributes.share);
        attributes.max_rate = max_rate.value_or(attributes.max_rate);
    }
};

// An element that was made before, by another process with the same device file.
struct KnownElement {
    ElementHandle handle{};
    ElementRequest request;
};

// Whether elements outlive the process that made them.
struct Lifeline {
    bool outlives = false;
    // The open file that they depend on: while any process holds it, they stay. -1: they depend on files of programs
    // alone.
    int file = -1;
};

// What a backend of a later process has to know beyond the elements, in words of its own, by keys of its own.
using BackendNotes = std::map<std::string, std::string>;
// An empty text: it is gone.
using NoteKeeper = std::function<void(const std::string& key, const std::string& text)>;

// What a read-back says.
struct ElementState {
    ElementKind kind = ElementKind::Node;
    std::optional<ElementHandle> parent;    // empty for the root, or when the device does not tell
    ElementAttributes attributes;

    friend bool operator==(const ElementState&, const ElementState&) = default;
};

// An owner's device file, through which its queue pairs are reached; shared by the queue pairs of one session. One that
// its owner passed is open as long as this lives; one that is taken from its owner (daemon/adoption), while it is used.
// While it is open, the owner's objects and pinned memory live on, even if the owner is dead. The last close of such a
// file destroys all of that and can take long: `close` gets the descriptor, on whichever thread releases it last.
class ClientFile {
public:
    using Close = std::function<void(UniqueFd)>;

    ClientFile(UniqueFd fd, Close close) : fd_(std::move(fd)), close_(std::move(close)) {}
    virtual ~ClientFile() { close_fd(); }
    ClientFile(const ClientFile&) = delete;
    ClientFile& operator=(const ClientFile&) = delete;

    // -1: it is not open.
    [[nodiscard]] int fd() const { return fd_.get(); }
    // The process that has it, and when that started, so that it is not taken for a later one of its pid.
    struct Owner {
        pid_t pid = 0;
        std::uint64_t start_time = 0;

        friend bool operator==(const Owner&, const Owner&) = default;
    };
    // Empty: not known.
    [[nodiscard]] virtual std::optional<Owner> owner() const { return owner_; }
    // Of the first who named it; on the main loop, before a backend has it.
    void set_owner(const Owner& owner) { owner_ = owner_.value_or(owner); }
    // Whether a descriptor of this process is of the same open file; false where that is not known.
    [[nodiscard]] virtual bool is_of(int fd) const { return fd_ && is_same_open_file(fd_.get(), fd); }

    // Keeps it open. What a backend's functions are given need not be open; they see to that.
    class Use {
    public:
        explicit Use(ClientFile& file) : file_(file), opened_(file.open()) {}
        ~Use()
        {
            if (opened_) {
                file_.used();
            }
        }
        Use(const Use&) = delete;
        Use& operator=(const Use&) = delete;

        // BadQueuePair: its owner has closed it, or ended. Otherwise it could not be taken.
        [[nodiscard]] const Result<void>& opened() const { return opened_; }

    private:
        ClientFile& file_;
        const Result<void> opened_;
    };

protected:
    // For each Use; used() follows what worked.
    virtual Result<void> open() { return {}; }
    virtual void used() {}
    void set_fd(UniqueFd fd) { fd_ = std::move(fd); }
    void close_fd()
    {
        if (close_ && fd_) {
            close_(std::move(fd_));
        }
        fd_.reset();
    }

private:
    UniqueFd fd_;
    Close close_;
    std::optional<Owner> owner_;
};

struct QueuePairRef {
    std::uint32_t number = 0;
    QueuePairType type = QueuePairType::Rc;
    std::uint32_t handle = 0;              // in its owner's file
    std::uint32_t sq_number = 0;           // raw packet only
    std::int32_t owner_pid = 0;            // the process it must belong to; 0: anybody's
    std::uint64_t owner_start_time = 0;    // of owner_pid; 0: not known
    std::shared_ptr<ClientFile> file;
};

// A queue pair that somebody says is in a file.
struct SoughtQueuePair {
    std::uint32_t number = 0;
    QueuePairType type = QueuePairType::Rc;
    std::optional<std::uint32_t> remote;    // number of its peer's, if it is connected

    friend bool operator==(const SoughtQueuePair&, const SoughtQueuePair&) = default;
};

// What the kernel says of one that is in it.
struct FoundQueuePair {
    std::uint32_t number = 0;
    std::uint32_t handle = 0;
    QueuePairState state = QueuePairState::Reset;
    // Of its address vector; a datagram queue pair has none.
    std::optional<Gid> source;
    std::optional<Gid> destination;    // empty too where it is addressed by a LID alone
    std::uint16_t destination_lid = 0;
    std::uint8_t sl = 0;
    std::uint8_t traffic_class = 0;
    std::optional<std::uint16_t> pkey;    // with membership bit

    friend bool operator==(const FoundQueuePair&, const FoundQueuePair&) = default;
};

// What the packets of a connected queue pair have in their headers by which a network tells them apart (RoCE v2).
struct QueuePairMark {
    std::uint8_t dscp = 0;
    std::uint8_t priority = 0;    // of the VLAN tag, where its network interface has one

    friend bool operator==(const QueuePairMark&, const QueuePairMark&) = default;
};

// As much of the search as is done at once.
struct QueuePairSearch {
    std::vector<FoundQueuePair> found;
    std::vector<std::uint32_t> others;    // handles that were looked at, and are none of those sought
    bool complete = true;                 // false: there are more handles; call again with these known

    friend bool operator==(const QueuePairSearch&, const QueuePairSearch&) = default;
};

// What could be found out about a queue pair before it is taken on.
struct Admission {
    bool owner_verified = true;    // false: this kernel does not tell whose it is
};

// Bytes that have left and entered by the port, headers included, since a moment of the device's choosing. They only
// grow, but may start again at zero (after a reset, or because the device's own counters are narrow): who computes a
// rate leaves out a step down.
struct PortCounters {
    std::uint64_t transmit_bytes = 0;
    std::uint64_t receive_bytes = 0;

    friend bool operator==(const PortCounters&, const PortCounters&) = default;
};

enum class DeviceEventKind : std::uint8_t {
    LinkChanged,    // speed or state: ask info() again
    Reset,          // every element and every client file is dead; the device comes back as a new one
    Removed,
};

struct DeviceEvent {
    DeviceEventKind kind;
};

class Backend {
public:
    virtual ~Backend() = default;

    [[nodiscard]] virtual DeviceInfo info() const = 0;
    [[nodiscard]] virtual Capabilities capabilities() const = 0;
    [[nodiscard]] virtual AttachReport attach_report() const = 0;
    // Before the first element, if the report is postponed: tries on the device how queue pairs can be attached. The
    // report and the capabilities may be others afterwards.
    virtual void test_attaching() {}
    // All the device says of itself, for `rdma-qosctl devices NAME`.
    [[nodiscard]] virtual std::vector<DeviceAttribute> attributes() const = 0;

    // Errors: Unsupported (names the missing capability), NoSpace (names the limit and its use), InvalidArgument (what
    // the device refuses always), DeviceGone, DeviceFailed (anything else; carries errno). An element the device does
    // not know (any more: lost behind our back) is InvalidArgument, with errno ENOENT where the device tells that from
    // what it refuses always.
    [[nodiscard]] virtual Result<ElementHandle> create_element(const ElementRequest& request) = 0;
    [[nodiscard]] virtual Result<void> modify_element(ElementHandle element, const ElementChange& change) = 0;
    [[nodiscard]] virtual Result<ElementState> query_element(ElementHandle element) = 0;
    // Busy: it still has children or queue pairs.
    [[nodiscard]] virtual Result<void> destroy_element(ElementHandle element) = 0;

    [[nodiscard]] virtual Lifeline lifeline() const { return {}; }
    // Before the first element is made, on a backend of which an earlier process had another, with the same lifeline:
    // these are its elements, parents first, and its notes. What else is in the file of the lifeline is destroyed: it
    // was made by a process that died before it could note that.
    [[nodiscard]] virtual Result<void> take_over(const std::vector<KnownElement>& elements,
                                                 const BackendNotes& /*notes*/)
    {
        return elements.empty() ? Result<void>() : fail(ErrorCode::Unsupported, "this device keeps no elements");
    }
    // How many elements are in the file of the lifeline besides these: nobody uses them, as after a query that was
    // answered wrongly. Errors: as of query_element().
    [[nodiscard]] virtual Result<std::size_t> count_strays(const std::vector<ElementHandle>& /*known*/) { return 0U; }
    // How many are left.
    [[nodiscard]] virtual Result<std::size_t> destroy_strays(const std::vector<ElementHandle>& /*known*/) { return 0U; }
    // Is notified of each note from now on.
    virtual void set_note_keeper(const NoteKeeper& /*keeper*/) {}

    // Asked once, before a queue pair is taken on. Errors: NotUverbs (the file is none of a device), WrongDevice,
    // BadQueuePair (handle, number and type do not belong together), NotOwner.
    [[nodiscard]] virtual Result<Admission> admit(const QueuePairRef& queue_pair) = 0;
    // Which of these are in this file, without its owner's help: handle and number are the kernel's own pair. Those
    // that are not, or are just now used by their owner, are left out. `known`: handles that need not be looked at,
    // since each look may refuse its owner a call (EBUSY). Looks at a limited number of handles, so that others have
    // their turn. Errors: as those of admit(); Unsupported: this device or kernel does not tell.
    [[nodiscard]] virtual Result<QueuePairSearch> find_queue_pairs(const std::shared_ptr<ClientFile>& file,
                                                                   const std::vector<SoughtQueuePair>& sought,
                                                                   const std::set<std::uint32_t>& known);
    // Puts a queue pair into leaves; an empty side is taken out of any. Errors: BadQueuePair, BadState (says which
    // state and what to do), Unsupported (type), Busy (the owner's call was in flight; try again).
    [[nodiscard]] virtual Result<void> place(const QueuePairRef& queue_pair, std::optional<ElementHandle> requester,
                                             std::optional<ElementHandle> responder) = 0;
    // Mode per-process, CapMode::Adaptive: the cap of a leaf in this file's tree, as long as the file has queue pairs
    // in it; empty, or more than the leaf's own: that. Users of one open file add up. Errors: those of
    // modify_element().
    [[nodiscard]] virtual Result<void> cap_copy(const std::shared_ptr<ClientFile>& /*file*/, ElementHandle /*leaf*/,
                                                std::optional<Bandwidth> /*cap*/)
    {
        return fail(ErrorCode::Unsupported, "processes have no leaves of their own here");
    }
    // Empty lifts the limit.
    [[nodiscard]] virtual Result<void> set_rate(const QueuePairRef& queue_pair,
                                                const std::optional<RateLimit>& rate) = 0;
    [[nodiscard]] virtual Result<QueuePairState> query_queue_pair(const QueuePairRef& queue_pair) = 0;
    // How its packets are marked now; empty: it is not connected, or its type has no mark of its own, since each
    // message has one. Errors: those of query_queue_pair(); Unsupported: this device does not tell.
    [[nodiscard]] virtual Result<std::optional<QueuePairMark>> query_mark(const QueuePairRef& queue_pair);

    // All traffic of the port, also that of queue pairs outside the tree. Unsupported: the port does not count.
    [[nodiscard]] virtual Result<PortCounters> port_counters() = 0;

    // Called on any thread; must not call back into the backend. Set once, before the first other call.
    using EventHandler = std::function<void(DeviceEvent)>;
    virtual void set_event_handler(EventHandler handler) = 0;
};

}    // namespace rdmaqos
