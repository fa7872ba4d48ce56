// show-config: what it prints is a policy that means the same, and every value carries its place.
#include <algorithm>
#include <filesystem>
#include <set>

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include "policy/load/show_config.h"
#include "policy/load/show_config_yaml.h"
#include "policy/yaml/settings_reader.h"
#include "tests/support/golden.h"
#include "tests/unit/policy/mutated.h"
#include "tests/unit/policy/policy_text.h"
#include "tests/unit/policy/reader_support.h"

namespace rdmaqos::test {
namespace {

using testing::HasSubstr;
using testing::Not;

using Sources = std::vector<std::shared_ptr<const SourceFile>>;

std::string yaml_of(const Policy& policy)
{
    return to_yaml(show_policy(policy).document);
}

std::vector<std::string> messages(const ReadResult<Policy>& result)
{
    std::vector<std::string> texts;
    for (const auto& diagnostic : result.diagnostics.all()) {
        texts.push_back(diagnostic.message);
    }
    std::sort(texts.begin(), texts.end());
    return texts;
}

// Reads the printed policy again: the same meaning, the same warnings, and printing it gives the same values.
::testing::AssertionResult round_trips(const Sources& sources)
{
    const auto first = read_policy(sources, fake_names());
    if (!first.value) {
        return ::testing::AssertionFailure() << "not a policy: " << shown(first);
    }
    const std::string printed = yaml_of(*first.value);
    const auto second = read_policy({source("printed.yaml", printed)}, fake_names());
    if (!second.value) {
        return ::testing::AssertionFailure() << printed << "cannot be read:\n" << shown(second);
    }
    if (text_of(*first.value) != text_of(*second.value)) {
        return ::testing::AssertionFailure() << printed << "means\n"
                                             << text_of(*second.value) << "instead of\n"
                                             << text_of(*first.value);
    }
    // Tables of several files come together, and with them their warning.
    auto before = messages(first);
    auto after = messages(second);
    before.erase(std::unique(before.begin(), before.end()), before.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    if (before != after) {
        return ::testing::AssertionFailure() << printed << "has other diagnostics:\n" << shown(second) << shown(first);
    }
    return ::testing::AssertionSuccess();
}

Sources merged_example()
{
    return {source("/etc/rdma-qos/policy.yaml", R"(version: 1
port-groups:
  - name: storage
    use: "targets: all of them"
    port-guid: [0x10, 0x20-0x2f]
    gid:
      - fd00:10::/32
      - 10.1.0.0/16
  - {name: old, node-type: SWITCH}
qos-class-names: {kv: 7, gone: 8}
scheduling-nodes:
  - {name: tenants, share: 70, max-rate: 80Gbps}
qos-levels:
  - {name: DEFAULT, sl: 0}
  - name: rpc
    schedule: {parent: tenants, share: 60, fair-by: process, responder: {}}
  - {name: bulk, schedule: {max-rate: 10Gbps}, per-queue-pair: {}}
  - {name: spare}
partitions:
  - {name: Part1, pkey: 1, qos-level-name: rpc}
qos-match-rules:
  - {destination: [storage], qos-level-name: bulk}
  - {use: jobs, client: {unit: "job-*.scope"}, qos-level-name: rpc}
qos-ulps:
  - {ulp: sdp, port-num: [1, 5-9], sl: 1}
  - {ulp: default, sl: 2}
  - {ulp: any, service-id: 7, qos-level-name: rpc}
qos-setup:
  vlarb-tables: [{group: storage, vlarb-high: ["0:255"]}]
)"),
            source("/etc/rdma-qos/policy.d/60-night.yaml", R"(version: 1
port-groups: [{name: old, remove: true}]
qos-class-names: {gone: null, kv: 9}
qos-levels:
  - {name: spare, remove: true}
  - {name: bulk, schedule: {max-rate: null, share: 30}}
  - {name: RPC, allow: {group: [hpc]}, schedule: {share: 20}}
qos-match-rules:
  - {qos-class: kv, qos-level-name: RPC}
qos-setup:
  vlarb-tables: [{across: storage}]
)")};
}

TEST(ShowConfig, MergesAndSaysWhereFrom)
{
    const auto result = read_policy(merged_example(), fake_names());
    ASSERT_TRUE(result.value) << shown(result);
    const ShownPolicy policy = show_policy(*result.value);
    std::string text = to_yaml(policy.document);
    text += "\n# removed\n";
    for (const auto& removed : policy.removed) {
        text += "# " + removed.kind + ' ' + removed.name + ' ' + removed.at.to_string() + '\n';
    }
    expect_golden("show-config/merged.yaml", text);
    EXPECT_TRUE(round_trips(merged_example()));
}

TEST(ShowConfig, EveryShippedPolicyRoundTrips)
{
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source_dir() + "/config")) {
        const std::string text = read_text(entry.path());
        if (entry.path().extension() == ".yaml" && text.find("\nqos-levels:") != std::string::npos) {
            EXPECT_TRUE(round_trips({source(entry.path().filename(), text)})) << entry.path();
            ++count;
        }
    }
    EXPECT_GE(count, 7U);
}

// Rules have the numbers and places by which explain names them.
TEST(ShowConfig, NumbersRulesAsExplainDoes)
{
    const auto result = read_policy(merged_example(), fake_names());
    ASSERT_TRUE(result.value) << shown(result);
    const std::string text = yaml_of(*result.value);
    ASSERT_EQ(result.value->rules.size(), 5U);
    for (const auto& rule : result.value->rules) {
        EXPECT_THAT(text, HasSubstr("  # " + result.value->describe_rule(rule) + "\n  - "));
    }
    EXPECT_THAT(text, HasSubstr("  # no rule: it states the default level\n  - ulp: default "));
}

TEST(ShowConfig, LongListsAndStrangeTextsStayReadable)
{
    std::string guids = "1";
    for (int i = 1; i < 200; ++i) {
        guids += ", " + std::to_string(i * 16);
    }
    const Sources sources{with_version("port-groups: [{name: \"null\", port-guid: [" + guids + "]}]\n" + R"(
qos-class-names: {"<<": 1, "a b: c #d": 2, "~": 3}
qos-levels:
  - {name: DEFAULT, use: "\x1b[31m\t\"\\ \u2028\u2029\x85\ufeff"}
  - name: '- a # b'
    use: |
      two
      lines
  - {name: "-"}
  - {name: "a, [b]"}
qos-match-rules:
  - {qos-class: ["<<", "a b: c #d", "~"], device: ["*", "&a", "!b", "%c", "@d", "`e"], qos-level-name: "- a # b"}
)",
                                       "odd\nname.yaml")};
    EXPECT_TRUE(round_trips(sources));
}

TEST(ShowConfig, NoDefaultIsShownWhereItWouldHaveNoMeaning)
{
    const std::string text = yaml_of(read_good("qos-levels:\n"
                                               "  - {name: DEFAULT}\n"
                                               "  - {name: a, schedule: {min-rate: 1Gbps}, allow: {user: alice}}\n"));
    EXPECT_THAT(text, Not(HasSubstr("share:")));          // beside a min-rate
    EXPECT_THAT(text, Not(HasSubstr("sl-source:")));      // without an SL
    EXPECT_THAT(text, Not(HasSubstr("leaf-budget:")));    // one leaf
    EXPECT_THAT(text, HasSubstr("fair-by: none "));
}

TEST(ShowConfig, OfSettingsStatesEveryKeyAndReadsAgain)
{
    const auto round = [](const std::shared_ptr<const SourceFile>& file) {
        return read_settings(source("printed.yaml", to_yaml(show_settings(file))));
    };
    const auto defaults = round(nullptr);
    ASSERT_TRUE(defaults.value) << shown(defaults);
    EXPECT_EQ(*defaults.value, Settings{});
    const auto file = source("/etc/rdma-qos/rdma-qosd.yaml",
                             "version: 1\nlimits: {device-queue: 7}\nmode: Monitor\ndrift-interval: 5min\n"
                             "metrics: {textfile: /out/a.prom}\n");
    const auto stated = round(file);
    ASSERT_TRUE(stated.value) << shown(stated);
    EXPECT_EQ(*stated.value, *read_settings(file).value);
    EXPECT_EQ(*round(source("empty.yaml", "version: 1\n")).value, Settings{});
    expect_golden("show-config/settings.yaml", to_yaml(show_settings(file)));
}

// Random policies over several files.

std::string pick(const std::vector<std::string>& words)
{
    return *rc::gen::elementOf(words);
}

bool maybe()
{
    return *rc::gen::arbitrary<bool>();
}

// Quoted without the help of the code under test.
std::string strange_text(const std::string& end = "")
{
    static const std::vector<std::string> kPieces{
        "a",    "Z",   "7",   " ",     ":",     ": ",    "#", " #", "-", "- ",      "?",       "\\\"", "'", "\\\\",
        "[",    "]",   "{",   "}",     ",",     "&",     "*", "!",  "|", ">",       "%",       "@",    "`", "~",
        "null", "\\n", "\\t", "\\x01", "\\x7f", "\\x85", "ü", "漢", "=", "\\u2028", "\\ufeff", "\\r"};
    std::string text;
    for (int i = *rc::gen::inRange(0, 8); i > 0; --i) {
        text += pick(kPieces);
    }
    return "\"x" + text + end + "\"";
}

std::string name_in(const std::string& prefix, int count)
{
    const std::string name = prefix + std::to_string(*rc::gen::inRange(0, count));
    return maybe() ? name : "\"" + name + "\"";
}

class RandomFile {
public:
    // `stated`: "name.key" of what earlier files state, so that this one can take it back.
    RandomFile(bool first, std::set<std::string>& stated) : first_(first), stated_(stated) {}

