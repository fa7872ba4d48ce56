// Two hundred programs with eight queue pairs each that never register, adopted: they come, replace queue pairs, leave
// and are killed at random while the policy is reloaded, for RDMAQOS_SOAK_SECONDS (20; on a kernel 10). All the time
// every queue pair is in its leaf soon after it may send, none in another process's; no device file and no queue pair
// outlives its program by more than 100 ms; afterwards nothing is left. Also on a real kernel (tests/kernel), at a
// slower pace.
#include <chrono>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "tests/soak/passers_by.h"
#include "tests/support/tracked.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr const char* kRules = R"(qos-match-rules:
  - {client: {command: ["rpc-*"]}, qos-level-name: rpc}
  - {client: {command: ["bulk-*"]}, qos-level-name: bulk}
  - {client: {command: ["storage-*"]}, qos-level-name: storage}
)";
constexpr const char* kBulkAfterOddReloads = "rate 0 share 21 < root";
constexpr auto kMayOutlive = 100ms;
// From when a program says that a queue pair may send to when it must be in its leaf. Adoption takes some milliseconds;
// a crowd that starts at once, and what else the host does, make it wait.
constexpr auto kMayTake = 10s;
// Besides one in 100,000 calls: a short run has too few to tell.
constexpr std::size_t kMayBeBusy = 2;
// In the second half of the time the daemon's memory grows by no more; what comes and goes is about a third of that.
constexpr std::size_t kMayKeepKib = 4096;
#ifdef __SANITIZE_ADDRESS__
constexpr bool kMemoryCounts = false;    // freed memory is kept
#elif defined(__SANITIZE_THREAD__)
constexpr bool kMemoryCounts = false;
#else
constexpr bool kMemoryCounts = true;
#endif

// Samples of the device, one after the other.
class Sampler {
public:
    explicit Sampler(PassersBy& programs) : programs_(programs), base_(emulated_device())
    {
        for (const auto& each : base_.at("tree")) {
            elements_.insert(each.at("id").get<std::uint32_t>());
        }
    }

    // As often as it may be done without being all that is done.
    void sample_if_due()
    {
        if (Clock::now() < next_) {
            return;
        }
        const auto begun = Clock::now();
        programs_.hear(0ms);
        const auto expected = all_said();
        const auto there = programs_.there_since(begun - kMayOutlive);
        const auto tracked = tracker_.all();
        const auto device = emulated_device();
        programs_.hear(0ms);    // what changed meanwhile was said before it was done
        look_for_orphans(tracked, begun);
        look_for_empty_leaves(device, begun);
        const std::size_t files = device.at("files").get<std::size_t>() - base_.at("files").get<std::size_t>();
        most_files_ = std::max(most_files_, files > there ? files - there : 0);
        compare(expected, device, begun);
        ++samples_;
        const auto took = Clock::now() - begun;
        took_.push_back(Milliseconds(took).count());
        next_ = Clock::now() + std::max<Clock::duration>(on_kernel() ? 100ms : 40ms, took);
    }
    // How many living queue pairs are not where they belong by now.
    [[nodiscard]] std::size_t misplaced() const
    {
        const auto where = places(emulated_device());
        std::size_t wrong = 0;
        for (const auto& [program, living] : programs_.living()) {
            for (const auto& [number, since] : living.since) {
                const auto found = where.find(number);
                wrong += found == where.end() || found->second != kPlaceOf[PassersBy::level_of(program)] ? 1 : 0;
            }
        }
        return wrong;
    }

    void expect_good() const
    {
        EXPECT_EQ(late_, 0U) << "queue pairs were not in their leaf " << kMayTake.count() << " s after they could send";
        EXPECT_EQ(strangers_, 0U) << "queue pairs were in a leaf of another process: " << stranger_;
        EXPECT_EQ(most_files_, 0U) << "device files outlived their programs by more than " << kMayOutlive.count()
                                   << " ms";
        EXPECT_LE(longest_orphan_, Milliseconds(kMayOutlive)) << "queue pairs outlived their program";
        EXPECT_LE(longest_leaf_, Milliseconds(kMayOutlive)) << "leaves outlived their program";
    }
    void print() const
    {
        auto sorted = delays_;
        std::ranges::sort(sorted);
        const auto at = [&](double part) {
            return sorted.empty() ? 0.0
                                  : sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1))];
        };
        auto took = took_;
        std::ranges::sort(took);
        printf("%zu samples, half of them in %.0f ms; in the leaf after: half %.0f ms, 99 of 100 %.0f ms, at most %.0f "
               "ms\n",
               samples_, took.empty() ? 0.0 : took[took.size() / 2], at(0.5), at(0.99), at(1.0));
        printf(
            "seen without their program: %zu queue pairs, up to %.0f ms; leaves up to %.0f ms; at most %zu files after "
            "%lld ms\n",
            orphans_seen_, longest_orphan_.count(), longest_leaf_.count(), most_files_,
            static_cast<long long>(kMayOutlive.count()));
    }

