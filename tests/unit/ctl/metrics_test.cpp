#include "tools/rdma-qosctl/rendering/metrics.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/golden.h"

namespace rdmaqos::ctl {
namespace {

using rdmaqos::test::expect_golden;
using rdmaqos::test::read_text;
using rdmaqos::test::source_dir;

constexpr const char* kText = R"(# HELP up Whether \\ it \n is.
# TYPE up gauge
up 1
# HELP spent Time.
# TYPE spent histogram
spent_bucket{device="a/1",le="1e-05"} 2
spent_bucket{device="a/1",le="+Inf"} 3
spent_sum{device="a/1"} 0.25
spent_count{device="a/1"} 3

# a remark
# TYPE odd counter
odd{level="quo\"te\\, {x=1}\nnext",empty=""} 1e+20
odd{} +Inf
)";

TEST(CtlMetrics, TakesTheFormatApart)
{
    const auto families = parse_metrics(kText);
    ASSERT_TRUE(families) << families.error().message;
    ASSERT_EQ(families->size(), 3U);
    EXPECT_EQ((*families)[0], (MetricFamily{"up", "gauge", "Whether \\ it \n is.", {{"up", {}, 1}}}));
    const auto& spent = (*families)[1];
    EXPECT_EQ(spent.type, "histogram");
    ASSERT_EQ(spent.samples.size(), 4U);
    EXPECT_EQ(spent.samples[1], (MetricSample{"spent_bucket", {{"device", "a/1"}, {"le", "+Inf"}}, 3}));
    EXPECT_EQ(spent.samples[2].value, 0.25);
    const auto& odd = (*families)[2];
    EXPECT_EQ(odd.help, "");
    EXPECT_EQ(odd.samples.at(0).labels,
              (std::vector<std::pair<std::string, std::string>>{{"level", "quo\"te\\, {x=1}\nnext"}, {"empty", ""}}));
    EXPECT_TRUE(odd.samples.at(1).labels.empty());
}

TEST(CtlMetrics, WhatIsNotTheFormatIsNamedByItsLine)
{
    for (const char* line : {"up", "up x", "up{", "up{a=1} 1", "up{a=\"1} 1", "up{a=\"1\" b=\"2\"} 1", "up{=\"1\"} 1",
                             "up 1 2 3", "down 1", "# TYPE up", "{a=\"1\"} 1"}) {
        const auto families = parse_metrics("# TYPE up gauge\n" + std::string(line) + "\n");
        ASSERT_FALSE(families) << line;
        EXPECT_EQ(families.error().code, ErrorCode::Internal);
        EXPECT_NE(families.error().message.find("line 2 "), std::string::npos) << families.error().message;
    }
    EXPECT_TRUE(parse_metrics("")->empty());
}

TEST(CtlMetrics, Json)
{
    expect_golden("ctl/metrics.json", to_text(metrics_json(parse_metrics(kText).value())));
}

// What the daemon writes is understood, all of it.
TEST(CtlMetrics, UnderstandsTheDaemon)
{
    const std::string text = read_text(source_dir() + "/tests/golden/metrics/all.prom");
    const auto families = parse_metrics(text);
    ASSERT_TRUE(families) << families.error().message;
    std::size_t samples = 0;
    for (const auto& family : *families) {
        EXPECT_FALSE(family.help.empty()) << family.name;
        EXPECT_FALSE(family.samples.empty()) << family.name;
        samples += family.samples.size();
    }
    const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    EXPECT_EQ(samples + 2 * families->size(), lines);
}

}    // namespace
}    // namespace rdmaqos::ctl
