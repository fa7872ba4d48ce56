#include "tools/emulator/datapath/transfers.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <infiniband/verbs.h>

#include "tools/emulator/device.h"

namespace rdmaqos::emulator {
namespace {

// Of a message that is sent in one turn. Small enough that who has a small message does not wait long.
constexpr std::size_t kPiece = 16384;
// What a message takes of the link at least: its headers.
constexpr std::size_t kLeast = 64;
// The global routing header, for which a datagram's receiver has to leave room.
constexpr std::size_t kRoute = 40;

std::uint32_t remote_access(Operation operation)
{
    switch (operation) {
    case Operation::Write:
        return IBV_ACCESS_REMOTE_WRITE;
    case Operation::Read:
        return IBV_ACCESS_REMOTE_READ;
    case Operation::CompareAndSwap:
    case Operation::FetchAndAdd:
        return IBV_ACCESS_REMOTE_ATOMIC;
    default:
        return 0;
    }
}

std::uint8_t kind_of_receive(const WorkRequest& request)
{
    if (request.operation == Operation::Write) {
        return MLX5_CQE_RESP_WR_IMM;
    }
    return request.has_immediate ? MLX5_CQE_RESP_SEND_IMM
           : request.invalidates ? MLX5_CQE_RESP_SEND_INV
                                 : MLX5_CQE_RESP_SEND;
}

Completion completion_for(const QueuePair& queue_pair)
{
    Completion completion;
    completion.user_index = queue_pair.memory.user_index;
    completion.queue_pair = queue_pair.memory.number;
    return completion;
}

// Of the side whose memory it is: nobody's if its process has ended.
std::uint8_t why(const Ranges& ranges, std::uint8_t otherwise)
{
    return !ranges.empty() && ranges.front().client.is_gone()
               ? static_cast<std::uint8_t>(MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR)
               : otherwise;
}

// A datagram goes by GID, with a global routing header.
bool has_route(const QueuePair& from, const Datagram& datagram)
{
    return datagram.is_global || !port_of(from.device, from.port).description.infiniband;
}

// Where a message goes that this request receives; empty: its memory must not be written.
std::optional<Ranges> ranges_of(const QueuePair& receiver, const ReceiveRequest& request)
{
    return find_ranges(receiver.device, receiver.memory.domain, request.pieces, IBV_ACCESS_LOCAL_WRITE);
}

// Before a completion tells of it: its program may ask for the state next, or change it.
void set_error(QueuePair& queue_pair)
{
    queue_pair.state = QueuePairState::Error;
    queue_pair.device.device.firmware().set_queue_pair_state(queue_pair.memory.number, QueuePairState::Error);
}

std::uint64_t packets_of(std::uint64_t bytes, const QueuePair& queue_pair)
{
    return std::max<std::uint64_t>(1, (bytes + queue_pair.packet - 1) / queue_pair.packet);
}

// The other end is there, and the one that it was when this began.
bool reaches(const QueuePair& from, const QueuePair::Transfer& transfer)
{
    const QueuePair& to = *transfer.peer;
    return !to.removed && to.can_receive() && to.life == transfer.peer_life && port_of(from.device, from.port).is_up &&
           port_of(to.device, to.port).is_up;
}

// What is read is sent by the other end.
bool is_sent_by_peer(const QueuePair::Transfer& transfer)
{
    return transfer.request.operation == Operation::Read && transfer.peer;
}

void count(QueuePair& queue_pair, const QueuePair::Transfer& transfer, std::uint64_t bytes)
{
    const TrafficCount moved{bytes, packets_of(bytes, queue_pair)};
    queue_pair.traffic += moved;
    if (!transfer.peer) {
        port_of(queue_pair.device, queue_pair.port).traffic.sent += moved;
        return;
    }
    const bool is_read = is_sent_by_peer(transfer);
    QueuePair& peer = *transfer.peer;
    const QueuePair& from = is_read ? peer : queue_pair;
    const QueuePair& to = is_read ? queue_pair : peer;
    port_of(from.device, from.port).traffic.sent += moved;
    port_of(to.device, to.port).traffic.received += moved;
}

void begin_flow(const std::shared_ptr<QueuePair>& queue_pair, Time now)
{
    QueuePair::Transfer& transfer = *queue_pair->transfer;
    DeviceState& own = queue_pair->device;
    constexpr Arbiter::FlowNumber kResponder = Arbiter::FlowNumber{1} << 63;
    const bool is_read = is_sent_by_peer(transfer);
    transfer.sender = is_read ? &transfer.peer->device : &own;
    transfer.flow = (is_read ? kResponder : 0) | Arbiter::FlowNumber{own.number} << 32 | queue_pair->memory.number;
    transfer.sender->flows[transfer.flow] = queue_pair;
    Transfers::place_flow(*queue_pair);
    transfer.sender->arbiter.set_backlogged(transfer.flow, true, now);
    queue_pair->awaited.reset();
}

}    // namespace

void Transfers::advance(const std::shared_ptr<QueuePair>& queue_pair, Time now)
{
    while (queue_pair->state == QueuePairState::Rts && !queue_pair->removed && !queue_pair->transfer &&
           queue_pair->has_work()) {
        if (queue_pair->blocked_until && *queue_pair->blocked_until > now) {
            return;
        }
        queue_pair->blocked_until.reset();
        if (!begin(queue_pair, now)) {
            blocked.push_back(queue_pair);
            return;
        }
    }
}

bool Transfers::wait(QueuePair& queue_pair, Time until)
{
    queue_pair.blocked_until = until;
    return false;
}

bool Transfers::begin(const std::shared_ptr<QueuePair>& queue_pair, Time now)
{
    WorkRequest none;
    none.index = queue_pair->send_done;
    auto request = queue_pair->head(none.blocks);
    if (!request) {
        finish(queue_pair, none, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
        return true;
    }
    Transfer transfer;
    transfer.request = std::move(*request);
    auto local = find_ranges(queue_pair->device, queue_pair->memory.domain, transfer.request.pieces,
                             transfer.request.fetches() ? IBV_ACCESS_LOCAL_WRITE : 0);
    if (!local) {
        finish(queue_pair, transfer.request, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
        return true;
    }
    transfer.local = std::move(*local);
    bool begun = true;
    if (queue_pair->memory.type == QueuePairType::RawPacket || transfer.request.operation == Operation::Nothing) {
        queue_pair->transfer = std::move(transfer);    // it goes nowhere
    } else if (queue_pair->memory.type == QueuePairType::Ud) {
        begin_datagram(*queue_pair, std::move(transfer));
    } else {
        begun = begin_connected(queue_pair, std::move(transfer), now);
    }
    if (queue_pair->transfer) {
        begin_flow(queue_pair, now);
    }
    return begun;
}

// Who cannot get it, does not: it is dropped, and its sender is not told.
void Transfers::begin_datagram(QueuePair& queue_pair, Transfer transfer)
{
    const Datagram& datagram = transfer.request.datagram;
    constexpr std::uint32_t kOwnKey = 1U << 31;
    transfer.peer = find_peer(devices_, queue_pair, has_route(queue_pair, datagram) ? &datagram.gid : nullptr, datagram.lid,
                              datagram.queue_pair);
    if (transfer.peer && transfer.peer->key != ((datagram.key & kOwnKey) != 0 ? queue_pair.key : datagram.key)) {
        transfer.peer.reset();
    }
    if (transfer.peer) {
        transfer.peer_life = transfer.peer->life;
        find_place(transfer, kRoute);
    }
    if (queue_pair.state == QueuePairState::Rts) {    // it may be its own receiver, which has failed as that
        queue_pair.transfer = std::move(transfer);
    }
}

void Transfers::find_place(Transfer& transfer, std::size_t front)
{
    const auto peer = transfer.peer;
    transfer.receive = peer->take_receive();
    if (transfer.receive && transfer.request.operation != Operation::Send) {
        return;
    }
    auto ranges = transfer.receive ? ranges_of(*peer, *transfer.receive) : std::nullopt;
    if (ranges && room_of(transfer.receive->pieces) >= transfer.request.length + front) {
        transfer.remote = std::move(*ranges);
        return;
    }
    if (ranges) {
        peer->give_back(std::move(*transfer.receive));
    } else if (transfer.receive) {
        fail_receive(peer, transfer.receive->index, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
        enter_error(peer);
    }
    transfer.receive.reset();
    transfer.peer.reset();
}

bool Transfers::begin_connected(const std::shared_ptr<QueuePair>& queue_pair, Transfer transfer, Time now)
{
    const bool is_reliable = queue_pair->memory.type == QueuePairType::Rc;
    transfer.peer = find_peer(devices_, *queue_pair, queue_pair->is_global ? &queue_pair->remote_gid : nullptr,
                              queue_pair->remote_lid, queue_pair->remote_number);
    if (transfer.peer && !queue_pair->is_connected_to(*transfer.peer)) {
        transfer.peer.reset();    // which drops what this one sends
    }
    if (!transfer.peer) {
        if (!is_reliable) {
            queue_pair->transfer = std::move(transfer);
            return true;
        }
        if (queue_pair->tries++ > queue_pair->retries) {
            finish(queue_pair, transfer.request, MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR);
            return true;
        }
        return wait(*queue_pair, now + queue_pair->pause_without_answer());
    }
    QueuePair& peer = *transfer.peer;
    transfer.peer_life = peer.life;
    if (!std::exchange(peer.is_established, true) && peer.state == QueuePairState::Rtr) {
        peer.memory.event(AsyncEvent::CommunicationEstablished);
    }
    if (!check_remote(queue_pair, transfer)) {
        return true;
    }
    if (transfer.peer && transfer.request.consumes_receive()) {
        if (is_reliable) {
            return begin_message(queue_pair, std::move(transfer), now);
        }
        find_place(transfer, 0);
    }
    if (queue_pair->state == QueuePairState::Rts) {
        queue_pair->transfer = std::move(transfer);
    }
    return true;
}

bool Transfers::begin_message(const std::shared_ptr<QueuePair>& queue_pair, Transfer transfer, Time now)
{
    QueuePair& peer = *transfer.peer;
    transfer.receive = peer.take_receive();
    if (!transfer.receive) {
        constexpr std::uint8_t kForEver = 7;
        if (queue_pair->receiver_retries != kForEver && queue_pair->receiver_tries++ >= queue_pair->receiver_retries) {
            finish(queue_pair, transfer.request, MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR);
            return true;
        }
        return wait(*queue_pair, now + peer.pause_without_receive());
    }
    if (transfer.request.operation == Operation::Send) {
        auto ranges = ranges_of(peer, *transfer.receive);
        const bool fits = ranges && room_of(transfer.receive->pieces) >= transfer.request.length;
        if (!fits) {
            fail_receive(transfer.peer, transfer.receive->index,
                         ranges ? MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR : MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
            finish(queue_pair, transfer.request,
                   ranges ? MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR : MLX5_CQE_SYNDROME_REMOTE_OP_ERR);
            enter_error(transfer.peer);    // its completion says why
            return true;
        }
        transfer.remote = std::move(*ranges);
    }
    queue_pair->transfer = std::move(transfer);
    return true;
}

bool Transfers::check_remote(const std::shared_ptr<QueuePair>& queue_pair, Transfer& transfer)
{
    const WorkRequest& request = transfer.request;
    const std::uint32_t access = remote_access(request.operation);
    if (access == 0 || request.length == 0) {
        return true;
    }
    const bool is_reliable = queue_pair->memory.type == QueuePairType::Rc;
    const QueuePair& peer = *transfer.peer;
    std::uint8_t syndrome = 0;
    std::optional<Ranges> ranges;
    if ((request.is_atomic() && request.remote_address % sizeof(std::uint64_t) != 0) || request.length > UINT32_MAX) {
        syndrome = MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR;
    } else {
        const Piece remote{request.remote_key, request.remote_address, static_cast<std::uint32_t>(request.length)};
        ranges = (peer.access & access) == access ? find_ranges(peer.device, peer.memory.domain, {&remote, 1}, access)
                                                  : std::nullopt;
        syndrome = ranges ? 0 : MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR;
    }
    if (syndrome == 0) {
        transfer.remote = std::move(*ranges);
        return true;
    }
    if (!is_reliable) {
        transfer.peer.reset();
        return true;
    }
    finish(queue_pair, request, syndrome);
    fail_responder(transfer.peer, syndrome == MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR ? AsyncEvent::QueuePairAccessError
                                                                                 : AsyncEvent::QueuePairRequestError);
    return false;
}

void Transfers::try_again(const std::shared_ptr<QueuePair>& queue_pair, Time now)
{
    Transfer transfer = std::move(*std::exchange(queue_pair->transfer, std::nullopt));
    // In another life of the other end, the index may be that of another request.
    if (transfer.receive && !transfer.peer->removed && transfer.peer->life == transfer.peer_life) {
        transfer.peer->give_back(std::move(*transfer.receive));
    }
    transfer.sender->arbiter.set_backlogged(transfer.flow, false, now);
    advance(queue_pair, now);
}

std::size_t Transfers::move(const std::shared_ptr<QueuePair>& queue_pair, Time now)
{
    Transfer& transfer = *queue_pair->transfer;
    DeviceState& sender = *transfer.sender;
    const Arbiter::FlowNumber flow = transfer.flow;
    const bool is_datagram = queue_pair->memory.type == QueuePairType::Ud;
    const bool is_reliable = queue_pair->memory.type == QueuePairType::Rc;
    const std::size_t length = std::min<std::uint64_t>(kPiece, transfer.request.length - transfer.done);
    std::uint8_t syndrome = 0;
    if (transfer.peer && !reaches(*queue_pair, transfer)) {
        syndrome = MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR;
    } else if (transfer.peer) {
        syndrome = transfer.request.is_atomic() ? do_atomic(transfer) : copy_piece(*queue_pair, transfer, length);
    }
    if (syndrome == MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR && is_reliable) {
        try_again(queue_pair, now);
        return 0;
    }
    if (syndrome != 0 && !is_reliable && syndrome != MLX5_CQE_SYNDROME_LOCAL_PROT_ERR) {
        transfer.peer.reset();    // lost
        syndrome = 0;
    }
    if (syndrome == 0) {
        count(*queue_pair, transfer, length);
    }
    transfer.done += length;
    if (syndrome != 0 || transfer.done >= transfer.request.length) {
        const Transfer ended = std::move(*std::exchange(queue_pair->transfer, std::nullopt));
        if (syndrome == 0 && ended.peer) {
            deliver(*queue_pair, ended);
        }
        finish(queue_pair, ended.request, syndrome);
        advance(queue_pair, now);
        const auto& next = queue_pair->transfer;
        if (next && next->sender == &sender && next->flow == flow) {
            // It goes on.
        } else if (!next && queue_pair->state == QueuePairState::Rts && !queue_pair->has_work()) {
            sender.arbiter.expect(flow, now);
        } else {
            sender.arbiter.set_backlogged(flow, false, now);
        }
    }
    return std::max(length + (is_datagram ? kRoute : 0), kLeast);
}

std::uint8_t Transfers::copy_piece(QueuePair& queue_pair, Transfer& transfer, std::size_t length)
{
    const bool is_read = transfer.request.operation == Operation::Read;
    const bool is_datagram = queue_pair.memory.type == QueuePairType::Ud;
    const Ranges& from = is_read ? transfer.remote : transfer.local;
    const Ranges& to = is_read ? transfer.local : transfer.remote;
    constexpr std::uint8_t kHere = MLX5_CQE_SYNDROME_LOCAL_PROT_ERR;
    constexpr std::uint8_t kThere = MLX5_CQE_SYNDROME_REMOTE_OP_ERR;
    buffer_.resize(length);
    const std::span inlined(transfer.request.inlined);
    const auto front = inlined.subspan(std::min<std::size_t>(transfer.done, inlined.size()));
    const std::size_t copied = std::min(front.size(), length);
    std::ranges::copy(front.first(copied), buffer_.begin());
    if (copied < length && !gather(from, transfer.done + copied - inlined.size(), std::span(buffer_).subspan(copied))) {
        return is_read ? why(from, kThere) : kHere;
    }
    if (!scatter(to, transfer.done + (is_datagram ? kRoute : 0), buffer_)) {
        return is_read ? kHere : why(to, kThere);
    }
    return 0;
}

std::uint8_t Transfers::do_atomic(const Transfer& transfer)
{
    std::array<std::uint8_t, sizeof(std::uint64_t)> bytes{};
    if (!gather(transfer.remote, 0, bytes)) {
        return why(transfer.remote, MLX5_CQE_SYNDROME_REMOTE_OP_ERR);
    }
    std::uint64_t before = 0;
    std::memcpy(&before, bytes.data(), sizeof(before));
    const WorkRequest& request = transfer.request;
    const std::uint64_t after = request.operation == Operation::FetchAndAdd ? before + request.swap_or_add
                                : before == request.compare                 ? request.swap_or_add
                                                                            : before;
    std::array<std::uint8_t, sizeof(after)> written{};
    std::memcpy(written.data(), &after, sizeof(after));
    if (!scatter(transfer.remote, 0, written)) {
        return why(transfer.remote, MLX5_CQE_SYNDROME_REMOTE_OP_ERR);
    }
    return scatter(transfer.local, 0, bytes) ? 0 : static_cast<std::uint8_t>(MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
}

void Transfers::deliver(QueuePair& from, const Transfer& transfer)
{
    QueuePair& peer = *transfer.peer;
    const WorkRequest& request = transfer.request;
    const auto packets = packets_of(request.length, from);
    from.packets_sent += packets;
    peer.packets_received += packets;
    if (!transfer.receive) {
        return;
    }
    const bool is_datagram = from.memory.type == QueuePairType::Ud;
    const bool is_global = is_datagram && has_route(from, request.datagram);
    if (is_global) {
        std::array<std::uint8_t, kRoute> route{};
        route[0] = 0x60;    // version 6
        route[4] = static_cast<std::uint8_t>(request.length >> 8);
        route[5] = static_cast<std::uint8_t>(request.length);
        route[6] = 0x1b;    // what follows: a transport header
        route[7] = 0xff;
        if (const auto& gids = port_of(from.device, from.port).description.gids; !gids.empty()) {
            std::ranges::copy(gids.front().bytes, &route[8]);
        }
        std::ranges::copy(request.datagram.gid, &route[24]);
        (void)scatter(transfer.remote, 0, route);
    }
    Completion completion = completion_for(peer);
    std::erase(peer.receiving, transfer.receive->index);
    completion.kind = kind_of_receive(request);
    completion.index = transfer.receive->index;
    completion.bytes = static_cast<std::uint32_t>(request.length + (is_datagram ? kRoute : 0));
    completion.immediate = request.immediate;
    completion.is_solicited = request.is_solicited;
    completion.source = from.memory.number;
    completion.has_route = is_global;
    complete(transfer.peer, peer.receive_queue.get(), completion);
}

void Transfers::complete(const std::shared_ptr<QueuePair>& queue_pair, CompletionQueue* queue,
                         const Completion& completion)
{
    if (queue != nullptr && !queue->push(completion)) {
        overrun_.push_back(queue_pair);
    }
}

void Transfers::complete_receive_error(const std::shared_ptr<QueuePair>& queue_pair, std::uint16_t index,
                                       std::uint8_t syndrome)
{
    Completion completion = completion_for(*queue_pair);
    completion.kind = MLX5_CQE_RESP_ERR;
    completion.syndrome = syndrome;
    completion.index = index;
    complete(queue_pair, queue_pair->receive_queue.get(), completion);
}

void Transfers::fail_receive(const std::shared_ptr<QueuePair>& queue_pair, std::uint16_t index, std::uint8_t syndrome)
{
    std::erase(queue_pair->receiving, index);
    set_error(*queue_pair);
    complete_receive_error(queue_pair, index, syndrome);
}

void Transfers::end_overrun()
{
    for (const auto& weak : std::exchange(overrun_, {})) {
        const auto queue_pair = weak.lock();
        if (queue_pair && !queue_pair->removed && queue_pair->state != QueuePairState::Error) {
            stop(*queue_pair);
            set_error(*queue_pair);
            queue_pair->memory.event(AsyncEvent::QueuePairFatal);
        }
    }
}

void Transfers::finish(const std::shared_ptr<QueuePair>& queue_pair, const WorkRequest& request, std::uint8_t syndrome)
{
    if (syndrome != 0) {
        set_error(*queue_pair);
    }
    if (queue_pair->send_queue && (syndrome != 0 || request.is_signaled)) {
        Completion completion = completion_for(*queue_pair);
        completion.kind = syndrome != 0 ? MLX5_CQE_REQ_ERR : MLX5_CQE_REQ;
        completion.syndrome = syndrome;
        completion.opcode = request.opcode;
        completion.index = request.index;
        completion.bytes = static_cast<std::uint32_t>(request.length);
        complete(queue_pair, queue_pair->send_queue.get(), completion);
    }
    queue_pair->send_done = static_cast<std::uint16_t>(queue_pair->send_done + request.blocks);
    queue_pair->tries = 0;
    queue_pair->receiver_tries = 0;
    if (syndrome != 0) {
        enter_error(queue_pair);
    }
}

void Transfers::fail_responder(const std::shared_ptr<QueuePair>& queue_pair, AsyncEvent why)
{
    set_error(*queue_pair);
    enter_error(queue_pair);
    queue_pair->memory.event(why);
}

void Transfers::enter_error(const std::shared_ptr<QueuePair>& queue_pair)
{
    queue_pair->state = QueuePairState::Error;
    const bool is_new = failed.insert(queue_pair).second;
    flush(queue_pair);
    if (is_new && queue_pair->shared) {
        queue_pair->memory.event(AsyncEvent::LastRequestReached);
    }
}

void Transfers::place_flow(const QueuePair& queue_pair)
{
    const Transfer& transfer = *queue_pair.transfer;
    if (is_sent_by_peer(transfer)) {
        transfer.sender->arbiter.set_flow(transfer.flow, transfer.peer->responder_leaf, std::nullopt);
    } else {
        transfer.sender->arbiter.set_flow(transfer.flow, queue_pair.requester_leaf, queue_pair.rate);
    }
}

void Transfers::stop(QueuePair& queue_pair)
{
    if (queue_pair.transfer) {
        queue_pair.transfer->sender->arbiter.remove_flow(queue_pair.transfer->flow);
        queue_pair.transfer->sender->flows.erase(queue_pair.transfer->flow);
        queue_pair.transfer.reset();
    }
    queue_pair.blocked_until.reset();
    queue_pair.tries = 0;
    queue_pair.receiver_tries = 0;
}

void Transfers::flush(const std::shared_ptr<QueuePair>& queue_pair)
{
    stop(*queue_pair);
    if (!queue_pair->look_at_record()) {
        return;
    }
    Completion completion = completion_for(*queue_pair);
    completion.syndrome = MLX5_CQE_SYNDROME_WR_FLUSH_ERR;
    // No more than a queue holds: the indexes are the program's.
    for (std::uint32_t left = queue_pair->memory.send_blocks; queue_pair->has_work() && left > 0; --left) {
        std::uint32_t blocks = 1;
        const auto request = queue_pair->head(blocks);
        completion.kind = MLX5_CQE_REQ_ERR;
        completion.opcode = request ? request->opcode : 0;
        completion.index = queue_pair->send_done;
        complete(queue_pair, queue_pair->send_queue.get(), completion);
        queue_pair->send_done = static_cast<std::uint16_t>(queue_pair->send_done + blocks);
    }
    queue_pair->send_done = queue_pair->send_posted;
    for (const std::uint16_t index : std::exchange(queue_pair->receiving, {})) {
        complete_receive_error(queue_pair, index, MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
    }
    for (std::uint32_t left = queue_pair->memory.receive_entries;
         !queue_pair->shared && queue_pair->receive_done != queue_pair->receive_posted && left > 0; --left) {
        complete_receive_error(queue_pair, queue_pair->receive_done, MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
        ++queue_pair->receive_done;
    }
    queue_pair->receive_done = queue_pair->receive_posted;
}

}    // namespace rdmaqos::emulator
