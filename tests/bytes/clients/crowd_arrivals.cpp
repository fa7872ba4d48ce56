// What comes to a lane: completions, and the bytes that they tell of.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "tests/bytes/clients/crowd_lane.h"

namespace crowd {
namespace {

ibv_wc_opcode completed_opcode_of(Kind kind)
{
    switch (kind) {
    case Kind::Send:
    case Kind::SendImmediate:
        return IBV_WC_SEND;
    case Kind::Read:
    case Kind::ReadBack:
        return IBV_WC_RDMA_READ;
    case Kind::Add:
        return IBV_WC_FETCH_ADD;
    default:
        return IBV_WC_RDMA_WRITE;
    }
}

}    // namespace

void Lane::complete(const ibv_wc& completion)
{
    if (abandoned_) {
        return;    // polled together with what made it so
    }
    if (queue_pair_ == nullptr || completion.qp_num != queue_pair_->qp_num) {
        wrong("a completion of another queue pair, %u; %s", completion.qp_num, description().c_str());
    }
    if (state_ == State::Broken) {
        progress();
    }
    if ((completion.wr_id & kReceiveFlag) != 0) {
        complete_receive(completion);
    } else {
        complete_send(completion);
    }
}

void Lane::complete_send(const ibv_wc& completion)
{
    const bool is_error = completion.status != IBV_WC_SUCCESS;
    // Before one that fails or is signaled, those that are not have been done.
    while (!send_failed_ && !sends_.empty() && sends_.front().id != completion.wr_id && !sends_.front().is_signaled) {
        sends_.pop_front();
    }
    if (sends_.empty() || sends_.front().id != completion.wr_id || (!is_error && !sends_.front().is_signaled)) {
        wrong("a completion of an unknown send request, %#llx with %s; %s", shown(completion.wr_id),
              ibv_wc_status_str(completion.status), description().c_str());
    }
    Request request = std::move(sends_.front());
    sends_.pop_front();
    if (is_error) {
        const bool is_flush = completion.status == IBV_WC_WR_FLUSH_ERR;
        const bool is_end = completion.status == IBV_WC_RETRY_EXC_ERR;
        const bool is_fine = send_failed_ ? is_flush : is_end || (by_itself_ && is_flush);
        if (!is_fine) {
            wrong("%s of %s ends with %s; %s", request.is_message ? "message" : "release",
                  name_of(request.message.kind), ibv_wc_status_str(completion.status), description().c_str());
        }
        board_.totals.flushed += is_flush ? 1 : 0;
        send_failed_ = true;
        if (state_ != State::Broken) {
            ++board_.totals.noticed;
            break_off("the other end is gone");
        }
        return;
    }
    if (send_failed_) {
        wrong("a send request is done after one that failed; %s", description().c_str());
    }
    const ibv_wc_opcode opcode = request.is_message ? completed_opcode_of(request.message.kind) : IBV_WC_RDMA_WRITE;
    if (completion.opcode != opcode) {
        wrong("opcode %d instead of %d; %s", static_cast<int>(completion.opcode), static_cast<int>(opcode),
              description().c_str());
    }
    if (request.is_message && request.message.fetches()) {
        look_at_fetched(request, completion);
    }
}

void Lane::look_at_fetched(Request& request, const ibv_wc& completion)
{
    const Message& message = request.message;
    if (completion.byte_len != message.length) {
        wrong("%s %llu fetched %u bytes instead of %u; %s", name_of(message.kind), shown(message.number),
              completion.byte_len, message.length, description().c_str());
    }
    if (message.kind == Kind::Add) {
        const auto before = request.pieces.take_number();
        if (before != request.before) {
            wrong("fetch-and-add %llu found %llu instead of %llu; %s", shown(message.number), shown(before.value_or(0)),
                  shown(request.before), description().c_str());
        }
    } else {
        const bool is_back = message.kind == Kind::ReadBack;
        const auto difference = request.pieces.take(is_back ? out_ : in_, is_back ? message.number - 1 : kSource,
                                                    is_back ? 0 : message.offset, message.length, is_roll(16));
        if (difference) {
            wrong("%s %llu of %u bytes: %s; %s", name_of(message.kind), shown(message.number), message.length,
                  difference->c_str(), description().c_str());
        }
    }
    if (!local_.area.is_guarded(message.number % kDepth)) {
        wrong("%s %llu wrote outside its block; %s", name_of(message.kind), shown(message.number),
              description().c_str());
    }
    count(message);
}

void Lane::complete_receive(const ibv_wc& completion)
{
    if (posted_receives_.empty() || posted_receives_.front().id != completion.wr_id) {
        wrong("a completion of an unknown receive request, %#llx with %s; %s", shown(completion.wr_id),
              ibv_wc_status_str(completion.status), description().c_str());
    }
    Receive receive = std::move(posted_receives_.front());
    posted_receives_.pop_front();
    if (completion.status != IBV_WC_SUCCESS) {
        if (completion.status != IBV_WC_WR_FLUSH_ERR || state_ != State::Broken) {
            wrong("a receive request ends with %s; %s", ibv_wc_status_str(completion.status), description().c_str());
        }
        ++board_.totals.flushed;
        receive_flushed_ = true;
        return;
    }
    if (receive_flushed_) {
        wrong("a message comes after the receive queue was flushed; %s", description().c_str());
    }
    // Whatever was sent before the notice is there, too.
    for (bool is_found = false; !is_found; ++verified_) {
        const Message message = message_at(in_, verified_);
        if (message.is_notice()) {
            look_at_notice(message, completion, receive.pieces);
            is_found = true;
        } else if (message.kind == Kind::Write) {
            look_at_written(message);
        } else if (message.kind == Kind::Add) {
            sum_ += message.add;
        }
    }
    if (!receives_.area.is_guarded(receive.block)) {
        wrong("message %llu was written outside its block; %s", shown(verified_ - 1), description().c_str());
    }
    look_at_sum();
    if (state_ != State::Broken) {
        post_receive();
    }
}

void Lane::look_at_notice(const Message& message, const ibv_wc& completion, Pieces& pieces)
{
    const bool is_write = message.kind == Kind::WriteImmediate;
    const ibv_wc_opcode opcode = is_write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
    const bool has_immediate = (completion.wc_flags & IBV_WC_WITH_IMM) != 0;
    if (completion.opcode != opcode || completion.byte_len != message.length ||
        has_immediate != message.has_immediate() || (has_immediate && completion.imm_data != message.immediate)) {
        wrong("%s %llu of %u bytes with immediate %#x was expected, but it was opcode %d, %u bytes, %s %#x; %s",
              name_of(message.kind), shown(message.number), message.length, message.immediate,
              static_cast<int>(completion.opcode), completion.byte_len, has_immediate ? "immediate" : "none",
              completion.imm_data, description().c_str());
    }
    if (is_write) {
        look_at_written(message);
    }
    // With a write, nothing may be in the receive request's own memory.
    const auto difference = pieces.take(in_, message.number, 0, is_write ? 0 : message.length, is_write || is_roll(16));
    if (difference) {
        wrong("%s %llu of %u bytes: %s; %s", name_of(message.kind), shown(message.number), message.length,
              difference->c_str(), description().c_str());
    }
    if (!is_write) {
        count(message);
    }
}

void Lane::look_at_written(const Message& message)
{
    const std::size_t number = message.number % kDepth;
    const auto block = window_.area.block(number);
    const auto found = block.subspan(message.offset, message.length);
    if (const auto difference = crowd::difference(in_, message.number, 0, found)) {
        wrong("%s %llu of %u bytes: %s; %s", name_of(message.kind), shown(message.number), message.length,
              difference->c_str(), description().c_str());
    }
    std::ranges::fill(found, kGuardByte);
    const std::size_t end = message.offset + message.length;
    const std::size_t begin = message.offset - std::min<std::size_t>(message.offset, kGuard);
    const auto near = block.subspan(begin, std::min(end + kGuard, block.size()) - begin);
    if (broken_guard(is_roll(16) ? block : near) || !window_.area.is_guarded(number)) {
        wrong("%s %llu of %u bytes at %u was written outside its place; %s", name_of(message.kind),
              shown(message.number), message.length, message.offset, description().c_str());
    }
    count(message);
}

// The other end may be ahead with those that this one was not told of yet.
void Lane::look_at_sum()
{
    std::uint64_t most = sum_;
    for (std::uint64_t number = verified_; number < verified_ + kDepth; ++number) {
        most += message_at(in_, number).add;
    }
    const std::uint64_t found = std::atomic_ref(words().sum).load();
    if (found < sum_ || found > most) {
        wrong("the sum is %llu and not from %llu to %llu; %s", shown(found), shown(sum_), shown(most),
              description().c_str());
    }
}

void Lane::look_at_release()
{
    const std::uint64_t released = std::atomic_ref(words().released).load();
    if (released < released_ || released > next_) {
        wrong("released are %llu, and were %llu of %llu; %s", shown(released), shown(released_), shown(next_),
              description().c_str());
    }
    if (std::exchange(released_, released) != released) {
        progress();
    } else if (released == next_) {
        own_board_.last = now();    // nothing is to come
    }
}

void Lane::look_at_guards() const
{
    if (!window_.area.is_guarded() || !source_.area.is_guarded() || !receives_.area.is_guarded() ||
        !local_.area.is_guarded() || !words_.area.is_guarded()) {
        wrong("a guard was overwritten; %s", description().c_str());
    }
}

}    // namespace crowd
