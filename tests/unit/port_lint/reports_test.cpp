// Configurations that people reported in public, each a file of reports/: what the lint says of it, or why it says
// nothing. What a file has that its report does not say is `assumed`.
#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lib/port_lint/lint.h"
#include "tests/support/golden.h"

namespace rdmaqos::port_lint {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using rdmaqos::test::expect_golden;
using rdmaqos::test::read_text;
using rdmaqos::test::source_dir;

template <typename Value>
std::optional<Value> optional_of(const json& object, const char* key)
{
    return object.contains(key) ? std::optional(object.at(key).get<Value>()) : std::nullopt;
}

std::optional<Bandwidth> gbps_of(const json& object, const char* key)
{
    const auto gbps = optional_of<std::uint64_t>(object, key);
    return gbps ? std::optional(Bandwidth::from_gbps(*gbps)) : std::nullopt;
}

OfPriority<bool> flags_of(const json& priorities)
{
    OfPriority<bool> flags{};
    for (const auto& priority : priorities) {
        flags.at(priority.get<std::size_t>()) = true;
    }
    return flags;
}

std::optional<OfPriority<bool>> optional_flags(const json& object, const char* key)
{
    return object.contains(key) ? std::optional(flags_of(object.at(key))) : std::nullopt;
}

// "classes": {"0": 60, "5": "strict"}
dcb::Ets ets_of(const json& object)
{
    dcb::Ets ets;
    ets.class_of_priority = object.at("class-of-priority").get<std::array<std::uint8_t, dcb::kPriorities>>();
    for (const auto& [number, weight] : object.at("classes").items()) {
        auto& traffic_class = ets.traffic_class.at(std::stoul(number));
        if (weight.is_number()) {
            traffic_class.selection = dcb::Selection::Ets;
            traffic_class.weight = weight.get<std::uint8_t>();
        }
    }
    return ets;
}

Interface interface_of(const json& object)
{
    Interface port;
    port.name = object.at("name");
    port.is_infiniband = object.value("infiniband", false);
    port.driver = object.value("driver", "");
    port.link_speed = gbps_of(object, "gbps");
    if (object.contains("ets")) {
        port.settings.ets = ets_of(object.at("ets"));
    }
    const json priorities = object.value("priority-of-dscp", json::object());
    for (const auto& [dscp, priority] : priorities.items()) {
        port.settings.apps.push_back(
            {dcb::Selector::Dscp, static_cast<std::uint16_t>(std::stoul(dscp)), priority.get<std::uint8_t>()});
    }
    std::ranges::sort(port.settings.apps);
    if (object.contains("lossless")) {
        port.settings.pfc = dcb::Pfc{8, flags_of(object.at("lossless"))};
    }
    RdmaFacts& rdma = port.rdma;
    rdma.device = object.value("device", "");
    rdma.default_tos = optional_of<std::uint8_t>(object, "default-tos");
    rdma.forced_traffic_class = optional_of<std::uint8_t>(object, "forced-traffic-class");
    rdma.notifications.dscp = optional_of<std::uint8_t>(object, "cnp-dscp");
    rdma.notifications.are_sent = optional_flags(object, "cnp-sent");
    rdma.notifications.are_obeyed = optional_flags(object, "cnp-obeyed");
    if (object.contains("sent-by-rdma")) {
        rdma.sent = SentBytes{object.at("sent-by-priority").get<OfPriority<std::uint64_t>>(),
                              object.at("sent-by-rdma")};
    }
    if (object.contains("rewrites")) {
        const json& rewrites = object.at("rewrites");
        port.rewrites = Rewrites{rewrites.at("seconds"), rewrites.at("count"), dcb::Author::Unknown};
    }
    return port;
}

std::vector<Interface> host_of(const json& report)
{
    std::vector<Interface> host;
    for (const auto& object : report.at("interfaces")) {
        Interface port = interface_of(object);
        if (port.rdma.device.empty()) {
            continue;    // find_ports() does not find it
        }
        for (const auto& level : report.at("levels")) {
            port.levels.push_back({level.at("name"), optional_of<std::uint8_t>(level, "traffic-class"),
                                   level.at("name"), gbps_of(level, "min-gbps"), gbps_of(level, "max-gbps")});
            port.root_children.push_back({level.at("name"), optional_of<std::uint32_t>(level, "share"), {}, {}, false});
        }
        host.push_back(std::move(port));
    }
    return host;
}

std::string text_of(const json& report, const std::vector<Finding>& findings)
{
    std::string text = fmt::format("{}\n{}\n", report.at("report").get<std::string>(),
                                   report.at("about").get<std::string>());
    if (report.contains("assumed")) {
        text += fmt::format("assumed: {}\n", report.at("assumed").get<std::string>());
    }
    for (const Finding& finding : findings) {
        text += fmt::format("\n{} on {}: {}\n  why: {}\n  command: {}\n{}", finding.rule, finding.interface,
                            finding.what, finding.why, finding.command,
                            finding.caution.empty() ? "" : fmt::format("  caution: {}\n", finding.caution));
    }
    if (report.contains("not-found")) {
        text += fmt::format("\nnot found: {}\n", report.at("not-found").get<std::string>());
    }
    return text;
}

TEST(PortLintReports, AreFoundOrItIsSaidWhyNot)
{
    const fs::path folder = source_dir() + "/tests/unit/port_lint/reports";
    std::size_t found = 0;
    std::size_t reports = 0;
    for (const auto& entry : fs::directory_iterator(folder)) {
        ++reports;
        const json report = json::parse(read_text(entry.path()));
        const auto findings = lint(host_of(report));
        std::set<std::string> rules;
        for (const Finding& finding : findings) {
            rules.insert(finding.rule);
        }
        const std::string name = entry.path().stem();
        const auto wanted = report.at("found-by").get<std::set<std::string>>();
        EXPECT_TRUE(std::ranges::includes(rules, wanted))
            << name << ": the rules " << fmt::format("{}", fmt::join(rules, " "));
        EXPECT_EQ(wanted.empty(), report.contains("not-found")) << name << ": it is found, or it is said why not";
        EXPECT_TRUE(!wanted.empty() || findings.empty()) << name << ": something is found, and nobody says so";
        found += wanted.empty() ? 0 : 1;
        expect_golden("port-lint/" + name + ".txt", text_of(report, findings));
    }
    EXPECT_EQ(reports, 10U);
    EXPECT_EQ(found, 9U);
}

}    // namespace
}    // namespace rdmaqos::port_lint
