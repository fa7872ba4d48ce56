// Each key of a record is written by the conversion when there is something to say.
#include <set>

#include <gmock/gmock.h>

#include "daemon/bus/convert_out.h"
#include "daemon/bus/convert_report.h"
#include "daemon/bus/host_listing.h"
#include "lib/api/device.h"
#include "lib/api/policy.h"
#include "lib/api/port.h"
#include "lib/api/report.h"
#include "lib/api/session.h"
#include "tests/support/bus_pair.h"
#include "tests/support/fake_ports.h"

namespace rdmaqos {
namespace {

using bus::Dict;
using bus::Writer;
using testing::UnorderedElementsAreArray;

using Keys = std::set<std::string>;

template <typename Write>
bus::Value written(const Write& write)
{
    const test::LoneBus bus;
    const auto message = bus.written(write);
    auto value = bus::read_value(message.get());
    return value ? std::move(*value) : throw std::runtime_error(to_string(value.error()));
}

// Of the dictionary, or of all that are listed.
Keys keys_in(const bus::Value& value)
{
    Keys keys;
    const auto add = [&keys](const Dict& dict) {
        for (const auto& [key, entry] : dict.entries()) {
            keys.insert(key + " " + bus::signature(entry));
        }
    };
    if (const auto* dict = value.as<Dict>()) {
        add(*dict);
    } else if (const auto* dicts = value.as<std::vector<Dict>>()) {
        std::ranges::for_each(*dicts, add);
    }
    return keys;
}

// Of the list at this key.
const bus::Value& at(const bus::Value& value, std::string_view key)
{
    const auto* dict = value.as<Dict>();
    if (dict == nullptr) {
        dict = &value.as<std::vector<Dict>>()->front();
    }
    return *dict->find(key);
}

void expect_all(const std::vector<api::Row>& table, const Keys& keys, const char* what)
{
    std::vector<std::string> expected;
    for (const auto& [name, type, meaning] : table) {
        expected.push_back(std::string(name) + " " + std::string(type));
    }
    EXPECT_THAT(keys, UnorderedElementsAreArray(expected)) << what;
}

const Bandwidth kSomeRate = Bandwidth::from_mbps(1000);
const ElementPath kTreeRoot = ElementPath::root();
const ElementPath kSomeLeaf("/a");
const Finding kSomeFinding{FindingKind::CapLost, true, kSomeLeaf, "asked", "got", "because"};

const auto kLost = std::make_shared<const LostLevel>(
    LostLevel{"old", LossReason::Renamed, "new", true, "abc", std::chrono::sys_seconds(std::chrono::seconds(7))});

Grant full_grant()
{
    Grant grant;
    grant.level = "rpc";
    grant.sl = 3;
    grant.mtu = 4096;
    grant.rate = kSomeRate;
    grant.packet_life = 16;
    grant.pkey = 1;
    grant.traffic_class = 104;
    grant.sl_of_host = true;
    grant.share = 60;
    grant.max_rate = kSomeRate;
    grant.max_rate_now = kSomeRate;
    grant.per_queue_pair.max_rate = kSomeRate;
    grant.per_queue_pair.max_burst = 65536;
    grant.per_queue_pair.typical_packet = 1024;
    grant.message_model = MessageModel::ForceLowLatency;
    grant.leaf = "/rpc";
    grant.cause = "pending";
    grant.reason = "the device is about to do it";
    grant.lost = kLost;
    grant.detached_devices = {"mlx5_1/1"};
    grant.returned_devices = {"mlx5_1/1"};
    grant.losses = 2;
    return grant;
}

QueuePairResult full_result()
{
    QueuePairResult result;
    result.device = "mlx5_0/1";
    result.number = 17;
    result.level = "rpc";
    result.rule = "match rule 1";
    result.leaf = "/rpc";
    result.responder_leaf = "/rpc/responses";
    result.rate = RateLimit{kSomeRate, 4096, 1024};
    result.max_rate_now = kSomeRate;
    result.owner_verified = false;
    result.cause = "pending";
    result.reason = "the device is about to do it";
    result.lost = kLost;
    result.error = Error{ErrorCode::BadState, 0, "it is in RESET"};
    return result;
}

Diagnostics full_diagnostics()
{
    Diagnostics diagnostics;
    const auto file = std::make_shared<SourceFile>(SourceFile{"p.yaml", std::string(400, 'x')});
    diagnostics.error({file, 1, 300, 2}, "wrong").hint = "correct it";
    for (std::size_t i = 0; i < Diagnostics::kMaxKept; ++i) {
        diagnostics.warning({}, "one of many");
    }
    return diagnostics;
}

TEST(AnswerKeys, OfSessions)
{
    const auto reply = written([](Writer& writer) {
        write(writer, RegisterReply{SessionId{1}, full_grant(), {full_result()}});
    });
    expect_all(api::rows<api::Grant>(), keys_in(reply), "grant");
    expect_all(api::rows<api::QueuePair>(), keys_in(at(reply, "queue-pairs")), "queue pair");

    Identity owner;
    owner.unit = "a.service";
    owner.cgroup = "/a";
    owner.slurm_job = "1";
    owner.kubernetes_pod = "1f";
    owner.executable = "/bin/a";
    owner.command = "a";
    expect_all(api::rows<api::Owner>(), keys_in(written([&](Writer& writer) { write(writer, owner); })), "owner");
}

TEST(AnswerKeys, OfCountedSessions)
{
    SessionCounts counts;
    counts.of_users[1000] = {2, 3};
    counts.detached = 1;
    const auto lost = std::make_shared<LostLevel>(LostLevel{"rpc", LossReason::Renamed, "fast", true, "1f", {}});
    counts.lost[lost] = {1, 2};
    counts.unenforced["device-refused"] = 1;
    expect_all(api::rows<api::SessionCount>(), keys_in(written([&](Writer& writer) { write(writer, counts); })),
               "session count");
}

TEST(AnswerKeys, OfTheHost)
{
    Identity owner;
    owner.unit = "a.service";
    owner.command = "a";
    HostQueuePair seen;
    seen.device = "mlx5_0";
    seen.tracked.state = QueuePairState::Rts;
    seen.tracked.remote = 18;
    seen.tracked.kernel_name = "ib_core";
    seen.owner = std::make_shared<Identity>(owner);
    HostStanding standing;
    standing.session = SessionId{1};
    standing.result = full_result();
    standing.outside = kNotAdoptable;
    standing.mark = QueuePairMark{.dscp = 26, .priority = 3};
    standing.mark_unseen = "asked for";
    const auto of = [&] { return written([&](Writer& writer) { write(writer, seen, standing); }); };
    expect_all(api::rows<api::HostQueuePair>(), keys_in(of()), "queue pair of the host");
    EXPECT_EQ(*at(of(), "reason").as<std::string>(), "the device is about to do it") << "of the result";
    standing.result->reason.clear();
    EXPECT_FALSE(keys_in(of()).contains("reason s"));

    standing = {};
    standing.outside = kNotAdoptable;
    EXPECT_FALSE(keys_in(of()).contains("reason s")) << "the word says it all";
    standing.level = "rpc";
    EXPECT_EQ(*at(of(), "level").as<std::string>(), "rpc");
    standing.reason = "made through DEVX: use `rdma-qos-run`";
    EXPECT_EQ(*at(of(), "reason").as<std::string>(), standing.reason);
}

TEST(AnswerKeys, OfAdoption)
{
    AdoptionStatus adoption{Unregistered::Adopt, "the helper is not there", 12, 96, {}};
    const auto of = [&] { return written([&](Writer& writer) { write(writer, adoption); }); };
    expect_all(api::rows<api::Adoption>(), keys_in(of()), "adoption");
    EXPECT_EQ(at(of(), "programs").as_unsigned(), 12U);
    EXPECT_EQ(at(of(), "queue-pairs").as_unsigned(), 96U);
    for (const auto& [setting, word] :
         {std::pair(Unregistered::Ignore, "ignore"), {Unregistered::Count, "count"}, {Unregistered::Adopt, "adopt"}}) {
        adoption.setting = setting;
        EXPECT_EQ(*at(of(), "setting").as<std::string>(), word);
    }
    adoption = {};
    EXPECT_FALSE(keys_in(of()).contains("unavailable s"));
    EXPECT_EQ(at(of(), "programs").as_unsigned(), 0U);
}

TEST(AnswerKeys, OfPorts)
{
    PortStatus status{.reading = PortReading::Read,
                      .netdev = "eth0",
                      .driver = "mlx5_core",
                      .settings = test::three_classes(),
                      .read_at = WallTime(std::chrono::seconds(7)),
                      .last_change = PortChange{WallTime(std::chrono::seconds(5)), "the tool dcb"}};
    status.settings.buffers.emplace().total = 262'144;
    status.care = {.keeping = PortKeeping::Stopped,
                   .reason = "others set it",
                   .repairs = 2,
                   .drift = PortDrift{{}, "the tool dcb", "weights"},
                   .findings = {kSomeFinding},
                   .notes = {"lldpad runs"},
                   .cnp_dscp = 48};
    const auto of = [&] { return written([&](Writer& writer) { write(writer, status); }); };
    Keys keys = keys_in(of());
    keys.insert("reason s");    // of those that were not read
    expect_all(api::rows<api::Port>(), keys, "port");
    expect_all(api::rows<api::PortPriority>(), keys_in(at(of(), "priorities")), "priority");
    expect_all(api::rows<api::PortClass>(), keys_in(at(of(), "classes")), "class");
    expect_all(api::rows<api::PortApplication>(), keys_in(at(of(), "applications")), "application");
    expect_all(api::rows<api::PortBuffer>(), keys_in(at(of(), "buffers")), "buffer");
    expect_all(api::rows<api::PortChange>(), keys_in(at(of(), "last-change")), "change");
    const auto all = of();
    const auto& care = at(all, "management");
    expect_all(api::rows<api::PortCare>(), keys_in(care), "management");
    expect_all(api::rows<api::PortDrift>(), keys_in(at(care, "drift")), "drift");

    for (const auto& [reading, word] : {std::pair(PortReading::Off, "off"),
                                        {PortReading::None, "none"},
                                        {PortReading::Pending, "pending"},
                                        {PortReading::Failed, "failed"}}) {
        status = {.reading = reading, .reason = "no answer"};
        EXPECT_EQ(keys_in(of()), (Keys{"state s", "reason s"}));
        EXPECT_EQ(*at(of(), "state").as<std::string>(), word);
    }
}

TEST(AnswerKeys, OfPaths)
{
    Request request;
    request.source = Endpoint(Guid{1});
    request.destination = Endpoint(Guid{2});
    const PathResult path{
        "rpc", "match rule 1", {IbMtu::Mtu4096, *ib_rate_from_number(7), 16, 1, 3, true, true}, 104, true};
    Keys keys = keys_in(written([&](Writer& writer) { write(writer, request, Result<PathResult>(path)); }));
    keys.merge(keys_in(written([&](Writer& writer) {
        write(writer, request, Result<PathResult>(fail(ErrorCode::NoMatchingPath, "no port has this GUID")));
    })));
    expect_all(api::rows<api::PathAnswer>(), keys, "path");
}

TEST(AnswerKeys, OfLevels)
{
    QosLevel level;
    level.name = "rpc";
    level.use = "calls";
    level.sl = 3;
    level.mtu_limit = IbMtu::Mtu4096;
    level.rate_limit = *ib_rate_from_number(7);
    level.packet_life = 16;
    level.traffic_class = 104;
    level.schedule.emplace();
    level.schedule->rate.share = 60;
    level.schedule->strict = true;
    level.schedule->rate.min_rate = kSomeRate;
    level.schedule->rate.max_rate = kSomeRate;
    level.schedule->rate.min_part = level.schedule->rate.max_part = Percentage::from_hundredths(2500);
    level.schedule->fair_cgroup = "/a/*";
    level.schedule->principal.max_rate = kSomeRate;
    level.schedule->principal.max_part = Percentage::from_hundredths(2500);
    level.schedule->leaf_budget = 64;
    level.devices.emplace_back().name = "mlx5_0";
    level.per_queue_pair.max_rate = kSomeRate;
    level.message_model = MessageModel::Default;
    level.renamed_from = {"calls"};
    level.mode = Mode::Monitor;
    Policy policy;
    policy.levels = {level};
    const auto file = std::make_shared<const SourceFile>(SourceFile{"/run/rdma-qos/policy.d/90-x.yaml", ""});
    const std::chrono::sys_seconds until{std::chrono::seconds(1'800'000'000)};
    policy.overrides = {{0, "max-rate", "10 Gbit/s", "25 Gbit/s", {until, "me", "/job"}, {file, 5, 7, 6}}};
    const auto written_level = written([&](Writer& writer) { write(writer, policy, policy.levels[0], LevelUse{}); });
    expect_all(api::rows<api::Level>(), keys_in(written_level), "level");
    expect_all(api::rows<api::Override>(), keys_in(at(written_level, "overrides")), "override");
}

TEST(AnswerKeys, OfDevices)
{
    Capabilities capabilities;
    capabilities.pacing.table_size = 128;
    capabilities.pacing.min_rate = kSomeRate;
    capabilities.pacing.max_rate = kSomeRate;
    expect_all(api::rows<Capabilities>(), keys_in(written([&](Writer& writer) { write(writer, capabilities); })),
               "capabilities");
    expect_all(api::rows<api::Counters>(), keys_in(written([](Writer& writer) { write(writer, CounterReading{}); })),
               "counters");
    const std::vector<SelfTestStep> steps{{"create a leaf", false, 121, 3, 7, "refused", "shared leaf"}};
    expect_all(api::rows<api::SelfTestStep>(), keys_in(written([&](Writer& writer) { write(writer, steps); })),
               "self-test");

    auto snapshot = std::make_shared<Snapshot>();
    snapshot->actual.elements = {{ElementId{1}, {kTreeRoot, ElementKind::Node, std::nullopt, {}}},
                                 {ElementId{2}, {kSomeLeaf, ElementKind::Leaf, ElementId{1}, {1, kSomeRate}}}};
    snapshot->failures = {{kSomeLeaf, "create", {ErrorCode::NoSpace, 0, "no"}, 3, true}};
    snapshot->unreachable = {{kSomeLeaf, "no leaf is free"}};
    DeviceStatus status;
    status.snapshot = snapshot;
    status.requested = {{kSomeLeaf, {60, kSomeRate}}};
    status.findings = {kSomeFinding};
    status.attach_notes = {"a note"};
    expect_all(api::rows<api::TreeElement>(), keys_in(written([&](Writer& writer) { write_tree(writer, status); })),
               "tree");
    Keys failures = keys_in(written([&](Writer& writer) { write_failures(writer, status); }));
    failures.insert("device s");    // of a report
    expect_all(api::rows<api::Failure>(), failures, "failures");
    Keys findings = keys_in(written([&](Writer& writer) { write_findings(writer, status); }));
    findings.insert({"device s", "verdict s"});    // of a report
    expect_all(api::rows<api::Finding>(), findings, "findings");

    const auto result = written([&](Writer& writer) {
        write(writer, DeviceReconcile{"mlx5_0/1", 2, snapshot->failures});
    });
    expect_all(api::rows<api::DeviceResult>(), keys_in(result), "result");
    const std::vector<DeviceDrift> drifts{
        {"mlx5_0/1", {Drift{kSomeLeaf, DriftKind::Share, "60", "10", false, std::nullopt}}, snapshot->failures}};
    const auto written_drifts = written([&](Writer& writer) { write(writer, drifts); });
    expect_all(api::rows<api::Drift>(), keys_in(written_drifts), "drift");
    const auto* listed = written_drifts.as<std::vector<bus::Dict>>();
    ASSERT_TRUE(listed != nullptr && listed->size() == 2);
    EXPECT_EQ(*listed->back().find("kind")->as<std::string>(), "not-written");
}

TEST(AnswerKeys, OfReloads)
{
    ReloadOutcome outcome;
    outcome.revision = "abc";
    outcome.diagnostics = full_diagnostics();
    outcome.findings = {{"mlx5_0/1", kSomeFinding, FindingVerdict::Refuses}};
    outcome.left_out = {{"mlx5_2/1", LeftOutDevice::Why::Released}};
    outcome.unanswered = {"mlx5_1/1"};
    outcome.losses = {{"old", LossReason::Renamed, "new", 1, 2}};
    outcome.failures = {{"mlx5_0/1", {kSomeLeaf, "create", {ErrorCode::NoSpace, 0, "no"}, 3, true}}};
    outcome.ended_trial = "0123";
    auto who = std::make_shared<Identity>();
    who->command = "rdma-qosctl";
    const TrialOutcome trial{outcome, TrialStatus{"abc", "def", "123", std::chrono::seconds(60), who}};
    const auto report = written([&](Writer& writer) { write(writer, trial, Quote::Lines); });
    expect_all(api::rows<api::Reload>(), keys_in(report), "reload");
    EXPECT_FALSE(
        keys_in(written([&](Writer& writer) { write(writer, outcome, Quote::Lines); })).contains("seconds-left u"));
    expect_all(api::rows<api::Trial>(), keys_in(written([&](Writer& writer) { write(writer, trial.trial); })), "trial");
    expect_all(api::rows<api::Diagnostic>(), keys_in(at(report, "diagnostics")), "diagnostics");
    expect_all(api::rows<api::Finding>(), keys_in(at(report, "findings")), "findings");
    expect_all(api::rows<api::LeftOut>(), keys_in(at(report, "left-out")), "left-out");
    expect_all(api::rows<api::Failure>(), keys_in(at(report, "failures")), "failures");

    const auto unquoted = written([&](Writer& writer) { write(writer, outcome, Quote::Nothing); });
    const Keys keys = keys_in(at(unquoted, "diagnostics"));
    EXPECT_FALSE(keys.contains("quote s") || keys.contains("quote-offset u"));
}

// What puts back the traffic classes of a port is written in any mode.
TEST(AnswerKeys, AMonitoringPlanWritesWhatPutsBackAPort)
{
    PlanReport report;
    const auto writes = [&report] {
        const auto plan = written([&](Writer& writer) { write(writer, report, Quote::Lines); });
        return *plan.as<bus::Dict>()->find("writes")->as<bool>();
    };
    EXPECT_TRUE(writes());
    report.monitors = true;
    EXPECT_FALSE(writes());
    DevicePlan device;
    device.port = PortPlan{};
    report.devices = {device};
    EXPECT_FALSE(writes()) << "the port is so already";
    report.devices.front().port->steps = {{"removes the mapping of DSCP 26", ""}};
    EXPECT_TRUE(writes());
}

TEST(AnswerKeys, OfPlans)
{
    PlanReport report;
    report.revision = "abc";
    report.diagnostics = full_diagnostics();
    report.levels = {{"rpc", PolicyChangeKind::New, "new"}};
    report.parts = {{PolicyPart::MatchRule, "1", PolicyChangeKind::New, "new"}};
    report.more_parts = 1;
    report.monitors = true;
    SessionChange moved;
    auto owner = std::make_shared<Identity>();
    owner->unit = "a.service";
    owner->command = "a";
    moved.owner = owner;
    moved.device = "mlx5_0/1";
    moved.level_before = "bulk";
    moved.level_after = "rpc";
    moved.leaf_before = "/bulk";
    moved.leaf_after = "/rpc";
    moved.rule_after = "match rule 1";
    moved.loss = LossReason::NoRule;
    report.sessions = {moved};
    report.losses = {{"old", LossReason::Renamed, "new", 1, 2}};
    DevicePlan device;
    device.before.elements = {{ElementId{1}, {kTreeRoot, ElementKind::Node, std::nullopt, {}}},
                              {ElementId{2}, {kSomeLeaf, ElementKind::Leaf, ElementId{1}, {1, kSomeRate}}}};
    const RateLimit limit{kSomeRate, 4096, 1024};
    device.before.queue_pairs = {{{17}, {ElementId{2}, ElementId{2}, limit}}};
    device.plan.operations = {
        CreateElement{ElementId{3}, {ElementPath("/b"), ElementKind::Leaf, ElementId{1}, {2, kSomeRate}}},
        ModifyElement{ElementId{2}, kSomeLeaf, 5, std::optional(kSomeRate)},
        MoveQueuePair{{17}, ElementId{3}, ElementId{3}}, SetQueuePairRate{{17}, limit}};
    device.plan.unreachable = {{kSomeLeaf, "no leaf is free"}};
    device.requested_before = device.requested_after = {{kSomeLeaf, {60, kSomeRate}}};
    device.findings = {{"mlx5_0/1", kSomeFinding, FindingVerdict::Refuses}};
    device.rates = {{kSomeLeaf, {kSomeRate, kSomeRate}}};
    device.port = PortPlan{
        "eth0", "a table", {{"maps DSCP 10 to priority 3", "takes the link down"}}, {kSomeFinding}, {"a note"}};
    report.devices = {device};
    report.refusal = "mlx5_0/1: no";
    report.left_out = {{"mlx5_2/1", LeftOutDevice::Why::Released}};
    const auto plan = written([&](Writer& writer) { write(writer, report, Quote::Lines); });
    expect_all(api::rows<api::Plan>(), keys_in(plan), "plan");
    expect_all(api::rows<api::LevelChange>(), keys_in(at(plan, "levels")), "levels");
    expect_all(api::rows<api::PartChange>(), keys_in(at(plan, "changes")), "changes");
    expect_all(api::rows<api::SessionChange>(), keys_in(at(plan, "sessions")), "sessions");
    expect_all(api::rows<api::LevelLoss>(), keys_in(at(plan, "lost-levels")), "lost levels");
    const auto& one = at(plan, "devices");
    expect_all(api::rows<api::DevicePlan>(), keys_in(one), "devices");
    expect_all(api::rows<DescribedElement>(), keys_in(at(one, "tree")), "tree");
    expect_all(api::rows<DescribedOperation>(), keys_in(at(one, "operations")), "operations");
    expect_all(api::rows<Unreachable>(), keys_in(at(one, "unreachable")), "unreachable");
    expect_all(api::rows<std::pair<ElementPath, BusyRate>>(), keys_in(at(one, "rates")), "rates");
    const auto& port = at(one, "port-classes");
    expect_all(api::rows<api::PortPlan>(), keys_in(port), "port");
    expect_all(api::rows<api::PortStep>(), keys_in(at(port, "steps")), "steps");
}

}    // namespace
}    // namespace rdmaqos
