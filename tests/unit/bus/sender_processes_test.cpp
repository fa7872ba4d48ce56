#include "lib/bus/sender_processes.h"

#include <gtest/gtest.h>

#include "lib/base/clock.h"

namespace rdmaqos::bus {
namespace {

using namespace std::chrono_literals;

class SenderProcessesTest : public ::testing::Test {
protected:
    // Until all of them are answered.
    void wait_for(std::size_t answers)
    {
        const auto end = SteadyClock().now() + 60s;
        while (answers_.size() < answers && SteadyClock().now() < end) {
            loop_.run_once(100ms);
        }
    }
    SenderProcesses::Done noted(const std::string& name)
    {
        return [this, name](const Result<std::optional<PeerProcess>>& process) {
            answers_.push_back(name + (!process ? ": error" : *process ? ": pidfd" : ": none"));
        };
    }
    void wait_for_the_end_of_all(const SenderProcesses& processes)
    {
        const auto end = SteadyClock().now() + 60s;
        while (processes.running() > 0 && SteadyClock().now() < end) {
            loop_.run_once(100ms);
        }
    }

    EventLoop loop_;
    std::vector<std::string> answers_;
};

using Names = std::vector<std::string>;

TEST_F(SenderProcessesTest, WithoutAHelperThereIsNoneAtOnce)
{
    SenderProcesses processes(loop_, {});
    processes.look_up(":1.1", noted("a"));
    EXPECT_EQ(answers_, Names{"a: none"});
}

// However it fails, everybody is answered, in order, and nothing stays.
TEST_F(SenderProcessesTest, WithoutAnAnswerOfTheHelperThereIsNone)
{
    const std::vector<std::vector<std::string>> commands{
        {"/nonexistent/program"}, {"/bin/false"}, {"/bin/sh", "-c", "echo nonsense >&3", "sh"}, {"/bin/sleep", "1000"}};
    for (const auto& command : commands) {
        answers_.clear();
        SenderProcesses processes(loop_, {command, 200ms});
        processes.look_up(":1.1", noted("a"));
        processes.look_up(":1.2", noted("b"));
        processes.look_up(std::string(300, 'x'), noted("c"));
        wait_for(3);
        EXPECT_EQ(answers_, (Names{"a: none", "b: none", "c: error"})) << command.front();
        wait_for_the_end_of_all(processes);
        EXPECT_EQ(processes.running(), 0U) << command.front();
    }
}

TEST_F(SenderProcessesTest, HelpersThatDoNotEndAreAtMostSoMany)
{
    SenderProcesses processes(loop_, {{"/bin/sleep", "1000"}, 200ms, 30s, 0});
    processes.look_up(":1.1", noted("a"));
    EXPECT_EQ(answers_, Names{"a: none"});
    EXPECT_EQ(processes.running(), 0U);
}

TEST_F(SenderProcessesTest, WhoIsForgottenIsNotAnswered)
{
    SenderProcesses processes(loop_, {{"/bin/sleep", "1000"}, 200ms});
    processes.look_up(":1.1", noted("a"));
    processes.forget();
    processes.look_up(":1.2", noted("b"));
    wait_for(1);
    EXPECT_EQ(answers_, Names{"b: none"});
}

}    // namespace
}    // namespace rdmaqos::bus
