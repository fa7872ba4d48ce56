#include "daemon/loop/loop_calls.h"

#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "daemon/loop/ending_workers.h"
#include "daemon/loop/gathering.h"
#include "daemon/loop/loader.h"
#include "tests/support/manual_loop.h"
#include "tests/support/witness.h"

namespace rdmaqos {
namespace {

using test::ManualLoop;
using test::Sightings;
using test::Witness;

static_assert(!std::is_copy_constructible_v<LoopCallback<void()>>,
              "what cannot be copied cannot be in a std::function, as every task of a worker is");

TEST(LoopCallback, HoldsWhatCanOnlyBeMoved)
{
    int got = 0;
    LoopCallback<void(std::unique_ptr<int>)> callback =
        [&got, own = std::make_unique<int>(1)](std::unique_ptr<int> given) { got = *own + *given; };
    const auto moved = std::move(callback);
    moved(std::make_unique<int>(2));
    EXPECT_EQ(got, 3);
    EXPECT_FALSE(callback);
    EXPECT_TRUE(moved);
    EXPECT_FALSE(LoopCallback<void()>(nullptr));
}

#ifndef NDEBUG
TEST(LoopCallbackDeathTest, DebugBuildsAbortOnAnotherThread)
{
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            const LoopCallback<void()> callback = [] {};
            std::thread([&callback] { callback(); }).join();
        },
        "on another thread");
    EXPECT_DEATH(
        {
            LoopCallback<void()> callback = [] {};
            std::thread([own = std::move(callback)] {}).join();
        },
        "on another thread");
}
#endif

class LoopCallsTest : public ::testing::Test {
protected:
    template <typename Done>
    void wait_for(Done done)
    {
        ASSERT_TRUE(loop.run_until(done));
    }

    ManualLoop loop;
    Sightings seen;
};

TEST_F(LoopCallsTest, WorkRunsOnTheWorkerAndItsCallbackStaysOnTheLoop)
{
    Worker worker("test", 8);
    LoopCalls calls(loop);
    std::thread::id worked;
    std::optional<Result<int>> got;
    calls.run(
        worker, [&worked] { return worked = std::this_thread::get_id(), 7; },
        [&got, witness = Witness(seen)](const Result<int>& result) {
            witness.called();
            got = result;
        });
    EXPECT_EQ(calls.waiting(), 1U);
    wait_for([&] { return got.has_value(); });
    EXPECT_EQ(**got, 7);
    EXPECT_EQ(calls.waiting(), 0U);
    EXPECT_NE(worked, std::this_thread::get_id());
    EXPECT_TRUE(seen.only_here_and_called(1));
}

TEST_F(LoopCallsTest, WhatWorkThrowsIsAnErrorOnTheLoop)
{
    Worker worker("test", 8);
    LoopCalls calls(loop);
    std::vector<Error> errors;
    const auto note = [&errors, witness = Witness(seen)](const auto& result) {
        witness.called();
        errors.push_back(result.error());
    };
    calls.run(
        worker, []() -> int { throw std::runtime_error("no mailbox"); }, note);
    calls.run(
        worker, []() -> Result<int> { throw 5; }, note);
    calls.run(
        worker, []() -> Result<int> { return fail(ErrorCode::Busy, "not now"); }, note);
    wait_for([&] { return errors.size() == 3; });
    EXPECT_EQ(errors[0].code, ErrorCode::Internal);
    EXPECT_EQ(errors[0].message, "a task failed: no mailbox");
    EXPECT_EQ(errors[1].message, "a task failed: an unknown exception");
    EXPECT_EQ(errors[2].code, ErrorCode::Busy);
    EXPECT_TRUE(seen.only_here_and_called(3));
}

