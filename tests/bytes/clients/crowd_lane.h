// One queue pair of a member and the link that it has: sends the messages of its direction, looks at every byte of
// those that come, and accounts for every completion.
//
//   Ready --connect--> Connected --go--> Running --an end is gone--> Broken --all has come back--> Ready
//
// An incoming message that its receiver is not told of is looked at when the next notice comes. How far the receiver
// is, it writes into the sender's memory (`Words::released`).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>

#include <infiniband/verbs.h>

#include "tests/bytes/clients/crowd_board.h"
#include "tests/bytes/clients/crowd_memory.h"
#include "tests/bytes/clients/crowd_message.h"

namespace crowd {

// What all lanes of a member have in common.
struct Verbs {
    ibv_context* context = nullptr;
    ibv_pd* pd = nullptr;
    std::array<std::uint8_t, 16> gid{};
};

class Lane {
public:
    Lane(const Verbs& verbs, ibv_cq* queue, unsigned number, Board& board, unsigned place, std::uint64_t seed);
    ~Lane();
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;

    // A new queue pair, and where it is.
    [[nodiscard]] Address make_ready();
    void connect(const Note& note);
    void go();
    void cancel();
    void complete(const ibv_wc& completion);
    // Posts what can be posted. True: the lane is broken and all has come back, so it can be made ready.
    [[nodiscard]] bool work();
    void drain() { draining_ = true; }
    // Nothing of its own is under way, and nothing will be.
    [[nodiscard]] bool is_drained() const;
    // Nothing was written to where none belongs.
    void look_at_guards() const;

    // Of a request's id.
    [[nodiscard]] static unsigned lane_of(std::uint64_t id) { return static_cast<unsigned>(id >> 56 & 0x7f); }

private:
    static constexpr unsigned kSends = 32;
    enum class State { Unused, Ready, Connected, Running, Broken };

    struct Words {
        std::uint64_t released;                          // how many of this end's messages the other end has checked
        std::uint64_t sum;                               // the other end adds to it
        std::array<std::uint64_t, kSends> to_release;    // what is written over there: one for each request
    };
    struct Request {
        std::uint64_t id = 0;
        bool is_signaled = false;
        bool is_message = false;    // or else a release
        Message message;
        std::uint64_t before = 0;    // what a fetch-and-add must fetch
        Pieces pieces;
    };
    struct Region {
        Region(const Verbs& verbs, std::size_t blocks, std::size_t bytes, int access);
        Area area;
        std::unique_ptr<ibv_mr, int (*)(ibv_mr*)> memory;
    };

    static constexpr std::uint64_t kReceiveFlag = std::uint64_t{1} << 63;    // of a request's id

    [[nodiscard]] std::uint64_t next_id(bool receives);
    [[nodiscard]] bool is_roll(unsigned of) { return random_() % of == 0; }
    [[nodiscard]] Words& words() { return *reinterpret_cast<Words*>(words_.area.block(0).data()); }
    void modify(ibv_qp_state state, ibv_qp_attr attributes, int mask);
    void create_queue_pair();
    void destroy_queue_pair();

    void post(Request request, ibv_send_wr& send);
    void post_message();
    void post_release(bool is_signaled);
    void post_receive();
    [[nodiscard]] bool can_post_message() const;
    [[nodiscard]] std::uint64_t oldest_message() const;
    void look_at_release();

    void complete_send(const ibv_wc& completion);
    void complete_receive(const ibv_wc& completion);
    void look_at_fetched(Request& request, const ibv_wc& completion);
    void look_at_notice(const Message& message, const ibv_wc& completion, Pieces& pieces);
    void look_at_written(const Message& message);
    void look_at_sum();
    void break_off(const char* how);
    void break_by_itself();
    void progress();
    void count(const Message& message);
    [[nodiscard]] std::string description() const;

    const Verbs& verbs_;
    ibv_cq* const queue_;
    const unsigned number_;
    Board& board_;
    LaneBoard& own_board_;
    std::mt19937_64 random_;
    Region window_;    // the other end writes here
    Region source_;    // and reads here
    Region receives_;
    Region local_;    // what is sent or fetched
    Region words_;
    ibv_qp* queue_pair_ = nullptr;
    std::uint32_t max_inline_ = 0;

    State state_ = State::Unused;
    bool draining_ = false;
    Address remote_;
    std::uint64_t link_ = 0;
    std::uint64_t out_ = 0;    // directions
    std::uint64_t in_ = 0;
    std::uint64_t serial_ = 0;    // of requests, over all its queue pairs

    std::deque<Request> sends_;
    unsigned unsignaled_ = 0;    // in a row
    std::uint64_t next_ = 0;     // message
    std::uint64_t added_ = 0;
    std::uint64_t released_ = 0;    // as it was last
    double last_send_ = 0;

    struct Receive {
        std::uint64_t id = 0;
        unsigned block = 0;
        Pieces pieces;
    };
    std::deque<Receive> posted_receives_;
    std::uint64_t verified_ = 0;
    std::uint64_t told_ = 0;    // of `verified_`
    unsigned releases_ = 0;
    std::uint64_t sum_ = 0;

    bool by_itself_ = false;
    bool abandoned_ = false;    // nobody waits for what is under way
    bool send_failed_ = false;
    bool receive_flushed_ = false;
    double break_at_ = 0;
    std::string why_;
};

}    // namespace crowd
