// What a handle does, without its lock: the connection, the session, the queue pairs that belong into it, and how all
// of it comes back after the daemon was gone.
//
// Not thread-safe; may be used by one thread after the other.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/client/connection.h"
#include "lib/client/request.h"

namespace rdmaqos::client {

struct EngineOptions {
    std::uint32_t flags = 0;
    std::chrono::milliseconds open_timeout{1000};
    std::chrono::milliseconds timeout{5000};
    std::string socket;    // empty: that of the host, and then the system bus
};

struct Event {
    rdmaqos_event_type type{};
    std::string device;    // empty: of no queue pair
    std::uint32_t number = 0;
    std::string message;
    AnswerRef grant;
};

// What became of one queue pair in a call.
struct Outcome {
    Failure failure;
    bool is_pending = false;    // it is remembered
    AnswerRef place;
};

struct Wanted {
    QueuePair queue_pair;
    std::shared_ptr<const Request> own;    // null: the session's
};

class Engine {
public:
    using Clock = Deadline::Clock;

    // `before_close` is given a descriptor that is about to be closed.
    Engine(EngineOptions options, std::function<void(int fd)> before_close);
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    [[nodiscard]] const EngineOptions& options() const { return options_; }
    [[nodiscard]] Failure connect(Deadline deadline);
    // Null: there is none.
    [[nodiscard]] const Connection* connection() const { return connection_.get(); }

    // A failure ENOTCONN with `is_pending`: it is done later.
    [[nodiscard]] Failure enroll(const Request& wish, Deadline deadline, AnswerRef& grant, bool& is_pending);
    [[nodiscard]] Failure release(Deadline deadline);
    [[nodiscard]] Failure grant(Deadline deadline, AnswerRef& grant);
    [[nodiscard]] Failure query_path(const Request& request, Deadline deadline, AnswerRef& path);
    // As many outcomes as there are queue pairs.
    [[nodiscard]] std::vector<Outcome> attach(const std::vector<Wanted>& wanted, Deadline deadline);
    [[nodiscard]] std::vector<Failure> detach(const std::vector<std::pair<std::string, std::uint32_t>>& names,
                                              Deadline deadline);
    [[nodiscard]] Failure set_rate(const std::string& device, std::uint32_t number, const rdmaqos_rate& rate,
                                   Deadline deadline);

    // Handles what has arrived, and what it is time for.
    void tend(Deadline deadline);
    // When to tend without being asked to; none: when something arrives.
    [[nodiscard]] std::optional<Clock::time_point> next_time() const;
    [[nodiscard]] std::deque<Event> take_events() { return std::exchange(events_, {}); }
    [[nodiscard]] bool has_events() const { return !events_.empty(); }

private:
    using Key = std::pair<std::string, std::uint32_t>;    // device, number
    struct Record {
        Wanted wanted;
        std::optional<rdmaqos_rate> rate;
        std::string device;    // as the daemon calls it; empty: it has not said it
        bool is_attached = false;
        bool is_promised = false;         // its program was notified that it would be attached
        bool is_tried = false;            // and refused, since it was last time for it
        bool waits_for_device = false;    // which the daemon does not manage now
        bool is_overdue = false;          // refused for long; its program was notified
        std::optional<Clock::time_point> refused_since;

        [[nodiscard]] bool is_slow() const { return waits_for_device || is_overdue; }
        void want_again()
        {
            is_attached = is_tried = waits_for_device = is_overdue = false;
            refused_since.reset();
        }
    };
    using Records = std::map<Key, Record>;
    // Pauses that grow up to a longest one, by chance a little shorter, so that a hundred programs do not come at once.
    class Pause {
    public:
        Pause(std::chrono::milliseconds shortest, std::chrono::milliseconds longest)
            : shortest_(shortest), longest_(longest)
        {
        }
        void reset() { next_ = shortest_; }
        [[nodiscard]] Clock::time_point from_now();

    private:
        const std::chrono::milliseconds shortest_;
        const std::chrono::milliseconds longest_;
        std::chrono::milliseconds next_ = shortest_;
        std::minstd_rand chance_{static_cast<std::minstd_rand::result_type>(
            Clock::now().time_since_epoch().count() ^
            static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(this)))};
    };