TEST_F(LoopCallsTest, CancelAnswersAllAndWhatTheWorkerSaysThenIsNotHeard)
{
    Worker worker("test", 8);
    LoopCalls calls(loop);
    std::promise<void> open;
    std::vector<ErrorCode> codes;
    const auto opened = open.get_future().share();
    for (int i = 0; i < 2; ++i) {
        calls.run(
            worker, [opened] { opened.wait(); },
            [&codes, i, witness = Witness(seen)](const Result<void>& result) {
                codes.push_back(result.error().code);
                if (i == 0) {
                    throw std::runtime_error("the next is answered all the same");
                }
            });
    }
    calls.cancel({ErrorCode::DeviceGone, 0, "went away"});
    EXPECT_EQ(codes, (std::vector<ErrorCode>{ErrorCode::DeviceGone, ErrorCode::DeviceGone}));
    open.set_value();
    bool behind = false;
    calls.run(
        worker, [] {}, [&behind](const Result<void>&) { behind = true; });
    wait_for([&] { return behind; });
    EXPECT_EQ(codes.size(), 2U);
    EXPECT_TRUE(seen.only_here());
}

TEST_F(LoopCallsTest, WhatWaitsWhenItGoesIsDestroyedOnTheLoopWithoutBeingCalled)
{
    std::promise<void> open;
    Worker worker("test", 8);
    {
        LoopCalls calls(loop);
        calls.run(
            worker, [opened = open.get_future().share()] { opened.wait(); },
            [witness = Witness(seen)](const Result<void>&) { witness.called(); });
        calls.defer([witness = Witness(seen)] { witness.called(); });
    }
    EXPECT_GT(seen.count(), 0U);
    open.set_value();
    LoopCalls later(loop);
    bool behind = false;
    later.run(
        worker, [] {}, [&behind](const Result<void>&) { behind = true; });
    wait_for([&] { return behind; });
    EXPECT_TRUE(seen.only_here_and_called(0));
}

TEST_F(LoopCallsTest, ACallbackMayDestroyTheTableItWasIn)
{
    Worker worker("test", 8);
    auto calls = std::make_unique<LoopCalls>(loop);
    calls->run(
        worker, [] {},
        [&calls, witness = Witness(seen)](const Result<void>&) {
            calls.reset();
            witness.called();
        });
    wait_for([&] { return calls == nullptr; });
    EXPECT_TRUE(seen.only_here_and_called(1));
}

TEST_F(LoopCallsTest, DeferredCallsComeLaterAndInOrder)
{
    LoopCalls calls(loop);
    std::string order;
    calls.defer([&order] { order += 'a'; });
    calls.defer([&order, own = std::make_unique<char>('b')] { order += *own; });
    EXPECT_EQ(order, "");
    wait_for([&] { return order.size() == 2; });
    EXPECT_EQ(order, "ab");
}

TEST_F(LoopCallsTest, AWorkerThatDoesNotEndHoldsUpNoOther)
{
    std::promise<void> open;
    std::string order;
    {
        EndingWorkers ending(loop);
        auto hung = std::make_unique<Worker>("hung", 1);
        hung->submit_always([opened = open.get_future().share()] { opened.wait(); });
        ending.end(
            std::move(hung), [] {}, [&order] { order += "hung "; });
        ending.end(
            std::make_unique<Worker>("well", 1), [] {}, [&order] { order += "well "; });
        wait_for([&] { return !order.empty(); });
        EXPECT_EQ(order, "well ");
        open.set_value();
        wait_for([&] { return order.size() > 5; });
    }
    EXPECT_EQ(order, "well hung ");
}

TEST_F(LoopCallsTest, AGatheringIsDoneOnceWhenAllHasCome)
{
    std::vector<Gathering::Missing> done;
    const auto all = Gathering::begin([&done](Gathering::Missing missing) { done.push_back(std::move(missing)); });
    all->expect("a");
    all->came("a");    // at once, and there is more to come
    all->expect("b");
    all->within(loop, std::chrono::seconds(1));
    all->all_expected();
    EXPECT_TRUE(done.empty());
    all->came("b");
    ASSERT_EQ(done.size(), 1U);
    EXPECT_TRUE(done.front().empty());
    all->came("b");
    loop.advance(std::chrono::seconds(2));
    EXPECT_EQ(done.size(), 1U);

    const auto none = Gathering::begin([&done](Gathering::Missing missing) { done.push_back(std::move(missing)); });
    none->all_expected();
    EXPECT_EQ(done.size(), 2U);
}

