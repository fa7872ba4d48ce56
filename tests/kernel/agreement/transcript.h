// kernel_transcript: makes the same calls wherever it runs, and prints a line for each: its name, what came back, and
// what the device holds then. It does not know whether the kernel below it is real; the lines show that.
//
//     devx.modify another's number -> EINVAL, out 16 untouched
//
// What depends on earlier allocations has a name instead of its number.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "tests/emulator/clients/world.h"

namespace rdmaqos::test::agreement {

using Bytes = std::vector<std::uint8_t>;

// ---- lines ----

// The names of the lines that follow begin with it.
void begin_area(const std::string& area);
void say(std::string_view name, std::string_view text);

// With commas. A list is made in its order: what a later part reads comes after what an earlier part did.
[[nodiscard]] std::string joined(std::initializer_list<std::string> parts);
// "ok", "EINVAL".
[[nodiscard]] std::string spelled(int error);
// What a call left in an outbox that was filled with kUntouched: its words that are not zero, by their offset.
constexpr std::uint8_t kUntouched = 0xa5;
[[nodiscard]] std::string spelled(const Bytes& outbox);

// ---- raw calls ----

// One ioctl of a uverbs file, attribute by attribute.
class Ioctl {
public:
    Ioctl(int fd, std::uint16_t object, std::uint16_t method);

    Ioctl& handle(std::uint16_t id, std::uint64_t number);
    // The kernel wants what fits into the attribute there.
    Ioctl& in(std::uint16_t id, const Bytes& bytes);
    Ioctl& in_pointer(std::uint16_t id, const void* data, std::size_t length);
    template <typename T>
    Ioctl& value(std::uint16_t id, const T& data)
    {
        const auto* bytes = reinterpret_cast<const std::uint8_t*>(&data);
        return in(id, Bytes(bytes, bytes + sizeof(data)));
    }
    Ioctl& out(std::uint16_t id, void* data, std::size_t length);
    // Of the last attribute.
    Ioctl& optional();
    Ioctl& reserved(std::uint8_t byte);
    // Of the call.
    Ioctl& driver(std::uint32_t id);
    Ioctl& header_reserved(std::uint64_t value);
    Ioctl& length_change(int bytes);

    int run();
    // What the kernel wrote into an attribute: a new handle.
    [[nodiscard]] std::uint32_t data_of(std::uint16_t id) const;

private:
    struct Attribute {
        std::uint16_t id = 0;
        std::uint16_t length = 0;
        std::uint16_t flags = 0;
        std::uint8_t reserved[2] = {};
        std::uint64_t data = 0;
    };
    Attribute& add(std::uint16_t id, std::uint16_t length, std::uint64_t data);

    int fd_;
    std::uint16_t object_;
    std::uint16_t method_;
    std::uint32_t driver_;
    std::uint64_t header_reserved_ = 0;
    int length_change_ = 0;
    std::vector<Attribute> attributes_;
    std::vector<Bytes> kept_;
};

// What came back from a DEVX command.
struct Answer {
    int error = 0;
    Bytes out;
    std::uint32_t handle = 0;

    [[nodiscard]] std::uint32_t id() const;
    [[nodiscard]] std::string text() const { return spelled(error) + ", " + spelled(out); }
};
[[nodiscard]] Answer devx_create(int fd, const Bytes& in, std::size_t out = 16);
[[nodiscard]] Answer devx_modify(int fd, std::uint64_t handle, const Bytes& in, std::size_t out = 16);
[[nodiscard]] Answer devx_query(int fd, std::uint64_t handle, const Bytes& in, std::size_t out);
[[nodiscard]] Answer devx_other(int fd, const Bytes& in, std::size_t out);
[[nodiscard]] int devx_destroy(int fd, std::uint64_t handle);

// ---- commands ----

constexpr std::uint32_t kTsar = 0;
constexpr std::uint32_t kQueueGroup = 4;
constexpr std::uint32_t kSelectShare = 1;
constexpr std::uint32_t kSelectRate = 2;

[[nodiscard]] Bytes create_element(std::uint32_t type, std::uint32_t parent, std::uint32_t share = 0,
                                   std::uint32_t rate = 0);
[[nodiscard]] Bytes modify_element(std::uint32_t id, std::uint32_t select, std::uint32_t share, std::uint32_t rate);
[[nodiscard]] Bytes element_command(std::uint32_t opcode, std::uint32_t id);
[[nodiscard]] Bytes attach(std::uint32_t opcode, std::uint32_t number, std::uint32_t requester,
                           std::uint32_t responder);
[[nodiscard]] Bytes move_send_queue(std::uint32_t number, std::uint32_t leaf);
// 16 bytes, with a number where commands on queues have it.
[[nodiscard]] Bytes queue_command(std::uint32_t opcode, std::uint32_t number);
constexpr std::uint32_t kModifySq = 0x905;
constexpr std::uint32_t kQueryQp = 0x50b;
constexpr std::size_t kElementOut = 144;
constexpr std::size_t kQueryQueuePairOut = 272;

// ---- the device ----

// `rdma-qos-emulator ctl WORDS`: of the emulator, or of the firmware below the kernel. Throws if it fails.
std::string control(const std::string& words);
// The device's part of its state.
[[nodiscard]] nlohmann::json device_state();

// A context with a root, a node and a leaf, all made with plain DEVX calls.
struct Element {
    std::uint32_t handle = 0;
    std::uint32_t id = 0;
};
class Room {
public:
    Room();
    ~Room();
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;

    [[nodiscard]] int fd() const { return world.context->cmd_fd; }
    [[nodiscard]] Element make(std::uint32_t type, std::uint32_t parent, std::uint32_t share = 0,
                               std::uint32_t rate = 0) const;
    // "type 4 parent node share 3 rate 0", as a query answers.
    [[nodiscard]] std::string state_of(const Element& element) const;
    // "leaf/leaf", "-": where a queue pair is, for the firmware.
    [[nodiscard]] std::string place_of(ibv_qp* queue_pair) const;
    void destroy_elements();

    struct world world {};
    Element root;
    Element node;
    Element leaf;
};

// A name for an element's number in everything that is said from here on.
void name_element(std::uint32_t id, const std::string& name);
[[nodiscard]] std::string element_name(std::uint32_t id);

// The number by which commands find a raw packet queue pair's send queue.
[[nodiscard]] std::uint32_t send_queue_of(ibv_qp* queue_pair);

// A queue pair in a state, destroyed at the end; `why_not`: it cannot be brought there.
class QueuePair {
public:
    QueuePair(const Room& room, ibv_qp_type type, ibv_qp_state state);
    ~QueuePair();
    QueuePair(const QueuePair&) = delete;
    QueuePair& operator=(const QueuePair&) = delete;

    ibv_qp* qp = nullptr;
    int why_not = 0;
};

// A context with a queue pair in INIT that another process made. It ends then, and leaves its file to this one.
struct Inherited {
    int fd = -1;
    std::uint32_t handle = 0;
    std::uint32_t number = 0;
};
[[nodiscard]] Inherited inherit();

// ---- areas: each says its lines ----

void say_headers();
void say_elements();
void say_commands();
void say_queue_pairs();
void say_devx_queue_pairs();
void say_states();
void say_refusals();
void say_busy();
void say_handles();
void say_netlink();
void say_routes();
void say_other_process();
void say_pacing();
void say_sysfs();
void say_reset();

}    // namespace rdmaqos::test::agreement
