#include "daemon/policy_file.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/temp_dir.h"

namespace rdmaqos {
namespace {

using namespace std::chrono_literals;
using Source = Result<std::shared_ptr<const SourceFile>>;

std::shared_ptr<UniqueFd> open_file(const std::filesystem::path& path)
{
    return std::make_shared<UniqueFd>(open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

void run_until(bus::EventLoop& loop, const std::function<bool()>& done)
{
    for (int round = 0; round < 1000 && !done(); ++round) {
        loop.run_once(10ms);
    }
}

TEST(PolicyFiles, ReadsAndNamesAFile)
{
    const test::TempDir dir;
    dir.write("candidate.yaml", "version: 1\n");
    bus::EventLoop loop;
    PolicyFiles files(loop);
    std::optional<Source> got;
    files.read(1, open_file(dir.path() / "candidate.yaml"), [&](Source source) { got = std::move(source); });
    EXPECT_FALSE(got) << "never on the loop itself";
    run_until(loop, [&] { return got.has_value(); });
    ASSERT_TRUE(got && *got);
    EXPECT_EQ((**got)->text, "version: 1\n");
    EXPECT_EQ((**got)->name, (dir.path() / "candidate.yaml").string());
}

TEST(PolicyFiles, OneAtATimePerUser)
{
    const test::TempDir dir;
    dir.write("a.yaml", "version: 1\n");
    bus::EventLoop loop;
    PolicyFiles files(loop);
    int good = 0;
    std::optional<Error> refused;
    const auto count = [&](const Source& source) {
        if (source) {
            ++good;
        } else {
            refused = source.error();
        }
    };
    files.read(1, open_file(dir.path() / "a.yaml"), count);
    files.read(1, open_file(dir.path() / "a.yaml"), count);
    files.read(2, open_file(dir.path() / "a.yaml"), count);
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->code, ErrorCode::Busy);
    run_until(loop, [&] { return good == 2; });
    files.read(1, open_file(dir.path() / "a.yaml"), count);
    run_until(loop, [&] { return good == 3; });
    EXPECT_EQ(good, 3) << "free again when the first is done";
}

TEST(PolicyFiles, RefusesWhatIsNoFile)
{
    bus::EventLoop loop;
    PolicyFiles files(loop);
    std::optional<Source> got;
    files.read(1, open_file("/"), [&](Source source) { got = std::move(source); });
    run_until(loop, [&] { return got.has_value(); });
    ASSERT_TRUE(got && !*got);
    EXPECT_EQ(got->error(), (Error{ErrorCode::InvalidArgument, 0, "the policy is a directory, not a regular file"}));
}

TEST(PolicyFiles, MayBeGoneWhenTheAnswerComes)
{
    const test::TempDir dir;
    dir.write("a.yaml", "version: 1\n");
    bus::EventLoop loop;
    int answers = 0;
    {
        PolicyFiles files(loop);
        files.read(1, open_file(dir.path() / "a.yaml"), [&](const Source&) { ++answers; });
    }
    run_until(loop, [&] { return answers == 1; });
    EXPECT_EQ(answers, 1);
}

// Answers hold D-Bus messages, whose reference counts are not atomic.
TEST(PolicyFiles, AnAnswerStaysOnTheLoop)
{
    struct Witness {
        std::atomic<int>* elsewhere;
        std::thread::id home = std::this_thread::get_id();
        explicit Witness(std::atomic<int>* counter) : elsewhere(counter) {}
        Witness(const Witness& other) : elsewhere(other.elsewhere), home(other.home) { look(); }
        ~Witness() { look(); }
        void look() const { *elsewhere += std::this_thread::get_id() == home ? 0 : 1; }
    };
    const test::TempDir dir;
    dir.write("a.yaml", "version: 1\n");
    bus::EventLoop loop;
    PolicyFiles files(loop);
    std::atomic<int> elsewhere = 0;
    bool done = false;
    files.read(1, open_file(dir.path() / "a.yaml"),
               [witness = Witness(&elsewhere), &done](const Source&) { done = true; });
    run_until(loop, [&] { return done; });
    EXPECT_EQ(elsewhere, 0) << "copied or destroyed on the thread that reads";
}

}    // namespace
}    // namespace rdmaqos
