// What a verb prints on terminals of 80 and 120 columns, with and without colours.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "lib/base/text.h"
#include "tests/support/golden.h"
#include "tests/unit/ctl/sample.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/devices.h"
#include "tools/rdma-qosctl/rendering/levels.h"
#include "tools/rdma-qosctl/rendering/manage.h"
#include "tools/rdma-qosctl/rendering/path_answers.h"
#include "tools/rdma-qosctl/rendering/plan.h"
#include "tools/rdma-qosctl/rendering/sessions.h"
#include "tools/rdma-qosctl/rendering/status.h"
#include "tools/rdma-qosctl/rendering/why.h"
#include "tools/rdma-qosctl/world/problems.h"
#include "tools/rdma-qosctl/world/why.h"

namespace rdmaqos::ctl {
namespace {

using rdmaqos::test::expect_golden;
using namespace test;

std::string without_colours(const std::string& text)
{
    std::string plain;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] == '\x1b') {
            at = text.find('m', at);
        } else {
            plain += text[at];
        }
    }
    return plain;
}

// Escapes as a reader of the golden file sees them.
std::string visible(const std::string& text)
{
    std::string seen;
    for (const char c : text) {
        seen += c == '\x1b' ? "<ESC>" : std::string(1, c);
    }
    return seen;
}

// `draw` on each of the four screens, one after the other. Colours change nothing but the colours.
template <typename Draw>
void expect_screens(const std::string& verb, Draw draw, bool fits = true)
{
    std::string text;
    for (const std::size_t columns : {80U, 120U}) {
        const std::string plain = draw(Screen(Colour::Off, columns));
        const std::string coloured = draw(Screen(Colour::On, columns));
        EXPECT_EQ(without_colours(coloured), plain) << verb;
        for (const auto line : lines_of(plain)) {
            EXPECT_TRUE(!fits || display_width(line) <= columns) << verb << ": " << line;
        }
        text += fmt::format("===== {} columns\n{}===== {} columns, colours\n{}", columns, plain, columns,
                            visible(coloured));
    }
    expect_golden("ctl/screens/" + verb + ".txt", text);
}

// With names as long as clusters have them.
World wide_world()
{
    World world = sample_world();
    SessionView& session = world.sessions.front();
    session.owner.set("unit", "slurmstepd-extern-job-1234567.scope");
    session.level = "distributed-training-gold";
    for (auto& queue_pair : session.queue_pairs) {
        queue_pair.set("level", "distributed-training-gold");
        queue_pair.set("leaf", "/site/tenants/gold/distributed-training/pid:4711");
        queue_pair.set("enforced", false);
        queue_pair.set("reason", "the device's leaves are used up; 12 processes share the fallback leaf of the class");
    }
    return world;
}

TEST(Screens, Status)
{
    const World world = troubled_world();
    expect_screens(
        "status", [&](const Screen& screen) { return render_status(world, find_problems(world), screen); }, false);
}

TEST(Screens, Tree)
{
    const DeviceView one = sample_device("mlx5_0");
    expect_screens("tree", [&](const Screen& screen) { return render_device_trees({{&one, nullptr}}, 0, screen); });
}

TEST(Screens, DevicesOfOneKindAreDrawnOnce)
{
    std::vector<DeviceView> devices;
    std::vector<DeviceTree> trees;
    for (int i = 0; i < 8; ++i) {
        devices.push_back(sample_device("mlx5_" + std::to_string(i)));
    }
    devices[5].link_up = false;
    for (const auto& device : devices) {
        trees.push_back({&device, nullptr});
    }
    const std::string text = render_device_trees(trees, 0, Colour::Off);
    EXPECT_THAT(text, testing::HasSubstr("\nthe same: mlx5_1/1, mlx5_2/1, mlx5_3/1, mlx5_4/1, mlx5_6/1, mlx5_7/1\n"));
    EXPECT_THAT(text, testing::HasSubstr("\n\nmlx5_5/1  ready, down"));
    expect_screens("tree-alike", [&](const Screen& screen) { return render_device_trees(trees, 0, screen); });
}

TEST(Screens, Levels)
{
    const auto levels = sample_world().manager.levels;
    expect_screens("levels", [&](const Screen& screen) { return render_levels(levels, screen); });
}

TEST(Screens, Devices)
{
    const auto devices = sample_world().devices;
    expect_screens("devices", [&](const Screen& screen) { return render_devices(devices, screen); });
    expect_screens(
        "device", [&](const Screen& screen) { return render_device(devices.front(), screen); }, false);
}

TEST(Screens, Sessions)
{
    const auto sessions = wide_world().sessions;
    expect_screens("sessions", [&](const Screen& screen) { return render_sessions(sessions, screen); });
}

TEST(Screens, Why)
{
    World world = wide_world();
    WhyReport report;
    report.target = "4711";
    report.sessions = {explain_session(world, world.sessions.front())};
    expect_screens(
        "why", [&](const Screen& screen) { return render_why(report, screen); }, false);
}

TEST(Screens, Verify)
{
    const std::vector<bus::Dict> drifts{dict({{"device", "mlx5_0/1"},
                                              {"path", "/site/tenants/gold/distributed-training/pid:4711"},
                                              {"kind", "changed"},
                                              {"expected", "share 60, max 40 Gbit/s below /site/tenants/gold"},
                                              {"found", "share 10, max 40 Gbit/s below /site/tenants/gold"}})};
    expect_screens("verify", [&](const Screen& screen) { return render_drift(drifts, screen); });
}

