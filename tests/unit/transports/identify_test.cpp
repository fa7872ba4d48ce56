#include <gtest/gtest.h>
#include <unistd.h>

#include "daemon/bus/system_endpoint.h"

namespace rdmaqos {
namespace {

bus::PeerProcess this_process()
{
    auto pidfd = bus::open_pidfd(getpid());
    return {getpid(), getuid(), {getgid()}, pidfd ? std::move(*pidfd) : UniqueFd(), {}, {}};
}

TEST(Identify, AProcessThatIsBoundByItsPidfd)
{
    const auto identity = identify(this_process());
    ASSERT_TRUE(identity) << to_string(identity.error());
    EXPECT_EQ((*identity)->pid, getpid());
}

TEST(Identify, AProcessThatStartedBeforeItsConnection)
{
    auto process = this_process();
    process.started_by = bus::ticks_since_boot();
    EXPECT_TRUE(identify(process));
    process.started_by = (*identify(this_process()))->start_time;
    EXPECT_TRUE(identify(process)) << "in the same tick";
}

TEST(Identify, AProcessThatStartedLaterIsAnother)
{
    auto process = this_process();
    process.started_by = (*identify(this_process()))->start_time - 1;
    const auto identity = identify(process);
    ASSERT_FALSE(identity);
    EXPECT_NE(identity.error().message.find("has ended"), std::string::npos) << identity.error().message;
}

}    // namespace
}    // namespace rdmaqos
