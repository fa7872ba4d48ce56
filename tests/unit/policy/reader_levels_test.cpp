#include "tests/unit/policy/reader_support.h"

namespace rdmaqos::test {
namespace {

TEST(ReadLevels, TakesEveryKey)
{
    const Policy policy = read_good(R"(
scheduling-nodes: [{name: tenants, use: what users run, share: 70, max-rate: 80Gbps}]
qos-levels:
  - {name: DEFAULT}
  - name: rpc
    use: latency-sensitive RPC
    sl: 0x3
    mtu-limit: 4096
    rate-limit: 40Gbps
    packet-life: 16
    pkey: [0x1234, 0x9000-0x9002]
    dscp: 26
    sl-source: host
    schedule:
      parent: TENANTS
      min-rate: 10Gbps
      max-rate: 40.5Gbps
      fair-by: process
      leaf-budget: 64
      responder: {share: 20, max-rate: 20Gbps}
    per-queue-pair: {max-rate: 5Gbps, max-burst: 64KiB, typical-packet: 1024}
    message-model: force-low-latency
    allow: {user: [alice, 0], group: hpc, unit: ["job-*.scope"], cgroup: /slurm/*}
    mode: monitor
    log: yes
    adopt: no
    renamed-from: [Calls, 7]
)");
    ASSERT_EQ(policy.levels.size(), 2U);
    EXPECT_EQ(policy.levels[1].renamed_from, (std::vector<std::string>{"Calls", "7"}));
    EXPECT_EQ(policy.find_renamed_level("calls"), &policy.levels[1]);
    EXPECT_EQ(policy.find_renamed_level("rpc"), nullptr);
    EXPECT_EQ(policy.find_level("calls"), nullptr) << "for rules there is no such level";
    const QosLevel& level = policy.levels[1];
    EXPECT_EQ(policy.default_level, 0U);
    EXPECT_EQ(policy.find_level("RPC"), &level);
    EXPECT_EQ(level.use, "latency-sensitive RPC");
    EXPECT_EQ(level.sl, 3);
    EXPECT_EQ(level.mtu_limit, IbMtu::Mtu4096);
    EXPECT_EQ(level.rate_limit, ib_rate_from_number(7));
    EXPECT_EQ(level.packet_life, 16);
    EXPECT_EQ(level.pkeys, IntervalSet({{0x1000, 0x1002}, {0x1234, 0x1234}}));
    EXPECT_EQ(level.traffic_class, 104);
    EXPECT_EQ(level.sl_source, SlSource::Host);
    ASSERT_TRUE(level.schedule);
    EXPECT_EQ(level.schedule->parent, 0U);
    EXPECT_EQ(level.schedule->rate, (RateSpec{1, Bandwidth::from_gbps(10), Bandwidth::from_mbps(40'500)}));
    EXPECT_EQ(level.schedule->fair_by, FairBy::Process);
    EXPECT_EQ(level.schedule->leaf_budget, 64U);
    EXPECT_EQ(level.schedule->responder, (RateSpec{20, std::nullopt, Bandwidth::from_gbps(20)}));
    EXPECT_EQ(level.per_queue_pair.max_rate, Bandwidth::from_gbps(5));
    EXPECT_EQ(level.per_queue_pair.max_burst, 65'536U);
    EXPECT_EQ(level.per_queue_pair.typical_packet, 1024U);
    EXPECT_EQ(level.message_model, MessageModel::ForceLowLatency);
    ASSERT_TRUE(level.allow);
    EXPECT_EQ(level.allow->uids, (std::vector<std::uint32_t>{1000, 0}));
    EXPECT_EQ(level.allow->users, (std::vector<std::string>{"alice", "0"}));
    EXPECT_EQ(level.allow->gids, std::vector<std::uint32_t>{2000});
    EXPECT_EQ(level.allow->units, std::vector<std::string>{"job-*.scope"});
    EXPECT_EQ(level.allow->cgroups, std::vector<std::string>{"/slurm/*"});
    EXPECT_EQ(level.mode, Mode::Monitor);
    EXPECT_TRUE(level.log);
    EXPECT_FALSE(level.adopt);
    EXPECT_EQ(level.location.to_string(), "policy.yaml:6:11");
    EXPECT_EQ(policy.nodes[0].rate, (RateSpec{70, std::nullopt, Bandwidth::from_gbps(80)}));
    EXPECT_EQ(policy.nodes[0].use, "what users run");
}

TEST(ReadLevels, AbsentMeansNothing)
{
    const QosLevel level = read_good("qos-levels: [{name: DEFAULT}]").levels.at(0);
    EXPECT_FALSE(level.sl || level.mtu_limit || level.rate_limit || level.packet_life || level.traffic_class);
    EXPECT_FALSE(level.schedule || level.message_model || level.allow || level.per_queue_pair.max_rate);
    EXPECT_TRUE(level.pkeys.empty());
    EXPECT_EQ(level.sl_source, SlSource::SubnetManager);
    const QosLevel scheduled = read_good("qos-levels: [{name: DEFAULT, schedule: {}}]").levels.at(0);
    ASSERT_TRUE(scheduled.schedule);
    EXPECT_EQ(scheduled.schedule->rate, RateSpec{});
    EXPECT_EQ(scheduled.schedule->rate.share, 1U);
}

struct ValueCase {
    std::string text;    // of a level
    bool (*holds)(const QosLevel&);
};

class LevelValue : public testing::TestWithParam<ValueCase> {};

TEST_P(LevelValue, IsAsWritten)
{
    const Policy policy = read_good("qos-levels: [{name: DEFAULT, " + GetParam().text + "}]");
    ASSERT_EQ(policy.levels.size(), 1U);
    EXPECT_TRUE(GetParam().holds(policy.levels[0])) << GetParam().text;
}

INSTANTIATE_TEST_SUITE_P(
    Cases, LevelValue,
    testing::Values(
        ValueCase{"mtu-limit: 1", [](const QosLevel& l) { return l.mtu_limit == IbMtu::Mtu256; }},
        ValueCase{"mtu-limit: 5", [](const QosLevel& l) { return l.mtu_limit == IbMtu::Mtu4096; }},
        ValueCase{"mtu-limit: 2KiB", [](const QosLevel& l) { return l.mtu_limit == IbMtu::Mtu2048; }},
        ValueCase{"mtu-limit: 0x400", [](const QosLevel& l) { return l.mtu_limit == IbMtu::Mtu1024; }},
        ValueCase{"mtu-limit: unlimited", [](const QosLevel& l) { return !l.mtu_limit; }},
        ValueCase{"rate-limit: unlimited", [](const QosLevel& l) { return !l.rate_limit; }},
        ValueCase{"rate-limit: 2.5Gbps, schedule: {max-rate: 1Gbps}",
                  [](const QosLevel& l) { return l.rate_limit == ib_rate_from_number(2); }},
        ValueCase{"rate-limit: 24, per-queue-pair: {max-rate: 1Gbps}",
                  [](const QosLevel& l) { return l.rate_limit == ib_rate_from_number(24); }},
        ValueCase{"packet-life: 0", [](const QosLevel& l) { return l.packet_life == 0; }},
        ValueCase{"packet-life: 63", [](const QosLevel& l) { return l.packet_life == 63; }},
        // 4.096 us * 2^16 = 268 ms; rounded up.
        ValueCase{"packet-life: 268ms", [](const QosLevel& l) { return l.packet_life == 16; }},
        ValueCase{"packet-life: 269ms", [](const QosLevel& l) { return l.packet_life == 17; }},
        // As printed: 2^21 is 8.59 s, rounded up, and 2^9 is 2.1 ms.
        ValueCase{"packet-life: 8.59 s", [](const QosLevel& l) { return l.packet_life == 21; }},
        ValueCase{"packet-life: 2.1ms", [](const QosLevel& l) { return l.packet_life == 9; }},
        ValueCase{"packet-life: 4.1 us", [](const QosLevel& l) { return l.packet_life == 0; }},
        ValueCase{"packet-life: 19.5 h", [](const QosLevel& l) { return l.packet_life == 34; }},
        ValueCase{"mtu-limit: 4096 bytes", [](const QosLevel& l) { return l.mtu_limit == IbMtu::Mtu4096; }},
        ValueCase{"rate-limit: 100 Gbit/s, schedule: {max-rate: 25Gbit/s}",
                  [](const QosLevel& l) {
                      return l.rate_limit == ib_rate_from_number(16) &&
                             l.schedule->rate.max_rate == Bandwidth::from_gbps(25);
                  }},
        ValueCase{"per-queue-pair: {max-rate: 5 Gbit/s, max-burst: 64 KiB}",
                  [](const QosLevel& l) {
                      return l.per_queue_pair.max_rate == Bandwidth::from_gbps(5) &&
                             l.per_queue_pair.max_burst == 65536U;
                  }},
        ValueCase{"packet-life: 1ms", [](const QosLevel& l) { return l.packet_life == 8; }},
        ValueCase{"dscp: 63", [](const QosLevel& l) { return l.traffic_class == 252; }},
        ValueCase{"traffic-class: 0xff", [](const QosLevel& l) { return l.traffic_class == 255; }},
        ValueCase{"schedule: {share: device-default}",
                  [](const QosLevel& l) { return l.schedule && !l.schedule->rate.share; }},
        ValueCase{"schedule: {max-rate: unlimited}",
                  [](const QosLevel& l) { return l.schedule && !l.schedule->rate.max_rate; }},
        ValueCase{"per-queue-pair: {max-rate: 1500kbps}",
                  [](const QosLevel& l) { return l.per_queue_pair.max_rate == Bandwidth::from_kbps(1500); }},
        ValueCase{"schedule: {max-rate: \"400 Mbps\"}",
                  [](const QosLevel& l) { return l.schedule->rate.max_rate == Bandwidth::from_mbps(400); }},
        ValueCase{"schedule: {fair-by: Queue-Pair}",
                  [](const QosLevel& l) { return l.schedule->fair_by == FairBy::QueuePair; }},
        ValueCase{"schedule: {responder: {}}", [](const QosLevel& l) { return l.schedule->responder == RateSpec{}; }},
        ValueCase{"message-model: HIGH-BANDWIDTH",
                  [](const QosLevel& l) { return l.message_model == MessageModel::HighBandwidth; }},
        ValueCase{"mode: Enforce", [](const QosLevel& l) { return l.mode == Mode::Enforce; }},
        ValueCase{"mode: MONITOR, schedule: {}", [](const QosLevel& l) { return l.mode == Mode::Monitor; }},
        ValueCase{"mode: monitor, per-queue-pair: {max-rate: 1Gbps}",
                  [](const QosLevel& l) { return l.mode == Mode::Monitor; }},
        ValueCase{"allow: {group: 100}",
                  [](const QosLevel& l) { return l.allow->gids == std::vector<std::uint32_t>{100}; }}),
    [](const auto& test) { return std::to_string(test.index); });

TEST(ReadLevels, ACapThatAnElementRoundsIsTold)
{
    const Policy policy = expect_warning("qos-levels: [{name: DEFAULT}, {name: a, schedule: {max-rate: 1500kbps}}]",
                                         "`max-rate` 1.5 Mbit/s is rounded down to 1 Mbit/s");
    EXPECT_EQ(policy.levels.at(1).schedule->rate.max_rate, Bandwidth::from_kbps(1500));
}

TEST(ReadLevels, MonitoringALevelThatAsksForNothingHasNoEffect)
{
    const Policy policy = expect_warning(
        "qos-levels: [{name: DEFAULT, sl: 1, mode: monitor}]",
        "`mode: monitor` of `DEFAULT` has no effect without `schedule` and `per-queue-pair`");
    EXPECT_EQ(policy.levels.at(0).mode, Mode::Monitor);
    expect_error("qos-levels: [{name: DEFAULT, mode: observe}]", "`mode` cannot be `observe`");
}

// What would be refused with `enforce` is refused.
TEST(ReadLevels, AMonitoredLevelIsCheckedAsAnyOther)
{
    const std::string monitored = "{name: a, mode: monitor, schedule: ";
    expect_error("qos-levels: [{name: DEFAULT}, " + monitored + "{share: 0}}]", "`share` cannot be 0");
    expect_error("qos-levels: [{name: DEFAULT, schedule: {min-rate: 60%}}, " + monitored + "{min-rate: 50%}}]",
                 "the min-rates below the root add up to 110 %");
    expect_error("qos-levels: [{name: DEFAULT}, " + monitored + "{}, per-queue-pair: {max-rate: 0}}]",
                 "`max-rate` cannot be 0");
    expect_error("qos-levels: [{name: DEFAULT}, " + monitored + "{parent: nobody}}]",
                 "there is no scheduling-node `nobody`");
}

TEST(ReadLevels, AnUnknownUserNeverMatchesButIsKept)
{
    const Policy policy = expect_warning("qos-levels: [{name: DEFAULT, allow: {user: [mallory]}}]",
                                         "there is no user `mallory` on this host: it never matches");
    ASSERT_TRUE(policy.levels.at(0).allow);
    EXPECT_EQ(policy.levels[0].allow->users, std::vector<std::string>{"mallory"});
    EXPECT_TRUE(policy.levels[0].allow->uids.empty());
}

TEST(ReadLevels, DefaultIsFoundInAnyCase)
{
    EXPECT_EQ(read_good("qos-levels: [{name: a}, {name: dEfAuLt}]").default_level, 1U);
    expect_error("qos-levels: [{name: a}]", "there is no default level");
}

}    // namespace
}    // namespace rdmaqos::test
