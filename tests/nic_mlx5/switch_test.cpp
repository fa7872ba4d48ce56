// A device that is disabled and enabled while programs use their queue pairs without a pause.
#include <atomic>
#include <memory>
#include <thread>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "lib/client/retry.h"
#include "tests/nic_mlx5/program.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kUsers = 6;

// What a program says of itself, in memory that it shares with the test.
struct UserSays {
    std::atomic<std::uint32_t> number;    // of the queue pair that it keeps
    std::atomic<std::uint64_t> uses;      // of that one
    std::atomic<std::uint64_t> rounds;    // with others, which come and go
    std::atomic<std::uint64_t> calls;
    std::atomic<std::uint64_t> busy;    // of these, those that met EBUSY and were made again
    std::atomic<int> noticed;           // the line of the first call that went wrong
    std::atomic<int> error;             // of that call: an errno; 0: it did something else than it should
};

// A program with one queue pair that it keeps, and others that come and go. The calls of its own are those of
// libibverbs, which ask nobody whether a class is in force.
class User {
public:
    User(const Daemon& daemon, const char* level, UserSays& says) : program_(daemon, level), says_(says)
    {
        kept_ = program_.make(IBV_QPT_RC);
        const auto result = program_.attach(kept_);
        if (error_of(result) != "absent") {
            throw std::runtime_error(text_of(result, "reason"));
        }
        says_.number = kept_->qp_num;
    }
    void run()
    {
        // A kernel's machine has one processor for all.
        const auto pause = on_kernel() ? 5000us : 200us;
        std::thread([this, pause] {
            while (true) {
                use_kept();
                std::this_thread::sleep_for(pause);
            }
        }).detach();
        while (true) {
            use_others();
        }
    }

private:
    void use_others()
    {
        // One that it attaches and one that the daemon never hears of; neither is detached before it goes.
        for (const bool joins : {true, false}) {
            ibv_qp* brief = create_qp(&program_.here(), IBV_QPT_UD);
            expect(__LINE__, brief != nullptr, errno);
            if (brief == nullptr) {
                return;
            }
            for (const auto state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
                expect_none(__LINE__, call([&] { return step_qp(brief, state, 0); }));
            }
            if (joins) {
                const auto error = error_of(program_.attach(brief));
                expect(__LINE__, error == "absent" || error == "org.rdmaqos1.Error.Busy");
            }
            expect_none(__LINE__, call([&] { return ibv_destroy_qp(brief); }));
        }
        ++says_.rounds;
    }

    // What it sets is what it finds.
    void use_kept()
    {
        ibv_qp_attr attributes{};
        timer_ = static_cast<std::uint8_t>(timer_ % 30 + 1);
        attributes.min_rnr_timer = timer_;
        expect_none(__LINE__, call([&] { return ibv_modify_qp(kept_, &attributes, IBV_QP_MIN_RNR_TIMER); }));
        ibv_qp_init_attr initial{};
        expect_none(__LINE__, call([&] {
                        return ibv_query_qp(kept_, &attributes, IBV_QP_STATE | IBV_QP_MIN_RNR_TIMER, &initial);
                    }));
        expect(__LINE__, attributes.qp_state == IBV_QPS_RTS && attributes.min_rnr_timer == timer_);
        ++says_.uses;
    }
    template <typename Call>
    int call(const Call& make)
    {
        return client::retry_busy([&] {
            const int error = make();
            ++says_.calls;
            says_.busy += error == EBUSY ? 1 : 0;
            return error;
        });
    }
    void expect(int line, bool right, int error = 0)
    {
        if (!right && says_.noticed == 0) {
            says_.error = error;
            says_.noticed = line;
        }
    }
    void expect_none(int line, int error) { expect(line, error == 0, error); }

    Program program_;
    UserSays& says_;
    ibv_qp* kept_ = nullptr;
    std::uint8_t timer_ = 0;
};

class Users {
public:
    explicit Users(const Daemon& daemon)
        : says_(static_cast<UserSays*>(
              mmap(nullptr, kUsers * sizeof(UserSays), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)))
    {
        if (says_ == MAP_FAILED) {
            throw std::runtime_error("mmap");
        }
        for (std::size_t i = 0; i < kUsers; ++i) {
            UserSays& says = *std::construct_at(says_ + i);
            processes_.start([&daemon, &says, i](const Processes::Say& /*say*/) {
                User user(daemon, kLevels[i % 3], says);
                user.run();
            });
        }
    }
    ~Users()
    {
        processes_.kill_all();
        munmap(says_, kUsers * sizeof(UserSays));
    }
    Users(const Users&) = delete;
    Users& operator=(const Users&) = delete;