private:
    struct Expected {
        std::uint32_t program = 0;
        std::uint32_t life = 0;
        Clock::time_point since;
    };
    using ByNumber = std::map<std::uint32_t, Expected>;

    [[nodiscard]] ByNumber all_said() const
    {
        ByNumber all;
        for (const auto& [program, living] : programs_.living()) {
            for (const auto& [number, since] : living.since) {
                all[number] = {program, living.said.life, since};
            }
        }
        return all;
    }
    [[nodiscard]] bool still_has(std::uint32_t number, const Expected& expected) const
    {
        const auto found = programs_.living().find(expected.program);
        return found != programs_.living().end() && found->second.said.life == expected.life &&
               found->second.since.contains(number);
    }
    // Of no living process any more, sample after sample.
    void look_for_orphans(const std::vector<Tracked>& tracked, Clock::time_point begun)
    {
        std::map<std::uint32_t, Clock::time_point> now;
        for (const auto& each : tracked) {
            if (!each.thread) {
                const auto before = orphans_.find(each.number);
                now[each.number] = before == orphans_.end() ? begun : before->second;
                orphans_seen_ += before == orphans_.end() ? 1 : 0;
                longest_orphan_ = std::max<Milliseconds>(longest_orphan_, begun - now[each.number]);
            }
        }
        orphans_ = std::move(now);
    }
    // Leaves that were made for processes, with no queue pair in them.
    void look_for_empty_leaves(const nlohmann::json& device, Clock::time_point begun)
    {
        std::map<std::uint32_t, Clock::time_point> now;
        for (const auto& each : device.at("tree")) {
            const std::uint32_t id = each.at("id");
            if (each.at("element") == "queue-group" && each.at("queue-pairs") == 0 && !elements_.contains(id)) {
                const auto before = empty_.find(id);
                now[id] = before == empty_.end() ? begun : before->second;
                longest_leaf_ = std::max<Milliseconds>(longest_leaf_, begun - now[id]);
            }
        }
        empty_ = std::move(now);
    }
    void compare(const ByNumber& expected, const nlohmann::json& device, Clock::time_point begun)
    {
        std::map<std::uint32_t, std::uint32_t> leaf_of;
        for (const auto& each : device.at("queue-pairs")) {
            leaf_of[each.at("qpn")] = each.at("requester");
        }
        std::map<std::uint32_t, std::string> ways;
        std::map<std::uint32_t, std::set<std::uint32_t>> users;    // by leaf of `rpc`
        for (const auto& [number, of] : expected) {
            if (!still_has(number, of)) {
                continue;
            }
            const auto leaf = leaf_of.find(number);
            const std::uint32_t id = leaf == leaf_of.end() ? 0 : leaf->second;
            const auto [way, is_new] = ways.try_emplace(id);
            if (is_new) {
                way->second = id == 0 ? "no leaf" : way_up(device, id);
                way->second = way->second == kBulkAfterOddReloads ? kPlaceOf[1] : way->second;
            }
            const std::uint32_t level = PassersBy::level_of(of.program);
            if (way->second == kPlaceOf[level]) {
                if (seen_.insert({of.program, of.life, number}).second) {
                    delays_.push_back(std::max(0.0, Milliseconds(begun - of.since).count()));
                }
            } else if (begun - of.since > kMayTake) {
                ++late_;
            }
            if (way->second == kPlaceOf[0]) {
                users[id].insert(of.program);
            }
        }
        for (const auto& [id, programs] : users) {
            if (programs.size() > 1) {
                ++strangers_;
                stranger_ = fmt::format("{} programs in element {}", programs.size(), id);
            }
        }
    }

    PassersBy& programs_;
    const nlohmann::json base_;
    std::set<std::uint32_t> elements_;    // that were there without programs
    Tracker tracker_;
    Clock::time_point next_{};
    std::map<std::uint32_t, Clock::time_point> orphans_;
    std::map<std::uint32_t, Clock::time_point> empty_;
    std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> seen_;
    std::vector<double> delays_;
    std::vector<double> took_;
    std::size_t samples_ = 0;
    std::size_t late_ = 0;
    std::size_t strangers_ = 0;
    std::string stranger_;
    std::size_t most_files_ = 0;
    std::size_t orphans_seen_ = 0;
    Milliseconds longest_orphan_{};
    Milliseconds longest_leaf_{};
};