    std::string text()
    {
        section("port-groups", 3, [this](int i) { return group(i); });
        section("scheduling-nodes", 3, [this](int i) { return node(i); });
        section("qos-levels", 4, [this](int i) { return level(i); });
        rules();
        return text_;
    }

private:
    using Keys = std::vector<std::pair<std::string, std::string>>;

    // "{name: g1, a: 1}" in either style.
    static std::string object(const Keys& keys)
    {
        std::string text = "{";
        for (const auto& [key, value] : keys) {
            text += (text.size() > 1 ? ", " : "") + key + ": " + value;
        }
        return text + "}";
    }

    template <typename Make>
    void section(const std::string& name, int count, Make make)
    {
        text_ += name + ":\n";
        for (int i = 0; i < count; ++i) {
            if (first_ || maybe()) {
                text_ += "  - " + object(make(i)) + '\n';
            }
        }
    }

    void add(Keys& keys, const std::string& key, const std::string& value)
    {
        if (!maybe()) {
            return;
        }
        const std::string stated = keys.front().second + '.' + key;
        if (stated_.contains(stated) && *rc::gen::inRange(0, 4) == 0) {
            keys.emplace_back(key, "null");
            stated_.erase(stated);
        } else {
            keys.emplace_back(key, value);
            stated_.insert(stated);
        }
    }

