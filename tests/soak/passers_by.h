// Programs that know nothing of rdma-qosd and never register: each makes queue pairs, replaces one now and then, and
// ends when it is told to, or is killed. What each has it says through a pipe, before and after every change.
#pragma once

#include <algorithm>
#include <chrono>
#include <climits>
#include <csignal>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "tests/soak/crowd.h"

namespace rdmaqos::test {

class PassersBy {
public:
    using Clock = std::chrono::steady_clock;

    struct Said {
        std::uint32_t program = 0;
        std::uint32_t life = 0;                     // how many have had this place
        std::uint32_t numbers[kQueuePairs] = {};    // 0: it is not there just now
        std::uint32_t destroys = 0;                 // its own calls of ibv_destroy_qp(),
        std::uint32_t busies = 0;                   // and how many of them found the queue pair in use
        std::uint32_t waited = 0;                   // most calls in a row that did
    };
    static_assert(sizeof(Said) < PIPE_BUF);

    struct Living {
        std::unique_ptr<Child> child;
        Said said;
        bool is_up = false;
        bool leaves = false;
        std::map<std::uint32_t, Clock::time_point> since;    // by number: when it was said
    };

    // Each replaces one of its queue pairs every so often, on average.
    explicit PassersBy(std::chrono::milliseconds replaces) : replaces_(replaces)
    {
        if (pipe2(ends_, O_CLOEXEC) != 0) {
            throw std::runtime_error("pipe");
        }
    }
    ~PassersBy()
    {
        living_.clear();
        close(ends_[0]);
        close(ends_[1]);
    }
    PassersBy(const PassersBy&) = delete;
    PassersBy& operator=(const PassersBy&) = delete;

    // "rpc-17": the name that a program has in the kernel, of the level that it belongs to.
    [[nodiscard]] static std::uint32_t level_of(std::uint32_t program) { return program % 3; }

    void start(std::uint32_t program)
    {
        Living& living = living_[program];
        living = {};
        living.said.program = program;
        living.said.life = ++lives_[program];
        living.child = std::make_unique<Child>([this, said = living.said] { live(said); });
    }
    // By SIGKILL.
    void kill(std::uint32_t program)
    {
        living_.erase(program);
        ends_at_.push_back(Clock::now());
    }
    // It destroys what it has, and ends.
    void tell_to_leave(std::uint32_t program)
    {
        living_.at(program).leaves = true;
        living_.at(program).child->signal(SIGTERM);
    }
    // Starts others for all that have left.
    void replace_those_that_left()
    {
        for (auto& [program, living] : living_) {
            if (has_left(living)) {
                start(program);
            }
        }
    }
    // Forgets those that have left; whether all have.
    bool all_left()
    {
        std::erase_if(living_, [this](const auto& entry) { return has_left(entry.second); });
        return living_.empty();
    }
    void hear(std::chrono::milliseconds patience)
    {
        pollfd ready{ends_[0], POLLIN, 0};
        while (poll(&ready, 1, static_cast<int>(patience.count())) > 0) {
            Said said;
            if (read(ends_[0], &said, sizeof(said)) != sizeof(said)) {
                throw std::runtime_error("pipe");
            }
            take(said);
            patience = std::chrono::milliseconds(0);
        }
    }
    // All that were started have said what they have, and nobody replaces anything.
    bool settle(std::chrono::seconds patience)
    {
        const auto until = Clock::now() + patience;
        while (Clock::now() < until && coming_up() + leaving() > 0) {
            replace_those_that_left();
            hear(std::chrono::milliseconds(100));
        }
        for (const auto& [program, living] : living_) {
            living.child->signal(SIGUSR1);
        }
        return coming_up() + leaving() == 0;
    }

    [[nodiscard]] const std::map<std::uint32_t, Living>& living() const { return living_; }
    [[nodiscard]] std::size_t coming_up() const { return count(&Living::is_up, false); }
    [[nodiscard]] std::size_t leaving() const { return count(&Living::leaves, true); }
    // Living ones, and those that ended after `since`.
    [[nodiscard]] std::size_t there_since(Clock::time_point since) const
    {
        return living_.size() + static_cast<std::size_t>(
                                    std::ranges::count_if(ends_at_, [since](const auto& end) { return end >= since; }));
    }
    [[nodiscard]] std::size_t ended() const { return ends_at_.size(); }
    [[nodiscard]] std::size_t made() const { return made_; }    // queue pairs

