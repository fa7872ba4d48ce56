#include "lib/dcb/watcher.h"

#include <cerrno>

#include <gmock/gmock.h>
#include <linux/rtnetlink.h>
#include <poll.h>

#include "tests/support/fake_dcb.h"
#include "tests/support/shaper_messages.h"

namespace rdmaqos::dcb {
namespace {

using test::FakeDcb;
using testing::IsEmpty;
using testing::SizeIs;
using namespace test::netlink;
using Message = test::netlink::Bytes;

bool is_readable(const Watcher& watcher)
{
    pollfd one{watcher.fd(), POLLIN, 0};
    return poll(&one, 1, 0) == 1;
}

Ets halves()
{
    Ets ets;
    ets.traffic_class[0] = {.selection = Selection::Ets, .weight = 50, .max_rate = {}};
    ets.traffic_class[1] = {.selection = Selection::Ets, .weight = 50, .max_rate = {}};
    ets.class_of_priority[1] = 1;
    return ets;
}

TEST(Watcher, SaysWhichInterfaceAndWhatChanged)
{
    FakeDcb kernel(*find_driver("mlx5_core"));
    Watcher watcher = kernel.watch();
    EXPECT_FALSE(is_readable(watcher));
    EXPECT_THAT(watcher.drain(), IsEmpty());

    const AppEntry entry{Selector::Dscp, 26, 1};
    ASSERT_EQ(kernel.write_as_other(SetEts{halves()}, 41), 0);
    ASSERT_EQ(kernel.write_as_other(SetApp{entry}, 42), 0);
    ASSERT_EQ(kernel.write_as_other(DeleteApp{entry}, 43), 0);
    EXPECT_TRUE(is_readable(watcher));
    const auto changes = watcher.drain();
    ASSERT_THAT(changes, SizeIs(3));
    EXPECT_EQ(changes[0].kind, ChangeKind::Set);
    EXPECT_EQ(changes[0].interface, "ens1");
    EXPECT_EQ(changes[0].sequence, 41U);
    ASSERT_TRUE(changes[0].settings);
    EXPECT_EQ(changes[0].settings->ets->traffic_class[1].weight, 50);
    EXPECT_THAT(changes[1].settings->apps, testing::ElementsAre(entry));
    EXPECT_EQ(changes[2].kind, ChangeKind::Delete);
    EXPECT_THAT(changes[2].settings->apps, IsEmpty());
    EXPECT_FALSE(is_readable(watcher));
}

TEST(Watcher, WritesThatWereRefusedAreNotifiedToo)
{
    FakeDcb kernel(*find_driver("mlx5_core"));
    Watcher watcher = kernel.watch();
    Ets wrong = halves();
    wrong.traffic_class[0].weight = 10;
    EXPECT_EQ(kernel.write_as_other(SetEts{wrong}), EINVAL);
    EXPECT_THAT(watcher.drain(), SizeIs(1));
    kernel.have_privileges(false);
    EXPECT_EQ(kernel.write_as_other(SetEts{halves()}), EPERM);
    EXPECT_THAT(watcher.drain(), IsEmpty()) << "not those that never came to the driver";
}

TEST(Watcher, WhoWrote)
{
    constexpr std::int64_t kNow = 1'764'244'800;
    FakeDcb kernel(*find_driver("mlx5_core"));
    Watcher watcher = kernel.watch();
    const std::vector<Write> writes{SetEts{halves()}};
    ASSERT_TRUE(write_port(kernel, "ens1", writes).complete());
    kernel.notify_of_driver();
    kernel.write_as_other(SetEts{halves()}, kNow - 1);
    kernel.write_as_other(SetEts{halves()}, 1);
    std::vector<Author> authors;
    for (const Change& change : watcher.drain()) {
        authors.push_back(author_of(change, kernel, kNow));
    }
    EXPECT_THAT(authors, testing::ElementsAre(Author::Ourselves, Author::Driver, Author::DcbTool, Author::Unknown));
    EXPECT_EQ(in_words(Author::DcbTool), "probably the command `dcb`");
}

TEST(Watcher, WhatWasLostIsSaid)
{
    FakeDcb kernel(*find_driver("mlx5_core"));
    Watcher watcher = kernel.watch();
    kernel.write_as_other(SetEts{halves()});
    FakeDcb::overflow();
    const auto changes = watcher.drain();
    ASSERT_THAT(changes, SizeIs(2)) << "and reading goes on behind it";
    EXPECT_EQ(changes[0].kind, ChangeKind::Lost);
    EXPECT_EQ(changes[0].interface, "");
    EXPECT_EQ(changes[1].interface, "ens1");
}

TEST(Watcher, AFloodDoesNotKeepTheCaller)
{
    constexpr int kReceives = 1000;
    static int left = 0;
    left = kReceives;
    Watcher watcher(UniqueFd(), [](int, void* buffer, std::size_t size, int) -> ssize_t {
        if (left == 0) {
            errno = EAGAIN;
            return -1;
        }
        --left;
        const Message datagram = message(dcb_answer({}), 5, RTM_SETDCB);
        EXPECT_LE(datagram.size(), size);
        std::memcpy(buffer, datagram.data(), datagram.size());
        return static_cast<ssize_t>(datagram.size());
    });
    const std::size_t first = watcher.drain().size();
    EXPECT_LT(first, std::size_t{kReceives});
    EXPECT_GT(left, 0) << "the rest comes with the next call";
}

TEST(Watcher, OfTheKernelHasNothingToSay)
{
    auto watcher = Watcher::open();
    if (!watcher) {
        GTEST_SKIP() << to_string(watcher.error());
    }
    EXPECT_GE(watcher->fd(), 0);
    EXPECT_THAT(watcher->drain(), IsEmpty());
}

// The kernel tells a socket without one nothing.
TEST(Watcher, HasAPortNumber)
{
    const auto watcher = Watcher::open();
    if (!watcher) {
        GTEST_SKIP() << to_string(watcher.error());
    }
    sockaddr_nl local{};
    socklen_t length = sizeof(local);
    ASSERT_EQ(getsockname(watcher->fd(), reinterpret_cast<sockaddr*>(&local), &length), 0);
    EXPECT_NE(local.nl_pid, 0U);
}

TEST(Changes, OfADatagram)
{
    dcbmsg cee{};
    cee.cmd = DCB_CMD_CEE_GET;
    const Message other = message(bytes_of(cee) + text(DCB_ATTR_IFNAME, "ens2"), 9, RTM_GETDCB);
    const Message one = message(dcb_answer({}), 5, RTM_SETDCB);
    const auto changes = read_changes(one + other);
    ASSERT_THAT(changes, SizeIs(2));
    EXPECT_EQ(changes[1].kind, ChangeKind::Other);
    EXPECT_EQ(changes[1].interface, "ens2");
    EXPECT_EQ(changes[1].settings, std::nullopt);
}

TEST(Changes, WhatIsNoneIsPassedOver)
{
    EXPECT_THAT(read_changes(message(dcb_answer({}), 5, RTM_NEWLINK)), IsEmpty());
    EXPECT_THAT(read_changes(message({}, 5, RTM_SETDCB)), IsEmpty());
    dcbmsg header{};
    header.cmd = DCB_CMD_IEEE_SET;
    EXPECT_THAT(
        read_changes(message(bytes_of(header) + text(DCB_ATTR_IFNAME, "a-name-that-is-too-long"), 5, RTM_SETDCB)),
        IsEmpty());
    const Message whole = message(dcb_answer({}), 5, RTM_SETDCB);
    for (std::size_t length = 0; length < whole.size(); ++length) {
        EXPECT_THAT(read_changes(rdmaqos::netlink::Bytes(whole.data(), length)), IsEmpty()) << length;
    }
}

}    // namespace
}    // namespace rdmaqos::dcb
