#include "tests/attack/battle.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <optional>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "lib/base/descriptor_message.h"
#include "tests/attack/wire.h"

namespace rdmaqos::attack {
namespace {

using namespace std::chrono_literals;

constexpr auto kBefore = 700ms;
constexpr auto kAfter = 300ms;
constexpr int kTries = 3;              // of an attack that misses goals of time only
constexpr std::size_t kCalls = 200;    // of Ping and of Register, during an attack

// ---- who is watched ----

struct Times {
    Latency ping;
    Latency enter;
    Latency visit;
    Latency status;
    Latency machine;
};

struct Victims {
    explicit Victims(const Target& target)
        : ping(users::kVictim, 5ms, pinging(target.socket()), loop_of(target)),
          enter(users::kVictim + 1, 5ms, registering(target.socket()), all_of(target)),
          visit(users::kVictim + 2, 50ms, visiting(target.socket()), loop_of(target), Victim::Counts::WhenBegun),
          status(users::kRoot, 250ms, asking_for_status(target.root()), all_of(target), Victim::Counts::WhenBegun),
          machine(users::kVictim + 3, 5ms, echoing(), {})
    {
    }
    // What only the daemon's loop has a part in; what others of its threads may have, those that it begins with.
    static Victim::Parts loop_of(const Target& target)
    {
        return [pid = target.pid()](test::ReadyButWaiting& waiting) {
            waiting.add_own_thread();
            waiting.add_main_thread(pid);
        };
    }
    static Victim::Parts all_of(const Target& target)
    {
        return [pid = target.pid()](test::ReadyButWaiting& waiting) {
            waiting.add_own_thread();
            waiting.add_all_threads(pid);
        };
    }
    [[nodiscard]] Times between(Clock::time_point from, Clock::time_point until) const
    {
        return {ping.between(from, until), enter.between(from, until), visit.between(from, until),
                status.between(from, until), machine.between(from, until)};
    }
    // What was asked in time has its answer, or its time is over.
    void settle(Clock::time_point then) const
    {
        static_cast<void>(test::eventually(
            [&] {
                return ping.has_answers_until(then) && enter.has_answers_until(then) && visit.has_answers_until(then) &&
                       status.has_answers_until(then);
            },
            2 * test::kHung));
    }

    Victim ping;
    Victim enter;
    Victim visit;
    Victim status;
    Victim machine;
};

struct Record {
    std::string name;
    double p99 = goals::kP99;    // ms, that Ping and Register may take
    double max = goals::kMax;
    bool complete = false;    // the attackers were ready
    Times before;
    Times during;
    Footprint held_before;
    Footprint held_most;    // the highest of each
    Footprint held_after;
    bool survived = false;
    bool stopped = false;    // in time
    std::string last_words;
    std::vector<std::string> verdict;    // what was missed
    std::size_t late = 0;                // of these, goals of time
};

// ---- the battle ----

void note_the_most(Footprint& most, const Footprint& now)
{
    most.peak_kib = std::max(most.peak_kib, now.peak_kib);
    most.descriptors = std::max(most.descriptors, now.descriptors);
    most.threads = std::max(most.threads, now.threads);
}

void watch(Target& target, Record& record, Clock::time_point until)
{
    while (Clock::now() < until && target.is_alive()) {
        note_the_most(record.held_most, target.footprint());
        std::this_thread::sleep_for(50ms);
    }
}

bool has_recovered(const Record& record)
{
    const Footprint& now = record.held_after;
    return now.resident_kib <= record.held_before.resident_kib + goals::kMemoryAfter &&
           now.descriptors <= record.held_before.descriptors + goals::kDescriptorsAfter;
}

milliseconds duration_of(const Attack& attack)
{
    const char* seconds = std::getenv("RDMAQOS_ATTACK_SECONDS");    // NOLINT(concurrency-mt-unsafe)
    return seconds == nullptr ? attack.duration : std::chrono::seconds(std::atoi(seconds));
}

// What the daemon makes once, when a client sends as many descriptors as it may, is there before any are counted.
void send_all_descriptors(const Target& target)
{
    Wire wire(target.socket());
    const UniqueFd file(memfd_create("text", MFD_CLOEXEC));
    const std::vector<int> files(kMostDescriptors, file.get());
    Body body;
    body.descriptors = kMostDescriptors;
    EXPECT_TRUE(wire.authenticate() && wire.send(call(methods::kPing, body), files) && wire.answer_to(kSomeSerial));
}

Record fight_once(Attack attack)
{
    Record record;
    record.name = attack.name;
    record.p99 = attack.p99;
    record.max = attack.max;
    Target target(attack.target);
    send_all_descriptors(target);
    Victims victims(target);
    std::this_thread::sleep_for(200ms);    // until everybody is connected
    target.reset_peak();
    const auto begin = Clock::now();
    std::this_thread::sleep_for(kBefore);
    record.held_before = target.footprint();
    record.held_most = record.held_before;

    const auto attacked = Clock::now();
    auto mob = std::make_unique<Mob>(attack.squads, target.socket(), target.bus_socket());
    const auto patience = Clock::now() + attack.set_up;
    while (!record.complete && Clock::now() < patience && target.is_alive()) {
        watch(target, record, Clock::now() + 50ms);
        record.complete = mob->is_complete(0ms);
    }
    const std::size_t pings = victims.ping.calls();
    const std::size_t registers = victims.enter.calls();
    watch(target, record, Clock::now() + duration_of(attack));
    // On a busy machine that is few: as many as tell how long they take.
    static_cast<void>(test::eventually([&] {
        watch(target, record, Clock::now() + 50ms);
        return !target.is_alive() ||
               (victims.ping.calls() >= pings + kCalls && victims.enter.calls() >= registers + kCalls);
    }));
    const auto over = Clock::now();
    if (!attack.hangs) {
        mob.reset();
    }
    victims.settle(over);
    record.before = victims.between(begin, attacked);
    record.during = victims.between(attacked, over);

    std::this_thread::sleep_for(kAfter);
    record.survived = target.is_alive();
    static_cast<void>(test::eventually(
        [&] {
            record.held_after = target.footprint();
            note_the_most(record.held_most, record.held_after);
            return !target.is_alive() || has_recovered(record);
        },
        test::kHung));
    if (record.survived) {
        record.stopped = target.stop(goals::kStop);
    }
    // What hangs goes before those who may hang.
    for (const auto& server : attack.servers) {
        server->signal(SIGKILL);
    }
    mob.reset();
    record.last_words = target.last_words();
    return record;
}

// ---- judgement ----

class Evaluator {
public:
    explicit Evaluator(Record& record) : record_(record) {}

