#include "tools/rdma-qosctl/simulate/loads.h"

#include <fstream>
#include <sstream>

#include "tests/support/golden.h"
#include "tests/unit/policy/reader_support.h"

namespace rdmaqos::test {
namespace {

using std::chrono::milliseconds;

Loads good_loads(const ReadResult<Loads>& result)
{
    EXPECT_TRUE(result.value) << shown(result);
    EXPECT_EQ(result.diagnostics.warning_count(), 0U) << shown(result);
    return result.value ? *result.value : Loads{};
}

Loads options(const std::vector<std::string>& texts)
{
    return good_loads(parse_loads(texts));
}

// "rpc 8 x 1 Gbit/s"
std::string in_words(const Load& load)
{
    return load.level + (load.senders ? " " + std::to_string(*load.senders) + " x " : " ") +
           (load.rate ? to_string(*load.rate) : "unlimited");
}

std::string in_words(const LoadStep& step)
{
    std::string text;
    for (const auto& load : step.loads) {
        text += (text.empty() ? "" : "; ") + in_words(load);
    }
    return text;
}

TEST(LoadOptions, NameLevelsSendersAndRates)
{
    const Loads loads = options({"rpc=50Gbps,bulk=inf", "rpc*8=1Gbps", "a=b=UNLIMITED", "two words=2.5 Gbit/s"});
    ASSERT_EQ(loads.steps.size(), 1U);
    EXPECT_FALSE(loads.over_time);
    EXPECT_EQ(in_words(loads.steps[0]),
              "rpc 50 Gbit/s; bulk unlimited; rpc 8 x 1 Gbit/s; a=b unlimited; two words 2.5 Gbit/s");
}

TEST(LoadOptions, MistakesAreShownWhereTheyAre)
{
    const std::vector<std::string> texts{"rpc=50,=1Gbps,bulk", "rpc*x=1Gbps,rpc*0=inf,rpc*10001=inf", "",
                                         "rpc=0Gbps,rpc=,rpc=\x1b[1m"};
    const auto result = parse_loads(texts);
    EXPECT_EQ(result.value, nullptr);
    expect_golden("diagnostics/load-options.txt", shown(result));
}

TEST(LoadsFile, OneSituation)
{
    const Loads loads = good_loads(read_loads(with_version(
        "loads: {rpc: 50Gbps, bulk: inf, storage: {senders: 4, rate: 400Mbps}, x: [1Gbps, {rate: unlimited}]}")));
    ASSERT_EQ(loads.steps.size(), 1U);
    EXPECT_FALSE(loads.over_time);
    EXPECT_FALSE(loads.until);
    EXPECT_EQ(in_words(loads.steps[0]),
              "rpc 50 Gbit/s; bulk unlimited; storage 4 x 400 Mbit/s; x 1 Gbit/s; x unlimited");
}

TEST(LoadsFile, StepsOverTime)
{
    const Loads loads = good_loads(read_loads(with_version(R"(
steps:
  - {at: 0s, use: nothing yet, loads: {}}
  - at: 1500ms
    loads: {rpc: inf}
until: 2min
)")));
    ASSERT_EQ(loads.steps.size(), 2U);
    EXPECT_TRUE(loads.over_time);
    EXPECT_EQ(loads.steps[0].use, "nothing yet");
    EXPECT_TRUE(loads.steps[0].loads.empty());
    EXPECT_EQ(loads.steps[1].at, milliseconds(1500));
    EXPECT_EQ(loads.until, milliseconds(120'000));
}

TEST(LoadsFile, PortClasses)
{
    const Loads loads = good_loads(
        read_loads(with_version("loads: {rpc: inf}\nport-classes: [tc1=70, 'tc2=30,1Gbps', dscp26=1]")));
    EXPECT_EQ(loads.port_classes, parse_port_classes({"tc1=70", "tc2=30,1Gbps", "dscp26=1"}).value());
    EXPECT_FALSE(good_loads(read_loads(with_version("loads: {rpc: inf}"))).port_classes);
    expect_only_error(read_loads(with_version("loads: {rpc: inf}\nport-classes: [tc1=70, tc9=30]")),
                      "`tc9=30` is none of tc0=WEIGHT[,RATE] to tc7=strict[,RATE], prio0=CLASS to prio7=CLASS, "
                      "dscp0=PRIORITY to dscp63=PRIORITY");
}

TEST(LoadsFile, StepsAreBounded)
{
    std::string text = "steps:\n";
    for (int i = 0; i <= 1000; ++i) {
        text += "  - {at: " + std::to_string(i) + "s, loads: {}}\n";
    }
    expect_only_error(read_loads(with_version(text)), "there are 1001 steps; at most 1000 are simulated");
}

TEST(LoadsFile, AMissingFileIsAnError)
{
    expect_only_error(read_loads(std::filesystem::path("/nonexistent/loads.yaml")),
                      "cannot be opened (No such file or directory)");
}

TEST(LoadsFile, TheExampleIsGoodAndNamesLevelsOfTheDemo)
{
    const std::string folder = source_dir() + "/config/examples/";
    const Loads loads = good_loads(read_loads(std::filesystem::path(folder + "loads.yaml")));
    EXPECT_EQ(loads.steps.size(), 4U);
    const auto policy = good(read_policy_file(folder + "demo.yaml", fake_names()));
    std::vector<std::string> levels;
    for (const auto& level : policy.levels) {
        levels.push_back(level.name);
    }
    EXPECT_TRUE(check_levels(loads, levels).empty());
}

// What the documents show is read.
TEST(LoadsFile, ExamplesInDocumentsAreGood)
{
    std::istringstream lines(read_text(source_dir() + "/docs/settings-reference.md"));
    std::string block;
    bool inside = false;
    std::size_t blocks = 0;
    for (std::string line; std::getline(lines, line);) {
        if (line == "```yaml loads") {
            inside = true;
        } else if (inside && line == "```") {
            good_loads(read_loads(source("settings-reference.md", block)));
            ++blocks;
            block.clear();
            inside = false;
        } else if (inside) {
            block += line + '\n';
        }
    }
    EXPECT_GE(blocks, 2U);
}

TEST(CheckLevels, NamesThoseThereAre)
{
    const std::vector<std::string> levels{"DEFAULT", "rpc", "rpc.responder", "storage"};
    EXPECT_TRUE(check_levels(options({"RPC=inf,Storage=inf,rpc.RESPONDER=inf"}), levels).empty());
    const Diagnostics unknown = check_levels(options({"rcp=inf", "rpc=1Gbps,something-else=2Gbps"}), levels);
    EXPECT_EQ(render(unknown, Colour::Off), R"(--load:1:1: error: there is no level `rcp`
    1 | rcp=inf
      | ^~~
      = hint: did you mean `rpc`?
--load:2:11: error: there is no level `something-else`
    2 | rpc=1Gbps,something-else=2Gbps
      |           ^~~~~~~~~~~~~~
      = hint: there are: `DEFAULT`, `rpc`, `rpc.responder`, `storage`; and `outside.dscpN` for queue pairs in no leaf
2 errors
)");
    EXPECT_FALSE(check_levels(options({"x=inf"}), {}).empty());
    const Loads listed = good_loads(read_loads(with_version("loads: {x: [1Gbps, inf], y: inf, rpc: inf}")));
    EXPECT_EQ(check_levels(listed, levels).error_count(), 2U);
}

}    // namespace
}    // namespace rdmaqos::test
