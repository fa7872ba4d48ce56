// One-line tests of the reader of native OpenSM policies:
//
//     expect_refused(with_level("mtu-limit: 9\n"), "6:13", "mtu limit is out of range, value: 9");
//     EXPECT_EQ(accepted(kShortest).levels.size(), 1U);
//
// The fabric is that of most compatibility cases: two CAs with one port, one with two, a switch, a router.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "policy/model/fabric.h"
#include "policy/opensm/reader.h"

namespace rdmaqos::test {

// Not constexpr: gcc 12 warns of what it does with sums of constants.
inline const std::string kDefaultLevel = "qos-levels\nqos-level\nname: DEFAULT\nsl: 0\nend-qos-level\nend-qos-levels\n";

inline Fabric sample_fabric()
{
    Fabric fabric;
    fabric.ports = {{Guid{0x10000000000001}, 1, Guid{}, NodeType::Ca, "vs1 HCA-1", {0xffff, 0x8005, 0x8001}, true},
                    {Guid{0x10000000000002}, 1, Guid{}, NodeType::Ca, "vs2 HCA-1", {0xffff, 0x9234, 0x8001}, false},
                    {Guid{0x10000000000005}, 1, Guid{}, NodeType::Ca, "vs3", {0xffff, 0x8f01}, false},
                    {Guid{0x10000000000006}, 2, Guid{}, NodeType::Ca, "vs3", {0x7fff, 0x0005}, false},
                    {Guid{0x20000000000001}, 0, Guid{}, NodeType::Switch, "sw1", {0x7fff}, false},
                    {Guid{0x30000000000001}, 1, Guid{}, NodeType::Router, "r1", {0xffff}, false}};
    fabric.partitions = {{"Default", 0x7fff, std::nullopt}, {"Part1", 0x0005, std::nullopt}};
    return fabric;
}

inline OpensmResult read_native(std::string text, OpensmMode mode, const Fabric& fabric = sample_fabric())
{
    return read_opensm_policy(std::make_shared<const SourceFile>(SourceFile{"policy.conf", std::move(text)}), mode,
                              fabric);
}

inline std::string shown(const OpensmResult& result)
{
    return render(result.diagnostics, Colour::Off);
}

// Accepted by OpenSM; an empty policy after a failure.
inline Policy accepted(const std::string& text, OpensmMode mode = OpensmMode::Strict)
{
    const auto result = read_native(text, mode);
    EXPECT_TRUE(result.value) << text << shown(result);
    EXPECT_EQ(result.rejected == OpensmResult::Rejected::No, result.value != nullptr);
    return result.value ? *result.value : Policy{};
}

// "6:13", the place where OpenSM says it.
inline void expect_refused(const std::string& text, std::string_view place, std::string_view message,
                           OpensmResult::Rejected rejected = OpensmResult::Rejected::Parse)
{
    const auto result = read_native(text, OpensmMode::Strict);
    EXPECT_FALSE(result.value) << text;
    EXPECT_EQ(result.rejected, rejected) << text;
    ASSERT_EQ(result.diagnostics.error_count(), 1U) << text << shown(result);
    for (const Diagnostic& diagnostic : result.diagnostics.all()) {
        if (diagnostic.severity == Severity::Error) {
            EXPECT_EQ(fmt::format("{}:{}", diagnostic.location.line, diagnostic.location.column), place) << text;
            EXPECT_EQ(diagnostic.message, message) << text;
        }
    }
}

// Read in default mode with exactly this warning.
inline Policy expect_warned(const std::string& text, std::string_view message)
{
    const auto result = read_native(text, OpensmMode::Default);
    EXPECT_TRUE(result.value) << text << shown(result);
    EXPECT_EQ(result.diagnostics.warning_count(), 1U) << text << shown(result);
    std::string warnings;
    for (const Diagnostic& diagnostic : result.diagnostics.all()) {
        warnings += diagnostic.severity == Severity::Warning ? diagnostic.message : "";
    }
    EXPECT_EQ(warnings, message) << text;
    return result.value ? *result.value : Policy{};
}

// A level of the name X with more entries, which start at line 5.
inline std::string with_level(std::string_view entries, std::string_view name = "DEFAULT")
{
    return fmt::format("qos-levels\nqos-level\nname: {}\nsl: 1\n{}end-qos-level\nend-qos-levels\n", name, entries);
}

// A group with these entries, which start at line 3, behind it the default level.
inline std::string with_group(std::string_view entries)
{
    return fmt::format("port-groups\nport-group\n{}end-port-group\nend-port-groups\n{}", entries, kDefaultLevel);
}

// Entries of qos-ulps from line 2 on, and a default.
inline std::string with_ulps(std::string_view entries)
{
    return fmt::format("qos-ulps\n{}default: 0\nend-qos-ulps\n", entries);
}

// A rule for DEFAULT; its entries start at line 10.
inline std::string with_rule(std::string_view entries)
{
    return fmt::format("{}qos-match-rules\nqos-match-rule\nqos-level-name: DEFAULT\n{}end-qos-match-rule\n"
                       "end-qos-match-rules\n",
                       kDefaultLevel, entries);
}

}    // namespace rdmaqos::test