TEST(AdoptedCrowd, IsInItsLeavesAndLeavesNothing)
{
    const auto processes = static_cast<std::uint32_t>(
        from_environment("RDMAQOS_SOAK_PROCESSES", on_kernel() ? 24 : 200));
    const auto time = std::chrono::seconds(from_environment("RDMAQOS_SOAK_SECONDS", on_kernel() ? 10 : 20));
    const std::string policy = std::string(kThreeClasses) + kRules;
    Daemon daemon(on_emulator(policy, "version: 1\nunregistered: adopt\n"));
    const pid_t pid = daemon.process().pid();
    auto client = daemon.direct();
    const auto reload = [&](int round) {
        daemon.dir().write("etc/rdma-qos/policy.yaml", alternate(policy, round));
        const auto reply = client.call(bus::names::kRoot, bus::names::kManager, "Reload", {});
        ASSERT_TRUE(reply.has_value()) << to_string(reply.error());
    };
    const auto only_the_daemon_is_left = [] { return emulated_device().at("files") == 1; };
    PassersBy programs(4s);
    Sampler sampler(programs);
    // What is opened with the first queue pair and kept.
    programs.start(0);
    ASSERT_TRUE(programs.settle(kManyHung));
    EXPECT_TRUE(eventually([&] { return sampler.misplaced() == 0; }));
    programs.kill(0);
    ASSERT_TRUE(eventually(only_the_daemon_is_left) && eventually([&] { return daemon.sessions() == 0; }));
    const std::size_t descriptors = descriptors_of(pid);
    const auto elements = emulated_device().at("elements").get<std::size_t>();

    const auto started = Clock::now();
    for (std::uint32_t program = 0; program < processes; ++program) {
        programs.start(program);
        programs.hear(0ms);
        while (programs.coming_up() > kComingUp) {
            programs.hear(100ms);
        }
    }
    while (programs.coming_up() > 0 && Clock::now() < started + kManyHung) {
        programs.hear(100ms);
    }
    ASSERT_EQ(programs.coming_up(), 0U);
    EXPECT_TRUE(eventually(
        [&] {
            sampler.sample_if_due();
            return daemon.sessions() == processes;
        },
        kManyHung));
    printf("%u programs with %zu queue pairs adopted after %.1f s; daemon %zu KiB\n", processes,
           processes * kQueuePairs, std::chrono::duration<double>(Clock::now() - started).count(), kib_of(pid));
    fflush(stdout);    // what is in it would be every child's too

    std::minstd_rand random(1);
    const auto until = Clock::now() + time;
    auto next_reload = Clock::now();
    int reloads = 0;
    std::size_t kib = 0;    // after half of the time
    while (Clock::now() < until) {
        kib = kib == 0 && Clock::now() > until - time / 2 ? kib_of(pid) : kib;
        const auto program = static_cast<std::uint32_t>(random() % processes);
        const auto& living = programs.living().at(program);
        if (living.is_up && !living.leaves && programs.coming_up() + programs.leaving() < kComingUp) {
            if (random() % 2 == 0) {
                programs.kill(program);
                programs.start(program);
            } else {
                programs.tell_to_leave(program);
            }
        }
        programs.replace_those_that_left();
        programs.hear(1ms);
        sampler.sample_if_due();
        std::this_thread::sleep_for(on_kernel() ? 100ms : 30ms);
        if (Clock::now() > next_reload) {
            reload(++reloads);
            next_reload = Clock::now() + 2s;
        }
    }
    reload(0);
    ASSERT_TRUE(programs.settle(kManyHung)) << programs.coming_up() << " come up, " << programs.leaving() << " leave";
    EXPECT_TRUE(eventually(
        [&] {
            programs.hear(0ms);
            return sampler.misplaced() == 0;
        },
        kManyHung))
        << sampler.misplaced();
    EXPECT_TRUE(eventually([&] { return daemon.sessions() == processes; })) << daemon.sessions();
    // All leave at once.
    for (std::uint32_t program = 0; program < processes; ++program) {
        programs.tell_to_leave(program);
    }
    EXPECT_TRUE(eventually(
        [&] {
            programs.hear(0ms);
            sampler.sample_if_due();
            return programs.all_left();
        },
        kManyHung));
    EXPECT_TRUE(eventually(only_the_daemon_is_left, kManyHung)) << emulated_device().at("files");
    EXPECT_TRUE(eventually([&] { return emulated_device().at("elements") == elements; }, kManyHung))
        << emulated_device().at("elements") << " elements, " << elements << " at the start";
    EXPECT_EQ(emulated_device().at("leaked"), 0);
    EXPECT_TRUE(emulated_device().at("queue-pairs").empty());
    EXPECT_TRUE(eventually([&] { return descriptors_of(pid) <= descriptors; }))
        << descriptors_of(pid) << " descriptors, " << descriptors << " at the start";
    EXPECT_TRUE(eventually([&] { return daemon.sessions() == 0; })) << daemon.sessions();
    sampler.print();
    sampler.expect_good();
    const auto destroys = programs.destroys();
    printf("%zu programs ended, %zu queue pairs made, %d reloads; %zu destroys of theirs, %zu EBUSY, at most %zu in a "
           "row\n",
           programs.ended(), programs.made(), reloads, destroys.calls, destroys.busies, destroys.waited);
    printf("afterwards: daemon %zu KiB, %zu descriptors\n", kib_of(pid), descriptors_of(pid));
    EXPECT_LE(destroys.busies, kMayBeBusy + destroys.calls / 100'000);
    EXPECT_TRUE(!kMemoryCounts || kib_of(pid) <= kib + kMayKeepKib) << kib_of(pid) << " KiB, " << kib << " before";
}

}    // namespace
}    // namespace rdmaqos::test
