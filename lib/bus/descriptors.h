// Descriptors that clients send, received by a helper process of each user (descriptor_helper.h).
//
//     client ── message with descriptors ──▶ its socket
//     main loop ── "read from this socket" ──▶ helper of the client's user ──▶ bytes, devices, texts ──▶ main loop
//
// A helper is started when it is first needed and ends when it has been idle for a while. One that does not answer in
// time is killed and replaced, a few times; a user whose helpers all hang passes no descriptors until one of them has
// ended.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "lib/base/account.h"
#include "lib/base/file.h"
#include "lib/bus/event.h"
#include "lib/bus/turns.h"

namespace rdmaqos::bus {

// A descriptor that a client sent. Its last owner's thread does not wait for the close.
struct SentDescriptor {
    std::shared_ptr<UniqueFd> fd;    // null: refused
    std::string name;                // of a text, as the client knows it
    std::string refusal;             // why not: "the descriptor is …"
    bool over_limit = false;         // refused because its user has too many
};

// What one read from a client's socket gave.
struct Chunk {
    std::string bytes;
    std::vector<SentDescriptor> descriptors;
    pid_t sender = 0;    // of all of it, if the socket has SO_PASSCRED; 0: not known
};

// A descriptor of this process that sd_bus is given for the index-th of a message; and the index again.
[[nodiscard]] int stand_in(std::size_t index);
[[nodiscard]] std::optional<std::size_t> index_of_stand_in(int fd);

struct DescriptorOptions {
    // The helper's program and arguments; the number of its socket is added. Empty: no descriptors are taken.
    std::vector<std::string> command;
    std::chrono::milliseconds patience{5'000};
    std::chrono::milliseconds idle{30'000};
    std::size_t text_bytes = std::size_t{1} << 20U;    // the largest text of a user
    std::size_t text_bytes_of_root = kMaxConfigFileSize;
    std::size_t helpers = 64;              // at once, root's not counted
    std::size_t processes_per_user = 2;    // those that were killed and have not ended included
};

class DescriptorHelpers {
public:
    using Close = std::function<void(Account account, UniqueFd fd)>;
    using Done = std::function<void(Result<Chunk>)>;

    // `close` gets what came and is no longer needed; it must not wait.
    // What a helper answers is taken when it is its user's turn.
    DescriptorHelpers(EventLoop& loop, Turns& turns, DescriptorOptions options, Close close);
    ~DescriptorHelpers();
    DescriptorHelpers(const DescriptorHelpers&) = delete;
    DescriptorHelpers& operator=(const DescriptorHelpers&) = delete;

    struct User {
        Account account = 0;    // whose uid the helper takes
        std::uint32_t gid = 0;
    };
    // Reads at most `most` bytes from a client's socket, with the descriptors that come with them. `done` is called
    // later, from the loop. Errors: LimitReached, Timeout, Io; the client is to be dropped. The socket is released
    // before; its last owner closes it.
    void receive(User user, std::shared_ptr<UniqueFd> socket, std::size_t most, Done done);

    [[nodiscard]] std::size_t running() const { return helpers_.size(); }

private:
    class Helper;

    [[nodiscard]] Result<Helper*> helper_of(User user);
    void ended(Account account);
    [[nodiscard]] Result<void> make_room(Account account);

    EventLoop& loop_;
    Turns& turns_;
    DescriptorOptions options_;
    Close close_;
    std::map<Account, std::unique_ptr<Helper>> helpers_;    // by user
    // Every process that was started and has not ended; those that are nobody's helper any more were asked to.
    struct Process {
        Account account = 0;
        UniqueFd pidfd;
        std::unique_ptr<EventSource> end;
    };
    std::map<pid_t, Process> processes_;
    std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}    // namespace rdmaqos::bus
