// A file of a program, open here only while it is used.
#include "daemon/adoption/taken_file.h"

#include <chrono>
#include <filesystem>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/support/patience.h"
#include "tests/unit/adoption/verbs_file.h"

namespace rdmaqos {
namespace {

using namespace std::chrono_literals;
using test::open_device;

// Longer than the next statement takes on a busy machine.
constexpr auto kRest = 1s;

class TakenFiles : public test::VerbsFiles {
protected:
    std::shared_ptr<TakenFile> file_of(const UniqueFd& descriptor, const std::shared_ptr<RestingFiles>& resting)
    {
        return std::make_shared<TakenFile>(program(), VerbsFile{descriptor.get(), test::number_of("/dev/null")},
                                           resting, [this](UniqueFd fd) {
                                               ++closed;
                                               fd.reset();
                                           });
    }
    bool closes(int times)
    {
        return test::eventually([&] { return closed >= times; }) && closed == times;
    }
    static std::size_t descriptors()
    {
        return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
    }

    std::atomic<int> closed = 0;
    UniqueFd null = open_device("/dev/null");
};

TEST_F(TakenFiles, OpenWhileItIsUsedAndShortlyAfter)
{
    const auto resting = std::make_shared<RestingFiles>(kRest);
    const auto file = file_of(null, resting);
    EXPECT_EQ(file->fd(), -1);
    const auto before = std::chrono::steady_clock::now();
    {
        const ClientFile::Use use(*file);
        ASSERT_TRUE(use.opened()) << to_string(use.opened().error());
        EXPECT_TRUE(is_same_open_file(file->fd(), null.get()));
    }
    EXPECT_EQ(closed, 0) << "it rests";
    EXPECT_TRUE(closes(1));
    EXPECT_GE(std::chrono::steady_clock::now() - before, kRest);
    {
        const ClientFile::Use use(*file);
        EXPECT_TRUE(is_same_open_file(file->fd(), null.get())) << "taken once more";
    }
    EXPECT_TRUE(closes(2));
}

TEST_F(TakenFiles, UsedAgainWhileItRests)
{
    const auto resting = std::make_shared<RestingFiles>(kRest);
    const auto file = file_of(null, resting);
    int number = -1;
    {
        const ClientFile::Use use(*file);
        number = file->fd();
    }
    {
        const ClientFile::Use use(*file);
        EXPECT_EQ(file->fd(), number) << "it was open";
        const ClientFile::Use inner(*file);
        std::this_thread::sleep_for(kRest + test::kMoment);
        EXPECT_EQ(closed, 0) << "however long that takes";
        EXPECT_EQ(file->fd(), number);
    }
    EXPECT_TRUE(closes(1));
    std::this_thread::sleep_for(test::kMoment);
    EXPECT_EQ(closed, 1);
}

TEST_F(TakenFiles, ThatItsOwnerCloses)
{
    const auto resting = std::make_shared<RestingFiles>(10ms);
    const auto file = file_of(null, resting);
    {
        const ClientFile::Use use(*file);
        ASSERT_TRUE(use.opened());
        null.reset();
        EXPECT_GE(file->fd(), 0) << "for us it is open";
    }
    ASSERT_TRUE(closes(1));
    const ClientFile::Use use(*file);
    ASSERT_FALSE(use.opened());
    EXPECT_EQ(use.opened().error().code, ErrorCode::BadQueuePair);
}

// A Use that failed is not one that ends.
TEST_F(TakenFiles, ThatCouldNotBeTakenAndThenCan)
{
    const auto resting = std::make_shared<RestingFiles>(1ms);
    const auto file = file_of(null, resting);
    const UniqueFd other = open_device("/dev/zero");
    const UniqueFd kept(dup(null.get()));
    ASSERT_EQ(dup2(other.get(), null.get()), null.get());
    {
        const ClientFile::Use use(*file);
        EXPECT_FALSE(use.opened());
    }
    EXPECT_TRUE(closes(1)) << "what was there instead goes to `close`, too";
    ASSERT_EQ(dup2(kept.get(), null.get()), null.get());
    {
        const ClientFile::Use use(*file);
        EXPECT_TRUE(use.opened());
        EXPECT_TRUE(is_same_open_file(file->fd(), kept.get()));
    }
    EXPECT_TRUE(closes(2));
}

TEST_F(TakenFiles, OfAProcessThatEnds)
{
    const auto resting = std::make_shared<RestingFiles>(1ms);
    test::IdleChild child;    // has what we have
    const auto file = std::make_shared<TakenFile>(program(child.pid()),
                                                  VerbsFile{null.get(), test::number_of("/dev/null")}, resting,
                                                  [this](UniqueFd) { ++closed; });
    {
        const ClientFile::Use use(*file);
        EXPECT_TRUE(use.opened());
    }
    EXPECT_TRUE(closes(1));
    child.end();
    const ClientFile::Use use(*file);
    ASSERT_FALSE(use.opened());
    EXPECT_EQ(use.opened().error().code, ErrorCode::BadQueuePair);
}

TEST_F(TakenFiles, AreClosedWhenTheyGo)
{
    const auto resting = std::make_shared<RestingFiles>(1h);
    {
        const auto file = file_of(null, resting);
        const ClientFile::Use use(*file);
    }
    EXPECT_EQ(closed, 1) << "at once, though it rests";
}

TEST_F(TakenFiles, WithoutAnybodyToCloseThemLater)
{
    auto resting = std::make_shared<RestingFiles>(1h);
    const auto rests = file_of(null, resting);
    const auto later = file_of(null, resting);
    {
        const ClientFile::Use use(*rests);
    }
    resting.reset();
    EXPECT_EQ(closed, 0);
    {
        const ClientFile::Use use(*later);
        EXPECT_TRUE(use.opened());
    }
    EXPECT_EQ(closed, 1) << "it does not rest any more";
    {
        const ClientFile::Use use(*rests);
    }
    EXPECT_EQ(closed, 2);
}

// ---- by several threads ----

TEST_F(TakenFiles, UsedByManyThreads)
{
    const UniqueFd second = open_device("/dev/null");
    const std::size_t before = descriptors();
    {
        const auto resting = std::make_shared<RestingFiles>(50us);
        const std::vector<std::shared_ptr<TakenFile>> files{file_of(null, resting), file_of(second, resting)};
        std::atomic<int> failed = 0;
        std::vector<std::thread> threads;
        for (unsigned thread = 0; thread < 4; ++thread) {
            threads.emplace_back([&, thread] {
                const auto patience = std::chrono::steady_clock::now() + test::kHung;
                for (unsigned i = 0; i < 3000 || (closed < 10 && std::chrono::steady_clock::now() < patience); ++i) {
                    TakenFile& file = *files[(i + thread) % 2];
                    const ClientFile::Use use(file);
                    struct stat status {};
                    const bool is_it = use.opened() && fstat(file.fd(), &status) == 0 &&
                                       status.st_rdev == test::number_of("/dev/null");
                    failed += is_it ? 0 : 1;
                    if (i % 30 == 0) {
                        std::this_thread::sleep_for(1ms);    // all rest at some time
                    }
                }
            });
        }
        for (auto& each : threads) {
            each.join();
        }
        EXPECT_EQ(failed, 0);
    }
    EXPECT_GE(closed, 10) << "it was closed in between";
    EXPECT_EQ(descriptors(), before);
}

// The daemon may end while a device uses a file.
TEST_F(TakenFiles, UsedWhileWhoClosesThemEnds)
{
    const std::size_t before = descriptors();
    for (int i = 0; i < 1000; ++i) {
        auto resting = std::make_shared<RestingFiles>(0us);
        const auto file = file_of(null, resting);
        std::atomic<bool> uses = false;
        std::thread device([&] {
            for (int use = 0; use < 20; ++use) {
                const ClientFile::Use once(*file);
                EXPECT_TRUE(once.opened());
                uses = true;
            }
        });
        while (!uses) {
            std::this_thread::yield();
        }
        resting.reset();
        device.join();
    }
    EXPECT_EQ(descriptors(), before);
}

}    // namespace
}    // namespace rdmaqos
