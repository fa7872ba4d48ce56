// Random native policies: what import-opensm makes of one answers every request as the native policy does, as found by
// the indexes and by a plain scan, with the blocks to be filled in left out and taken in.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "policy/load/policy_reader.h"
#include "policy/match/matcher.h"
#include "policy/model/name_service.h"
#include "policy/opensm/reader.h"
#include "tests/support/scan.h"
#include "tests/unit/import/import_support.h"
#include "tools/rdma-qosctl/import/opensm.h"

namespace rdmaqos::test {
namespace {

constexpr std::uint64_t kGuids = 6;    // 1..5 are there
constexpr std::uint64_t kValues = 12;

Fabric property_fabric()
{
    Fabric fabric;
    fabric.ports = {{Guid{1}, 1, Guid{}, NodeType::Ca, "vs1 HCA-1", {0xFFFF, 0x8001, 0x0002}, true},
                    {Guid{2}, 1, Guid{}, NodeType::Ca, "vs2", {0xFFFF, 0x8001}, false},
                    {Guid{3}, 2, Guid{}, NodeType::Ca, "vs2", {0x7FFF, 0x0002}, false},
                    {Guid{4}, 0, Guid{}, NodeType::Switch, "sw/1", {0xFFFF, 0x8003}, false},
                    {Guid{5}, 1, Guid{}, NodeType::Router, "r1", {0x7FFF}, false}};
    fabric.partitions = {{"Default", 0x7FFF, std::nullopt}, {"Part 1", 1, std::nullopt}};
    return fabric;
}

bool flip()
{
    return *rc::gen::arbitrary<bool>();
}

template <typename T>
T any_of(std::vector<T> values)
{
    return *rc::gen::elementOf(std::move(values));
}

std::size_t up_to(std::size_t most)
{
    return *rc::gen::inRange<std::size_t>(0, most + 1);
}

// Decimal, hexadecimal or octal.
std::string any_number(std::uint64_t highest)
{
    const auto value = *rc::gen::inRange<std::uint64_t>(0, highest + 1);
    switch (up_to(4)) {
    case 0:
        return fmt::format("0x{:x}", value);
    case 1:
        return fmt::format("0X{:04X}", value);
    case 2:
        return fmt::format("0{:o}", value);
    default:
        return fmt::format("{}", value);
    }
}

std::string any_ranges(std::uint64_t highest)
{
    std::string text;
    for (std::size_t i = up_to(2) + 1; i > 0; --i) {
        text += text.empty() ? "" : any_of<std::string>({",", " , "});
        text += any_number(highest);
        text += flip() ? any_of<std::string>({"-", " - "}) + any_number(highest) : "";
    }
    return text;
}

// With and without the membership bit, and ranges across it.
std::string any_pkeys()
{
    const auto one = [] { return fmt::format("{:#x}", *rc::gen::inRange(0, 5) + any_of<int>({0, 0x8000, 0x7FFC})); };
    std::string text = one();
    for (std::size_t i = up_to(2); i > 0; --i) {
        text += (flip() ? "-" : ",") + one();
        if (text.find('-') != std::string::npos) {
            break;
        }
    }
    return text;
}

const std::vector<std::string>& group_names()
{
    static const std::vector<std::string> kNames{
        "g1",           "G1",          "Virtual Servers", "\"Virtual Servers\"", "\"a#b,c\"",
        "\"\"",         "\"caf\xe9\"", "_ULP_Targets_",   "\"two\nlines\"",      "null",
        "\"- x: [y]\"", "a/b"};
    return kNames;
}

const std::vector<std::string>& level_names()
{
    static const std::vector<std::string> kNames{"low", "LOW",    "\"low lat\"",  "low lat", "\"\"", "\"x\ty\"",
                                                 "a/b", "others", "\"'quoted'\"", "sl-1",    "~yes"};
    return kNames;
}

std::string any_group()
{
    std::string text = fmt::format("port-group\nname: {}\n", any_of(group_names()));
    for (std::size_t i = up_to(3); i > 0; --i) {
        switch (up_to(5)) {
        case 0:
            text += "port-guid: " + any_ranges(kGuids) + "\n";
            break;
        case 1:
            text += any_of<std::string>({"port-name: \"vs1 HCA-1/P1\"\n", "port-name: vs1 HCA-1/P1, vs2/p02\n",
                                         "port-name: \"sw/1/P7\"\n", "port-name: nobody/P300, vs2/P1xyz\n"});
            break;
        case 2:
            text += "pkey: " + any_pkeys() + "\n";
            break;
        case 3:
            text += any_of<std::string>(
                {"partition: \"Part 1\", Default\n", "partition: Part 1\n", "partition: \"\"\n"});
            break;
        case 4:
            text += any_of<std::string>({"node-type: CA\n", "node-type: switch, ROUTER\n", "node-type: ALL\n"});
            break;
        default:
            text += "node-type: SELF\n";
            break;
        }
    }
    return text + "end-port-group\n";
}

std::string any_level(std::string_view name)
{
    std::string text = fmt::format("qos-level\nname: {}\nsl: {}\n", name, any_number(15));
    text += flip() ? "use: some words, \"quoted\" # comment\n" : "";
    text += flip() ? fmt::format("mtu-limit: {}\n", *rc::gen::inRange(1, 6)) : "";
    text += flip() ? fmt::format("rate-limit: {}\n", *rc::gen::inRange(2, 25)) : "";
    text += flip() ? fmt::format("packet-life: {}\n", any_of<int>({0, 18, 63, 256, 300})) : "";
    text += flip() ? "pkey: " + any_pkeys() + "\n" : "";
    text += up_to(4) == 0 ? "path-bits: " + any_ranges(127) + "\n" : "";
    return text + "end-qos-level\n";
}

std::string any_rule(const std::vector<std::string>& groups, const std::vector<std::string>& levels)
{
    std::string text = fmt::format("qos-match-rule\nqos-level-name: {}\n", any_of(levels));
    for (const auto* key : {"source", "destination"}) {
        if (!groups.empty() && up_to(2) == 0) {
            text += fmt::format("{}: {}", key, any_of(groups));
            text += flip() ? ", " + any_of(groups) + "\n" : "\n";
        }
    }
    text += up_to(2) == 0 ? "qos-class: " + any_ranges(kValues) + "\n" : "";
    text += up_to(2) == 0 ? "service-id: " + any_ranges(kValues) + "\n" : "";
    text += up_to(2) == 0 ? "pkey: " + any_pkeys() + "\n" : "";
    text += flip() ? "use: a rule\n" : "";
    return text + "end-qos-match-rule\n";
}

std::string any_ulp()
{
    const std::string sl = fmt::format(" : {}\n", any_number(15));
    switch (up_to(8)) {
    case 0:
        return "default" + sl;
    case 1:
        return any_of<std::string>({"sdp", "rds", "iser", "ipoib"}) + sl;
    case 2:
        return any_of<std::string>({"sdp", "RDS", "iser"}) + ", port-num " + any_ranges(20) + sl;
    case 3:
        return "srp, target-port-guid " + any_ranges(kGuids) + sl;
    case 4:
        return "ipoib, pkey 0x8001" + sl;
    case 5:
        return "any, pkey " + any_pkeys() + sl;
    case 6:
        return "any, service-id " + any_ranges(kValues) + sl;
    default:
        return "any," + any_of<std::string>({"source", "target", "source-target"}) + "-port-guid " +
               any_ranges(kGuids) + sl;
    }
}

template <typename Make>
std::string section(std::string_view name, std::size_t count, Make make)
{
    std::string text = fmt::format("{}\n", name);
    for (; count > 0; --count) {
        text += make();
    }
    return text + fmt::format("end-{}\n", name);
}

// Names are defined, if anywhere in the file.
std::string any_policy()
{
    const auto groups = section("port-groups", up_to(5) + 1, any_group);
    const auto ulps = section("qos-ulps", up_to(5) + 1, any_ulp);
    std::vector<std::string> defined_groups;
    for (const auto& name : group_names()) {
        if (groups.find("name: " + name + "\n") != std::string::npos) {
            defined_groups.push_back(name);
        }
    }
    if (ulps.find("any,target-port-guid") != std::string::npos) {
        defined_groups.emplace_back("_ulp_targets_");
    }
    std::vector<std::string> defined_levels{"default"};
    std::string levels = any_level(any_of<std::string>({"DEFAULT", "dEfault"}));
    for (std::size_t i = up_to(4); i > 0; --i) {
        defined_levels.push_back(any_of(level_names()));
        levels += any_level(defined_levels.back());
    }
    std::vector<std::string> sections{
        groups, ulps, "qos-levels\n" + levels + "end-qos-levels\n",
        section("qos-match-rules", up_to(5), [&] { return any_rule(defined_groups, defined_levels); })};
    std::string text;
    while (!sections.empty()) {
        const auto next = up_to(sections.size() - 1);
        text += sections[next];
        sections.erase(sections.begin() + static_cast<std::ptrdiff_t>(next));
    }
    return text;
}

template <typename T>
std::optional<T> maybe(std::vector<T> values)
{
    return up_to(4) == 0 ? std::nullopt : std::optional<T>(any_of(std::move(values)));
}

Request any_request()
{
    Request request;
    request.qos_class = maybe<std::uint16_t>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
    request.service_id = maybe<std::uint64_t>({0, 1, 2, 5, 8, 9, 0x10005, 0x1060005, 0x10648CA, 0x1060CBC, 0x1FFFF});
    request.pkey = maybe<std::uint16_t>({0, 1, 2, 3, 4, 0x8001, 0x8004, 0x7FFF, 0xFFFF, 0x7FFC, 0x7FFE});
    if (const auto guid = maybe<std::uint64_t>({1, 2, 3, 4, 5, 6})) {
        request.source = Guid{*guid};
    }
    if (const auto guid = maybe<std::uint64_t>({1, 2, 3, 4, 5, 6})) {
        request.destination = Guid{*guid};
    }
    return request;
}

// A policy with what it is asked by.
struct Asked {
    std::shared_ptr<const Policy> policy;
    Matcher matcher;