    void expect(bool holds, const std::string& what)
    {
        if (!holds) {
            record_.verdict.push_back(what);
        }
    }
    void expect_served(const Latency& latency, const char* whose, double p99, double max)
    {
        expect(latency.calls > 0, fmt::format("{} is never answered", whose));
        expect(latency.failures == 0, fmt::format("{} fails {} times of {}", whose, latency.failures, latency.calls));
        if (latency.p99 > p99 || latency.max > max) {
            ++record_.late;
            expect(false, fmt::format("{} takes {:.0f} ms at p99, {:.0f} ms at most", whose, latency.p99, latency.max));
        }
    }

private:
    Record& record_;
};

std::string mib(std::size_t kib)
{
    return fmt::format("{:.0f} MiB", static_cast<double>(kib) / 1024);
}

void judge(Record& record)
{
    Evaluator judge(record);
    record.verdict.clear();
    record.late = 0;
    judge.expect(record.complete || !record.survived, "the attackers did not get ready");
    judge.expect(record.survived, "the daemon is dead");
    if (!record.survived) {
        return;
    }
    if (has_many_users()) {
        judge.expect_served(record.during.ping, "Ping", record.p99, record.max);
        judge.expect_served(record.during.enter, "Register", record.p99, record.max);
        judge.expect_served(record.during.visit, "a new connection", goals::kVisit, goals::kVisit);
        judge.expect_served(record.during.status, "status", goals::kStatus, goals::kStatus);
    }
    const Footprint& before = record.held_before;
    const Footprint& most = record.held_most;
    const Footprint& after = record.held_after;
    judge.expect(most.peak_kib <= before.resident_kib + goals::kMemoryDuring, mib(most.peak_kib) + " at most");
    judge.expect(after.resident_kib <= before.resident_kib + goals::kMemoryAfter, mib(after.resident_kib) + " stay");
    judge.expect(after.descriptors <= before.descriptors + goals::kDescriptorsAfter,
                 fmt::format("{} descriptors stay", after.descriptors));
    judge.expect(most.threads <= before.threads + goals::kThreads, fmt::format("{} threads", most.threads));
    judge.expect(record.stopped, fmt::format("SIGTERM does not end it in {} s", goals::kStop.count()));
}

// ---- the table ----

std::vector<std::string> cells(const Record& record)
{
    const auto three = [](const Latency& latency) {
        return fmt::format("{:.1f} / {:.1f} / {:.1f}", latency.p50, latency.p99, latency.max);
    };
    const Footprint& before = record.held_before;
    const Footprint& most = record.held_most;
    const Footprint& after = record.held_after;
    return {record.name,
            three(record.during.ping),
            three(record.during.enter),
            fmt::format("{:.1f} / {:.1f}", record.during.machine.p99, record.during.machine.max),
            fmt::format("{:.0f}", record.during.visit.max),
            fmt::format("{:.0f}", record.during.status.max),
            fmt::format("{} / {} / {}", before.resident_kib / 1024, most.peak_kib / 1024, after.resident_kib / 1024),
            fmt::format("{} / {} / {}", before.descriptors, most.descriptors, after.descriptors),
            record.verdict.empty() ? "held" : fmt::format("{}", fmt::join(record.verdict, "; "))};
}

const std::vector<std::string> kHeadings{
    "attack",         "Ping p50 / p99 / max ms", "Register p50 / p99 / max ms", "machine p99 / max ms",
    "connect max ms", "status max ms",           "MiB before / peak / after",   "descriptors before / peak / after",
    "verdict"};

class Table : public testing::Environment {
public:
    void add(Record record) { records_.push_back(std::move(record)); }

