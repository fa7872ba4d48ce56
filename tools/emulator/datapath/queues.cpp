#include <algorithm>
#include <cerrno>
#include <ctime>
#include <utility>

#include <endian.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tools/emulator/datapath/queues.h"
#include "tools/emulator/device.h"

namespace rdmaqos::emulator {
namespace {

constexpr std::uint32_t kNumber = 0xffffff;    // consumer indexes and packet numbers have 24 bits

// Whether `a` is ahead of `b`, of numbers with 24 bits.
bool is_ahead(std::uint32_t a, std::uint32_t b)
{
    const std::uint32_t distance = (a - b) & kNumber;
    return distance != 0 && distance < kNumber / 2;
}

template <std::size_t N>
bool read_words(const ClientMemory& client, std::uint64_t address, std::array<std::uint32_t, N>& words)
{
    std::array<std::uint8_t, N * sizeof(std::uint32_t)> bytes{};
    if (!client.read(address, bytes)) {
        return false;
    }
    for (std::size_t i = 0; i < N; ++i) {
        words[i] = be32_at(bytes, i * sizeof(std::uint32_t));
    }
    return true;
}

}    // namespace

Time monotonic_now()
{
    return std::chrono::steady_clock::now().time_since_epoch();
}

// ---- completion queues ----

CompletionQueue::CompletionQueue(CompletionQueueMemory memory, ClientMemory client)
    : memory_(std::move(memory)), client_(std::move(client))
{
    // The first arm of all writes what is there already, 0: from now on something else is there.
    const std::array<std::uint8_t, 4> other{0xff, 0xff, 0xff, 0xff};
    if (client_.write(memory_.record + 4, other)) {
        arm_seen_ = 0xffffffff;
    }
}

std::uint32_t CompletionQueue::taken() const
{
    std::array<std::uint32_t, 1> record{};
    return read_words(client_, memory_.record, record) ? record[0] & kNumber : known_taken_;
}

bool CompletionQueue::push(Completion completion)
{
    if (overrun_) {
        return false;
    }
    if (((produced_ - known_taken_) & kNumber) >= memory_.entries) {
        known_taken_ = taken();
        if (((produced_ - known_taken_) & kNumber) >= memory_.entries) {
            overrun_ = true;    // what would be overwritten was not read yet
            memory_.event(AsyncEvent::CompletionQueueError);
            return false;
        }
    }
    const bool is_error = completion.kind == MLX5_CQE_REQ_ERR || completion.kind == MLX5_CQE_RESP_ERR;
    completion.is_solicited = completion.is_solicited || is_error;
    write(completion);
    if (completion.is_solicited) {
        solicited_ = produced_;
    }
    send_event();
    return true;
}

void CompletionQueue::write(const Completion& completion)
{
    const std::uint64_t entry = produced_ & (memory_.entries - 1);
    const std::uint64_t at = memory_.buffer + entry * memory_.entry_bytes + memory_.entry_bytes - sizeof(mlx5_cqe64);
    const auto bytes = encode(completion, produced_ / memory_.entries,
                              static_cast<std::uint64_t>(monotonic_now().count()));
    (void)client_.write_completion(at, bytes);    // fails when the program has ended
    ++produced_;
}

void CompletionQueue::look_at_arm()
{
    std::array<std::uint32_t, 2> record{};
    if (!memory_.channel || !read_words(client_, memory_.record, record) || record[1] == arm_seen_) {
        return;
    }
    constexpr std::uint32_t kOnlySolicited = 1U << 24;
    arm_seen_ = record[1];
    armed_ = true;
    armed_solicited_ = (arm_seen_ & kOnlySolicited) != 0;
    armed_at_ = arm_seen_ & kNumber;
    send_event();
}

// An arm does not report what an earlier event has covered: who arms and polls then, as perftest does, would get an
// event for what he has polled.
void CompletionQueue::send_event()
{
    const std::uint32_t newest = armed_solicited_ ? solicited_ : produced_;
    if (!memory_.channel || !armed_ || !is_ahead(newest, armed_at_) || !is_ahead(newest, told_)) {
        return;
    }
    const std::uint64_t description = memory_.user_handle;
    if (::write(memory_.channel.get(), &description, sizeof(description)) == sizeof(description)) {
        ++events_;
    }
    armed_ = false;
    told_ = produced_;
}

bool CompletionQueue::resize(std::uint64_t buffer, std::uint32_t entry_bytes, std::uint32_t entries)
{
    known_taken_ = taken();
    if (((produced_ - known_taken_) & kNumber) >= entries) {
        return false;
    }
    Completion last;    // in the old buffer: the library goes on in the new one
    last.kind = MLX5_CQE_RESIZE_CQ;
    write(last);
    memory_.buffer = buffer;
    memory_.entry_bytes = entry_bytes;
    memory_.entries = entries;
    return true;
}

std::uint32_t CompletionQueue::close()
{
    const UniqueFd channel = std::exchange(memory_.channel, UniqueFd());
    if (!channel || events_ == 0) {
        return 0;
    }
    const std::string again = "/proc/self/fd/" + std::to_string(channel.get());
    const UniqueFd reader(open(again.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    int waiting = 0;
    (void)ioctl(reader.get(), FIONREAD, &waiting);
    std::uint32_t unread = 0;
    std::vector<std::uint64_t> others;
    for (std::size_t left = static_cast<std::size_t>(waiting) / sizeof(std::uint64_t); left > 0; --left) {
        std::uint64_t each = 0;
        if (read(reader.get(), &each, sizeof(each)) != sizeof(each)) {
            break;    // the program was faster
        }
        if (each == memory_.user_handle) {
            ++unread;
        } else {
            others.push_back(each);
        }
    }
    for (const std::uint64_t each : others) {
        (void)!::write(channel.get(), &each, sizeof(each));
    }
    return events_ - std::min(unread, events_);
}

// ---- receive queues ----

bool SharedReceiveQueue::look_at_record()
{
    std::array<std::uint32_t, 1> record{};
    if (!read_words(client_, memory_.record, record)) {
        return false;
    }
    posted_ = static_cast<std::uint16_t>(record[0]);
    return true;
}

std::optional<ReceiveRequest> SharedReceiveQueue::take()
{
    if (!returned_.empty()) {
        ReceiveRequest request = std::move(returned_.back());
        returned_.pop_back();
        return request;
    }
    if ((posted_ == taken_ || memory_.limit > 0) && !look_at_record()) {
        return std::nullopt;
    }
    std::vector<std::uint8_t> bytes(memory_.stride);
    if (posted_ == taken_ || head_ >= memory_.entries ||
        !client_.read(memory_.buffer + std::uint64_t{head_} * memory_.stride, bytes)) {
        return std::nullopt;
    }
    constexpr std::size_t kLink = 16;    // in front of the data segments: which one is next
    ReceiveRequest request{head_, parse_receive(std::span(bytes).subspan(kLink))};
    head_ = static_cast<std::uint16_t>(be32_at(bytes, 0));
    ++taken_;
    look_at_limit();
    return request;
}

void SharedReceiveQueue::set_limit(std::uint32_t limit)
{
    memory_.limit = limit;
    if (limit > 0 && look_at_record()) {
        look_at_limit();
    }
}

void SharedReceiveQueue::look_at_limit()
{
    if (static_cast<std::uint16_t>(posted_ - taken_) < memory_.limit) {
        memory_.limit = 0;
        memory_.event(AsyncEvent::SharedReceiveQueueLimit);
    }
}

// ---- queue pairs ----

QueuePair::QueuePair(QueuePairMemory of_memory, ClientMemory of_client, DeviceState& of_device)
    : memory(std::move(of_memory)), client(std::move(of_client)), device(of_device)
{
}

DeviceState::DeviceState(Device& of_device, std::uint32_t of_number) : device(of_device), number(of_number)
{
    for (const SimulatedDevice& port : of_device.ports()) {
        ports.push_back({port});
    }
}

DeviceState::Port& port_of(DeviceState& device, std::uint8_t port)
{
    return device.ports.at(port >= 1 && port <= device.ports.size() ? port - 1U : 0);
}

bool QueuePair::can_receive() const
{
    return state == QueuePairState::Rtr || state == QueuePairState::Rts || state == QueuePairState::Sqd ||
           state == QueuePairState::Sqe;
}

// Of another connection, packets have other numbers: what is left of one does not get into the next.
bool QueuePair::is_connected_to(const QueuePair& other) const
{
    const auto next_sent = send_psn + packets_sent;
    const auto next_expected = other.receive_psn + other.packets_received;
    return other.remote_number == memory.number && ((next_sent ^ next_expected) & kNumber) == 0;
}

Time QueuePair::pause_without_answer() const
{
    constexpr Time kUnit(4096);
    constexpr Time kLongest = std::chrono::seconds(1);
    return timeout == 0 ? kLongest : std::min<Time>(kUnit * (1ULL << timeout), kLongest);
}

Time QueuePair::pause_without_receive() const
{
    // InfiniBand, table "Encoding for RNR NAK timer field", in 10 us.
    constexpr std::array<std::uint32_t, 32> kTimers{
        65536, 1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,   192,
        256,   384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
    return std::chrono::microseconds(10) * kTimers.at(receiver_timer % kTimers.size());
}

bool QueuePair::look_at_record()
{
    std::array<std::uint32_t, 2> record{};
    // In RESET it may still be that of its life before.
    if (state == QueuePairState::Reset || removed || !read_words(client, memory.record, record)) {
        return false;
    }
    receive_posted = static_cast<std::uint16_t>(record[0]);
    send_posted = static_cast<std::uint16_t>(record[1]);
    return true;
}

bool QueuePair::take_place(const QueuePairRecord& record)
{
    const auto new_rate = record.rate ? std::optional(record.rate->rate) : std::nullopt;
    const auto to_requester = static_cast<std::uint32_t>(record.requester);
    const auto to_responder = static_cast<std::uint32_t>(record.responder);
    const bool is_new = requester_leaf != to_requester || responder_leaf != to_responder || rate != new_rate;
    requester_leaf = to_requester;
    responder_leaf = to_responder;
    rate = new_rate;
    return is_new;
}

std::optional<ReceiveRequest> QueuePair::take_receive()
{
    auto request = shared ? shared->take() : take_own_receive();
    if (request) {
        receiving.push_back(request->index);
    }
    return request;
}

std::optional<ReceiveRequest> QueuePair::take_own_receive()
{
    if (receive_posted == receive_done) {
        look_at_record();    // nobody rings for receive requests
    }
    if (receive_posted == receive_done || memory.receive_entries == 0) {
        return std::nullopt;
    }
    std::vector<std::uint8_t> bytes(memory.receive_stride);
    const std::uint64_t entry = receive_done & (memory.receive_entries - 1);
    ReceiveRequest request{receive_done, {}};
    if (client.read(memory.receive_buffer + entry * memory.receive_stride, bytes)) {
        request.pieces = parse_receive(
            std::span(bytes).subspan(std::min<std::size_t>(memory.receive_skip, bytes.size())));
    } else if (client.is_gone()) {
        return std::nullopt;    // nothing is wrong with it, and the queue pair goes next
    }
    ++receive_done;
    return request;
}

void QueuePair::give_back(ReceiveRequest request)
{
    if (std::erase(receiving, request.index) == 0) {
        return;    // it was flushed meanwhile, or is from before a RESET
    }
    if (shared) {
        shared->give_back(std::move(request));
    } else {
        --receive_done;    // it was the last one: of a connected queue pair, or taken just now
    }
}

std::optional<WorkRequest> QueuePair::head(std::uint32_t& blocks) const
{
    std::array<std::uint8_t, kBlock * kMaxBlocks> bytes{};
    const auto read_block = [&](std::uint32_t number) {
        const std::uint64_t place = (send_done + number) & (memory.send_blocks - 1);
        return client.read(memory.send_buffer + place * kBlock, std::span(bytes).subspan(number * kBlock, kBlock));
    };
    blocks = 1;
    if (memory.send_blocks == 0 || !read_block(0)) {
        return std::nullopt;
    }
    blocks = std::min(block_count(bytes), memory.send_blocks);
    for (std::uint32_t number = 1; number < blocks; ++number) {
        if (!read_block(number)) {
            return std::nullopt;
        }
    }
    return parse_send(std::span(bytes).first(blocks * kBlock), memory.type, memory.number, send_done);
}

namespace {

bool has_gid(const Device& device, const std::array<std::uint8_t, 16>& gid)
{
    return std::ranges::any_of(device.ports(), [&gid](const SimulatedDevice& port) {
        return std::ranges::any_of(port.gids, [&gid](const Gid& each) { return each.bytes == gid; });
    });
}

bool has_lid(const Device& device, std::uint16_t lid)
{
    for (std::uint32_t port = 1; port <= device.ports().size(); ++port) {
        if (lid != 0 && device.lid(port) == lid) {
            return true;
        }
    }
    return false;
}

}    // namespace

std::shared_ptr<QueuePair> find_peer(std::span<const std::unique_ptr<DeviceState>> devices, const QueuePair& from,
                                     const std::array<std::uint8_t, 16>* gid, std::uint16_t lid, std::uint32_t number)
{
    if (!port_of(from.device, from.port).is_up) {
        return nullptr;
    }
    const auto device = std::ranges::find_if(devices, [&](const auto& each) {
        return gid != nullptr ? has_gid(each->device, *gid) : has_lid(each->device, lid);
    });
    if (device == devices.end()) {
        return nullptr;
    }
    const auto found = (*device)->queue_pairs.find(number);
    const bool answers = found != (*device)->queue_pairs.end() && found->second->can_receive() &&
                         found->second->memory.type == from.memory.type && port_of(**device, found->second->port).is_up;
    return answers ? found->second : nullptr;
}

// ---- memory ----

std::optional<Ranges> find_ranges(const DeviceState& device, std::uint32_t domain, std::span<const Piece> pieces,
                                  std::uint32_t needs)
{
    Ranges ranges;
    for (const Piece& piece : pieces) {
        if (piece.length == 0) {
            continue;
        }
        const auto found = device.regions.find(piece.key);
        if (found == device.regions.end()) {
            return std::nullopt;
        }
        const auto& [region, client] = found->second;
        const std::uint64_t offset = piece.address - region.virtual_address;
        if (region.domain != domain || (region.access & needs) != needs || piece.address < region.virtual_address ||
            offset > region.length || piece.length > region.length - offset) {
            return std::nullopt;
        }
        ranges.push_back({client, region.start + offset, piece.length, region.key});
    }
    return ranges;
}

namespace {

// copy(range, address, begin, count): bytes [begin, begin + count) of what is copied.
template <typename F>
bool for_each_slice(const Ranges& ranges, std::uint64_t offset, std::size_t length, F copy)
{
    std::size_t moved = 0;
    for (const Range& range : ranges) {
        if (offset >= range.length) {
            offset -= range.length;
            continue;
        }
        const std::size_t part = std::min<std::uint64_t>(length - moved, range.length - offset);
        if (part > 0 && !copy(range.client, range.address + offset, moved, part)) {
            return false;
        }
        moved += part;
        offset = 0;
    }
    return moved == length;
}

}    // namespace

bool gather(const Ranges& ranges, std::uint64_t offset, std::span<std::uint8_t> to)
{
    return for_each_slice(ranges, offset, to.size(), [&](const ClientMemory& client, auto at, auto begin, auto count) {
        return client.read(at, to.subspan(begin, count));
    });
}

bool scatter(const Ranges& ranges, std::uint64_t offset, std::span<const std::uint8_t> from)
{
    return for_each_slice(ranges, offset, from.size(),
                          [&](const ClientMemory& client, auto at, auto begin, auto count) {
                              return client.write(at, from.subspan(begin, count));
                          });
}

std::uint64_t room_of(std::span<const Piece> pieces)
{
    std::uint64_t room = 0;
    for (const Piece& piece : pieces) {
        room += piece.length;
    }
    return room;
}

}    // namespace rdmaqos::emulator
