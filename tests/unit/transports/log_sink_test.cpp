#include "daemon/log_sink.h"

#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace rdmaqos {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::StartsWith;

class Lines final : public LogSink {
public:
    explicit Lines(std::vector<std::string>& lines) : lines_(lines) {}
    void write(const LogRecord& record) noexcept override
    {
        lines_.push_back(record.left_out == 0 ? std::string(record.message)
                                              : fmt::format("{} +{}", record.message, record.left_out));
    }

private:
    std::vector<std::string>& lines_;
};

class RateLimitedSinkTest : public ::testing::Test {
protected:
    void say(const std::string& text) { sink.write({LogLevel::Warning, {}, text}); }
    void refuse(std::uint32_t uid, const std::string& text)
    {
        sink.write({LogLevel::Warning, {}, text, LogEvent::ClientRefused, LogOrigin::user(uid), "{} is refused: {}"});
    }

    std::vector<std::string> lines;
    ManualClock clock;
    RateLimitedSink sink{std::make_unique<Lines>(lines), clock};
};

TEST_F(RateLimitedSinkTest, HoldsRepetitionsBackAndCountsThem)
{
    for (int count = 0; count < 100; ++count) {
        say("again");
    }
    say("something else");
    EXPECT_THAT(lines, ElementsAre("again", "something else"));
    clock.advance(log_rules::kSameText.interval);
    say("again");
    EXPECT_EQ(lines.back(), "again +99");
}

// Each of them may tell of a change.
TEST_F(RateLimitedSinkTest, NewsAreHeldBackLater)
{
    for (int count = 0; count < 100; ++count) {
        sink.write({LogLevel::Notice, {}, "again"});
    }
    EXPECT_EQ(lines, std::vector<std::string>(5, "again"));
    say("again");
    EXPECT_EQ(lines.size(), 6U) << "one of them is a warning";
}

TEST_F(RateLimitedSinkTest, EventsOfOneFormDoNotHideOneAnother)
{
    const auto origin = LogOrigin::device("mlx5_0/1");
    sink.write({LogLevel::Notice, {}, "set", LogEvent::PortClassesSet, origin, "{}: {}"});
    sink.write({LogLevel::Warning, {}, "changed", LogEvent::DriftFound, origin, "{}: {}"});
    sink.write({LogLevel::Notice, {}, "set again", LogEvent::DriftRepaired, origin, "{}: {}"});
    EXPECT_THAT(lines, ElementsAre("set", "changed", "set again"));
}

// Two repairs, the end of repairing, and the tries of three reloads after it.
TEST_F(RateLimitedSinkTest, WhatIsTriedAFewTimesIsWrittenEachTime)
{
    const auto origin = LogOrigin::device("mlx5_0/1");
    for (int round = 0; round < 8; ++round) {
        sink.write({LogLevel::Error, {}, "refused", LogEvent::PortClassesRefused, origin, "{}: {}"});
        clock.advance(std::chrono::seconds(5));
    }
    EXPECT_EQ(lines.size(), 8U);
    sink.write({LogLevel::Error, {}, "refused", LogEvent::PortClassesRefused, origin, "{}: {}"});
    EXPECT_EQ(lines.size(), 8U);
}

TEST_F(RateLimitedSinkTest, AUserWithOtherWordsEachTimeIsHeldBackToo)
{
    for (int count = 0; count < 1000; ++count) {
        refuse(1000, std::to_string(count));
    }
    EXPECT_THAT(lines, ElementsAre("0"));
    refuse(1001, "of another user");
    EXPECT_EQ(lines.back(), "of another user") << "the flood of one does not hide another";
    clock.advance(log_rules::kFailure.interval);
    refuse(1000, "later");
    EXPECT_EQ(lines.back(), "later +999");
}

TEST_F(RateLimitedSinkTest, ManyUsersNeitherFillTheJournalNorHideOthers)
{
    refuse(1000, "known");
    for (std::uint32_t uid = 100'000; uid < 165'536; ++uid) {    // as many as a user may have (subuid(5))
        refuse(uid, "one of many");
    }
    EXPECT_EQ(lines.size(), RateLimitedSink::kMostOfUsers + 1) << "one for all that found no place";
    say("of the daemon itself");
    EXPECT_EQ(lines.back(), "of the daemon itself");
    clock.advance(log_rules::kFailure.interval);
    refuse(1000, "known");
    EXPECT_EQ(lines.back(), "known");
}

TEST_F(RateLimitedSinkTest, NothingOfThePolicyIsHeldBack)
{
    for (int count = 0; count < 100; ++count) {
        sink.write({LogLevel::Error, {}, "refused", LogEvent::PolicyRejected});
    }
    EXPECT_EQ(lines.size(), 100U);
}

TEST_F(RateLimitedSinkTest, RemembersABoundedNumberOfTexts)
{
    for (int count = 0; count < 50'000; ++count) {
        say(std::to_string(count));
    }
    EXPECT_EQ(lines.size(), RateLimitedSink::kMostOfOurs + 1);
}

TEST_F(RateLimitedSinkTest, ManyDevicesDoNotHideTheDaemonsLife)
{
    for (int device = 0; device < 5000; ++device) {
        say(std::to_string(device) + " is unusual");
    }
    lines.clear();
    sink.write({LogLevel::Info, {}, "ready: 5000 devices", LogEvent::DaemonReady});
    sink.write({LogLevel::Info, {}, "stopping", LogEvent::DaemonStopping});
    EXPECT_THAT(lines, ElementsAre("ready: 5000 devices", "stopping"));
}

TEST(JournalFields, HaveTheIdOfTheEventAndWhatItIsAbout)
{
    LogRecord record{LogLevel::Warning, {}, "mlx5_0/1: a/b repaired", LogEvent::DriftRepaired};
    const std::initializer_list<LogField> fields{{"DEVICE", "mlx5_0/1"}, {"PID", "4711"}};
    record.fields = fields;
    EXPECT_THAT(journal_fields(record),
                ElementsAre("MESSAGE=mlx5_0/1: a/b repaired", "PRIORITY=4", "SYSLOG_IDENTIFIER=rdma-qosd",
                            "MESSAGE_ID=f92f3180698f409194b5fdfedbcaedec", "RDMAQOS_DEVICE=mlx5_0/1",
                            "RDMAQOS_PID=4711", "OBJECT_PID=4711"));
}

TEST(JournalFields, CountWhatWasLeftOut)
{
    LogRecord record{LogLevel::Info, {}, "again"};
    EXPECT_THAT(journal_fields(record), Not(Contains(StartsWith("MESSAGE_ID="))));
    EXPECT_THAT(journal_fields(record), Not(Contains(StartsWith("RDMAQOS_LEFT_OUT="))));
    record.left_out = 95;
    EXPECT_THAT(journal_fields(record),
                IsSupersetOf({"MESSAGE=again (95 more of these were left out)", "RDMAQOS_LEFT_OUT=95"}));
}

TEST(LogLevels, HaveNames)
{
    EXPECT_EQ(parse_log_level("debug"), LogLevel::Debug);
    EXPECT_EQ(parse_log_level("error"), LogLevel::Error);
    EXPECT_EQ(parse_log_level("loud"), std::nullopt);
}

}    // namespace
}    // namespace rdmaqos
