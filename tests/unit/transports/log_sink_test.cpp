#include "daemon/log_sink.h"

#include <vector>

#include <gtest/gtest.h>

namespace rdmaqos {
namespace {

class Lines final : public LogSink {
public:
    explicit Lines(std::vector<std::string>& lines) : lines_(lines) {}
    void write(LogLevel, LogFields, std::string_view message) noexcept override { lines_.emplace_back(message); }

private:
    std::vector<std::string>& lines_;
};

TEST(RateLimitedSink, HoldsRepetitionsBackAndCountsThem)
{
    std::vector<std::string> lines;
    ManualClock clock;
    RateLimitedSink sink(std::make_unique<Lines>(lines), clock);
    for (int count = 0; count < 100; ++count) {
        sink.write(LogLevel::Warning, {}, "again");
    }
    sink.write(LogLevel::Warning, {}, "something else");
    EXPECT_EQ(lines.size(), RateLimitedSink::kBurst + 1);
    EXPECT_EQ(lines.back(), "something else");

    clock.advance(RateLimitedSink::kInterval);
    sink.write(LogLevel::Warning, {}, "again");
    EXPECT_EQ(lines.back(), "again (95 more of these were not shown)");
    sink.write(LogLevel::Warning, {}, "again");
    EXPECT_EQ(lines.back(), "again");
}

TEST(RateLimitedSink, RemembersABoundedNumberOfTexts)
{
    std::vector<std::string> lines;
    const ManualClock clock;
    RateLimitedSink sink(std::make_unique<Lines>(lines), clock);
    for (int count = 0; count < 5000; ++count) {
        sink.write(LogLevel::Info, {}, std::to_string(count));
    }
    EXPECT_EQ(lines.size(), 5000U) << "different texts are all written";
}

TEST(LogLevels, HaveNames)
{
    EXPECT_EQ(parse_log_level("debug"), LogLevel::Debug);
    EXPECT_EQ(parse_log_level("error"), LogLevel::Error);
    EXPECT_EQ(parse_log_level("loud"), std::nullopt);
}

}    // namespace
}    // namespace rdmaqos
