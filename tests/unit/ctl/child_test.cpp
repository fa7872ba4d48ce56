#include "lib/base/signal_process.h"
#include "tools/rdma-qosctl/request/child.h"

#include <csignal>

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

namespace rdmaqos::ctl {
namespace {

class ChildTest : public testing::Test {
protected:
    void SetUp() override { sigprocmask(SIG_SETMASK, nullptr, &mask_); }
    void TearDown() override { sigprocmask(SIG_SETMASK, &mask_, nullptr); }

    sigset_t mask_{};
};

TEST_F(ChildTest, ExitStatusIsThatOfTheCommand)
{
    auto child = Child::start({"sh", "-c", "exit 42"});
    ASSERT_TRUE(child.has_value());
    EXPECT_EQ(child->wait(), 42);
}

TEST_F(ChildTest, DeathBySignalIsReportedAsAShellDoes)
{
    auto child = Child::start({"sh", "-c", "kill -KILL $$"});
    ASSERT_TRUE(child.has_value());
    EXPECT_EQ(child->wait(), 128 + SIGKILL);
}

TEST_F(ChildTest, MissingCommandIsAnError)
{
    const auto child = Child::start({"/nonexistent/command"});
    ASSERT_FALSE(child.has_value());
    EXPECT_NE(child.error().message.find("/nonexistent/command cannot be started"), std::string::npos);
}

TEST_F(ChildTest, SignalsAreForwarded)
{
    auto child = Child::start({"sh", "-c", "trap 'exit 7' TERM; kill -TERM $PPID; while :; do sleep 0.05; done"});
    ASSERT_TRUE(child.has_value());
    EXPECT_EQ(child->wait(), 7);
}

// The command must not inherit our blocked signals.
TEST_F(ChildTest, CommandStartsWithTheSignalMaskThereWas)
{
    auto child = Child::start({"sh", "-c", "kill -TERM $$; exit 1"});
    ASSERT_TRUE(child.has_value());
    EXPECT_EQ(child->wait(), 128 + SIGTERM);
}

TEST_F(ChildTest, WithoutACommandTheFirstSignalEnds)
{
    auto child = Child::start({});
    ASSERT_TRUE(child.has_value());
    EXPECT_FALSE(child->handle().has_value());
    pollfd waiting{child->fd(), POLLIN, 0};
    EXPECT_EQ(poll(&waiting, 1, 0), 0);
    signal_process(getpid(), SIGINT);
    EXPECT_EQ(poll(&waiting, 1, 1000), 1);
    EXPECT_EQ(child->wait(), 128 + SIGINT);
}

}    // namespace
}    // namespace rdmaqos::ctl