TEST_F(LoopCallsTest, AGatheringWithoutPatienceNamesWhatIsMissing)
{
    std::vector<Gathering::Missing> done;
    const auto all = Gathering::begin([&done](Gathering::Missing missing) { done.push_back(std::move(missing)); });
    for (const char* part : {"a", "b", "b", "c"}) {
        all->expect(part);
    }
    all->within(loop, std::chrono::seconds(1));
    all->all_expected();
    all->came("a");
    all->came("b");
    loop.advance(std::chrono::seconds(1));
    ASSERT_EQ(done.size(), 1U);
    EXPECT_EQ(done.front(), (Gathering::Missing{"b", "c"}));
    all->came("c");
    EXPECT_EQ(done.size(), 1U);
}

class LoaderTest : public LoopCallsTest {
protected:
    // Reads for this user: its name is in `order` when it was its turn.
    Result<void> read_for(Account account)
    {
        if (auto room = loader.has_room(account); !room) {
            return room;
        }
        loader.run_for(
            account,
            [this, account] {
                return [this, account] { read(account.is_root() ? "root" : std::to_string(account.uid())); };
            },
            [this](const Result<void>&) { ++answered; });
        return {};
    }
    void read(const std::string& who)
    {
        const std::lock_guard lock(mutex);
        order.push_back(who);
    }

    std::mutex mutex;
    std::vector<std::string> order;
    std::size_t answered = 0;
    Loader loader{loop};
};

TEST_F(LoaderTest, NothingOfRootsWaitsForPlansOfOthers)
{
    std::promise<void> open;
    loader.run_for(
        1, [&] { return [opened = open.get_future().share()] { opened.wait(); }; },
        [this](const Result<void>&) { ++answered; });
    for (const Account account : {Account(2), Account(3), Account::root(), Account::root()}) {
        EXPECT_TRUE(read_for(account));
    }
    loader.run([this] { read("reload"); }, [this](const Result<void>&) { ++answered; });
    wait_for([this] { return answered == 3; });
    EXPECT_EQ(order, (std::vector<std::string>{"root", "reload", "root"})) << "while that of user 1 is read";
    open.set_value();
    wait_for([this] { return answered == 6; });
    EXPECT_EQ(order, (std::vector<std::string>{"root", "reload", "root", "2", "3"}));
}

TEST_F(LoaderTest, AUserHasOneAndAFewWaitInAll)
{
    std::promise<void> open;
    loader.run_for(
        1, [&] { return [opened = open.get_future().share()] { opened.wait(); }; },
        [this](const Result<void>&) { ++answered; });
    EXPECT_EQ(read_for(1).error().message, "another policy of yours is being read; try again when it is done");
    for (std::uint32_t uid = 2; uid < 2 + Loader::kMostOfOthers; ++uid) {
        EXPECT_TRUE(read_for(uid));
    }
    const auto late = read_for(100);
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, ErrorCode::Busy);
    EXPECT_EQ(late.error().message, "too many policies wait to be read; try again later");
    EXPECT_FALSE(read_for(0)) << "uid 0 of a container is one user more";
    EXPECT_TRUE(read_for(Account::root())) << "root has places of its own";
    open.set_value();
    wait_for([this] { return answered == 2 + Loader::kMostOfOthers; });
    EXPECT_TRUE(read_for(1));
    EXPECT_TRUE(read_for(100));
    wait_for([this] { return answered == 4 + Loader::kMostOfOthers; });
}

}    // namespace
}    // namespace rdmaqos
