// What becomes of the work requests of a queue pair: found out when one is begun, moved piece by piece, completed. The
// rules are those of InfiniBand's transport for connected and datagram services (packets are not lost here, so what is
// retried is a peer that is not there or not ready).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "tools/emulator/datapath/queues.h"

namespace rdmaqos::emulator {

// A piece of a message, from `done` bytes on: its length, and what it takes of the link. Of a message's headers nothing
// is counted, but what is smaller than the smallest frame of Ethernet is one.
struct MessagePiece {
    std::size_t length = 0;
    std::size_t of_link = 0;
};
[[nodiscard]] MessagePiece next_piece(std::uint64_t length, std::uint64_t done);

class Transfers {
public:
    // All devices there are, which outlive it.
    explicit Transfers(std::vector<std::unique_ptr<DeviceState>>& devices) : devices_(devices) {}

    // Gets the next request of the queue pair going, if there is one and it is time: its device's arbiter, or that of
    // the other end for what is read there, has it as a flow then. Those that end at once are done with.
    void advance(const std::shared_ptr<QueuePair>& queue_pair, Time now);
    // Its turn has come: how many bytes the next piece of what is under way takes of the link. 0: none is sent, the
    // other end is not there.
    [[nodiscard]] std::size_t begin_piece(const std::shared_ptr<QueuePair>& queue_pair, Time now);
    // The last bit of that piece has left.
    void arrive(const std::shared_ptr<QueuePair>& queue_pair, Time now);
    // It is in ERR: whatever was posted, or is, completes as flushed.
    void flush(const std::shared_ptr<QueuePair>& queue_pair);
    // It is in ERR from now on.
    void enter_error(const std::shared_ptr<QueuePair>& queue_pair);
    // Puts the flow of what is under way into the leaf in which its sender is.
    static void place_flow(const QueuePair& queue_pair);
    // Forgets what is under way.
    static void stop(QueuePair& queue_pair);
    // Those whose completions found no room are in ERR from now on.
    void end_overrun();

    // Those that are not to be looked at before a certain time.
    std::vector<std::weak_ptr<QueuePair>> blocked;
    // Those that have run out of work, and when: the first ones first.
    std::deque<std::pair<Time, std::weak_ptr<QueuePair>>> idle;
    // Those in ERR, to which more may be posted.
    std::set<std::weak_ptr<QueuePair>, std::owner_less<>> failed;

private:
    using Transfer = QueuePair::Transfer;
    // True: something is under way, or the request has ended. False: it has to wait.
    bool begin(const std::shared_ptr<QueuePair>& queue_pair, Time now);
    void begin_datagram(QueuePair& queue_pair, Transfer transfer);
    bool begin_connected(const std::shared_ptr<QueuePair>& queue_pair, Transfer transfer, Time now);
    // One that takes a receive request of the other end, which answers.
    bool begin_message(const std::shared_ptr<QueuePair>& queue_pair, Transfer transfer, Time now);
    // The same where nobody answers. If there is no receive request, or none with room for `front` bytes and the
    // message, that is lost, and the request is there for the next one.
    void find_place(Transfer& transfer, std::size_t front);
    // Finds out whether the other end lets this happen; true if it does.
    bool check_remote(const std::shared_ptr<QueuePair>& queue_pair, Transfer& transfer);
    bool wait(QueuePair& queue_pair, Time until);
    // Nobody answers: the request is sent again, as often as its program allows. As begin().
    bool miss_answer(const std::shared_ptr<QueuePair>& queue_pair, const WorkRequest& request, Time now);
    enum class Lost : std::uint8_t {
        Peer,
        Memory,    // of a program that has ended, or become another, before its queue pair went
    };
    // The other end is not there: as if its packets were lost.
    void try_again(const std::shared_ptr<QueuePair>& queue_pair, Lost lost, Time now);
    void finish(const std::shared_ptr<QueuePair>& queue_pair, const WorkRequest& request, std::uint8_t syndrome);
    // `why`: what its program gets to read.
    void fail_responder(const std::shared_ptr<QueuePair>& queue_pair, AsyncEvent why);
    void complete(const std::shared_ptr<QueuePair>& queue_pair, CompletionQueue* queue, const Completion& completion);
    void complete_receive_error(const std::shared_ptr<QueuePair>& queue_pair, std::uint16_t index,
                                std::uint8_t syndrome);
    // What was to be received there cannot be. The queue pair is in ERR from now on; enter_error() flushes the others.
    void fail_receive(const std::shared_ptr<QueuePair>& queue_pair, std::uint16_t index, std::uint8_t syndrome);
    // All of it is there: its receiver is notified, if it asked for that.
    void deliver(QueuePair& from, const Transfer& transfer);
    void end_transfer(const std::shared_ptr<QueuePair>& queue_pair, std::uint8_t syndrome, Time now);
    // A syndrome, or 0.
    std::uint8_t copy_piece(QueuePair& queue_pair, Transfer& transfer);
    static std::uint8_t do_atomic(const Transfer& transfer);
    static Completion completion_for(const QueuePair& queue_pair);
    // A datagram goes by GID, with a global routing header.
    static bool has_route(const QueuePair& from, const Datagram& datagram);

    // The global routing header, for which a datagram's receiver has to leave room.
    static constexpr std::size_t kRoute = 40;

    std::vector<std::unique_ptr<DeviceState>>& devices_;
    std::vector<std::uint8_t> buffer_;
    std::vector<std::weak_ptr<QueuePair>> overrun_;
};

}    // namespace rdmaqos::emulator