    void TearDown() override
    {
        if (records_.empty()) {
            return;
        }
        std::vector<std::vector<std::string>> rows{kHeadings};
        rows.push_back(cells(quiet()));
        for (const auto& record : records_) {
            rows.push_back(cells(record));
        }
        const std::string text = drawn(rows);
        std::cout << "\n" << text << std::flush;
        write("RDMAQOS_ATTACK_TABLE", text);
        write("RDMAQOS_ATTACK_MARKDOWN", markdown(rows));
    }

private:
    // How the victims fare when nobody attacks: the worst that was seen before any attack.
    [[nodiscard]] Record quiet() const
    {
        Record result = records_.front();
        result.name = "nobody attacks";
        result.held_most = result.held_after = result.held_before;
        result.verdict.clear();
        result.during = result.before;
        for (const auto& record : records_) {
            const auto worse = [](Latency& all, const Latency& one) {
                all.p50 = std::max(all.p50, one.p50);
                all.p99 = std::max(all.p99, one.p99);
                all.max = std::max(all.max, one.max);
            };
            worse(result.during.ping, record.before.ping);
            worse(result.during.enter, record.before.enter);
            worse(result.during.visit, record.before.visit);
            worse(result.during.status, record.before.status);
            worse(result.during.machine, record.before.machine);
        }
        return result;
    }

    static std::string drawn(const std::vector<std::vector<std::string>>& rows)
    {
        std::vector<std::size_t> widths(kHeadings.size());
        for (const auto& row : rows) {
            for (std::size_t column = 0; column < row.size(); ++column) {
                widths[column] = std::max(widths[column], row[column].size());
            }
        }
        std::string text;
        for (const auto& row : rows) {
            for (std::size_t column = 0; column + 1 < row.size(); ++column) {
                text += fmt::format("{:<{}}  ", row[column], widths[column]);
            }
            text += row.back() + "\n";
        }
        return text;
    }

    static std::string markdown(const std::vector<std::vector<std::string>>& rows)
    {
        std::string text;
        for (const auto& row : rows) {
            text += fmt::format("| {} |\n", fmt::join(row, " | "));
            if (&row == &rows.front()) {
                text += "|";
                for (std::size_t column = 0; column < row.size(); ++column) {
                    text += "---|";
                }
                text += "\n";
            }
        }
        return text;
    }

    // Programs of one run add to the same file.
    static void write(const char* variable, const std::string& text)
    {
        if (const char* file = std::getenv(variable); file != nullptr) {    // NOLINT(concurrency-mt-unsafe)
            std::ofstream(file, std::ios::app) << text;
        }
    }

    std::vector<Record> records_;
};

Table& table()
{
    static auto* table = static_cast<Table*>(testing::AddGlobalTestEnvironment(new Table));
    return *table;
}
[[maybe_unused]] const auto& kRegistered = table();    // before main(), as GoogleTest wants it

}    // namespace

void fight(const std::function<Attack()>& make)
{
    if (!has_many_users()) {
        std::cout << "not root: victims and attackers are one user, so how long victims wait is not judged\n";
    }
    Record record;
    for (int count = 0; count < kTries; ++count) {
        record = fight_once(make());
        judge(record);
        // What others on this machine do comes and goes; what the daemon does comes again.
        const bool only_late = !record.verdict.empty() && record.verdict.size() == record.late;
        if (!only_late) {
            break;
        }
        std::cout << fmt::format("{}: {} (the machine: {:.0f} ms at p99, {:.0f} at most); try {} of {}\n", record.name,
                                 fmt::join(record.verdict, "; "), record.during.machine.p99, record.during.machine.max,
                                 count + 1, kTries);
    }
    for (const auto& missed : record.verdict) {
        ADD_FAILURE() << record.name << ": " << missed;
    }
    if (!record.verdict.empty()) {
        std::cout << "the daemon: " << record.last_words << std::endl;
    }
    table().add(std::move(record));
}

}    // namespace rdmaqos::attack
