#include "lib/base/file_closer.h"

#include <atomic>
#include <chrono>
#include <system_error>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/lingering.h"

namespace rdmaqos {
namespace {

using namespace std::chrono_literals;

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
    [[nodiscard]] bool is_closed(std::chrono::milliseconds patience) const
    {
        const auto end = std::chrono::steady_clock::now() + patience;
        char byte = 0;
        while (read(reader.get(), &byte, 1) != 0) {
            if (std::chrono::steady_clock::now() > end) {
                return false;
            }
            std::this_thread::sleep_for(1ms);
        }
        return true;
    }
};

TEST(FileCloser, ClosesWhatItIsGiven)
{
    FileCloser closer;
    Watched watched;
    closer.close(1000, std::move(watched.writer));
    EXPECT_TRUE(watched.is_closed(10s));
    for (int round = 0; round < 1000 && closer.pending(1000) > 0; ++round) {
        std::this_thread::sleep_for(1ms);
    }
    EXPECT_EQ(closer.pending(1000), 0U);
}

TEST(FileCloser, AHangingCloseOfOneUserKeepsNobodyElseWaiting)
{
    FileCloser closer;
    std::vector<std::unique_ptr<test::Lingering>> hanging;
    for (int count = 0; count < 8; ++count) {
        hanging.push_back(std::make_unique<test::Lingering>(3));
        closer.close(1000, std::move(hanging.back()->socket));
    }
    Watched watched;
    const auto begin = std::chrono::steady_clock::now();
    closer.close(1001, std::move(watched.writer));
    EXPECT_TRUE(watched.is_closed(2s)) << "while the others linger for three seconds";
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 2s);
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
    EXPECT_FALSE(of_one.is_closed(300ms));
    EXPECT_EQ(closer.pending(1000), 1U);
    is_short = false;
    EXPECT_TRUE(of_one.is_closed(10s)) << "nobody gave it anything else to close";
    EXPECT_TRUE(of_another.is_closed(10s));
}

TEST(FileCloser, ManyUsersWhoseClosesHangLeaveRootAThread)
{
    FileCloser closer;
    std::vector<std::unique_ptr<test::Lingering>> hanging;
    for (std::uint32_t user = 1; user <= 70; ++user) {
        hanging.push_back(std::make_unique<test::Lingering>(3));
        closer.close(user, std::move(hanging.back()->socket));
    }
    Watched watched;
    closer.close(0, std::move(watched.writer));
    EXPECT_TRUE(watched.is_closed(2s));
}

}    // namespace
}    // namespace rdmaqos
