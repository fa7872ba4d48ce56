#include "tests/attack/crowd.h"

#include <array>
#include <deque>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/epoll.h>

#include "tests/attack/requests.h"

namespace rdmaqos::attack {
namespace {

using namespace std::chrono_literals;

constexpr auto kRest = 100ms;                // before somebody who was dropped comes again
constexpr std::size_t kComingAtOnce = 64;    // between two looks at the others
constexpr std::size_t kAtOnce = 256 * 1024;

class Crowd {
public:
    Crowd(Attacker& attacker, const Habit& habit) : attacker_(attacker), habit_(habit), members_(habit.connections)
    {
        for (std::size_t index = 0; index < members_.size(); ++index) {
            absent_.push_back({Clock::now(), index});
        }
    }

    [[noreturn]] void live()
    {
        bool told = false;
        auto next_byte = Clock::now();
        while (true) {
            come();
            if (!told && (absent_.empty() || Clock::now() > begin_ + 5s)) {
                attacker_.ready();
                told = true;
            }
            std::array<epoll_event, 256> events{};
            const int count = epoll_wait(epoll_.get(), events.data(), events.size(), absent_.empty() ? 20 : 5);
            for (int index = 0; index < count; ++index) {
                const epoll_event& event = events[static_cast<std::size_t>(index)];
                go_on(event.data.u64, event.events);
            }
            if (habit_.byte_every && Clock::now() >= next_byte) {
                next_byte = Clock::now() + *habit_.byte_every;
                for (std::size_t index = 0; index < members_.size(); ++index) {
                    dribble(index);
                }
            }
        }
    }

private:
    struct Member {
        Wire wire;
        std::size_t sent = 0;    // of `first`, then of `again`
        bool first_is_sent = false;
    };
    struct Absent {
        Clock::time_point until;
        std::size_t index;
    };

    void come()
    {
        for (std::size_t count = 0; count < kComingAtOnce && !absent_.empty() && absent_.front().until <= Clock::now();
             ++count) {
            const std::size_t index = absent_.front().index;
            absent_.pop_front();
            Member& member = members_[index];
            member = Member{Wire(attacker_.socket, 0ms), 0, false};
            if (member.wire.is_open() && habit_.descriptors_each > 0) {
                // Descriptors among the bytes of the handshake would end it.
                member.first_is_sent = member.wire.authenticate(1s);
            }
            if (!member.wire.is_open()) {
                leave(index);
                continue;
            }
            epoll_event event{interest(member), {.u64 = index}};
            epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, member.wire.fd(), &event);
        }
    }

    [[nodiscard]] bool has_more(const Member& member) const
    {
        return !member.first_is_sent || (!habit_.again.empty() && !habit_.byte_every);
    }
    [[nodiscard]] std::uint32_t interest(const Member& member) const
    {
        return (habit_.reads ? EPOLLIN : 0U) | (has_more(member) ? EPOLLOUT : 0U);
    }

    void leave(std::size_t index)
    {
        members_[index].wire.close();    // and epoll forgets it
        absent_.push_back({Clock::now() + (habit_.leaves ? 0ms : kRest), index});
    }

    void go_on(std::size_t index, std::uint32_t events)
    {
        Member& member = members_[index];
        if (!member.wire.is_open()) {
            return;
        }
        const bool had_more = has_more(member);
        if ((events & EPOLLIN) != 0) {
            member.wire.discard(kAtOnce);
        }
        if ((events & EPOLLOUT) != 0) {
            write(member);
        }
        if ((events & (EPOLLHUP | EPOLLERR)) != 0 || (habit_.leaves && member.first_is_sent)) {
            member.wire.close();
        }
        if (!member.wire.is_open()) {
            leave(index);
        } else if (had_more != has_more(member)) {
            epoll_event event{interest(member), {.u64 = index}};
            epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, member.wire.fd(), &event);
        }
    }

    void write(Member& member)
    {
        for (std::size_t budget = kAtOnce; budget > 0 && member.wire.is_open() && has_more(member);) {
            const std::string& text = member.first_is_sent ? habit_.again : habit_.first;
            const auto part = std::string_view(text).substr(member.sent, budget);
            const std::size_t sent = member.wire.send_some(part, descriptors(member));
            if (sent == 0 && !part.empty()) {
                return;
            }
            member.sent += sent;
            budget -= sent;
            if (member.sent == text.size()) {
                member.sent = 0;
                member.first_is_sent = true;
            }
        }
    }

    void dribble(std::size_t index)
    {
        Member& member = members_[index];
        if (member.wire.is_open() && member.first_is_sent && member.sent < habit_.again.size()) {
            member.sent += member.wire.send_some(std::string_view(habit_.again).substr(member.sent, 1),
                                                 descriptors(member));
            if (!member.wire.is_open()) {
                leave(index);
            }
        }
    }

    [[nodiscard]] std::span<const int> descriptors(const Member& member)
    {
        if (habit_.descriptors_each == 0 || !member.first_is_sent || member.sent != 0) {
            return {};
        }
        passed_.assign(habit_.descriptors_each, nothing_.get());
        return passed_;
    }

    Attacker& attacker_;
    const Habit& habit_;
    const Clock::time_point begin_ = Clock::now();
    UniqueFd epoll_{epoll_create1(EPOLL_CLOEXEC)};
    UniqueFd nothing_{open("/dev/null", O_RDONLY | O_CLOEXEC)};
    std::vector<int> passed_;
    std::vector<Member> members_;
    std::deque<Absent> absent_;    // soonest first
};

}    // namespace

void crowd(Attacker& attacker, const Habit& habit)
{
    Crowd(attacker, habit).live();
}

Squad crowd_of(Habit habit, unsigned processes)
{
    return {.deed = [habit = std::move(habit)](Attacker& attacker) { crowd(attacker, habit); }, .processes = processes};
}

void register_many(Attacker& attacker)
{
    std::string calls;
    for (int count = 0; count < 1400; ++count) {
        calls += call(methods::kRegister, request_for("rpc"));
    }
    attacker.ready();
    while (true) {
        Wire wire(attacker.socket);
        if (wire.authenticate()) {
            wire.send(calls);
        }
        std::this_thread::sleep_for(500ms);
    }
}

std::string after_handshake(const std::string& messages)
{
    return std::string(kHandshake) + messages;
}

}    // namespace rdmaqos::attack
