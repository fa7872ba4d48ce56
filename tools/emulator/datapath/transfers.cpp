#include "tools/emulator/datapath/transfers.h"

#include <algorithm>
#include <utility>

#include <infiniband/verbs.h>

#include "tools/emulator/address_path.h"
#include "tools/emulator/device.h"

namespace rdmaqos::emulator {
namespace {

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

// How long its program had no processor since it ran out of work, and knew of something to do: who waits for an answer
// could not have posted before that was there.
Time lateness(const QueuePair& queue_pair, Time now)
{
    const auto& idle = queue_pair.idle;
    if (!idle || idle->waited.empty() || idle->flow != queue_pair.transfer->flow) {
        return Time(0);
    }
    Time longest(0);
    for (const auto& [thread, waited] : queue_pair.client.waited_of_threads()) {
        if (const auto before = idle->waited.find(thread); before != idle->waited.end()) {
            longest = std::max(longest, waited - before->second);
        }
    }
    return std::min(longest, now - std::max(idle->since, queue_pair.client.news()));
}

void begin_flow(const std::shared_ptr<QueuePair>& queue_pair, Time now)
{
    QueuePair::Transfer& transfer = *queue_pair->transfer;
    DeviceState& own = queue_pair->device;
    constexpr Arbiter::FlowNumber kResponder = Arbiter::FlowNumber{1} << 63;
    const bool is_read = transfer.is_sent_by_peer();
    transfer.sender = is_read ? &transfer.peer->device : &own;
    transfer.flow = (is_read ? kResponder : 0) | Arbiter::FlowNumber{own.number} << 32 | queue_pair->memory.number;
    transfer.sender->flows[transfer.flow] = queue_pair;
    Transfers::place_flow(*queue_pair);
    transfer.sender->arbiter.set_backlogged(transfer.flow, true, now, lateness(*queue_pair, now));
    queue_pair->awaited.reset();
    queue_pair->idle.reset();
}

}    // namespace

Completion Transfers::completion_for(const QueuePair& queue_pair)
{
    Completion completion;
    completion.user_index = queue_pair.memory.user_index;
    completion.queue_pair = queue_pair.memory.number;
    return completion;
}

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

// Who cannot get it, does not: it is dropped, and its sender is not notified.
void Transfers::begin_datagram(QueuePair& queue_pair, Transfer transfer)
{
    const Datagram& datagram = transfer.request.datagram;
    constexpr std::uint32_t kOwnKey = 1U << 31;
    transfer.peer = find_peer(devices_, queue_pair, has_route(queue_pair, datagram) ? &datagram.gid : nullptr,
                              datagram.lid, datagram.queue_pair);
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
        return miss_answer(queue_pair, transfer.request, now);
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

bool Transfers::miss_answer(const std::shared_ptr<QueuePair>& queue_pair, const WorkRequest& request, Time now)
{
    if (queue_pair->tries++ > queue_pair->retries) {
        finish(queue_pair, request, MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR);
        return true;
    }
    return wait(*queue_pair, now + queue_pair->pause_without_answer());
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

void Transfers::try_again(const std::shared_ptr<QueuePair>& queue_pair, Lost lost, Time now)
{
    Transfer transfer = std::move(*std::exchange(queue_pair->transfer, std::nullopt));
    // In another life of the other end, the index may be that of another request.
    if (transfer.receive && !transfer.peer->removed && transfer.peer->life == transfer.peer_life) {
        transfer.peer->give_back(std::move(*transfer.receive));
    }
    transfer.sender->arbiter.set_backlogged(transfer.flow, false, now);
    // Its queue pair is there, and would begin again at once.
    if (lost == Lost::Memory && !miss_answer(queue_pair, transfer.request, now)) {
        blocked.push_back(queue_pair);
        return;
    }
    advance(queue_pair, now);
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
    const PortClasses& port = transfer.sender->port_classes;
    if (transfer.is_sent_by_peer()) {
        transfer.sender->arbiter.set_flow(transfer.flow, transfer.peer->responder_leaf, transfer.peer->static_rate,
                                          port.class_of_dscp(transfer.peer->dscp));
        return;
    }
    const bool is_datagram = queue_pair.memory.type == QueuePairType::Ud;
    const Datagram& datagram = transfer.request.datagram;
    const auto to = is_datagram ? static_rate(datagram.static_rate) : queue_pair.static_rate;
    const auto cap = queue_pair.rate && to ? std::min(*queue_pair.rate, *to) : queue_pair.rate ? queue_pair.rate : to;
    transfer.sender->arbiter.set_flow(transfer.flow, queue_pair.requester_leaf, cap,
                                      port.class_of_dscp(is_datagram ? datagram.dscp : queue_pair.dscp));
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
