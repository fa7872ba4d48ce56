#include "lib/dcb/transport.h"

#include <cerrno>

#include <gtest/gtest.h>
#include <linux/rtnetlink.h>

#include "lib/dcb/port.h"

namespace rdmaqos::dcb {
namespace {

// The kernel's own answers; a device with DCB netlink is in tests/kernel.
TEST(KernelTransport, AnInterfaceThatIsNotThere)
{
    KernelTransport kernel;
    const auto read = read_port(kernel, "rdma-qos-none");
    ASSERT_FALSE(read);
    if (read.error().sys_errno == EOPNOTSUPP) {
        GTEST_SKIP() << "this kernel has no DCB netlink (CONFIG_DCB)";
    }
    EXPECT_EQ(read.error().code, ErrorCode::DeviceGone) << to_string(read.error());
}

TEST(KernelTransport, AnInterfaceWithoutDcb)
{
    KernelTransport kernel;
    const auto read = read_port(kernel, "lo");
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ErrorCode::Unsupported) << to_string(read.error());
}

TEST(KernelTransport, KnowsItsOwnNumbers)
{
    KernelTransport kernel;
    EXPECT_FALSE(kernel.has_sent(kernel.sequence())) << "nothing yet";
    for (int i = 0; i < 3; ++i) {
        static_cast<void>(kernel.ask(RTM_GETDCB, {}));
    }
    const std::uint32_t last = kernel.sequence();
    EXPECT_TRUE(kernel.has_sent(last) && kernel.has_sent(last - 1) && kernel.has_sent(last - 2));
    EXPECT_FALSE(kernel.has_sent(last + 1));
    EXPECT_FALSE(kernel.has_sent(last - 3));
    EXPECT_FALSE(kernel.has_sent(0));
    EXPECT_FALSE(kernel.has_sent(1));
    EXPECT_FALSE(kernel.has_sent(1'764'000'000)) << "the time of day";
}

}    // namespace
}    // namespace rdmaqos::dcb