    // Until each has used each kind of its queue pairs so many times more. False: one has not, for long.
    [[nodiscard]] bool go_on(std::uint64_t times)
    {
        std::vector<std::pair<std::uint64_t, std::uint64_t>> goals;
        for (std::size_t i = 0; i < kUsers; ++i) {
            goals.emplace_back(says_[i].uses + times, says_[i].rounds + times);
        }
        return eventually(
            [&] {
                for (std::size_t i = 0; i < kUsers; ++i) {
                    if (says_[i].uses < goals[i].first || says_[i].rounds < goals[i].second) {
                        return false;
                    }
                }
                return true;
            },
            kManyHung);
    }
    // Where the queue pairs are that they keep, in the order of the programs.
    [[nodiscard]] std::vector<std::string> where() const
    {
        const auto all = places(emulated_device());
        std::vector<std::string> result;
        for (std::size_t i = 0; i < kUsers; ++i) {
            const auto found = all.find(says_[i].number);
            result.push_back(found == all.end() ? "absent" : found->second);
        }
        return result;
    }
    [[nodiscard]] const UserSays& operator[](std::size_t i) const { return says_[i]; }

private:
    UserSays* says_;
    Processes processes_;
};

// Every queue pair that a leaf has, also of those that come and go.
std::size_t queue_pairs_in_leaves()
{
    const auto all = places(emulated_device());
    return static_cast<std::size_t>(std::ranges::count_if(all, [](const auto& each) { return !each.second.empty(); }));
}

TEST(Mlx5Switch, ProgramsDoNotNoticeThatTheirDeviceIsDisabledAndEnabled)
{
    const int rounds = on_kernel() ? 3 : 4;
    const std::uint64_t times = on_kernel() ? 5 : 8;
    std::vector<std::string> expected;
    for (std::size_t i = 0; i < kUsers; ++i) {
        expected.emplace_back(kPlaceOf[i % 3]);
    }
    for (const char* lock : {"shared", "exclusive"}) {
        const bool collides = lock == std::string("exclusive");
        if (on_kernel() && collides) {
            continue;    // this kernel is newer
        }
        SCOPED_TRACE(lock);
        emulator(std::string("set modify-lock ") + lock);
        if (collides) {
            emulator("delay attach 5");
        }
        Daemon daemon(on_emulator());
        auto client = daemon.direct();
        {
            Users users(daemon);
            ASSERT_TRUE(users.go_on(times));
            ASSERT_EQ(users.where(), expected);
            for (int round = 0; round < rounds; ++round) {
                SCOPED_TRACE(round);
                const auto disabled = manage(client, "Disable", "mlx5_0");
                ASSERT_TRUE(disabled) << to_string(disabled.error());
                const auto are_out = [&users] { return users.where() == std::vector<std::string>(kUsers); };
                const auto is_empty = [] { return emulated_device().at("elements") == 0; };
                // One whose program locks it without pause is taken out a little later; and on a kernel, one that its
                // program destroys at this moment, which locks it, too: none of those that they keep.
                EXPECT_TRUE(collides ? eventually(are_out) : are_out()) << emulated_device().dump(2);
                EXPECT_TRUE(collides || on_kernel() ? eventually(is_empty) : is_empty()) << emulated_device().dump(2);
                ASSERT_TRUE(users.go_on(times));
                EXPECT_EQ(queue_pairs_in_leaves(), 0U) << "nothing is put into a leaf meanwhile";
                EXPECT_EQ(emulated_device().at("elements"), 0);
                const auto enabled = manage(client, "Enable", "mlx5_0");
                ASSERT_TRUE(enabled) << to_string(enabled.error());
                EXPECT_TRUE(eventually([&] { return users.where() == expected; }, kManyHung))
                    << emulated_device().dump(2);
                ASSERT_TRUE(users.go_on(times));
                EXPECT_EQ(users.where(), expected) << "they stay there";
            }
            std::uint64_t calls = 0;
            std::uint64_t busy = 0;
            for (std::size_t i = 0; i < kUsers; ++i) {
                EXPECT_EQ(users[i].noticed, 0)
                    << "program " << i << ", the call at this line: errno " << users[i].error;
                calls += users[i].calls;
                busy += users[i].busy;
            }
            EXPECT_TRUE(busy > 0 || !collides) << "no call has met one of the daemon's";
            EXPECT_EQ(daemon.sessions(), kUsers);
            printf(
                "modify-lock %s: disabled and enabled %d times, %llu calls of %zu programs, %llu of them met EBUSY\n",
                lock, rounds, static_cast<unsigned long long>(calls), kUsers, static_cast<unsigned long long>(busy));
            fflush(stdout);    // what is in it would be every child's too
        }
        EXPECT_TRUE(eventually([] { return emulated_device().at("queue-pairs").empty(); }, kManyHung));
        EXPECT_EQ(leaked_elements(), KnownComplaints::known_leaks());
    }
    make_as_it_was();
}

}    // namespace
}    // namespace rdmaqos::test
