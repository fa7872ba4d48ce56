#include "lib/base/memory_log.h"
#include "lib/base/signal_process.h"

#include <array>
#include <csignal>
#include <random>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rdmaqos {
namespace {

UniqueFd copy_of(const MemoryLog& log)
{
    return UniqueFd(fcntl(log.fd(), F_DUPFD_CLOEXEC, 0));
}

std::string read_again(const MemoryLog& log)
{
    const auto again = MemoryLog::open(copy_of(log));
    return again ? *again->read() : to_string(again.error());
}

UniqueFd file_with(std::string_view bytes)
{
    UniqueFd fd(memfd_create("test", MFD_CLOEXEC));
    EXPECT_EQ(write(fd.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    return fd;
}

TEST(MemoryLog, AnotherProcessReadsWhatWasWritten)
{
    auto log = MemoryLog::create("test");
    ASSERT_TRUE(log);
    EXPECT_EQ(read_again(*log), "");
    ASSERT_TRUE(log->append("one "));
    ASSERT_TRUE(log->append("two"));
    EXPECT_EQ(read_again(*log), "one two");
    EXPECT_EQ(log->size(), 7U);

    auto next = MemoryLog::open(copy_of(*log));
    ASSERT_TRUE(next);
    ASSERT_TRUE(next->append(" three"));
    EXPECT_EQ(read_again(*log), "one two three");
}

TEST(MemoryLog, IsReplacedAsAWhole)
{
    auto log = MemoryLog::create("test");
    ASSERT_TRUE(log);
    std::mt19937 random(7);
    std::string expected;
    for (int round = 0; round < 200; ++round) {
        const std::string text(random() % 5000, static_cast<char>('a' + round % 26));
        if (random() % 4 == 0) {
            ASSERT_TRUE(log->replace(text));
            expected = text;
        } else {
            ASSERT_TRUE(log->append(text));
            expected += text;
        }
        ASSERT_EQ(read_again(*log), expected) << "round " << round;
    }
}

// What was replaced is given back.
TEST(MemoryLog, DoesNotGrowByBeingReplaced)
{
    auto log = MemoryLog::create("test");
    ASSERT_TRUE(log);
    const std::string text(std::size_t{256} * 1024, 'x');
    for (int round = 0; round < 100; ++round) {
        ASSERT_TRUE(log->replace(text));
    }
    struct stat status {};
    ASSERT_EQ(fstat(log->fd(), &status), 0);
    EXPECT_LE(static_cast<std::size_t>(status.st_blocks) * 512, 2 * text.size() + 2 * MemoryLog::kAhead + 8192);
    EXPECT_LE(static_cast<std::size_t>(status.st_size), 4 * text.size());
}

TEST(MemoryLog, RefusesWhatIsNone)
{
    using namespace std::string_literals;
    const auto refused = [](UniqueFd fd) { return !MemoryLog::open(std::move(fd)).has_value(); };
    EXPECT_TRUE(refused(UniqueFd()));
    EXPECT_TRUE(refused(file_with("")));
    EXPECT_TRUE(refused(file_with("rdmaqos1")));
    EXPECT_TRUE(refused(file_with("rdmaqos2\x10\0\0\0\0\0\0\0"s)));
    EXPECT_TRUE(refused(file_with("rdmaqos1\x10\0\0\0\x01\0\0\0"s))) << "a byte is missing";
    EXPECT_TRUE(refused(file_with("rdmaqos1\x08\0\0\0\0\0\0\0"s))) << "its text would be in its head";
    EXPECT_TRUE(refused(file_with("rdmaqos1\xff\xff\xff\xff\xff\xff\xff\xff"s)));
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    const UniqueFd writer(ends[1]);
    EXPECT_TRUE(refused(UniqueFd(ends[0])));
    EXPECT_FALSE(refused(file_with("rdmaqos1\x10\0\0\0\x01\0\0\0z"s)));
}

TEST(MemoryLog, AnOperationThatIsTooLargeChangesNothing)
{
    auto log = MemoryLog::create("test");
    ASSERT_TRUE(log);
    ASSERT_TRUE(log->append("as it was"));
    const std::string huge(MemoryLog::kMaxSize, 'x');
    const auto appended = log->append(huge);
    ASSERT_FALSE(appended);
    EXPECT_EQ(appended.error().code, ErrorCode::NoSpace);
    EXPECT_EQ(read_again(*log), "as it was");
}

// A limit for the size of files stands for a lack of memory.
TEST(MemoryLog, CanBeAppendedToWhileThereIsNoMemory)
{
    const std::string line(100, 'x');
    auto log = MemoryLog::create("test");
    ASSERT_TRUE(log);
    for (std::size_t written = 0; written < 3 * MemoryLog::kAhead; written += line.size()) {
        ASSERT_TRUE(log->append(line));
    }
    // A file of this process cannot get longer than this one is now.
    struct stat status {};
    ASSERT_EQ(fstat(log->fd(), &status), 0);
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlimit scarce{static_cast<rlim_t>(status.st_size), before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &scarce), 0);
    std::size_t written = 0;
    std::string expected = *log->read();
    while (expected.size() < 2 * static_cast<std::size_t>(status.st_size) && log->append(line)) {
        written += line.size();
        expected += line;
    }
    const auto refused = log->append(line);
    const auto replaced = log->replace(line);
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_FALSE(refused);
    EXPECT_GE(written, MemoryLog::kAhead - line.size());
    EXPECT_FALSE(replaced) << "the text would be behind the old one";
    EXPECT_TRUE(read_again(*log) == expected);
    EXPECT_TRUE(log->append(line)) << "there is memory again";
}

// The writer is killed at any moment: each line that it has reported is there, and no line in part.
TEST(MemoryLog, SurvivesItsWriterBeingKilled)
{
    for (unsigned round = 0; round < 100; ++round) {
        auto log = MemoryLog::create("test");
        ASSERT_TRUE(log);
        std::array<int, 2> ends{};
        ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
        const pid_t writer = fork();
        ASSERT_GE(writer, 0);
        if (writer == 0) {
            std::string all;
            for (std::uint32_t number = 1;; ++number) {
                const std::string line = std::to_string(number) + std::string(number % 97, '.') + '\n';
                all += line;
                const bool done = number % 10 == 0 ? log->replace(all).has_value() : log->append(line).has_value();
                if (!done || write(ends[1], &number, sizeof(number)) != sizeof(number)) {
                    _exit(1);
                }
            }
        }
        close(ends[1]);
        std::uint32_t reported = 0;
        ASSERT_EQ(read(ends[0], &reported, sizeof(reported)), static_cast<ssize_t>(sizeof(reported)));
        usleep(round * 20);
        signal_process(writer, SIGKILL);
        waitpid(writer, nullptr, 0);
        while (read(ends[0], &reported, sizeof(reported)) == sizeof(reported)) {
        }
        close(ends[0]);

        const std::string text = read_again(*log);
        std::uint32_t lines = 0;
        std::string expected;
        while (expected.size() < text.size()) {
            ++lines;
            expected += std::to_string(lines) + std::string(lines % 97, '.') + '\n';
        }
        ASSERT_EQ(text, expected) << "round " << round;
        ASSERT_GE(lines, reported);
        ASSERT_LE(lines, reported + 1);
    }
}

}    // namespace
}    // namespace rdmaqos
