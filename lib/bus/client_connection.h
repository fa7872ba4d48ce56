// A client of the direct socket. This object reads and writes the client's socket itself and passes on to sd_bus what
// it has looked at, so that what a client sends is limited before anything is done with it:
//
//     client ══ socket ══ ClientConnection ══ socket pair ══ sd_bus ── handlers
//
// * sd_bus gets whole, well-formed messages (wellformed.h) of a limited size. Another one, and one that does not arrive
//   in time, ends the connection.
// * Descriptors never reach this process unseen: a look with MSG_PEEK says that some may have come, without taking any;
//   those bytes are received by the helper of the client's user (descriptors.h). That is all that a look decides; what
//   is done goes by what was received. sd_bus gets a stand-in for each, and handlers find what it stands for in
//   descriptors().
// * While a client does not read, nothing more is read from it; what waits for it is counted in bytes.
// * It is served when it is its user's turn (turns.h).
// * Where only the number of the process that connected is known (PeerProcess::unproven_bytes), nothing is passed on
//   before that process itself has sent something that proves it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/account.h"
#include "lib/base/clock.h"
#include "lib/bus/connection.h"
#include "lib/bus/framing.h"
#include "lib/bus/peer.h"
#include "lib/bus/shares.h"
#include "lib/bus/turns.h"

namespace rdmaqos::bus {

struct ClientLimits {
    std::size_t message = std::size_t{1} << 20U;     // bytes of one message
    std::size_t header = 2048;                       // of which are path, interface, member …
    std::size_t skipped = std::size_t{16} << 20U;    // a larger message than this ends the connection
    std::size_t unread = std::size_t{32} << 20U;     // bytes that wait for one connection
    std::size_t unread_of_user = std::size_t{64} << 20U;
    std::size_t unread_of_all = std::size_t{256} << 20U;
    std::size_t unfinished_of_user = std::size_t{8} << 20U;
    std::size_t unfinished_of_all = std::size_t{64} << 20U;
    std::chrono::milliseconds message_time{10'000};    // from its first byte to its last
};

// What all clients of one transport share.
struct ClientSurroundings {
    EventLoop& loop;
    DescriptorHelpers& helpers;
    Shares& shares;
    Turns& turns;
    const ClientLimits& limits;
    // For what may wait; takes over the descriptor.
    std::function<void(Account account, UniqueFd fd)> close;
};

class ClientConnection final : public Connection {
public:
    // `on_closed` is called once, from the loop (never from within another call), when the connection has ended by
    // itself; not after close().
    [[nodiscard]] static Result<std::shared_ptr<ClientConnection>>
    create(ClientSurroundings& around, UniqueFd socket, DescriptorHelpers::User user, std::function<void()> on_closed);
    ~ClientConnection() override;
    // Closes a client's socket. What has arrived and was not read may hold descriptors, whose last close may wait.
    static void end(ClientSurroundings& around, Account account, UniqueFd socket);

    // Before anything is read, of a socket with SO_PASSCRED.
    void expect(ExpectedSender sender) { expected_ = std::move(sender); }

    [[nodiscard]] bool is_ready() const override { return open_ && auth_.done(); }
    void flush() override;
    void close() override;
    [[nodiscard]] const std::vector<SentDescriptor>* descriptors() const override { return &current_; }

    [[nodiscard]] Account account() const { return user_.account; }
    // When the message that is arriving began to arrive; empty: none is.
    [[nodiscard]] std::optional<TimePoint> unfinished_since() const { return unfinished_since_; }
    // Ends it as if it had ended by itself.
    void drop(std::string_view why);

private:
    ClientConnection(ClientSurroundings& around, BusPtr bus, std::shared_ptr<UniqueFd> socket, UniqueFd inner,
                     DescriptorHelpers::User user, std::function<void()> on_closed);

    enum class Read : std::uint8_t { Nothing, Some, Ended };
    struct Look {
        std::string_view bytes;
        bool descriptors = false;    // may come with them
        bool ended = false;
    };

    // Calls `work`. If it throws, the connection ends: what was read and not answered is gone, and its client would
    // wait for the answer in vain.
    template <typename Work>
    void guarded(const Work& work)
    {
        const auto alive = self_.lock();    // a handler may drop the last owner
        try {
            work();
        } catch (const std::exception& error) {
            failed(error);
        }
    }
    void failed(const std::exception& error);
    void ready(std::uint32_t events);
    void serve();
    // Reads what is there and takes it, or has the helper read it.
    [[nodiscard]] Read read_some(TimePoint until);
    [[nodiscard]] Read read_plain(std::size_t size);
    [[nodiscard]] Read ask_helper(std::size_t most);
    void helped(Result<Chunk> chunk);
    // Without taking anything.
    [[nodiscard]] Look look(std::size_t most) const;
    // How much may be read before it is known what follows.
    [[nodiscard]] std::size_t wanted() const;
    // Where the message (or the authentication) that begins or goes on here ends, at the latest.
    [[nodiscard]] std::size_t end_of_first(std::string_view seen) const;

    // What comes next begins the first message, and has to prove who sends it.
    [[nodiscard]] bool is_unproven() const { return expected_ && auth_.done(); }
    void check_sender();
    void take_received(TimePoint until);
    // Takes one item from the front: authentication, a message, or a part of one.
    void take(std::string_view& bytes);
    void take_auth(std::string_view& bytes);
    // False: more bytes are needed, or the message was refused.
    [[nodiscard]] bool know_head(std::string_view& bytes);
    [[nodiscard]] bool accept_head();
    // Answers the message whose head has come, and passes over the rest of it.
    void answer_instead(ErrorCode code, std::string_view why);
    void add_partial(std::string_view& bytes, std::size_t size);
    void forget_partial();
    void deliver(std::string_view message);
    void end_malformed(std::string_view message, std::string_view why);

    void feed(std::string_view bytes, std::size_t descriptors);
    void process();
    // Moves what sd_bus wrote towards the client.
    void pump();
    void write_out();
    void queue(std::string_view bytes);
    void update_events();
    void lost();

    ClientSurroundings& around_;
    std::shared_ptr<UniqueFd> socket_;    // shared with the helper while it reads
    UniqueFd inner_;                      // our end of the pair
    DescriptorHelpers::User user_;
    std::function<void()> on_closed_;
    AuthDialogue auth_;
    std::optional<ExpectedSender> expected_;
    std::size_t taken_ = 0;    // bytes in all
    std::string refusal_;      // why no message is served; empty: all are
    std::unique_ptr<IoSource> io_;
    std::weak_ptr<ClientConnection> self_;

    std::string received_;               // and not taken yet: at most what is read at once where messages are short
    pid_t sender_ = 0;                   // of what was received last, while one is expected
    std::string partial_;                // of the message that is arriving
    std::optional<MessageHead> head_;    // of the same
    std::size_t skip_ = 0;               // bytes of a refused message that are still to come
    std::optional<TimePoint> unfinished_since_;
    std::vector<SentDescriptor> arrived_;    // with the message that is arriving
    std::vector<SentDescriptor> current_;    // of the message that is being handled

    std::deque<std::string> out_;
    std::size_t out_begin_ = 0;    // of its first
    std::size_t unread_ = 0;
    std::uint32_t events_ = 0;
    bool serving_ = false;
    bool helper_asked_ = false;
    bool pump_posted_ = false;
    bool serve_posted_ = false;
};

}    // namespace rdmaqos::bus
