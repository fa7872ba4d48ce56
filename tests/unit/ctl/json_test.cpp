#include "tools/rdma-qosctl/rendering/world_json.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lib/api/json.h"
#include "lib/api/plan.h"
#include "tests/support/golden.h"
#include "tests/unit/ctl/sample.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/rendering/check.h"
#include "tools/rdma-qosctl/rendering/signal.h"
#include "tools/rdma-qosctl/world/busy_rates.h"
#include "tools/rdma-qosctl/world/problems.h"
#include "tools/rdma-qosctl/world/reports.h"

namespace rdmaqos::ctl {
namespace {

using rdmaqos::test::expect_golden;
using namespace rdmaqos::ctl::test;

std::vector<const DeviceView*> pointers(const World& world)
{
    std::vector<const DeviceView*> result;
    for (const auto& device : world.devices) {
        result.push_back(&device);
    }
    return result;
}

TEST(Json, Status)
{
    const World world = troubled_world();
    expect_golden("ctl/status.json", to_text(status_json(world, find_problems(world))));
}

TEST(Json, StatusIsOkWithoutProblems)
{
    const World world = sample_world();
    const Json json = status_json(world, find_problems(world));
    EXPECT_TRUE(json.at("ok").get<bool>());
    EXPECT_TRUE(json.at("problems").empty());
    EXPECT_FALSE(json.at("policy").contains("last-reload-error"));
}

TEST(Json, StatusTellsOfAdoption)
{
    World world = sample_world();
    EXPECT_FALSE(status_json(world, {}).contains("adoption")) << "an older daemon does not tell";
    world.manager.adoption = {"adopt", "", 12, 96};
    EXPECT_EQ(status_json(world, {}).at("adoption"),
              Json({{"setting", "adopt"}, {"programs", 12}, {"queue-pairs", 96}}));
    world.manager.adoption.unavailable = "the kernel is too old";
    EXPECT_EQ(status_json(world, {}).at("adoption").at("unavailable"), "the kernel is too old");
}

TEST(Json, AdoptedSessions)
{
    EXPECT_TRUE(sessions_json({sample_session_adopted()}).at("sessions").at(0).at("adopted").get<bool>());
    EXPECT_FALSE(sessions_json({sample_session_rpc()}).at("sessions").at(0).at("adopted").get<bool>());
}

TEST(Json, Levels)
{
    expect_golden("ctl/levels.json", to_text({{"levels", api::to_json(sample_world().manager.levels)}}));
}

TEST(Json, Devices)
{
    const World world = sample_world();
    expect_golden("ctl/devices.json", to_text(devices_json({&world.devices[0]})));
}

TEST(Json, Sessions)
{
    expect_golden("ctl/sessions.json", to_text(sessions_json({sample_session_rpc(), sample_session_bulk()})));
}

TEST(Json, Trees)
{
    const World world = sample_world();
    expect_golden("ctl/trees.json", to_text(trees_json({&world.devices[0]}, {busy_rates(world, world.devices[0])})));
    EXPECT_EQ(trees_json(pointers(world), {}).at("trees").size(), 2U);
}

TEST(Json, Signal)
{
    const bus::Signal signal{
        "/org/rdmaqos1", "org.rdmaqos1.Manager", "DriftRepaired", {bus::ObjectPath{"/org/rdmaqos1/device/a"}, 2U}};
    EXPECT_EQ(to_line(signal_json(signal, "2026-01-02T03:04:05.006Z", "a sentence")),
              R"({"time":"2026-01-02T03:04:05.006Z","path":"/org/rdmaqos1","interface":"org.rdmaqos1.Manager",)"
              R"("signal":"DriftRepaired","arguments":["/org/rdmaqos1/device/a",2],"text":"a sentence"})"
              "\n");
}

TEST(Json, Error)
{
    const Json json = error_json({ErrorCode::NoDaemon, 0, "there is no rdma-qosd"});
    EXPECT_EQ(json.at("error").at("name"), "org.rdmaqos1.Error.NoDaemon");
    EXPECT_EQ(json.at("error").at("exit-status"), 5);
    EXPECT_FALSE(json.at("error").at("hint").get<std::string>().empty());
}

TEST(Json, BrokenUtf8DoesNotThrow)
{
    const Json json = to_json(dict({{"command", std::string("a\xff")}}));
    EXPECT_EQ(to_line(json), "{\"command\":\"a\xEF\xBF\xBD\"}\n");
}

TEST(Json, EveryKindOfValue)
{
    const bus::Dict all = dict({{"b", true},
                                {"y", std::uint8_t{1}},
                                {"q", std::uint16_t{2}},
                                {"u", 3U},
                                {"t", std::uint64_t{18446744073709551615ULL}},
                                {"i", -4},
                                {"x", std::int64_t{-5}},
                                {"d", 0.5},
                                {"s", "text"},
                                {"o", bus::ObjectPath{"/x"}},
                                {"as", std::vector<std::string>{"a", "b"}},
                                {"a{sv}", bus::Dict{}},
                                {"aa{sv}", std::vector<bus::Dict>{bus::Dict{}}},
                                {"a{st}", bus::Counts{{"n", 7}}},
                                {"triples", bus::Triples{{"a", "b", "c"}}},
                                {"?", bus::Unsupported{"(ii)"}}});
    EXPECT_EQ(to_line(to_json(all)),
              R"({"b":true,"y":1,"q":2,"u":3,"t":18446744073709551615,"i":-4,"x":-5,"d":0.5,"s":"text","o":"/x",)"
              R"("as":["a","b"],"a{sv}":{},"aa{sv}":[{}],"a{st}":{"n":7},"triples":[["a","b","c"]],"?":null})"
              "\n");
}

TEST(Json, DiagnosticsAndFindings)
{
    Diagnostics diagnostics;
    const auto file = std::make_shared<SourceFile>(SourceFile{"policy.yaml", "a: b\n"});
    diagnostics.error({file, 1, 4, 1}, "no").hint = "yes";
    diagnostics.warning({file, 0, 0, 0}, "the file as a whole");
    EXPECT_EQ(
        to_line(to_json(diagnostics)),
        R"([{"severity":"error","file":"policy.yaml","line":1,"column":4,"length":1,"message":"no","hint":"yes"},)"
        R"({"severity":"warning","file":"policy.yaml","message":"the file as a whole"}])"
        "\n");
    const Finding finding{FindingKind::MinRateMissed, true, ElementPath("/a"), "10 Gbit/s", "8 Gbit/s", "shares"};
    EXPECT_EQ(
        to_line(api::to_json(api::to_record(finding))),
        R"({"kind":"min-rate-missed","severity":"error","path":"/a","requested":"10 Gbit/s","achievable":"8 Gbit/s",)"
        R"("reason":"shares","message":"/a: requested 10 Gbit/s, achievable 8 Gbit/s: shares"})"
        "\n");
}

}    // namespace
}    // namespace rdmaqos::ctl
