#include "lib/base/try.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace rdmaqos {
namespace {

Result<void> may(bool yes)
{
    return yes ? Result<void>() : Result<void>(fail(ErrorCode::NotOwner, "may not"));
}

Result<std::unique_ptr<int>> make(bool yes)
{
    return yes ? Result<std::unique_ptr<int>>(std::make_unique<int>(7))
               : Result<std::unique_ptr<int>>(fail(ErrorCode::Busy, "cannot"));
}

// With a value that can only be moved, into another type of result.
Result<std::string> both(bool first, bool second, int& steps)
{
    TRY(may(first));
    ++steps;
    const auto made = TRY(make(second));
    ++steps;
    return std::to_string(*made);
}

TEST(Try, GoesOnWithTheValue)
{
    int steps = 0;
    EXPECT_EQ(both(true, true, steps).value(), "7");
    EXPECT_EQ(steps, 2);
}

TEST(Try, ReturnsTheFirstFailure)
{
    int steps = 0;
    EXPECT_EQ(both(false, true, steps).error().message, "may not");
    EXPECT_EQ(steps, 0);
    EXPECT_EQ(both(true, false, steps).error().message, "cannot");
    EXPECT_EQ(both(true, false, steps).error().code, ErrorCode::Busy);
    EXPECT_EQ(steps, 2) << "one in each call";
}

// A named result is copied, and stays as it was.
TEST(Try, TakesANamedResult)
{
    const Result<std::string> named = std::string("kept");
    const auto use = [&]() -> Result<std::size_t> {
        const std::string text = TRY(named);
        return text.size();
    };
    EXPECT_EQ(use().value(), 4U);
    EXPECT_EQ(*named, "kept");
}

// Commas in the expression are not a second argument.
TEST(Try, TakesATemplate)
{
    const auto use = []() -> Result<int> {
        const auto pair = TRY(Result<std::pair<int, int>>(std::pair<int, int>(1, 2)));
        return pair.second;
    };
    EXPECT_EQ(use().value(), 2);
}

}    // namespace
}    // namespace rdmaqos