    struct Destroys {
        std::size_t calls = 0;
        std::size_t busies = 0;
        std::size_t waited = 0;
    };
    [[nodiscard]] Destroys destroys() const
    {
        Destroys all;
        for (const auto& [program, said] : last_words_) {
            all.calls += said.destroys;
            all.busies += said.busies;
            all.waited = std::max<std::size_t>(all.waited, said.waited);
        }
        return all;
    }

private:
    bool has_left(const Living& living)
    {
        const auto status = living.leaves ? living.child->wait(std::chrono::milliseconds(0)) : std::nullopt;
        if (status && *status != 0) {
            throw std::runtime_error("a program failed");
        }
        if (status) {
            ends_at_.push_back(Clock::now());
        }
        return status.has_value();
    }
    [[nodiscard]] std::size_t count(bool Living::*member, bool value) const
    {
        return static_cast<std::size_t>(
            std::ranges::count_if(living_, [&](const auto& entry) { return entry.second.*member == value; }));
    }
    void take(const Said& said)
    {
        last_words_[{said.program, said.life}] = said;
        const auto found = living_.find(said.program);
        if (found == living_.end() || found->second.said.life != said.life) {
            return;    // it was killed meanwhile
        }
        Living& living = found->second;
        living.said = said;
        living.is_up = true;
        std::map<std::uint32_t, Clock::time_point> since;
        for (const std::uint32_t number : said.numbers) {
            const auto before = living.since.find(number);
            made_ += before == living.since.end() && number != 0 ? 1 : 0;
            since[number] = before == living.since.end() ? Clock::now() : before->second;
        }
        since.erase(0);
        living.since = std::move(since);
    }

    // ---- in the program's process ----

    void say(const Said& said) const
    {
        if (write(ends_[1], &said, sizeof(said)) != sizeof(said)) {
            _exit(1);
        }
    }
    static ibv_qp* make(const world& here, std::size_t slot)
    {
        ibv_qp* made = qp_in_state(&here, slot % 2 == 0 ? IBV_QPT_RC : IBV_QPT_UD, IBV_QPS_RTS);
        if (made == nullptr) {
            fprintf(stderr, "a program gets no queue pair: %s\n", strerrorname_np(errno));
            _exit(1);
        }
        return made;
    }
    static void destroy(ibv_qp* made, Said& said)
    {
        std::uint32_t in_a_row = 0;
        int error = 0;
        while (++said.destroys, (error = ibv_destroy_qp(made)) == EBUSY) {
            ++said.busies;
            said.waited = std::max(said.waited, ++in_a_row);
            usleep(1000);
        }
        if (error != 0) {
            fprintf(stderr, "a program cannot destroy its queue pair: %s\n", strerrorname_np(error));
            _exit(1);
        }
    }
    [[noreturn]] void live(Said said) const
    {
        static volatile std::sig_atomic_t leaves = 0;
        static volatile std::sig_atomic_t rests = 0;
        struct sigaction action {};
        action.sa_handler = [](int number) { (number == SIGTERM ? leaves : rests) = 1; };
        sigaction(SIGTERM, &action, nullptr);
        sigaction(SIGUSR1, &action, nullptr);
        const std::string name = fmt::format("{}-{}", kLevels[level_of(said.program)], said.program);
        prctl(PR_SET_NAME, name.c_str());
        world here{};
        // The helpers print what they check.
        if (freopen("/dev/null", "w", stdout) == nullptr || !open_world_of(&here, "mlx5_0")) {
            fprintf(stderr, "a program gets no device\n");
            _exit(1);
        }
        ibv_qp* made[kQueuePairs] = {};
        for (std::size_t slot = 0; slot < kQueuePairs; ++slot) {
            made[slot] = make(here, slot);
            said.numbers[slot] = made[slot]->qp_num;
        }
        say(said);
        std::minstd_rand random(said.program * 1000 + said.life);
        while (leaves == 0) {
            poll(nullptr, 0, static_cast<int>(random() % static_cast<std::uint64_t>(2 * replaces_.count())));
            const std::size_t slot = random() % kQueuePairs;
            if (leaves != 0 || rests != 0) {
                continue;
            }
            said.numbers[slot] = 0;
            say(said);
            destroy(made[slot], said);
            made[slot] = make(here, slot);
            said.numbers[slot] = made[slot]->qp_num;
            say(said);
        }
        std::ranges::fill(said.numbers, 0);
        say(said);
        for (ibv_qp* each : made) {
            destroy(each, said);
        }
        say(said);
        ibv_destroy_cq(here.cq);
        ibv_dealloc_pd(here.pd);
        ibv_close_device(here.context);
        _exit(0);
    }

    const std::chrono::milliseconds replaces_;
    int ends_[2] = {-1, -1};
    std::map<std::uint32_t, Living> living_;
    std::map<std::uint32_t, std::uint32_t> lives_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, Said> last_words_;
    std::vector<Clock::time_point> ends_at_;
    std::size_t made_ = 0;
};

}    // namespace rdmaqos::test
