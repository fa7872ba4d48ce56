#include "tools/emulator/datapath/chance.h"

#include <initializer_list>

#include <gtest/gtest.h>

namespace rdmaqos::emulator {
namespace {

using namespace std::chrono_literals;

bool is_over(Chance& chance, std::initializer_list<RunnableThread> threads)
{
    return chance.is_over(std::span(threads.begin(), threads.size()));
}

TEST(Chance, NotBeforeTheProgramHasHadAProcessor)
{
    Chance chance;
    for (int look = 0; look < 100; ++look) {
        EXPECT_FALSE(is_over(chance, {{7, 40ms}})) << "it waits for one";
    }
}

TEST(Chance, IsOverForWhoComputesAndPostsNothing)
{
    Chance chance;
    EXPECT_FALSE(is_over(chance, {{7, 40ms}}));
    EXPECT_FALSE(is_over(chance, {{7, 44ms}})) << "what it had computed before is counted at the tick";
    EXPECT_FALSE(is_over(chance, {{7, 44ms + 100us}}));
    EXPECT_FALSE(is_over(chance, {{7, 44ms + 300us}})) << "one look may be just before it posts";
    EXPECT_TRUE(is_over(chance, {{7, 44ms + 350us}}));
}

TEST(Chance, EachThreadHasItsOwn)
{
    Chance chance;
    EXPECT_FALSE(is_over(chance, {{7, 40ms}, {8, 1ms}}));
    for (auto computed = 2ms; computed < 20ms; ++computed) {
        EXPECT_FALSE(is_over(chance, {{7, 40ms}, {8, computed}})) << "the one that posts has had no processor";
    }
    EXPECT_FALSE(is_over(chance, {{7, 41ms}, {8, 20ms}}));
    EXPECT_FALSE(is_over(chance, {{7, 42ms}, {8, 20ms}}));
    EXPECT_TRUE(is_over(chance, {{7, 43ms}, {8, 20ms}}));
}

TEST(Chance, WhoSleepsTwiceInARowHasNothingToPost)
{
    Chance chance;
    EXPECT_FALSE(is_over(chance, {})) << "it may be at a guarded page";
    EXPECT_FALSE(is_over(chance, {{7, 40ms}}));
    EXPECT_FALSE(is_over(chance, {}));
    EXPECT_TRUE(is_over(chance, {}));
}

}    // namespace
}    // namespace rdmaqos::emulator
