#include "tests/bytes/clients/crowd_lane.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

namespace crowd {
namespace {

constexpr unsigned kReceives = 4;    // fewer than can be under way: senders find nothing posted now and then
constexpr unsigned kMostUnsignaled = 3;
// Who has nothing under way would not notice that the other end is gone.
constexpr double kHeartbeat = 0.05;
constexpr double kMeanLife = 4;    // of a link that nobody kills, in seconds
constexpr unsigned kLaneShift = 56;
constexpr unsigned kSignaled = IBV_SEND_SIGNALED;
constexpr unsigned kSolicited = IBV_SEND_SOLICITED;
constexpr unsigned kInline = IBV_SEND_INLINE;

constexpr int kReadable = IBV_ACCESS_REMOTE_READ;
constexpr int kWritable = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

ibv_wr_opcode opcode_of(Kind kind)
{
    switch (kind) {
    case Kind::Write:
        return IBV_WR_RDMA_WRITE;
    case Kind::WriteImmediate:
        return IBV_WR_RDMA_WRITE_WITH_IMM;
    case Kind::Send:
        return IBV_WR_SEND;
    case Kind::SendImmediate:
        return IBV_WR_SEND_WITH_IMM;
    case Kind::Read:
    case Kind::ReadBack:
        return IBV_WR_RDMA_READ;
    case Kind::Add:
        return IBV_WR_ATOMIC_FETCH_AND_ADD;
    }
    return IBV_WR_SEND;
}

}    // namespace

Lane::Region::Region(const Verbs& verbs, std::size_t blocks, std::size_t bytes, int access)
    : area(blocks, bytes), memory(ibv_reg_mr(verbs.pd, area.all().data(), area.all().size(), access), ibv_dereg_mr)
{
    if (!memory) {
        wrong("ibv_reg_mr: %s", std::strerror(errno));
    }
}

Lane::Lane(const Verbs& verbs, ibv_cq* queue, unsigned number, Board& board, unsigned place, std::uint64_t seed)
    : verbs_(verbs), queue_(queue), number_(number), board_(board), own_board_(board.lanes.at(place).at(number)),
      random_(seed), window_(verbs, kDepth, kMaxLength, kWritable | kReadable),
      source_(verbs, 1, kMaxLength, kReadable), receives_(verbs, kReceives, kMaxLength + kGaps, IBV_ACCESS_LOCAL_WRITE),
      local_(verbs, kDepth, kMaxLength + kGaps, IBV_ACCESS_LOCAL_WRITE),
      words_(verbs, 1, sizeof(Words), kWritable | IBV_ACCESS_REMOTE_ATOMIC)
{
    own_board_.link = 0;
}

Lane::~Lane()
{
    own_board_.link = 0;
    destroy_queue_pair();
}

void Lane::create_queue_pair()
{
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = queue_;
    init.qp_type = IBV_QPT_RC;
    init.cap = {kSends, kReceives, kMaxPieces, kMaxPieces, kMaxInline};
    queue_pair_ = ibv_create_qp(verbs_.pd, &init);
    if (queue_pair_ == nullptr) {
        wrong("ibv_create_qp: %s", std::strerror(errno));
    }
    max_inline_ = init.cap.max_inline_data;
}

void Lane::destroy_queue_pair()
{
    ibv_qp* const gone = std::exchange(queue_pair_, nullptr);
    if (gone == nullptr) {
        return;
    }
    if (const int failure = ibv_destroy_qp(gone); failure != 0) {
        wrong("ibv_destroy_qp: %s", std::strerror(failure));
    }
}

void Lane::modify(ibv_qp_state state, ibv_qp_attr attributes, int mask)
{
    attributes.qp_state = state;
    if (const int failure = ibv_modify_qp(queue_pair_, &attributes, mask | IBV_QP_STATE); failure != 0) {
        wrong("ibv_modify_qp to state %d: %s; %s", static_cast<int>(state), std::strerror(failure),
              description().c_str());
    }
}

Address Lane::make_ready()
{
    if (queue_pair_ != nullptr && is_roll(2)) {
        modify(IBV_QPS_RESET, {}, 0);
    } else {
        destroy_queue_pair();
        create_queue_pair();
    }
    // Nothing can write any more to what was in use.
    look_at_guards();
    for (unsigned block = 0; block < kDepth; ++block) {
        window_.area.clear(block);
    }
    for (unsigned block = 0; block < kReceives; ++block) {
        receives_.area.clear(block);
    }
    words() = {};
    unsignaled_ = 0;
    next_ = added_ = released_ = verified_ = told_ = sum_ = 0;
    by_itself_ = abandoned_ = send_failed_ = receive_flushed_ = false;
    own_board_.link = 0;

    ibv_qp_attr attributes{};
    attributes.port_num = 1;
    attributes.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
    modify(IBV_QPS_INIT, attributes, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    state_ = State::Ready;
    Address address;
    address.gid = verbs_.gid;
    address.queue_pair = queue_pair_->qp_num;
    address.window_key = window_.memory->rkey;
    address.source_key = source_.memory->rkey;
    address.words_key = words_.memory->rkey;
    address.window = reinterpret_cast<std::uintptr_t>(window_.area.all().data());
    address.source = reinterpret_cast<std::uintptr_t>(source_.area.block(0).data());
    address.words = reinterpret_cast<std::uintptr_t>(&words());
    return address;
}

void Lane::connect(const Note& note)
{
    remote_ = note.address;
    link_ = note.link;
    out_ = note.link * 2 + note.side;
    in_ = out_ ^ 1;
    fill(out_, kSource, 0, source_.area.block(0));
    for (unsigned i = 0; i < kReceives; ++i) {
        post_receive();
    }
    ibv_qp_attr attributes{};
    attributes.path_mtu = IBV_MTU_1024;
    attributes.dest_qp_num = remote_.queue_pair;
    attributes.rq_psn = static_cast<std::uint32_t>(in_ & 0xffffff);
    attributes.max_dest_rd_atomic = 4;
    attributes.min_rnr_timer = static_cast<std::uint8_t>(1 + random_() % 14);
    attributes.ah_attr.is_global = 1;
    attributes.ah_attr.port_num = 1;
    attributes.ah_attr.grh.hop_limit = 1;
    std::memcpy(attributes.ah_attr.grh.dgid.raw, remote_.gid.data(), remote_.gid.size());
    modify(IBV_QPS_RTR, attributes,
           IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
               IBV_QP_MIN_RNR_TIMER);
    attributes.timeout = 10;    // 4 ms
    attributes.retry_cnt = 3;
    attributes.rnr_retry = 7;    // for ever
    attributes.sq_psn = static_cast<std::uint32_t>(out_ & 0xffffff);
    attributes.max_rd_atomic = 4;
    modify(IBV_QPS_RTS, attributes,
           IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
    state_ = State::Connected;
}

void Lane::go()
{
    state_ = State::Running;
    break_at_ = now() + std::exponential_distribution(1 / kMeanLife)(random_);
    last_send_ = own_board_.last = now();
    own_board_.link = link_;
    ++board_.totals.links;
}

void Lane::cancel()
{
    if (state_ == State::Connected) {
        break_by_itself();
    }
}

bool Lane::is_drained() const
{
    return state_ == State::Unused || state_ == State::Ready ||
           (state_ == State::Running && next_ % kNoticeEvery == 0 && released_ == next_ && told_ == verified_);
}

// ---- what is posted ----

std::uint64_t Lane::next_id(bool receives)
{
    return (receives ? kReceiveFlag : 0) | std::uint64_t{number_} << kLaneShift | ++serial_;
}

bool Lane::work()
{
    if (state_ == State::Broken && sends_.empty() && posted_receives_.empty()) {
        return true;
    }
    if (state_ != State::Running && state_ != State::Broken) {
        return false;
    }
    const double time = now();
    if (time - own_board_.last > kPatience) {
        wrong("no progress for %.0f s: %s", time - own_board_.last, description().c_str());
    }
    if (state_ == State::Broken) {
        return false;
    }
    look_at_release();
    if (!draining_ && time > break_at_) {
        break_by_itself();
        return false;
    }
    while (can_post_message()) {
        post_message();
    }
    const bool is_silent = time - last_send_ > kHeartbeat &&
                           std::ranges::none_of(sends_, [](const Request& each) { return each.is_signaled; });
    if ((verified_ > told_ || is_silent) && sends_.size() < kSends - 1) {
        post_release(is_silent);
    }
    return false;
}

std::uint64_t Lane::oldest_message() const
{
    const auto found = std::ranges::find_if(sends_, [](const Request& each) { return each.is_message; });
    return found == sends_.end() ? next_ : found->message.number;
}

bool Lane::can_post_message() const
{
    const bool is_wanted = !draining_ || next_ % kNoticeEvery != 0;
    return is_wanted && next_ - released_ < kDepth && next_ - oldest_message() < kDepth && sends_.size() < kSends - 4;
}

void Lane::post(Request request, ibv_send_wr& send)
{
    const bool must = unsignaled_ >= kMostUnsignaled || (request.is_message && request.message.fetches());
    request.is_signaled = must || is_roll(2) || (send.send_flags & kSignaled) != 0;
    unsignaled_ = request.is_signaled ? 0 : unsignaled_ + 1;
    request.id = next_id(false);
    send.wr_id = request.id;
    send.send_flags |= (request.is_signaled ? kSignaled : 0U) | (is_roll(4) ? kSolicited : 0U);
    sends_.push_back(std::move(request));
    ibv_send_wr* bad = nullptr;
    if (const int failure = ibv_post_send(queue_pair_, &send, &bad); failure != 0) {
        wrong("ibv_post_send: %s; %s", std::strerror(failure), description().c_str());
    }
    last_send_ = now();
}

void Lane::post_message()
{
    Request request;
    request.is_message = true;
    const Message& message = request.message = message_at(out_, next_);
    const unsigned block = static_cast<unsigned>(next_ % kDepth);
    const auto place = local_.area.block(block);
    if (message.fetches()) {
        local_.area.clear(block);
    }
    request.pieces = Pieces(place, message.length, message.kind == Kind::Add ? 1 : kMaxPieces, random_);
    if (!message.fetches()) {
        request.pieces.fill(out_, message.number, 0, message.length);
    }
    ibv_send_wr send{};
    send.sg_list = request.pieces.list(local_.memory->lkey);
    send.num_sge = request.pieces.count();
    send.opcode = opcode_of(message.kind);
    send.imm_data = message.immediate;
    if (!message.fetches() && message.length <= max_inline_ && is_roll(2)) {
        send.send_flags = kInline;
    }
    if (message.is_written() || message.kind == Kind::ReadBack) {
        // What was written just before lies in its own message's block.
        const auto of = message.number - (message.kind == Kind::ReadBack ? 1 : 0);
        send.wr.rdma = {remote_.window + window_.area.place(of % kDepth) + message.offset, remote_.window_key};
    } else if (message.kind == Kind::Read) {
        send.wr.rdma = {remote_.source + message.offset, remote_.source_key};
    } else if (message.kind == Kind::Add) {
        send.wr.atomic = {remote_.words + offsetof(Words, sum), message.add, 0, remote_.words_key};
        request.before = std::exchange(added_, added_ + message.add);
    }
    ++next_;
    post(std::move(request), send);
}

void Lane::post_release(bool is_signaled)
{
    std::uint64_t& value = words().to_release.at(releases_++ % kSends);
    told_ = value = verified_;
    ibv_sge piece{reinterpret_cast<std::uintptr_t>(&value), sizeof(value), words_.memory->lkey};
    ibv_send_wr send{};
    send.sg_list = &piece;
    send.num_sge = 1;
    send.opcode = IBV_WR_RDMA_WRITE;
    send.wr.rdma = {remote_.words + offsetof(Words, released), remote_.words_key};
    send.send_flags = (is_roll(2) ? kInline : 0U) | (is_signaled ? kSignaled : 0U);
    post({}, send);
}

void Lane::post_receive()
{
    // A block is free when its request has completed; they complete in order.
    Receive receive;
    receive.block = posted_receives_.empty() ? 0 : (posted_receives_.back().block + 1) % kReceives;
    receive.id = next_id(true);
    receive.pieces = Pieces(receives_.area.block(receive.block), kMaxLength, kMaxPieces, random_);
    ibv_recv_wr request{};
    request.wr_id = receive.id;
    request.sg_list = receive.pieces.list(receives_.memory->lkey);
    request.num_sge = receive.pieces.count();
    posted_receives_.push_back(std::move(receive));
    ibv_recv_wr* bad = nullptr;
    if (const int failure = ibv_post_recv(queue_pair_, &request, &bad); failure != 0) {
        wrong("ibv_post_recv: %s; %s", std::strerror(failure), description().c_str());
    }
}

// ---- ends ----

void Lane::break_by_itself()
{
    ++board_.totals.broken;
    by_itself_ = true;
    break_off("broken off");
}

void Lane::break_off(const char* how)
{
    why_ = how;
    state_ = State::Broken;
    own_board_.last = now();
    own_board_.link = link_;
    if (is_roll(3)) {    // what is under way, or has completed already, goes with the queue pair
        sends_.clear();
        posted_receives_.clear();
        abandoned_ = true;
        return;
    }
    modify(IBV_QPS_ERR, {}, 0);
    // Nobody hears of unsignaled requests that were done. This one is behind them, and is flushed.
    post_release(true);
}

void Lane::progress()
{
    const double time = now();
    own_board_.longest = std::max<double>(own_board_.longest, time - own_board_.last);
    own_board_.last = time;
}

void Lane::count(const Message& message)
{
    ++board_.totals.messages.at(static_cast<std::size_t>(message.kind));
    board_.totals.bytes += message.length;
}

std::string Lane::description() const
{
    constexpr std::array<const char*, 5> kStates{"unused", "ready", "connected", "running", "broken"};
    std::string text = "lane " + std::to_string(number_) + " link " + std::to_string(link_) + " direction " +
                       std::to_string(out_) + " is " + kStates.at(static_cast<std::size_t>(state_));
    text += state_ == State::Broken ? " (" + why_ + ")" : "";
    text += ", queue pair " + std::to_string(queue_pair_ == nullptr ? 0 : queue_pair_->qp_num) + " to " +
            std::to_string(remote_.queue_pair) + ": sent " + std::to_string(next_) + ", of which released " +
            std::to_string(released_) + ", waiting " + std::to_string(sends_.size()) + "; looked at " +
            std::to_string(verified_) + ", receives posted " + std::to_string(posted_receives_.size());
    return text;
}

}    // namespace crowd
