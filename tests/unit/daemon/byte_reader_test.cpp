// The bytes of ports by priority: when they are read, and what is known of them.
#include "daemon/port_classes/byte_reader.h"

#include <atomic>
#include <chrono>
#include <mutex>

#include <gtest/gtest.h>

#include "tests/support/manual_loop.h"

namespace rdmaqos {
namespace {

using namespace std::chrono_literals;

class Bytes : public ::testing::Test {
protected:
    void set(std::uint64_t sent, std::uint64_t rdma)
    {
        const std::lock_guard lock(mutex);
        counters = {{"tx_prio3_bytes", sent}, {"tx_vport_rdma_unicast_bytes", rdma}};
    }
    void clear()
    {
        const std::lock_guard lock(mutex);
        counters.clear();
    }
    void wait_for(int times)
    {
        EXPECT_TRUE(loop.run_until([&] { return reads >= times; }));
        loop.run_until_rest();
    }

    test::ManualLoop loop;
    std::mutex mutex;
    std::vector<port_bytes::Counter> counters;
    std::atomic<int> reads = 0;
    ByteReader reader{loop, loop.clock, [] { return WallTime(1000s); },
                      [this](const std::string& netdev) {
                          EXPECT_EQ(netdev, "eth0");
                          const std::lock_guard lock(mutex);
                          ++reads;
                          return counters;
                      }};
};

TEST_F(Bytes, AreReadAtIntervals)
{
    set(10, 20);
    reader.set(true);
    reader.follow("mlx5_0/1", "eth0");
    reader.follow("mlx5_1/1", "");
    wait_for(1);
    const auto first = reader.status("mlx5_0/1");
    ASSERT_TRUE(first);
    EXPECT_EQ(first->total.sent[3], 10U);
    EXPECT_EQ(first->read_at, WallTime(1000s));
    EXPECT_FALSE(first->moved) << "there was nothing before";
    EXPECT_FALSE(reader.status("mlx5_1/1"));

    set(110, 60);
    reader.follow("mlx5_0/1", "eth0");
    loop.advance(ByteReader::kInterval);
    wait_for(2);
    const auto second = reader.status("mlx5_0/1");
    ASSERT_TRUE(second && second->moved);
    EXPECT_EQ(second->moved->sent[3], 100U);
    EXPECT_EQ(second->moved->rdma_sent, 40U);
    EXPECT_EQ(second->over, ByteReader::kInterval);
    EXPECT_EQ(reads, 2) << "one that is followed already is not read again";
}

TEST_F(Bytes, ThatStartAgainAreNoDifference)
{
    set(110, 60);
    reader.set(true);
    reader.follow("mlx5_0/1", "eth0");
    wait_for(1);
    set(5, 5);
    loop.advance(ByteReader::kInterval);
    wait_for(2);
    EXPECT_FALSE(reader.status("mlx5_0/1")->moved);
    EXPECT_EQ(reader.status("mlx5_0/1")->total.sent[3], 5U);
    clear();
    loop.advance(ByteReader::kInterval);
    wait_for(3);
    EXPECT_FALSE(reader.status("mlx5_0/1")) << "its driver does not count any longer";
}

TEST_F(Bytes, AreNotReadWhenTheSettingsSaySo)
{
    set(10, 20);
    reader.follow("mlx5_0/1", "eth0");
    loop.advance(1h);
    loop.run_until_rest();
    EXPECT_EQ(reads, 0);
    reader.set(true);
    wait_for(1);
    EXPECT_TRUE(reader.status("mlx5_0/1"));
    reader.set(false);
    EXPECT_FALSE(reader.status("mlx5_0/1"));
    loop.advance(1h);
    loop.run_until_rest();
    EXPECT_EQ(reads, 1);
}

TEST_F(Bytes, OfAPortThatWentAwayAreForgotten)
{
    set(10, 20);
    reader.set(true);
    reader.follow("mlx5_0/1", "eth0");
    reader.forget("mlx5_0/1");
    wait_for(1);
    EXPECT_FALSE(reader.status("mlx5_0/1"));
    reader.follow("mlx5_0/1", "eth0");
    wait_for(2);
    EXPECT_TRUE(reader.status("mlx5_0/1"));
}

}    // namespace
}    // namespace rdmaqos
