// What a verb prints on terminals of 80 and 120 columns, with and without colours.
#include <algorithm>
#include <filesystem>
#include <ostream>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "lib/base/text.h"
#include "tests/support/golden.h"
#include "tests/unit/ctl/sample.h"
#include "tests/unit/ctl/wide_sample.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/check.h"
#include "tools/rdma-qosctl/rendering/devices.h"
#include "tools/rdma-qosctl/rendering/path_answers.h"
#include "tools/rdma-qosctl/rendering/plan.h"
#include "tools/rdma-qosctl/rendering/program_rates.h"
#include "tools/rdma-qosctl/rendering/signal.h"
#include "tools/rdma-qosctl/rendering/transient.h"
#include "tools/rdma-qosctl/rendering/why.h"
#include "tools/rdma-qosctl/rendering/world_text.h"
#include "tools/rdma-qosctl/simulate/report.h"
#include "tools/rdma-qosctl/verbs/verb.h"
#include "tools/rdma-qosctl/world/busy_rates.h"
#include "tools/rdma-qosctl/world/not_adopted.h"
#include "tools/rdma-qosctl/world/problems.h"
#include "tools/rdma-qosctl/world/why.h"

namespace rdmaqos::ctl {
namespace {

using rdmaqos::test::expect_golden;
using rdmaqos::test::read_text;
using rdmaqos::test::source_dir;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace test;

std::string draw_status(const Screen& screen)
{
    const World world = troubled_world();
    return render_status(world, find_problems(world), screen);
}

std::string draw_status_without_adoption(const Screen& screen)
{
    World world = sample_world();
    world.manager.adoption = {"adopt",
                              "/usr/libexec/rdma-qos/rdma-qos-files may not look at other processes: install the "
                              "drop-in 50-adopt.conf of rdma-qosd.service and restart it",
                              0, 0};
    return render_status(world, find_problems(world), screen);
}

std::string draw_tree(const Screen& screen)
{
    const DeviceView one = sample_device("mlx5_0");
    return render_device_trees({{&one, nullptr}}, 0, screen);
}

std::string draw_busy_tree(const Screen& screen)
{
    const World world = wide_world();
    const BusyRates busy = busy_rates(world, world.devices[0]);
    return render_device_trees({{&world.devices[0], &busy}}, 0, screen);
}

std::string draw_trees_of_one_kind(const Screen& screen)
{
    std::vector<DeviceView> devices(8, sample_device(""));
    std::vector<DeviceTree> trees;
    for (auto& device : devices) {
        device.name = fmt::format("mlx5_{}", trees.size());
        device.link_up = trees.size() != 5;
        trees.push_back({&device, nullptr});
    }
    return render_device_trees(trees, 0, screen);
}

std::string draw_levels(const Screen& screen)
{
    return render_levels(sample_world().manager.levels, screen);
}

std::string draw_devices(const Screen& screen)
{
    return render_devices(sample_world(), screen);
}

std::string draw_devices_with_long_names(const Screen& screen)
{
    World world = wide_world();
    world.devices[0].attach_mode = "per-process";
    return render_devices(world, screen);
}

std::string draw_device(const Screen& screen)
{
    return render_device(sample_device("mlx5_0"), screen);
}

// With all a device can say.
std::string draw_refusing_device(const Screen& screen)
{
    DeviceView device = sample_hardware();
    device.findings = {
        {.message = fmt::format("{}: requested min-rate 10 Gbit/s, achievable 8.333 Gbit/s: shares are 1 to 100",
                                kWideClass)}};
    device.failures = {{.message = fmt::format("create {}: no space (tried 3 times)", kWideLeaf)}};
    return render_device(device, screen);
}

std::string draw_hardware_report(const Screen& screen)
{
    const DeviceView device = sample_hardware();
    return render_hardware_report(
        make_hardware_report({"6.1.0-18-amd64", "x86_64", "0.1.0"}, "0.2.0", {&device}, Guids::Masked), screen);
}

std::string draw_host(const Screen& screen)
{
    return render_host_queue_pairs(sample_host(), screen);
}

std::string draw_rates(const Screen& screen)
{
    const PortRates counted{.device = "mlx5_0/1",
                            .sent = Bandwidth::from_mbps(71'250),
                            .received = Bandwidth::from_mbps(980),
                            .queue_pairs = 12,
                            .counted = 12,
                            .interval = 1'000'000,
                            .programs = {{.device = "mlx5_0/1",
                                          .level = "training",
                                          .leaf = "/training/process-4711",
                                          .session = 3,
                                          .pid = 4711,
                                          .unit = "job-7.scope",
                                          .command = "python3",
                                          .queue_pairs = 8,
                                          .sent = Bandwidth::from_mbps(70'000),
                                          .received = Bandwidth::from_mbps(980),
                                          .sent_packets = 2'200'000,
                                          .received_packets = 1'900'000},
                                         {.device = "mlx5_0/1",
                                          .session = 4,
                                          .pid = 812,
                                          .unit = "storage-with-a-long-name.service",
                                          .command = "rdma_server",
                                          .queue_pairs = 4,
                                          .sent = Bandwidth::from_kbps(1'250'400),
                                          .received = Bandwidth::from_kbps(312),
                                          .sent_packets = 40'000,
                                          .received_packets = 40}}};
    const PortRates uncounted{.device = "mlx5_1/1",
                              .queue_pairs = 3,
                              .reason = "this kernel does not count what queue pairs of this device send: mlx5 does "
                                        "since Linux 6.16",
                              .interval = 1'000'000};
    return render_rates({counted, uncounted}, RatesBy::Session, {{"mlx5_0/1", Bandwidth::from_gbps(100)}}, screen);
}

std::string draw_not_adopted(const Screen& screen)
{
    return render_host_queue_pairs(sample_not_adopted(), screen);
}

std::string draw_adopted_session(const Screen& screen)
{
    return render_sessions({sample_session_adopted(), sample_session_bulk()}, 0, screen);
}

std::string draw_sessions(const Screen& screen)
{
    return render_sessions(wide_world().sessions, 0, screen);
}

std::string draw_grant(const Screen& screen)
{
    const SessionView session = wide_world().sessions.front();
    api::Grant grant = session.grant;
    grant.level = kWideLevel;
    grant.leaf = kWideLeaf;
    grant.enforced = false;
    grant.reason = session.queue_pairs[0].reason;
    grant.queue_pairs = session.queue_pairs;
    return render_grant("3", grant, screen);
}

WhyReport why_of(const World& world)
{
    WhyReport report;
    report.target = "4711";
    report.sessions = {explain_session(world, world.sessions.front())};
    return report;
}

std::string draw_why(const Screen& screen)
{
    World world = wide_world();
    for (auto& queue_pair : world.sessions[0].queue_pairs) {
        queue_pair.leaf.clear();
    }
    return render_why(why_of(world), screen);
}

std::string draw_why_crowded(const Screen& screen)
{
    World world = wide_world();
    for (auto& queue_pair : world.sessions[0].queue_pairs) {
        queue_pair.enforced = true;
        queue_pair.reason = "class cap 40 Gbit/s split 10 ways";
    }
    WhyReport report = why_of(world);
    report.ports = {{world.devices[0].key(), Bandwidth::from_gbps(100), Bandwidth::from_kbps(99'999'999),
                     Bandwidth::from_kbps(12'345'678)}};
    return render_why(report, screen);
}

std::string draw_why_unregistered(const Screen& screen)
{
    WhyReport report;
    report.note = "process 4711 (ib_send_bw) has not registered: what it sends is outside the tree, without "
                  "share, guarantee or cap";
    report.advice = {
        fmt::format("if it registered and asked for nothing, it would be in level {}: {}", kWideLevel, kWideRule)};
    return render_why(report, screen);
}

// Of its queue pairs some are adopted.
std::string draw_why_adopted(const Screen& screen)
{
    World world = sample_world();
    world.sessions = {sample_session_adopted()};
    world.manager.adoption = {"adopt", "", 1, 2};
    WhyReport report = why_of(world);
    report.note = "not adopted, and so outside the tree: 11 queue pairs";
    report.queue_pairs = sample_not_adopted();
    report.advice = advice_on(report.queue_pairs, world.manager.adoption);
    return render_why(report, screen);
}

std::string draw_drift(const Screen& screen)
{
    return render_drift({{"mlx5_0/1", kWideLeaf, "changed", "share 60, max 40 Gbit/s below /site/tenants/gold",
                          "share 10, max 40 Gbit/s below /site/tenants/gold"}},
                        screen);
}

std::string draw_rules(const Screen& screen)
{
    const RuleView of_job{
        "slurm-job-4711",
        {"/run/rdma-qos/policy.d/10-slurm-job-4711.yaml",
         {},
         {parse_time("2026-11-23T22:00:00Z"), "slurm-job-4711", "/system.slice/slurmstepd.scope/job_4711"},
         {}},
        {}};
    RuleView ended{
        "70-night", {"/run/rdma-qos/policy.d/70-night.yaml", {}, {parse_time("2026-11-22T22:00:00Z"), "", ""}, {}}, {}};
    ended.skipped = SkippedFile{ended.file.path, WhySkipped::Ended, {}, "its time has passed (2026-11-22T22:00:00Z)"};
    return render_rules({of_job, ended}, screen) + render_rules({}, screen);
}

const Transient kForAWhile{parse_time("2026-11-23T20:29:30Z"), "", ""};
const OverrideView kOverrideForAWhile{"rpc", "max-rate", "40 Gbit/s", "80 Gbit/s", kForAWhile, "90-override-rpc.yaml"};
const std::chrono::system_clock::time_point kWhenOverridden = *parse_time("2026-11-23T20:00:00Z");

std::string draw_overrides(const Screen& screen)
{
    const OverrideView ended{"bulk", "share", "5", "", kForAWhile, "90-override-bulk.yaml"};
    const Transient with_job{{}, "", "/system.slice/slurmstepd.scope/job_4711"};
    const OverrideView of_job{"a level with a long name",
                              "per-queue-pair-max-rate",
                              "2 Gbit/s",
                              "unlimited",
                              with_job,
                              "/run/rdma-qos/policy.d/90-override-long.yaml"};
    const OverrideView endless{"gone", "min-rate", "5 Gbit/s", "", {}, "/run/rdma-qos/policy.d/90-override-gone.yaml"};
    return render_overrides(
               {{kOverrideForAWhile, "applied"}, {ended, "ended"}, {of_job, "applied"}, {endless, "no-effect"}},
               kWhenOverridden, screen) +
           render_overrides({}, kWhenOverridden, screen);
}

std::string draw_status_overridden(const Screen& screen)
{
    World world = sample_world();
    world.at = kWhenOverridden;
    const auto& [level, property, value, in_place_of, transient, file] = kOverrideForAWhile;
    world.manager.levels.at(1).overrides = {
        {.property = property, .value = value, .in_place_of = in_place_of, .until = transient.until}};
    return render_status(world, find_problems(world), screen) + render_levels(world.manager.levels, screen);
}

// Of what was done to two devices: to one all of it.
std::vector<api::DeviceResult> results()
{
    return {{"mlx5_0/1", 0},
            {"rocep59s0f0np0/1",
             2,
             {{.message = fmt::format("destroy {}: it holds queue pairs (tried 2 times)", kWideLeaf)}}}};
}

std::string draw_reconciled(const Screen& screen)
{
    return render_reconciled(results(), screen);
}

std::string draw_disabled(const Screen& screen)
{
    return render_switched(results(), "disabled", screen);
}

std::string draw_enabled(const Screen& screen)
{
    return render_switched(results(), "enabled", screen);
}

std::string draw_released(const Screen& screen)
{
    return render_switched(results(), "released", screen);
}

std::string draw_check(const Screen& screen)
{
    return render_check(wide_check(false), screen);
}

std::string draw_check_refused(const Screen& screen)
{
    return render_check(wide_check(true), screen);
}

// Diagnostics quote the lines of a file, and are never broken.
std::string draw_check_mistaken(const Screen& screen)
{
    return render_check(mistaken_check(), screen);
}

std::string draw_plan(const Screen& screen)
{
    return render_plans(moves(1500), false, screen);
}

std::string draw_plan_of_few(const Screen& screen)
{
    return render_plans(moves(3), false, screen);
}

std::string draw_plan_with_long_names(const Screen& screen)
{
    return render_plans(wide_plan(), false, screen);
}

std::string draw_simulation(const Screen& screen)
{
    return render_simulation(wide_simulation(false), screen);
}

std::string draw_simulation_over_time(const Screen& screen)
{
    return render_simulation(wide_simulation(true), screen);
}

// The daemon's text, or that of the files.
std::string draw_explanation(const Screen& screen)
{
    return render_note("no daemon runs: answered from /etc/rdma-qos/policy.yaml, "
                       "/etc/rdma-qos/policy.d/50-tenants.yaml, as uid 1000",
                       screen) +
           lines_on(screen, read_text(source_dir() + "/tests/golden/explain/refused-by-allow.txt"));
}

std::string draw_refusal_explained(const Screen& screen)
{
    return render_note("answered by the running daemon", screen) +
           lines_on(screen, read_text(source_dir() + "/tests/golden/explain/default-refused.txt"));
}

api::PathAnswer sample_answer()
{
    return {.level = "rpc",
            .rule = "match rule 12 (/etc/rdma-qos/policy.d/storage.yaml:40:5)",
            .source = "fd00::1",
            .destination = "fd00::2",
            .mtu = 4096,
            .sl = 3};
}

std::string draw_answers(const Screen& screen)
{
    return render_answers({sample_answer()}, screen);
}

std::string draw_answers_without_path(const Screen& screen)
{
    api::PathAnswer far = sample_answer();
    far.source = "2001:db8:1234:5678:9abc:def0:1234:5678";
    far.destination = "2001:db8:1234:5678:9abc:def0:1234:9abc";
    const api::PathAnswer none{.source = "fd00::1",
                               .destination = "fd00::3",
                               .error = "org.rdmaqos1.Error.NoMatchingPath",
                               .message = "SL 5 was requested; level storage has SL 1"};
    return render_answers({far, none}, screen);
}

std::string draw_broadcast(const Screen& screen)
{
    return render_broadcast(wide_broadcast(), screen);
}

std::string draw_changes(const Screen& screen)
{
    Narrator narrator([](const std::string&, const char*) {
        return std::optional(
            dict({{"Owner", dict({{"pid", 4711U}, {"uid", 4294967290U}, {"command", "ib_send_bw"}})}}));
    });
    const std::string root = "/org/rdmaqos1";
    const bus::Dict grant = dict({{"level", kWideLevel},
                                  {"enforced", false},
                                  {"reason", "the device's leaves are used up; 12 processes share the fallback leaf"}});
    const std::vector<bus::Signal> signals{
        {root, "org.rdmaqos1.Manager", "PolicyChanged", {"9f3a2c11"}},
        {root + "/session/3", "org.rdmaqos1.Session", "GrantChanged", {grant}},
    };
    std::string text;
    for (const auto& signal : signals) {
        text += render_change("2026-03-01 12:34:56.789", narrator.sentence(signal), screen);
    }
    return text;
}

struct Shot {
    const char* verb;
    const char* golden;    // in tests/golden/ctl/screens
    std::string (*draw)(const Screen&);
};

std::ostream& operator<<(std::ostream& out, const Shot& shot)
{
    return out << shot.golden;
}

const Shot kShots[] = {
    {"check", "check", draw_check},
    {"check", "check-mistaken", draw_check_mistaken},
    {"check", "check-refused", draw_check_refused},
    {"devices", "device", draw_device},
    {"devices", "device-refusing", draw_refusing_device},
    {"devices", "devices", draw_devices},
    {"devices", "devices-long-names", draw_devices_with_long_names},
    {"disable", "disable", draw_disabled},
    {"enable", "enable", draw_enabled},
    {"explain", "explain", draw_explanation},
    {"explain", "explain-refused", draw_refusal_explained},
    {"hardware-report", "hardware-report", draw_hardware_report},
    {"levels", "levels", draw_levels},
    {"monitor", "monitor", draw_changes},
    {"override", "override", draw_overrides},
    {"plan", "plan", draw_plan},
    {"plan", "plan-few", draw_plan_of_few},
    {"plan", "plan-long-names", draw_plan_with_long_names},
    {"query-path", "query-path", draw_answers},
    {"query-path", "query-path-broadcast", draw_broadcast},
    {"query-path", "query-path-none", draw_answers_without_path},
    {"reconcile", "reconcile", draw_reconciled},
    {"release", "release", draw_released},
    {"request", "request", draw_grant},
    {"rule", "rule", draw_rules},
    {"qps", "qps", draw_host},
    {"qps", "qps-not-adopted", draw_not_adopted},
    {"sessions", "sessions", draw_sessions},
    {"sessions", "sessions-adopted", draw_adopted_session},
    {"simulate", "simulate", draw_simulation},
    {"simulate", "simulate-steps", draw_simulation_over_time},
    {"status", "status", draw_status},
    {"status", "status-overridden", draw_status_overridden},
    {"status", "status-without-adoption", draw_status_without_adoption},
    {"top", "top", draw_rates},
    {"tree", "tree", draw_tree},
    {"tree", "tree-alike", draw_trees_of_one_kind},
    {"tree", "tree-busy", draw_busy_tree},
    {"verify", "verify", draw_drift},
    {"why", "why", draw_why},
    {"why", "why-adopted", draw_why_adopted},
    {"why", "why-crowded", draw_why_crowded},
    {"why", "why-unregistered", draw_why_unregistered},
};

// Paged, but documents for another program, which are the same wherever they go.
const std::set<std::string_view> kDocuments{"metrics", "show-config"};

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

class Screens : public testing::TestWithParam<Shot> {};

// Each on four screens, one after the other. Colours change nothing but the colours.
TEST_P(Screens, FitAndAreAsDrawn)
{
    std::string text;
    for (const std::size_t columns : {80U, 120U}) {
        const std::string plain = GetParam().draw(Screen(Colour::Off, columns));
        const std::string coloured = GetParam().draw(Screen(Colour::On, columns));
        EXPECT_EQ(without_colours(coloured), plain);
        for (const auto line : lines_of(plain)) {
            EXPECT_LE(display_width(line), columns) << line;
        }
        text += fmt::format("===== {} columns\n{}===== {} columns, colours\n{}", columns, plain, columns,
                            visible(coloured));
    }
    expect_golden(fmt::format("ctl/screens/{}.txt", GetParam().golden), text);
}

INSTANTIATE_TEST_SUITE_P(OfVerbs, Screens, testing::ValuesIn(kShots), [](const auto& shot) {
    std::string name = shot.param.golden;
    std::ranges::replace(name, '-', '_');
    return name;
});

TEST(AllScreens, AreOfEachVerbThatShowsSomething)
{
    std::set<std::string_view> drawn;
    for (const auto& shot : kShots) {
        drawn.emplace(shot.verb);
    }
    for (const Verb* verb : all_verbs()) {
        const bool is_screen = verb->paged && !kDocuments.contains(verb->name);
        EXPECT_TRUE(drawn.contains(verb->name) || !is_screen) << verb->name << " has no screen among kShots";
        drawn.erase(verb->name);
    }
    EXPECT_THAT(drawn, IsEmpty()) << "there is no such verb";
}

TEST(AllScreens, AreDrawn)
{
    std::set<std::string> drawn;
    for (const auto& shot : kShots) {
        EXPECT_TRUE(drawn.insert(fmt::format("{}.txt", shot.golden)).second) << shot.golden << " is drawn twice";
    }
    std::set<std::string> kept;
    for (const auto& file : std::filesystem::directory_iterator(source_dir() + "/tests/golden/ctl/screens")) {
        kept.insert(file.path().filename());
    }
    EXPECT_EQ(drawn, kept);
}

TEST(AllScreens, AreAsWideAsItTakesWhereThereIsNone)
{
    for (const auto& shot : kShots) {
        const std::string wide = shot.draw(Colour::Off);
        EXPECT_EQ(wide, shot.draw(Screen(Colour::Off, 2000))) << shot.golden;
    }
}

TEST(Tree, DevicesOfOneKindAreDrawnOnce)
{
    const std::string text = draw_trees_of_one_kind(Colour::Off);
    EXPECT_THAT(text, HasSubstr("\nthe same: mlx5_1/1, mlx5_2/1, mlx5_3/1, mlx5_4/1, mlx5_6/1, mlx5_7/1\n"));
    EXPECT_THAT(text, HasSubstr("\n\nmlx5_5/1  ready, down"));
}

TEST(Plan, ManyMovesAreCountedAndVerboseListsThem)
{
    const std::string text = draw_plan(Colour::Off);
    EXPECT_THAT(text, HasSubstr("\nthe same: mlx5_1/1\n"));
    EXPECT_THAT(text, HasSubstr("  move 1500 queue pairs from /rpc to /gold\n"));
    EXPECT_THAT(text, HasSubstr("  detach queue pair 9 from /old\n")) << "one is named";
    EXPECT_THAT(text, HasSubstr("`--verbose` lists each"));
    EXPECT_LT(lines_of(text).size(), 20U);
    const std::string verbose = render_plans(moves(1500), true, Colour::Off);
    EXPECT_THAT(verbose, HasSubstr("move queue pair 1500 from /rpc to /gold\n"));
    EXPECT_GT(lines_of(verbose).size(), 3000U);
}

}    // namespace
}    // namespace rdmaqos::ctl