    Asked(std::shared_ptr<const Policy> policy_, const Fabric& fabric)
        : policy(std::move(policy_)), matcher(*policy, resolve(*policy, fabric, {}))
    {
    }

    // All of the answer but the spelling of a name, which a YAML policy may not be able to hold, and whether an ulp
    // made the level: the YAML has a level of its own for it.
    [[nodiscard]] std::string answer(const Request& request) const
    {
        const auto match = matcher.match(request, Identity{});
        RC_ASSERT(in_full(match) == in_full(scan(*policy, matcher.groups(), request, Identity{})));
        RC_ASSERT(match.has_value());
        const QosLevel& level = *match->level;
        return fmt::format("rule {} by {}: sl {} mtu {} rate {} life {} path-bits {} pkeys {}",
                           match->rule != nullptr ? match->rule->number : 0, static_cast<int>(match->source),
                           level.sl.value_or(99), level.mtu_limit ? bytes(*level.mtu_limit) : 0,
                           level.rate_limit ? number(*level.rate_limit) : 0, level.packet_life.value_or(99),
                           to_string(level.path_bits, NumberBase::Hex), to_string(level.pkeys, NumberBase::Hex));
    }
};

std::shared_ptr<const Policy> read_yaml(const std::string& text)
{
    const auto read = read_policy({source("policy.yaml", text)}, NameService{});
    if (!read.value) {
        RC_FAIL(shown(read) + text);
    }
    return read.value;
}

TEST(OpensmImportProperty, TheYamlAnswersAsTheNativePolicy)
{
    const Fabric fabric = property_fabric();
    EXPECT_TRUE(rc::check("the YAML answers as the native policy", [&] {
        const std::string text = any_policy();
        const auto native = read_opensm_policy(source("policy.conf", text), OpensmMode::Strict, fabric);
        // A port-name that is not there or a fabric without a partition may have it rejected.
        RC_PRE(native.value != nullptr);
        const auto imported = import_opensm(*native.file, fabric);
        if (!imported.value) {
            RC_FAIL(shown(imported) + text);
        }
        const Asked before(native.value, fabric);
        const Asked after(read_yaml(*imported.value), fabric);
        const Asked filled(read_yaml(filled_in(*imported.value)), fabric);
        for (int i = 0; i < 20; ++i) {
            const Request request = any_request();
            const std::string expected = before.answer(request);
            if (after.answer(request) != expected || filled.answer(request) != expected) {
                RC_FAIL(fmt::format("{}\n{}\n{}\n{}\n{}", expected, after.answer(request), filled.answer(request), text,
                                    *imported.value));
            }
        }
    }));
}

}    // namespace
}    // namespace rdmaqos::test