    [[nodiscard]] bool comes_back() const { return (options_.flags & RDMAQOS_OPEN_ONCE) == 0; }
    [[nodiscard]] bool remembers() const { return (options_.flags & RDMAQOS_OPEN_WITHOUT_DAEMON) != 0; }
    [[nodiscard]] bool persists() const { return (options_.flags & RDMAQOS_OPEN_PERSIST) != 0; }
    [[nodiscard]] Failure open_any(Deadline deadline);
    // The daemon has gone: what there was is wanted again.
    void lose();
    void drop_connection();
    void forget_all();
    void look();
    [[nodiscard]] Failure why_absent() const;
    // There is a connection, as far as that can be had now.
    [[nodiscard]] Failure reach(Deadline deadline);
    // And a session.
    [[nodiscard]] Failure join(Deadline deadline);
    void register_again(Deadline deadline);
    // The session is refused, and will be asked for again later.
    void ask_later(const Failure& failure);
    [[nodiscard]] Failure register_now(Deadline deadline);
    void take_grant(const std::string& session, const AnswerRef& grant);
    // Devices took queue pairs along: `devices`, or which is not known (null).
    void lose_devices(const std::string* devices);
    // What was refused before may be granted now.
    void try_again(const std::string* returned_devices);

    [[nodiscard]] Failure call(const Message& message, Deadline deadline, Message& answer);
    [[nodiscard]] Failure attach_part(std::span<const Wanted* const> part, Deadline deadline,
                                      std::vector<AnswerRef>& answers);
    [[nodiscard]] int append(sd_bus_message* message, std::span<const Wanted* const> part) const;
    [[nodiscard]] bool has_one_file(const QueuePair& queue_pair, std::span<const Wanted* const> part) const;
    [[nodiscard]] Failure cannot_be_passed(const QueuePair& queue_pair) const;
    void attach_wanted(std::span<const Wanted* const> part, Deadline deadline, std::vector<Outcome>& outcomes);
    Record& keep(const Wanted& wanted, bool is_attached);
    [[nodiscard]] std::vector<const Wanted*> some_pending();
    void attach_pending(Deadline deadline);
    void settle(const std::vector<const Wanted*>& part, const std::vector<AnswerRef>& answers, Deadline deadline);
    void restore_rates(const std::vector<Key>& keys, Deadline deadline);
    [[nodiscard]] Message rate_call(const Key& key, const rdmaqos_rate& rate) const;
    static void take_place(Record& record, const AnswerRef& place);
    // Whether a queue pair that is refused so is asked for again.
    [[nodiscard]] bool stays(const Failure& failure) const;
    void take_refusal(Records::iterator record, const Failure& failure);
    void give_up(Records::iterator record, const Failure& failure);
    // Those for which it is time are to be tried.
    void begin_round();
    // Sets the times at which what is not attached is tried again.
    void plan_next_round();
    [[nodiscard]] Records::iterator find(const std::string& device, std::uint32_t number);
    void tell(rdmaqos_event_type type, const AnswerRef& grant, std::string message = {});

    const EngineOptions options_;
    const std::function<void(int)> before_close_;
    Connection::Made connection_;
    rdmaqos_transport transport_ = RDMAQOS_TRANSPORT_NONE;    // by which it was first reached
    bool wants_session_ = false;
    bool is_detached_ = false;
    bool is_back_news_ = false;         // its program knows that the daemon was gone, or that it refused
    Request wish_;                      // what the session is asked for by, also after a refusal
    Failure unreachable_;               // why there is no connection: it was not made, or has ended
    std::optional<Failure> refusal_;    // of the session, which is wanted all the same
    std::string session_;               // path; empty: none
    AnswerRef grant_;
    std::uint64_t losses_ = 0;    // of devices that the daemon has reported
    Records records_;
    std::deque<Event> events_;
    Pause pause_{std::chrono::milliseconds(10), std::chrono::milliseconds(250)};
    Pause refused_pause_{std::chrono::seconds(10), std::chrono::seconds(10)};
    std::optional<Clock::time_point> next_try_;    // to connect, or to register
    Pause attach_pause_{std::chrono::milliseconds(10), std::chrono::milliseconds(250)};
    Pause slow_pause_{std::chrono::seconds(1), std::chrono::seconds(10)};
    std::optional<Clock::time_point> next_attach_;
    std::optional<Clock::time_point> next_slow_;    // of those that are slow
};

}    // namespace rdmaqos::client
