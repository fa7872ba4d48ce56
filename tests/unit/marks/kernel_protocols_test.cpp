// The table of what in the kernel uses RDMA, and what is said of each row.
#include "lib/marks/kernel_protocols.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/golden.h"

namespace rdmaqos::marks {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const KernelProtocol& of_module(std::string_view module)
{
    const auto found = std::ranges::find(kernel_protocols(), module, &KernelProtocol::module);
    EXPECT_NE(found, kernel_protocols().end()) << module;
    return *found;
}

TEST(KernelProtocols, EachRowIsComplete)
{
    std::set<std::string_view> modules;
    for (const KernelProtocol& each : kernel_protocols()) {
        EXPECT_TRUE(modules.insert(each.module).second) << each.module << " is there twice";
        EXPECT_EQ(each.module.find('-'), std::string_view::npos) << each.module << ": /sys/module has `_`";
        EXPECT_THAT(std::string(each.source), Not(IsEmpty())) << each.module;
        EXPECT_FALSE(std::string(each.what).ends_with('.')) << each.what;
        const bool is_set = each.marked_by == MarkedBy::Setting || each.marked_by == MarkedBy::Program;
        EXPECT_EQ(is_set, !each.setting.empty()) << each.module;
        if (is_set) {
            EXPECT_THAT(setting_for(each, 137), HasSubstr("137")) << each.module;
        }
        EXPECT_TRUE(each.marked_by != MarkedBy::Peer || each.accepts) << each.module << " neither connects nor accepts";
        EXPECT_FALSE(each.remark.ends_with('.')) << each.module;
    }
}

TEST(KernelProtocols, SayWhatMarksThem)
{
    std::string text;
    for (const KernelProtocol& each : kernel_protocols()) {
        text += fmt::format("{}\n  {}\n  {}\n", each.module, how_to_mark(each, 104), how_to_mark(each, {}));
    }
    rdmaqos::test::expect_golden("ctl/kernel-marks.txt", text);
}

// The name of a setting may hold the place's letters, too.
TEST(KernelProtocols, PutTheTrafficClassIntoTheSetting)
{
    EXPECT_EQ(setting_for(of_module("nvme_rdma"), 104), "nvme connect --tos=104");
    EXPECT_EQ(setting_for(of_module("rds_rdma"), 8), "ioctl(SIOCRDSSETTOS) with 8, before its first message");
    EXPECT_EQ(setting_for(of_module("rpcrdma"), 104), "");
}

TEST(KernelProtocols, HaveTheirPortsOfTheTcpPortSpace)
{
    EXPECT_THAT(of_module("rpcrdma").ports, testing::ElementsAre(20049));
    EXPECT_THAT(of_module("rds_rdma").ports, testing::ElementsAre(18634, 16385));
    EXPECT_THAT(of_module("smc").ports, testing::IsEmpty());
}

}    // namespace
}    // namespace rdmaqos::marks