    Keys group(int i)
    {
        Keys keys{{"name", "g" + std::to_string(i)}};
        add(keys, "use", strange_text());
        keys.emplace_back("port-guid", pick({"0x10", "[1, 2-9]", "[ '7-9' , 0xFFFFFFFFFFFFFFFF ]"}));
        add(keys, "port-name", "[" + strange_text("/P1") + "]");
        add(keys, "gid", pick({"fd00::/8", "[10.1.0.0/16, \"::1\"]"}));
        add(keys, "partition", "[" + strange_text() + ", " + strange_text() + "]");
        add(keys, "node-type", pick({"ca", "[SWITCH, self]", "[all]"}));
        return keys;
    }

    Keys node(int i)
    {
        Keys keys{{"name", "n" + std::to_string(i)}};
        if (i > 0 && maybe()) {
            keys.emplace_back("parent", name_in("n", i));
        }
        add(keys, "share", pick({"1", "007", "0x10", "device-default", "1000000"}));
        add(keys, "max-rate", pick({"unlimited", "400Gbps", "\"100.5 Gbps\""}));
        return keys;
    }

    Keys level(int i)
    {
        Keys keys{{"name", i == 0 ? "DEFAULT" : "l" + std::to_string(i)}};
        add(keys, "use", strange_text());
        add(keys, "sl", pick({"0", "15", "0xf", "'3'"}));
        add(keys, "mtu-limit", pick({"4", "4096", "4KiB", "unlimited"}));
        add(keys, "rate-limit", pick({"16", "100Gbps", "unlimited"}));
        add(keys, "packet-life", pick({"16", "250ms", "0x10"}));
        add(keys, "dscp", pick({"0", "63"}));
        add(keys, "sl-source", pick({"host", "subnet-manager"}));
        add(keys, "message-model", pick({"default", "Low-Latency", "force-low-latency"}));
        add(keys, "pkey", pick({"[0x8001, 2-7]", "5"}));
        add(keys, "schedule", schedule());
        add(keys, "per-queue-pair", pick({"{}", "{max-rate: 5Gbps}", "{max-rate: 2Gbps, max-burst: 64KiB}"}));
        add(keys, "mode", pick({"monitor", "Enforce"}));
        add(keys, "log", pick({"yes", "No", "true"}));
        add(keys, "adopt", pick({"no", "Yes", "false"}));
        const std::string former = "was-l" + std::to_string(i);
        add(keys, "renamed-from", pick({former, "[" + former + ", \"older: " + former + "\"]"}));
        add(keys, "allow", pick({"{user: [alice, 7]}", "{group: hpc, unit: ['*.scope']}", "{cgroup: [/a b/*]}"}));
        return keys;
    }

