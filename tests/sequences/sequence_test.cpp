// Random sequences of what happens to a host, each from its seed. After each step the devices, what the daemon says of
// them and its drift check agree, and no queue pair is in a wrong leaf.
//
// RDMAQOS_SEQUENCES: how many (8); RDMAQOS_SEQUENCE_STEPS: of how many steps each (12); RDMAQOS_SEQUENCE_SEED: the
// first seed (1). A sequence that failed is played again by its seed and a single sequence.
#include <cstdlib>
#include <map>
#include <memory>
#include <random>

#include <gtest/gtest.h>

#include "tests/sequences/host.h"

namespace rdmaqos::test {
namespace {

std::uint32_t option(const char* name, std::uint32_t otherwise)
{
    const char* text = std::getenv(name);    // NOLINT(concurrency-mt-unsafe): nobody sets it
    return text == nullptr ? otherwise : static_cast<std::uint32_t>(std::stoul(text));
}

// "" or what has gone wrong.
std::string play(std::uint32_t seed, std::uint32_t length, std::map<std::string, std::uint32_t>& played)
{
    std::string steps;
    std::unique_ptr<Host> host;
    try {
        std::mt19937 random(seed);
        host = std::make_unique<Host>();
        host->expect_all();
        for (std::uint32_t done = 0; done < length;) {
            const auto& all = Host::steps();
            const auto step = all.at(random() % all.size());
            const std::string what = ((*host).*step)(static_cast<std::uint32_t>(random()));
            if (what.empty()) {
                continue;
            }
            ++done;
            ++played[what.substr(0, what.find(' '))];
            steps += (steps.empty() ? "" : "; ") + what;
            host->expect_all();
        }
        host->end();
        return "";
    } catch (const std::exception& error) {
        const std::string said = host ? host->said() : "";
        return "after: " + steps + "\n" + error.what() + "\n" +
               said.substr(said.size() - std::min<std::size_t>(said.size(), 4000));
    }
}

TEST(Sequences, EndAsTheModelSays)
{
    const std::uint32_t first = option("RDMAQOS_SEQUENCE_SEED", 1);
    const std::uint32_t count = option("RDMAQOS_SEQUENCES", 8);
    const std::uint32_t length = option("RDMAQOS_SEQUENCE_STEPS", 12);
    constexpr int kMostFailures = 5;
    std::map<std::string, std::uint32_t> played;
    int failures = 0;
    for (std::uint32_t seed = first; seed < first + count && failures < kMostFailures; ++seed) {
        const std::string wrong = play(seed, length, played);
        printf("seed %u: %s\n", seed, wrong.empty() ? "converges after each step" : "FAILS");
        fflush(stdout);    // programs are forked
        if (!wrong.empty()) {
            ADD_FAILURE() << "seed " << seed << ": " << wrong;
            ++failures;
        }
        make_as_it_was();
    }
    std::string text;
    for (const auto& [step, times] : played) {
        text += (text.empty() ? "" : ", ") + std::to_string(times) + " " + step;
    }
    printf("steps: %s\n", text.c_str());
}

}    // namespace
}    // namespace rdmaqos::test