TEST(Screens, Answers)
{
    const std::vector<bus::Dict> answers{dict({{"level", "rpc"},
                                               {"source", "fd00::1"},
                                               {"destination", "fd00::2"},
                                               {"mtu", 4096U},
                                               {"sl", std::uint8_t{3}},
                                               {"rule", "match rule 12 (/etc/rdma-qos/policy.d/storage.yaml:40:5)"}})};
    expect_screens("query-path", [&](const Screen& screen) { return render_answers(answers, screen); });
}

PlanReport moves(std::size_t count)
{
    PlanReport report;
    report.note = "what a reload with the host's files would do, by the running daemon:";
    const ElementPath root = ElementPath::root();
    DescribedOperation create;
    create.path = root.child("gold");
    create.parent = root;
    create.element_kind = ElementKind::Leaf;
    create.share = 10;
    DescribedPlan plan;
    plan.tree = {{root, {}, ElementKind::Node, ElementAttributes{}, ElementAttributes{}, 0, 0},
                 {create.path, root, ElementKind::Leaf, {}, ElementAttributes{10, {}}, 0, static_cast<std::uint32_t>(count)}};
    plan.operations = {create};
    for (std::size_t i = 1; i <= count; ++i) {
        DescribedOperation move;
        move.kind = DescribedOperation::Kind::Move;
        move.queue_pair = static_cast<std::uint32_t>(i);
        move.leaf_before = root.child("rpc");
        move.leaf = create.path;
        plan.operations.push_back(move);
        report.sessions.push_back(dict({{"session", std::uint64_t{i}},
                                        {"pid", 4000U + static_cast<std::uint32_t>(i)},
                                        {"command", "trainer"},
                                        {"user", "alice"},
                                        {"device", "mlx5_0/1"},
                                        {"queue-pairs", 1U},
                                        {"level-before", "rpc"},
                                        {"level-after", "gold"},
                                        {"leaf-before", "/rpc"},
                                        {"leaf-after", "/gold"}}));
    }
    DescribedOperation detach;
    detach.kind = DescribedOperation::Kind::Move;
    detach.queue_pair = 9;
    detach.leaf_before = root.child("old");
    plan.operations.push_back(detach);
    for (const char* device : {"mlx5_0/1", "mlx5_1/1"}) {
        report.plans.push_back({device, plan, {}, Bandwidth::from_gbps(100), {}});
    }
    return report;
}

TEST(Screens, ManyMovesAreCountedAndVerboseListsThem)
{
    const PlanReport many = moves(1500);
    const std::string text = render_plans(many, false, Colour::Off);
    EXPECT_THAT(text, testing::HasSubstr("\nthe same: mlx5_1/1\n"));
    EXPECT_THAT(text, testing::HasSubstr("  move 1500 queue pairs from /rpc to /gold\n"));
    EXPECT_THAT(text, testing::HasSubstr("  detach queue pair 9 from /old\n")) << "one is named";
    EXPECT_THAT(text, testing::HasSubstr("`--verbose` lists each"));
    EXPECT_LT(lines_of(text).size(), 20U);
    const std::string verbose = render_plans(many, true, Colour::Off);
    EXPECT_THAT(verbose, testing::HasSubstr("move queue pair 1500 from /rpc to /gold\n"));
    EXPECT_GT(lines_of(verbose).size(), 3000U);
    expect_screens("plan", [&](const Screen& screen) { return render_plans(many, false, screen); });
    const PlanReport few = moves(3);
    expect_screens("plan-few", [&](const Screen& screen) { return render_plans(few, false, screen); });
}

TEST(Sentences, AreBrokenAtTheEdgeOfTheScreen)
{
    EXPECT_EQ(sentence_on({Colour::Off, 20}, 9, 4, "one two three four five"), "one two\n    three four five");
    EXPECT_EQ(sentence_on({Colour::Off, 20}, 2, 2, "one two three four five"), "one two three four\n  five");
    EXPECT_EQ(sentence_on(Colour::Off, 9, 4, "one two three four five"), "one two three four five");
    EXPECT_EQ(sentence_on({Colour::Off, 3}, 9, 4, ""), "");
}

TEST(Table, ANarrowScreenLeavesOutThenShortens)
{
    using Align = Table::Align;
    using Fit = Table::Fit;
    Table table({{"NAME"},
                 {"PATH", Align::Left, Fit::ShortenPath},
                 {"WORDS", Align::Left, Fit::Shorten},
                 {"MORE", Align::Left, Fit::Drop},
                 {"MOST", Align::Right, Fit::DropSoon}});
    table.add({"a", "/tenants/gold/pid:4711", "a sentence that goes on", "more", "most"});
    EXPECT_EQ(table.render(Colour::Off), "NAME  PATH                    WORDS                    MORE  MOST\n"
                                         "a     /tenants/gold/pid:4711  a sentence that goes on  more  most\n");
    EXPECT_EQ(table.render({Colour::Off, 62}), "NAME  PATH                    WORDS                    MORE\n"
                                               "a     /tenants/gold/pid:4711  a sentence that goes on  more\n");
    EXPECT_EQ(table.render({Colour::Off, 40}), "NAME  PATH              WORDS\n"
                                               "a     /tena…d/pid:4711  a sentence that…\n");
    const std::string least = table.render({Colour::Off, 5});
    EXPECT_THAT(least, testing::HasSubstr("…")) << "not narrower than its columns can be";
}

}    // namespace
}    // namespace rdmaqos::ctl