    static std::string schedule()
    {
        const Keys all{{"parent", name_in("n", 3)},
                       {"share", pick({"1", "60", "device-default"})},
                       {"max-rate", pick({"10Gbps", "unlimited"})},
                       {"strict", "no"},
                       {"fair-by", pick({"none", "process", "User"})},
                       {"max-rate-each", pick({"2Gbps", "12.5%", "unlimited"})},
                       {"leaf-budget", "64"},
                       {"responder", pick({"{}", "{share: 3}", "{max-rate: 5Gbps}"})}};
        return object(some_of(all));
    }

    static Keys some_of(const Keys& all)
    {
        Keys some;
        std::copy_if(all.begin(), all.end(), std::back_inserter(some), [](const auto&) { return maybe(); });
        return some;
    }

    void rules()
    {
        text_ += "qos-class-names: {c0: 1, " +
                 pick({"\"<<\"", "\"a: b #c\"", "'- x'", "\"null\"", "\"x, [y]\"", "\"ü\""}) +
                 ": 2}\nqos-match-rules:\n";
        for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
            Keys keys = some_of({{"source", "[g0, g1]"},
                                 {"service-id", pick({"7", "[0x10-0x1f, 3]"})},
                                 {"qos-class", pick({"c0", "[1-3, C0]"})},
                                 {"ulp-port", "{space: tcp, port: [1, 4420]}"},
                                 {"client", "{executable: [\"/usr/bin/*\"]}"},
                                 {"adopt", pick({"no", "Yes", "false"})}});
            keys.emplace_back("qos-level-name", pick({"DEFAULT", "l1", "L2", "l3"}));
            text_ += "  - " + object(keys) + '\n';
        }
        text_ += "qos-ulps:\n";
        for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
            text_ += pick({"  - {ulp: sdp, sl: 1}\n", "  - {ulp: default, sl: 3, use: nobody}\n",
                           "  - {ulp: any, target-port-guid: [1, 2], qos-level-name: l1}\n",
                           "  - {ulp: IPoIB, pkey: 0x1234, sl: 2}\n"});
        }
    }

    bool first_;
    std::set<std::string>& stated_;
    std::string text_;
};

TEST(ShowConfigProperty, WhatIsPrintedMeansTheSame)
{
    EXPECT_TRUE(rc::check("reading what show-config prints gives the same policy", [] {
        Sources sources;
        std::set<std::string> stated;
        for (int i = 0, count = *rc::gen::inRange(1, 4); i < count; ++i) {
            sources.push_back(with_version(RandomFile(i == 0, stated).text(), "file" + std::to_string(i) + ".yaml"));
        }
        const auto verdict = round_trips(sources);
        if (!verdict) {
            RC_LOG() << sources.front()->text << verdict.message();
        }
        RC_ASSERT(static_cast<bool>(verdict));
    }));
}

// What a typing mistake leaves readable may be stranger than anything above.
TEST(ShowConfigProperty, WhatIsLeftOfAMutatedPolicyMeansTheSame)
{
    const std::string text = read_text(source_dir() + "/config/examples/cluster.yaml");
    EXPECT_TRUE(rc::check("reading what show-config prints of a mutated policy gives the same policy", [&] {
        const auto file = source("mutated.yaml", mutated(text));
        const auto result = read_policy({file}, fake_names());
        RC_CLASSIFY(result.value != nullptr, "still a policy");
        if (result.value) {
            const auto verdict = round_trips({file});
            RC_LOG() << verdict.message();
            RC_ASSERT(static_cast<bool>(verdict));
        }
    }));
}

}    // namespace
}    // namespace rdmaqos::test
