#include "tools/rdma-qosctl/import/opensm.h"

#include <memory>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/load/policy_reader.h"
#include "policy/model/name_service.h"
#include "policy/opensm/reader.h"
#include "policy/yaml/fabric_reader.h"
#include "tests/unit/import/import_support.h"
#include "tools/rdma-qosctl/import/fabric.h"

namespace rdmaqos::test {
namespace {

using testing::HasSubstr;
using testing::Not;

ReadResult<std::string> import_text(const std::string& text, const Fabric& fabric = {})
{
    const auto native = read_opensm_policy(source("policy.conf", text), OpensmMode::Strict, fabric);
    EXPECT_TRUE(native.value) << render(native.diagnostics, Colour::Off);
    return import_opensm(*native.file, fabric);
}

// A default level, and these sections.
std::string with_default(std::string_view sections)
{
    return fmt::format("qos-levels\nqos-level\nname: DEFAULT\nsl: 0\nend-qos-level\nend-qos-levels\n{}", sections);
}

std::string with_level(std::string_view name, std::string_view entries = "sl: 1\n")
{
    return with_default(
        fmt::format("qos-levels\nqos-level\nname: {}\n{}end-qos-level\nend-qos-levels\n", name, entries));
}

std::string with_group(std::string_view entries)
{
    return with_default(fmt::format("port-groups\nport-group\n{}end-port-group\nend-port-groups\n", entries));
}

Policy policy_of(const std::string& text)
{
    const auto read = read_policy({source("policy.yaml", text)}, NameService{});
    EXPECT_TRUE(read.value) << shown(read) << text;
    return read.value ? *read.value : Policy{};
}

// Imported without a word, and read back.
Policy imported(const std::string& text)
{
    return policy_of(good(import_text(text)));
}

Fabric small_fabric()
{
    const FabricImport input{golden_source("import/small.topology"), golden_source("import/small.partitions"), nullptr,
                             Guid{0x0002c90300a1b2c1}};
    return *read_fabric(source("fabric.yaml", *import_fabric(input).value)).value;
}

TEST(OpensmImport, AWholePolicy)
{
    const Fabric fabric = small_fabric();
    // Not strictly: Default has one full member, and `ipoib` asks for two.
    const auto native = read_opensm_policy(golden_source("import/example.conf"), OpensmMode::Default, fabric);
    ASSERT_TRUE(native.value) << render(native.diagnostics, Colour::Off);
    const auto made = import_opensm(*native.file, fabric);
    ASSERT_TRUE(made.value) << shown(made);
    expect_golden("import/example.yaml", *made.value);
    const Policy policy = policy_of(*made.value);
    EXPECT_EQ(policy.rules.size(), 3U + 8U);
    EXPECT_EQ(policy.find_level("lowlatency")->sl, 8);
}

TEST(OpensmImport, BlocksToFillInAreYaml)
{
    const auto native = read_opensm_policy(golden_source("import/example.conf"), OpensmMode::Default, small_fabric());
    const Policy policy = policy_of(filled_in(*import_opensm(*native.file, {}).value));
    EXPECT_TRUE(policy.find_level("DEFAULT")->schedule);
    EXPECT_TRUE(policy.find_level("lowlatency")->schedule);
    EXPECT_EQ(policy.find_level("SimpleQoSLevel_SL5")->sl, 5);
    EXPECT_TRUE(policy.find_level("SimpleQoSLevel_SL5")->schedule);
    // Its name cannot be a part of a path.
    EXPECT_FALSE(policy.find_level("bulk/night")->schedule);
    // A file with nothing but ulps.
    const auto ulps = good(import_text("qos-ulps\ndefault: 1\nsdp: 2\nend-qos-ulps\n"));
    EXPECT_FALSE(policy_of(ulps).find_level("SimpleQoSLevel_SL2")->schedule);
    EXPECT_TRUE(policy_of(filled_in(ulps)).find_level("SimpleQoSLevel_SL2")->schedule);
    EXPECT_TRUE(policy_of(filled_in(ulps)).find_level("SimpleQoSLevel_DEFAULT")->schedule);
}

// No level is written for ulps that no ulp uses, and none is left to the reader to make: it could not become a class.
TEST(OpensmImport, UlpsUseTheLevelsThatAreWrittenForThem)
{
    const Policy policy = imported("qos-ulps\ndefault: 4\ndefault: 1\nsdp: 2\nrds: 2\niser: 3\nend-qos-ulps\n");
    ASSERT_EQ(policy.levels.size(), 3U);
    std::set<std::size_t> used{policy.default_level};
    for (const MatchRule& rule : policy.rules) {
        used.insert(rule.level);
    }
    EXPECT_EQ(used, (std::set<std::size_t>{0, 1, 2}));
    EXPECT_EQ(policy.levels.at(policy.default_level).sl, 1);
    EXPECT_EQ(policy.rules.at(0).level, policy.rules.at(1).level);
    for (const QosLevel& level : policy.levels) {
        EXPECT_FALSE(level.from_ulp) << level.name;
    }
    // A level of the name that OpenSM gives is another one.
    const Policy named = imported(with_level("simpleqoslevel_sl7") + "qos-ulps\ndefault: 5\nsdp: 7\nend-qos-ulps\n");
    EXPECT_EQ(named.levels.size(), 3U);
    EXPECT_NE(named.levels.at(named.rules.at(0).level).name, "simpleqoslevel_sl7");
    EXPECT_EQ(named.levels.at(named.rules.at(0).level).sl, 7);
    EXPECT_EQ(named.levels.at(named.default_level).name, "DEFAULT");
}

TEST(OpensmImport, WhatNoYamlCanSayIsAnError)
{
    std::string text;
    const auto refuse = [&text](const std::string& policy) {
        const auto made = import_text(policy);
        EXPECT_EQ(made.value, nullptr);
        EXPECT_EQ(made.diagnostics.error_count(), 1U);
        text += shown(made);
    };
    refuse(with_level("x", "sl: 300\n"));
    refuse(with_level("x", "sl: 16\n"));
    refuse(with_level("x", "sl: 1\npacket-life: 64\n"));
    text += shown(
        import_text(with_group("name: g\nport-name: nobody/P256, \"caf\xe9/P1\"\npartition: \"\"\nnode-type: SELF\n")));
    expect_golden("import/refused.txt", text);
}

TEST(OpensmImport, LowestEightBits)
{
    const Policy policy = imported(with_level("x", "sl: 259\npacket-life: 300\n"));
    EXPECT_EQ(policy.find_level("x")->sl, 3);
    EXPECT_EQ(policy.find_level("x")->packet_life, 44);
}

TEST(OpensmImport, NamesOfAnyBytes)
{
    for (const std::string name : {"a: b", "#1", "'", "\\", "{x}, [y]", "- x", "*", "&a", "null", "~", "!", "%", "@",
                                   "`", "yes", "0x10", "k: v # c", "caf\xc3\xa9", "\xe2\x80\xa8x"}) {
        const Policy policy = imported(with_level(fmt::format("\"{}\"", name)));
        EXPECT_NE(policy.find_level(name), nullptr) << name;
    }
    // What no name of a YAML policy can be is shown, or numbered.
    EXPECT_NE(imported(with_level("\"caf\xe9\"")).find_level("caf\\xe9"), nullptr);
    EXPECT_NE(imported(with_level("\"a\nb\"")).find_level("a\\x0ab"), nullptr);
    EXPECT_NE(imported(with_level("\"\"")).find_level("level-1"), nullptr);
    EXPECT_NE(imported(with_level(std::string(129, 'x'))).find_level("level-1"), nullptr);
    const auto text = good(import_text(with_level("\"\"") +
                                       "qos-levels\nqos-level\nname: LEVEL-1\nsl: 2\nend-qos-level\n"
                                       "end-qos-levels\nqos-match-rules\nqos-match-rule\n"
                                       "qos-level-name: \"\"\nend-qos-match-rule\n"
                                       "end-qos-match-rules\n"));
    const Policy policy = policy_of(text);
    EXPECT_EQ(policy.levels.at(policy.rules.at(0).level).name, "level-2");
}

TEST(OpensmImport, DescriptionsOfAnyBytes)
{
    const Policy policy = imported(with_level("x", "sl: 1\nuse: it's a \\ thing: [of] {it}, caf\xe9 \n"));
    EXPECT_EQ(policy.find_level("x")->use, "it's a \\ thing: [of] {it}, caf\\xe9");
    const Policy cut = imported(with_level("x", "sl: 1\nuse: " + std::string(5000, 'u') + "\n"));
    EXPECT_EQ(cut.find_level("x")->use.size(), 4096U);
}

// An explicit group behind the section that makes one of its name is never found.
TEST(OpensmImport, GroupsThatUlpsMakeMayBeFirst)
{
    const std::string ulps = "qos-ulps\nany, target-port-guid 7: 1\nend-qos-ulps\n";
    const std::string groups =
        "port-groups\nport-group\nname: _ulp_targets_\nport-guid: 9\nend-port-group\nend-port-groups\n";
    const std::string rules = "qos-match-rules\nqos-match-rule\nsource: _ULP_Targets_\nqos-level-name: DEFAULT\n"
                              "end-qos-match-rule\nend-qos-match-rules\n";
    const auto guid_of = [&](const std::string& text) {
        const Policy policy = imported(with_default(text + rules));
        return policy.groups.at(policy.rules.at(0).source.at(0)).port_guids.intervals().at(0).first;
    };
    EXPECT_EQ(guid_of(ulps + groups), 7U);
    EXPECT_EQ(guid_of(groups + ulps), 9U);
}

TEST(OpensmImport, SelfIsThePortOfTheSubnetManager)
{
    const std::string text = with_group("name: g\nnode-type: SELF\n");
    Fabric fabric;
    fabric.ports = {{Guid{0x77}, 1, Guid{}, NodeType::Ca, "n", {}, true}};
    EXPECT_THAT(good(import_text(text, fabric)), HasSubstr("port-guid: [0x0000000000000077]"));
    const auto unknown = import_text(text);
    EXPECT_THAT(with_warning(unknown, "`node-type: SELF` is left out: which port is the subnet manager's is not known"),
                Not(HasSubstr("port-guid:")));
}

TEST(OpensmImport, DefaultsThatDoNotCount)
{
    const std::string ulps = "qos-ulps\ndefault: 1\nsdp: 3\ndefault: 2\nend-qos-ulps\n";
    const Policy policy = imported(ulps);
    EXPECT_EQ(policy.levels.at(policy.default_level).sl, 2);
    const auto beside = good(import_text(with_default(ulps)));
    EXPECT_THAT(beside, Not(HasSubstr("ulp: default")));
    EXPECT_THAT(beside, HasSubstr("`default` is ignored by OpenSM"));
    const auto alone = good(import_text(with_default("qos-ulps\ndefault: 1\nend-qos-ulps\n")));
    EXPECT_THAT(alone, Not(HasSubstr("qos-ulps:")));
    EXPECT_EQ(policy_of(alone).rules.size(), 0U);
}

TEST(OpensmImport, ALongUseIsCutBetweenCharacters)
{
    constexpr std::size_t kLongest = 4096;
    const std::string text = std::string(kLongest - 1, 'x') + "\u00fc and more";
    const auto read = import_text(with_level("a", "use: \"" + text + "\"\nsl: 1\n"));
    ASSERT_TRUE(read.value);
    EXPECT_THAT(*read.value, HasSubstr("cut short"));
    EXPECT_EQ(policy_of(*read.value).levels.at(1).use, std::string(kLongest - 1, 'x'));
}

TEST(OpensmImport, APKeyOfMoreThanSixteenBitsIsMaskedAndSaid)
{
    const std::string rule = "qos-match-rules\nqos-match-rule\nqos-level-name: DEFAULT\npkey: 0x18001\n"
                             "end-qos-match-rule\nend-qos-match-rules\n";
    const auto read = import_text(with_default(rule));
    ASSERT_TRUE(read.value);
    EXPECT_THAT(*read.value,
                HasSubstr("# 0x18001 has more than the 16 bits of a P_Key, of which OpenSM takes the lower 15"));
    EXPECT_THAT(*read.value, HasSubstr("0x0001"));
}

}    // namespace
}    // namespace rdmaqos::test
