// The files people start from: all of them are read without an error, and no mutation of them crashes a reader.
#include <algorithm>
#include <filesystem>
#include <sstream>

#include <rapidcheck.h>

#include "policy/yaml/fabric_reader.h"
#include "policy/yaml/settings_reader.h"
#include "policy/yaml/simulation_reader.h"
#include "tests/support/golden.h"
#include "tests/unit/policy/mutated.h"
#include "tests/unit/policy/reader_support.h"

namespace rdmaqos::test {
namespace {

std::string config(const std::string& name)
{
    return read_text(source_dir() + "/config/" + name);
}

const std::vector<std::string>& policy_files()
{
    static const std::vector<std::string> kFiles = [] {
        std::vector<std::string> files{"policy.yaml"};
        for (const auto& entry : std::filesystem::directory_iterator(source_dir() + "/config/examples")) {
            const auto name = entry.path().filename().string();
            if (entry.is_regular_file() && name != "devices.yaml" && name != "fabric.yaml" && name != "loads.yaml") {
                files.push_back("examples/" + name);
            }
        }
        std::sort(files.begin(), files.end());
        return files;
    }();
    return kFiles;
}

TEST(Examples, OfPoliciesAreGood)
{
    EXPECT_GE(policy_files().size(), 6U);
    for (const auto& name : policy_files()) {
        SCOPED_TRACE(name);
        good(read_policy({source(name, config(name))}, fake_names()));
    }
}

TEST(Examples, OfOtherFilesAreGood)
{
    const auto fabric = read_fabric(source("fabric.yaml", config("examples/fabric.yaml")));
    EXPECT_TRUE(fabric.value && !fabric.value->ports.empty()) << shown(fabric);
    const auto devices = read_simulation(source("devices.yaml", config("examples/devices.yaml")), Capabilities{});
    ASSERT_TRUE(devices.value) << shown(devices);
    ASSERT_EQ(devices.value->size(), 2U);
    EXPECT_EQ((*devices.value)[0].name, "mlx5_0");
    EXPECT_EQ((*devices.value)[1].name, "mlx5_1");
    EXPECT_EQ((*devices.value)[1].link_speed, Bandwidth::from_gbps(100));
}

TEST(Examples, TheShippedPolicyChangesNothing)
{
    const auto policy = good(read_policy({source("policy.yaml", config("policy.yaml"))}, fake_names()));
    EXPECT_TRUE(policy.nodes.empty() && policy.rules.empty());
    for (const auto& level : policy.levels) {
        EXPECT_FALSE(level.schedule || level.sl || level.mtu_limit || level.rate_limit || level.packet_life ||
                     level.traffic_class || level.per_queue_pair.max_rate);
    }
}

// It states the defaults: as it is, and with what it has commented out. Its head is not YAML.
TEST(Examples, TheShippedSettingsAreTheDefaults)
{
    const std::string text = config("rdma-qosd.yaml");
    const auto shipped = read_settings(source("rdma-qosd.yaml", text));
    ASSERT_TRUE(shipped.value) << shown(shipped);
    EXPECT_EQ(*shipped.value, Settings{});

    std::string full = "version: 1\n";
    std::istringstream rest(text.substr(text.find("\nversion: 1\n") + 12));
    for (std::string line; std::getline(rest, line);) {
        full += line.starts_with("# ") ? line.substr(2) + "\n" : "";
    }
    EXPECT_GE(std::ranges::count(full, '\n'), 15) << full;
    const auto stated = read_settings(source("stated.yaml", full));
    ASSERT_TRUE(stated.value) << shown(stated);
    EXPECT_EQ(*stated.value, Settings{});
}

TEST(Mutations, OfExamplesNeverCrashAndAreJudged)
{
    EXPECT_TRUE(rc::check("a mutated policy is either a policy or has an error with a place", [] {
        const auto name = *rc::gen::elementOf(policy_files());
        const auto result = read_policy({source("mutated.yaml", mutated(config(name)))}, fake_names());
        RC_ASSERT((result.value != nullptr) == !result.diagnostics.has_errors());
        for (const auto& diagnostic : result.diagnostics.all()) {
            RC_ASSERT(diagnostic.location.file != nullptr);
            RC_ASSERT(!diagnostic.message.empty());
        }
        RC_ASSERT(result.diagnostics.empty() || !shown(result).empty());
    }));
}

TEST(Mutations, OfOtherFilesNeverCrash)
{
    EXPECT_TRUE(rc::check("a mutated fabric or simulation is either a value or has an error", [] {
        const auto fabric = read_fabric(source("m", mutated(config("examples/fabric.yaml"))));
        RC_ASSERT((fabric.value != nullptr) == !fabric.diagnostics.has_errors());
        const auto devices = read_simulation(source("m", mutated(config("examples/devices.yaml"))), Capabilities{});
        RC_ASSERT((devices.value != nullptr) == !devices.diagnostics.has_errors());
    }));
}

}    // namespace
}    // namespace rdmaqos::test
