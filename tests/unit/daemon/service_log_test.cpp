// Service: sessions that get a level with `log: yes` have a line in the log.
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/support/journal.h"
#include "tests/support/service_fixture.h"

namespace rdmaqos {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string levels(const std::string& bulk, const std::string& rule = "rpc")
{
    return "version: 1\n"
           "qos-levels:\n"
           "  - {name: DEFAULT}\n"
           "  - {name: rpc, log: yes, schedule: {share: 60}}\n"
           "  - {name: bulk, " +
           bulk +
           "}\n"
           "qos-match-rules:\n"
           "  - {qos-class: 1, qos-level-name: " +
           rule + "}\n";
}

class ServiceLogTest : public test::ServiceFixture {
protected:
    void TearDown() override { service.reset(); }    // before the journal goes

    RegisterRequest of_class_one()
    {
        auto request = asking_for("", "mlx5_0", {});
        request.request.qos_class = 1;
        return request;
    }
    std::vector<std::string> told() const
    {
        std::vector<std::string> lines;
        for (auto& line : journal.lines()) {
            if (line.starts_with("session ")) {
                lines.push_back(std::move(line));
            }
        }
        return lines;
    }

    test::Journal journal;
};

TEST_F(ServiceLogTest, ASessionOfSuchALevelHasALine)
{
    policy(levels("log: no"));
    start();
    add_device("mlx5_0");
    ASSERT_TRUE(register_as(PeerId{1}, process(4711), of_class_one()));
    ASSERT_TRUE(register_as(PeerId{1}, process(4712), asking_for("bulk", "mlx5_0", {})));
    EXPECT_THAT(told(), ElementsAre("session 1 of uid 1000, pid 4711, gets level rpc: "
                                    "match rule 1 (/etc/rdma-qos/policy.yaml:7:5): qos-class 1 (claimed)"));
}

TEST_F(ServiceLogTest, AReloadThatGivesTheLevelIsTold)
{
    policy(levels("log: yes"));
    start();
    add_device("mlx5_0");
    ASSERT_TRUE(register_as(PeerId{1}, process(4711), of_class_one()));
    journal.clear();
    policy(levels("log: yes", "bulk"));
    reload();
    loop.advance({});
    EXPECT_THAT(told(), ElementsAre(testing::HasSubstr("gets level bulk: match rule 1")));
    journal.clear();
    policy(levels("log: yes, sl: 3", "bulk"));
    reload();
    loop.advance({});
    EXPECT_THAT(told(), IsEmpty()) << "its level is the same";
}

TEST_F(ServiceLogTest, OneUserFillsNoJournal)
{
    policy(levels("log: no"));
    start();
    add_device("mlx5_0");
    for (int count = 0; count < 150; ++count) {
        ASSERT_TRUE(register_as(PeerId{1}, process(4711), of_class_one()));
    }
    ASSERT_THAT(told(), SizeIs(100));
    EXPECT_THAT(told().back(), EndsWith("; other sessions of this second may have no line"));
    ASSERT_TRUE(register_as(PeerId{2}, process(4712, 1001), of_class_one()));
    EXPECT_THAT(told(), SizeIs(101));
    loop.clock.advance(std::chrono::seconds(1));
    ASSERT_TRUE(register_as(PeerId{1}, process(4711), of_class_one()));
    EXPECT_THAT(told(), SizeIs(102));
}

TEST_F(ServiceLogTest, WarningsOfATakenPolicyAreLoggedOnce)
{
    policy(levels("log: no"));
    start();
    add_device("mlx5_0");
    journal.clear();
    policy(levels("schedule: {min-rate: 1Gbps}"));
    EXPECT_TRUE(reload().accepted);
    const auto lines = journal.lines();
    EXPECT_EQ(std::ranges::count_if(
                  lines,
                  [](const std::string& line) {
                      return line.find("policy.yaml:5:29: warning: anybody may use the guarantee of `bulk`") !=
                             std::string::npos;
                  }),
              1)
        << testing::PrintToString(lines);
}

}    // namespace
}    // namespace rdmaqos
