// Messages that nearly are what the daemon expects, by the hundred thousand: RDMAQOS_MUTATIONS says how many (200,000),
// and RDMAQOS_MUTATION_SEED which. None may end the daemon, stay in its memory, or keep others waiting.
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/attack/battle.h"
#include "tests/attack/mutation.h"
#include "tests/attack/requests.h"

namespace rdmaqos::attack {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kBatch = 127;
constexpr std::size_t kConnections = 8;
constexpr unsigned kNoiseEvery = 4;    // batches of a connection until its end
constexpr std::uint32_t kLast = 1U << 30U;

std::uint64_t number_of(const char* variable, std::uint64_t otherwise)
{
    const char* given = std::getenv(variable);    // NOLINT(concurrency-mt-unsafe)
    return given == nullptr ? otherwise : std::strtoull(given, nullptr, 0);
}

struct Counts {
    std::atomic<std::uint64_t> answered;    // read by the daemon for certain: what came after them was answered
    std::atomic<std::uint64_t> sent;
    std::atomic<std::uint64_t> dropped;    // connections
    std::atomic<bool> done;
};

// One connection, that comes again when it is dropped.
class Sender {
public:
    Sender(Attacker& me, Counts& counts) : me_(me), counts_(counts) {}

    // A batch, and a Ping behind it.
    void send(Mutator& mutator)
    {
        if (!wire_.is_open() && !come()) {
            return;
        }
        for (const Piece& piece : mutator.wrong_inside(kBatch, session_)) {
            const std::vector<int> files(piece.descriptors, file_);
            for (std::string_view rest = piece.bytes; !rest.empty() && wire_.is_open();) {
                const bool first = rest.size() == piece.bytes.size();
                const std::size_t sent = wire_.send_some(rest,
                                                         first ? std::span<const int>(files) : std::span<const int>());
                rest.remove_prefix(sent);
                if (sent == 0) {
                    usleep(100);
                    take_answers();
                }
            }
        }
        wire_.send(call(methods::kPing, {}, kLast));
        counts_.sent += kBatch;
    }

    // Waits for the Ping. Now and then something follows that is no message, and the connection ends.
    void collect(Mutator& mutator)
    {
        const auto until = Clock::now() + test::kHung;
        while (wire_.is_open() && !ping_answered_ && Clock::now() < until) {
            if (!take_answers()) {
                usleep(100);
            }
        }
        if (ping_answered_) {
            counts_.answered += kBatch;
            ping_answered_ = false;
            if (++batches_ % kNoiseEvery == 0) {
                const Piece piece = mutator.wrong_outside(session_);
                wire_.send(piece.bytes, std::vector<int>(piece.descriptors, file_));
                ++counts_.sent;
                ++counts_.answered;
                wire_.close();
            }
        } else {
            wire_.close();
            ++counts_.dropped;
        }
    }

private:
    bool come()
    {
        wire_ = Wire(me_.socket);
        if (wire_.is_open() && wire_.authenticate()) {
            const auto session = wire_.ask(methods::kRegister, request_for("rpc"));
            session_ = session && !session->is_error() ? session->text() : "/org/rdmaqos1/session/1";
            return wire_.is_open();
        }
        usleep(10'000);
        return false;
    }

    bool take_answers()
    {
        bool any = false;
        while (const auto reply = wire_.next()) {
            any = true;
            ping_answered_ = ping_answered_ || reply->serial == kLast;
        }
        return any;
    }

    Attacker& me_;
    Counts& counts_;
    const int file_ = memory_file("version: 1\nqos-levels: [{name: DEFAULT}]\n");
    Wire wire_;
    std::string session_;
    bool ping_answered_ = false;
    unsigned batches_ = 0;
};

void send_mutations(Attacker& me, Counts& counts, std::uint64_t wanted, std::uint64_t seed)
{
    Mutator mutator(seed);
    std::vector<Sender> senders;
    for (std::size_t index = 0; index < kConnections; ++index) {
        senders.emplace_back(me, counts);
    }
    while (counts.answered < wanted) {
        for (Sender& sender : senders) {
            sender.send(mutator);
        }
        for (Sender& sender : senders) {
            sender.collect(mutator);
        }
    }
    counts.done = true;
    me.ready();
}

TEST(Mutation, MessagesThatNearlyAreOnes)
{
    const std::uint64_t wanted = number_of("RDMAQOS_MUTATIONS", 200'000);
    const std::uint64_t seed = number_of("RDMAQOS_MUTATION_SEED", 20240229);
    Shared<Counts> counts;
    const auto begin = Clock::now();
    fight([&] {
        counts->answered = 0;
        counts->sent = 0;
        return Attack{.name = fmt::format("{} mutated messages", wanted),
                      .squads = {{.deed = [&](Attacker& me) { send_mutations(me, *counts, wanted, seed); }}},
                      .duration = 0s,
                      .set_up = test::kManyHung + std::chrono::seconds(wanted / 100),
                      .target = {.settings = "version: 1\nlimits: {requests-per-second-per-uid: 10000000}\n"}};
    });
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    std::cout << fmt::format("seed {}: {} messages read, {} sent, {} connections dropped before their time, {:.1f} s\n",
                             seed, counts->answered.load(), counts->sent.load(), counts->dropped.load(), seconds);
    EXPECT_TRUE(counts->done) << "RDMAQOS_MUTATION_SEED=" << seed << " does it again";
}

}    // namespace
}    // namespace rdmaqos::attack
