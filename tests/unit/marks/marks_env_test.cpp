// The variables of libraries, and what the shell gets.
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/marks/marks.h"
#include "tests/support/golden.h"

namespace rdmaqos::marks {
namespace {

using rdmaqos::test::expect_golden;
using rdmaqos::test::read_text;
using rdmaqos::test::source_dir;

constexpr HostLinks kEthernet{.infiniband = false, .ethernet = true};
constexpr HostLinks kInfiniBand{.infiniband = true, .ethernet = false};

TEST(Marks, OfEthernetAreTrafficClassesAndPriorities)
{
    expect_golden("ctl/env-ethernet.txt", to_shell({"rpc", 3, false, 104}, kEthernet));
    expect_golden("ctl/env-ethernet-dscp.txt", to_shell({"rpc", {}, false, 104}, kEthernet));
}

TEST(Marks, OfInfiniBandAreServiceLevelsThatTheHostMayChoose)
{
    expect_golden("ctl/env-infiniband.txt", to_shell({"rpc", 3, true, 104}, kInfiniBand));
    expect_golden("ctl/env-infiniband-sm.txt", to_shell({"rpc", 3, false, {}}, kInfiniBand));
}

TEST(Marks, OfALevelWithoutAnyAreNone)
{
    EXPECT_EQ(to_shell({"DEFAULT", {}, false, {}}, kEthernet),
              "# level DEFAULT\n# it has neither an SL nor a traffic class\n");
}

// `eval` runs what is printed.
TEST(Marks, HaveNoLineThatANameCanAdd)
{
    const std::string text = to_shell({"a\nrm -rf $HOME", 3, true, 104}, kInfiniBand);
    for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
        EXPECT_TRUE(text.compare(at, 1, "#") == 0 || text.compare(at, 7, "export ") == 0) << text;
    }
}

TEST(Marks, AreThoseOfTheManual)
{
    const std::string manual = read_text(source_dir() + "/docs/man/rdma-qos-run.1");
    std::set<std::string_view> seen;
    for (const KnownVariable& each : known_variables()) {
        EXPECT_TRUE(seen.insert(each.name).second) << each.name << " is there twice";
        EXPECT_THAT(manual, ::testing::HasSubstr(std::string(each.name))) << "without it";
    }
}

}    // namespace
}    // namespace rdmaqos::marks
