// What is under way, piece by piece: what it takes of the link, and what becomes of it when it has left.
#include <algorithm>
#include <cstring>
#include <utility>

#include <infiniband/verbs.h>

#include "tools/emulator/datapath/transfers.h"

namespace rdmaqos::emulator {
namespace {

std::uint8_t kind_of_receive(const WorkRequest& request)
{
    if (request.operation == Operation::Write) {
        return MLX5_CQE_RESP_WR_IMM;
    }
    return request.has_immediate ? MLX5_CQE_RESP_SEND_IMM
           : request.invalidates ? MLX5_CQE_RESP_SEND_INV
                                 : MLX5_CQE_RESP_SEND;
}

// Of the side whose memory it is: nobody's if its process has ended.
std::uint8_t why(const Ranges& ranges, std::uint8_t otherwise)
{
    return !ranges.empty() && ranges.front().client.is_gone()
               ? static_cast<std::uint8_t>(MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR)
               : otherwise;
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

// Of what `from` sends.
std::uint8_t priority_of(const QueuePair& from, const QueuePair::Transfer& transfer)
{
    const bool is_datagram = from.memory.type == QueuePairType::Ud;
    const std::uint8_t dscp = is_datagram ? transfer.request.datagram.dscp : from.dscp;
    return transfer.sender->port_classes.priority_of_dscp.at(dscp % kDscps);
}

void count(QueuePair& queue_pair, const QueuePair::Transfer& transfer, std::uint64_t bytes)
{
    const TrafficCount moved{bytes, packets_of(bytes, queue_pair)};
    queue_pair.traffic += moved;
    if (!transfer.peer) {
        PortTraffic& traffic = port_of(queue_pair.device, queue_pair.port).traffic;
        traffic.sent += moved;
        traffic.sent_with.at(priority_of(queue_pair, transfer)) += bytes;
        queue_pair.wire.sent += moved;
        return;
    }
    const bool is_read = transfer.is_sent_by_peer();
    QueuePair& peer = *transfer.peer;
    QueuePair& from = is_read ? peer : queue_pair;
    QueuePair& to = is_read ? queue_pair : peer;
    from.wire.sent += moved;
    to.wire.received += moved;
    const std::uint8_t priority = priority_of(from, transfer);
    PortTraffic& sender = port_of(from.device, from.port).traffic;
    sender.sent += moved;
    sender.sent_with.at(priority) += bytes;
    PortTraffic& receiver = port_of(to.device, to.port).traffic;
    receiver.received += moved;
    receiver.received_with.at(priority) += bytes;
}

}    // namespace

MessagePiece next_piece(std::uint64_t length, std::uint64_t done)
{
    // Small enough that a small message does not wait long.
    constexpr std::size_t kLongest = 16384;
    // Messages without data would otherwise always be the first in the tree, and nobody else's turn would come.
    constexpr std::size_t kSmallestPiece = 64;
    const std::size_t piece = std::min<std::uint64_t>(kLongest, length - done);
    return {piece, done == 0 ? std::max(piece, kSmallestPiece) : piece};
}

bool Transfers::has_route(const QueuePair& from, const Datagram& datagram)
{
    return datagram.is_global || !port_of(from.device, from.port).description.infiniband;
}

std::size_t Transfers::begin_piece(const std::shared_ptr<QueuePair>& queue_pair, Time now)
{
    Transfer& transfer = *queue_pair->transfer;
    if (transfer.peer && !reaches(*queue_pair, transfer)) {
        if (queue_pair->memory.type == QueuePairType::Rc) {
            try_again(queue_pair, Lost::Peer, now);
            return 0;
        }
        transfer.peer.reset();    // lost
    }
    const MessagePiece piece = next_piece(transfer.request.length, transfer.done);
    transfer.piece = piece.length;
    return piece.of_link;
}

void Transfers::arrive(const std::shared_ptr<QueuePair>& queue_pair, Time now)
{
    Transfer& transfer = *queue_pair->transfer;
    const bool is_reliable = queue_pair->memory.type == QueuePairType::Rc;
    transfer.leaves.reset();
    std::uint8_t syndrome = 0;
    const bool is_reached = !transfer.peer || reaches(*queue_pair, transfer);
    if (!is_reached) {
        syndrome = MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR;
    } else if (transfer.peer) {
        syndrome = transfer.request.is_atomic() ? do_atomic(transfer) : copy_piece(*queue_pair, transfer);
    }
    if (syndrome == MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR && is_reliable) {
        try_again(queue_pair, is_reached ? Lost::Memory : Lost::Peer, now);
        return;
    }
    if (syndrome != 0 && !is_reliable && syndrome != MLX5_CQE_SYNDROME_LOCAL_PROT_ERR) {
        transfer.peer.reset();    // lost
        syndrome = 0;
    }
    if (syndrome == 0) {
        count(*queue_pair, transfer, transfer.piece);
    }
    queue_pair->client.set_news(now);
    if (transfer.peer) {
        transfer.peer->client.set_news(now);
    }
    transfer.done += transfer.piece;
    if (syndrome != 0 || transfer.done >= transfer.request.length) {
        end_transfer(queue_pair, syndrome, now);
    }
}

void Transfers::end_transfer(const std::shared_ptr<QueuePair>& queue_pair, std::uint8_t syndrome, Time now)
{
    const Transfer ended = std::move(*std::exchange(queue_pair->transfer, std::nullopt));
    DeviceState& sender = *ended.sender;
    if (syndrome == 0 && ended.peer) {
        deliver(*queue_pair, ended);
    }
    finish(queue_pair, ended.request, syndrome);
    advance(queue_pair, now);
    const auto& next = queue_pair->transfer;
    if (next && next->sender == &sender && next->flow == ended.flow) {
        return;    // the flow goes on
    }
    if (!next && queue_pair->state == QueuePairState::Rts && !queue_pair->has_work()) {
        sender.arbiter.expect(ended.flow, now);
        queue_pair->idle = QueuePair::Idle{now, &sender, ended.flow, ended.request.length, {}};
        idle.emplace_back(now, queue_pair);
    } else {
        sender.arbiter.set_backlogged(ended.flow, false, now);
    }
}

std::uint8_t Transfers::copy_piece(QueuePair& queue_pair, Transfer& transfer)
{
    const std::size_t length = transfer.piece;
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

}    // namespace rdmaqos::emulator
