#include "lib/base/file_closer.h"

#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/lingering.h"
#include "tests/support/patience.h"

namespace rdmaqos {
namespace {

// A pipe tells when its writing end is closed.
struct Watched {
    UniqueFd reader;
    UniqueFd writer;

    Watched()
    {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0) {
            reader = UniqueFd(ends[0]);
            writer = UniqueFd(ends[1]);
        }
    }
    [[nodiscard]] bool is_closed(std::chrono::milliseconds patience = test::kHung) const
    {
        return test::eventually(
            [this] {
                char byte = 0;
                return read(reader.get(), &byte, 1) == 0;
            },
            patience);
    }
};

TEST(FileCloser, ClosesWhatItIsGiven)
{
    FileCloser closer;
    Watched watched;
    closer.close(1000, std::move(watched.writer));
    EXPECT_TRUE(watched.is_closed());
    EXPECT_TRUE(test::eventually([&] { return closer.pending(1000) == 0; }));
}

TEST(FileCloser, AHangingCloseOfOneUserKeepsNobodyElseWaiting)
{
    FileCloser closer;
    std::vector<std::unique_ptr<test::Lingering>> hanging;
    for (int count = 0; count < 8; ++count) {
        hanging.push_back(std::make_unique<test::Lingering>());
        closer.close(1000, std::move(hanging.back()->socket));
    }
    Watched watched;
    closer.close(1001, std::move(watched.writer));
    EXPECT_TRUE(watched.is_closed()) << "while the others linger";
    EXPECT_EQ(closer.pending(1000), 8U) << "two at work, six behind them";
}

TEST(FileCloser, WhatWaitsForAThreadIsClosedWhenThereIsOneAgain)
{
    std::atomic<bool> is_short = true;
    FileCloser closer([&](std::function<void()> work) {
        if (is_short) {
            throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
        }
        std::thread(std::move(work)).detach();
    });
    Watched of_one;
    Watched of_another;
    closer.close(1000, std::move(of_one.writer));
    closer.close(1001, std::move(of_another.writer));
    EXPECT_FALSE(of_one.is_closed(test::kMoment));
    EXPECT_EQ(closer.pending(1000), 1U);
    is_short = false;
    EXPECT_TRUE(of_one.is_closed()) << "nobody gave it anything else to close";
    EXPECT_TRUE(of_another.is_closed());
}

TEST(FileCloser, ManyUsersWhoseClosesHangLeaveRootAThread)
{
    FileCloser closer;
    std::vector<std::unique_ptr<test::Lingering>> hanging;
    for (std::uint32_t user = 1; user <= 70; ++user) {
        hanging.push_back(std::make_unique<test::Lingering>());
        closer.close(user, std::move(hanging.back()->socket));
    }
    Watched of_container;
    Watched watched;
    closer.close(0, std::move(of_container.writer));
    closer.close(Account::root(), std::move(watched.writer));
    EXPECT_TRUE(watched.is_closed());
    EXPECT_FALSE(of_container.is_closed(test::kMoment)) << "uid 0 of a container is one user more";
}

}    // namespace
}    // namespace rdmaqos
