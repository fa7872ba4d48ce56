// The files of programs, each one object as long as it is in use.
#include "daemon/adoption/program_files.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <gmock/gmock.h>

#include "tests/support/patience.h"
#include "tests/unit/adoption/verbs_file.h"

namespace rdmaqos {
namespace {

using test::open_device;
using testing::SizeIs;

class OfThisHost : public test::VerbsFiles {
protected:
    std::vector<std::shared_ptr<ClientFile>> of(const std::shared_ptr<const Identity>& process)
    {
        auto listed = files.of(process);
        EXPECT_TRUE(listed) << to_string(listed.error());
        return listed.value_or(std::vector<std::shared_ptr<ClientFile>>());
    }

    std::atomic<int> closed = 0;
    std::atomic<std::uint32_t> closed_for = 0;    // the last one's user
    HostProgramFiles files{[this](std::uint32_t uid, UniqueFd) {
        closed_for = uid;
        ++closed;
    }};
};

TEST_F(OfThisHost, TheSameFileIsTheSameObject)
{
    EXPECT_EQ(files.why_not(), "");
    const test::IdleChild plain;    // it may have inherited some
    const std::size_t inherited = of(test::identity_of(plain.pid())).size();
    const test::IdleChild child([] {
        static_cast<void>(dup(open("/dev/null", O_RDWR)));
        static_cast<void>(open("/dev/null", O_RDWR));
        static_cast<void>(open("/dev/zero", O_RDWR));
    });
    const auto process = test::identity_of(child.pid());
    auto first = of(process);
    ASSERT_THAT(first, SizeIs(inherited + 3));
    EXPECT_EQ(of(process), first);
    const std::weak_ptr<ClientFile> forgotten = first[0];
    first.clear();
    EXPECT_TRUE(forgotten.expired()) << "nobody uses it";
    EXPECT_THAT(of(process), SizeIs(inherited + 3));
    EXPECT_EQ(closed, 0) << "none was open";
    {
        const auto again = of(process);
        const ClientFile::Use use(*again[0]);
        EXPECT_TRUE(use.opened());
    }
    // At once, unless it is just being closed since it has rested.
    EXPECT_TRUE(test::eventually([&] { return closed > 0; }));
    EXPECT_EQ(closed, 1);
    EXPECT_EQ(closed_for, 1000U) << "for its user";
}

TEST_F(OfThisHost, OfAProcessThatIsAnother)
{
    const UniqueFd null = open_device("/dev/null");
    const test::IdleChild child;
    const auto process = test::identity_of(child.pid());
    const auto before = of(process);
    ASSERT_FALSE(before.empty());
    auto another = std::make_shared<Identity>(*process);    // the pid is used again
    ++another->start_time;
    const auto other = files.of(another);
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code, ErrorCode::BadQueuePair);
    const auto after = of(process);
    ASSERT_EQ(after.size(), before.size());
    EXPECT_NE(after[0], before[0]);
}

TEST_F(OfThisHost, ManyProcessesComeAndGo)
{
    const UniqueFd null = open_device("/dev/null");
    for (int i = 0; i < 100; ++i) {
        test::IdleChild child;
        const auto process = test::identity_of(child.pid());
        ASSERT_FALSE(of(process).empty());
        child.end();
        EXPECT_FALSE(files.of(process));
    }
}

}    // namespace
}    // namespace rdmaqos
