#include "tests/unit/layering/wall_clock.h"

#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/layering/layering.h"

namespace rdmaqos::layering {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(WallClock, NoTestJudgesByIt)
{
    const std::filesystem::path root = RDMAQOS_SOURCE_DIR;
    Violations violations;
    for (const std::string& path : project_files(root)) {
        std::ifstream stream(root / path, std::ios::binary);
        const std::string text{std::istreambuf_iterator<char>(stream), {}};
        const Violations found = check_wall_clock(path, text);
        violations.insert(violations.end(), found.begin(), found.end());
    }
    EXPECT_EQ(violations, Violations{}) << fmt::format("{}", fmt::join(violations, "\n"));
}

struct PlantedTest {
    const char* path;
    const char* text;
    const char* violation;    // part of the message; empty: allowed
};

TEST(WallClock, PlantedOnesAreFound)
{
    for (const auto& [path, text, violation] : {
             PlantedTest{"tests/unit/a_test.cpp", "EXPECT_TRUE(eventually([&] { return f(a, b); }));\n", ""},
             {"tests/unit/a_test.cpp", "\neventually([&] { return f(\"(\", 1); },\n           20s);\n",
              "a_test.cpp:2: eventually()"},
             {"tests/unit/a_test.cpp", "eventually(f, std::chrono::seconds(20))", "eventually()"},
             {"tests/unit/a_test.cpp", "eventually(f, kManyHung)", ""},
             {"tests/unit/a_test.cpp", "eventually(f, 300ms)", ""},
             {"tests/unit/a_test.cpp", "child.wait(10s);", "wait()"},
             {"tests/unit/a_test.cpp", "child.wait();", ""},
             {"tests/unit/a_test.cpp", "std::await(10s);", ""},
             {"tests/unit/a_test.cpp", "EXPECT_LT(took, 500ms);", "takes no longer"},
             {"tests/unit/a_test.cpp", "EXPECT_LE(Clock::now() - begin, kBound);", "takes no longer"},
             {"tests/unit/a_test.cpp", "EXPECT_GE(Clock::now() - begin, 20ms);", ""},
             {"tests/unit/a_test.cpp", "EXPECT_LT(count, 20);\nx = 2s;", ""},
             {"tests/bench/a.cpp", "EXPECT_LT(took, 500ms);", ""},
             {"lib/base/a.cpp", "child.wait(10s);", ""},
             {"tests/bytes/a.sh", "x=1\ntimeout 60 ib_write_bw\n", "of its own"},
             {"tests/bytes/a.sh", "foo | timeout \"$hung\" ib_write_bw\n", ""},
             {"tests/bytes/a.sh", "wait_until 10 listens 5\n", "of its own"},
         }) {
        const Violations found = check_wall_clock(path, text);
        if (*violation == '\0') {
            EXPECT_THAT(found, IsEmpty()) << text;
        } else {
            EXPECT_THAT(found, ElementsAre(HasSubstr(violation))) << text;
        }
    }
}

}    // namespace
}    // namespace rdmaqos::layering
