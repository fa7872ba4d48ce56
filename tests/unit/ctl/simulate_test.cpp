#include "tools/rdma-qosctl/simulate/simulation.h"

#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <rapidcheck/gtest.h>

#include "tests/support/golden.h"
#include "tests/unit/ctl/simulate_sample.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/simulate/loaded_tree.h"
#include "tools/rdma-qosctl/simulate/report.h"

namespace rdmaqos::ctl {
namespace {

using rdmaqos::test::expect_golden;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace test;

TEST(SimulatePolicy, SharesCapsAndWhatLimits)
{
    const SimulatedStep step = simulated(kTenants, {"rpc=inf,bulk=10Gbps,storage=5Gbps"});
    const SimulatedLevel& rpc = level_of(step, "rpc");
    EXPECT_DOUBLE_EQ(rpc.rates.gets, 70 * kGigabit);    // what bulk leaves of the 80 of tenants
    EXPECT_TRUE(std::isinf(rpc.rates.asked));
    EXPECT_EQ(rpc.limit, (Limit{Limit::Kind::Cap, ElementPath("/tenants"), Bandwidth::from_gbps(80)}));
    EXPECT_EQ(level_of(step, "bulk").limit.kind, Limit::Kind::Demand);
    EXPECT_DOUBLE_EQ(level_of(step, "storage").rates.gets, 5 * kGigabit);
    EXPECT_EQ(level_of(step, "storage.responder").limit.kind, Limit::Kind::Idle);
    EXPECT_DOUBLE_EQ(step.used, 85 * kGigabit);
}

TEST(SimulatePolicy, LinkAndOwnCap)
{
    const SimulatedStep step = simulated(kTenants, {"bulk=inf,storage=inf,storage.responder=inf"});
    EXPECT_EQ(level_of(step, "bulk").limit,
              (Limit{Limit::Kind::Cap, ElementPath("/tenants/bulk"), Bandwidth::from_gbps(30)}));
    EXPECT_EQ(level_of(step, "storage").limit.kind, Limit::Kind::Link);
    EXPECT_DOUBLE_EQ(level_of(step, "storage").rates.gets, 52.5 * kGigabit);
    EXPECT_DOUBLE_EQ(level_of(step, "storage.responder").rates.gets, 17.5 * kGigabit);
}

TEST(SimulatePolicy, EverySenderHasALeaf)
{
    const SimulatedStep step = simulated(kTenants, {"rpc*8=1Gbps,rpc=inf"});
    EXPECT_EQ(level_of(step, "rpc").senders, 9U);
    EXPECT_DOUBLE_EQ(element_of(step, "/tenants/rpc/process-1").rates.gets, 1 * kGigabit);
    EXPECT_DOUBLE_EQ(element_of(step, "/tenants/rpc/process-9").rates.gets, 72 * kGigabit);
    const auto runs = leaf_runs(step.elements);
    ASSERT_EQ(runs.size(), 3U);
    EXPECT_EQ(runs[0].count, 8U);    // process-1 to process-8, process-9, others
    EXPECT_EQ(runs[1].count, 1U);
}

// A class that is one leaf adds up what its queue pairs send.
TEST(SimulatePolicy, SendersOfOneLeafAddUp)
{
    const SimulatedStep step = simulated(kTenants, {"bulk*3=2Gbps,bulk=1Gbps"});
    EXPECT_EQ(level_of(step, "bulk").senders, 4U);
    EXPECT_DOUBLE_EQ(level_of(step, "bulk").rates.gets, 7 * kGigabit);
    EXPECT_TRUE(std::isinf(level_of(simulated(kTenants, {"bulk=1Gbps,bulk=inf"}), "bulk").rates.asked));
}

TEST(SimulatePolicy, BeyondTheBudgetOthersIsShared)
{
    const LoadedTree loaded = loaded_policy("qos-levels:\n  - {name: DEFAULT}\n"
                                            "  - {name: rpc, schedule: {fair-by: user, leaf-budget: 2}}\n",
                                            {"rpc*5=inf"});
    const SimulatedStep step = simulate_step(loaded, Bandwidth::from_gbps(90));
    EXPECT_EQ(element_of(step, "/rpc/others").senders, 3U);
    EXPECT_DOUBLE_EQ(element_of(step, "/rpc/user-1").rates.gets, 30 * kGigabit);
    ASSERT_EQ(loaded.notes.size(), 1U);
    EXPECT_THAT(loaded.notes[0], HasSubstr("leaf-budget 2"));
}

TEST(SimulatePolicy, GuaranteedIsWhatRemainsWhenEverybodySends)
{
    const SimulatedStep step = simulated(kTenants, {"rpc*2=1Gbps"});
    EXPECT_DOUBLE_EQ(level_of(step, "bulk").rates.guaranteed, level_of(step, "rpc").rates.guaranteed / 3);
    // `others` takes no part where nobody is in it.
    EXPECT_DOUBLE_EQ(element_of(step, "/tenants/rpc/process-1").rates.guaranteed,
                     level_of(step, "rpc").rates.guaranteed / 2);
    double sum = 0;
    for (const auto& level : step.levels) {
        sum += level.rates.guaranteed;
    }
    EXPECT_NEAR(sum, 100 * kGigabit, 1);
}

TEST(SimulatePolicy, WhatIsNotInTheTreeIsSaidAndNotCounted)
{
    const SimulatedStep step = simulated(kTenants, {"default=90Gbps,DEFAULT=inf,rpc=10Gbps"});
    EXPECT_THAT(step.outside, ElementsAre(OutsideLevel{"DEFAULT", "the policy gives it no `schedule`"}));
    EXPECT_DOUBLE_EQ(step.used, 10 * kGigabit);
}

TEST(SimulatePolicy, ALevelThatIsOnlyMonitoredTakesNothing)
{
    const std::string monitored =
        "  - {name: new, mode: monitor, schedule: {share: 100, max-rate: 1Gbps, responder: {}}}\n";
    const SimulatedStep step = simulated(kTenants + monitored, {"new=inf,new.responder=inf,storage=inf"});
    EXPECT_THAT(step.outside, ElementsAre(OutsideLevel{"new", "it is only monitored (`mode: monitor`)"},
                                          OutsideLevel{"new.responder", "it is only monitored (`mode: monitor`)"}));
    EXPECT_DOUBLE_EQ(level_of(step, "storage").rates.gets, 100 * kGigabit);
}

TEST(SimulatePolicy, DevicesThatCannotSchedule)
{
    Target target = default_target();
    target.capabilities.responder_leaf = false;
    EXPECT_THAT(simulated(kTenants, {"storage.responder=inf"}, target).outside,
                ElementsAre(OutsideLevel{"storage.responder", "the device schedules RDMA READ responses with the "
                                                              "requests of the level"}));
    target.capabilities.max_leaves = 1;
    EXPECT_THAT(simulated(kTenants, {"storage=inf"}, target).outside,
                ElementsAre(OutsideLevel{"storage", "the device has no leaf for it"}));
    target.capabilities.scheduling = false;
    const SimulatedStep step = simulated(kTenants, {"rpc=inf"}, target);
    EXPECT_THAT(step.outside, ElementsAre(OutsideLevel{"rpc", "the device has no scheduling elements"}));
    EXPECT_THAT(step.elements, IsEmpty());
    EXPECT_THAT(step.levels, IsEmpty());
}

constexpr const char* kLimited = R"(qos-levels:
  - {name: DEFAULT}
  - {name: one, schedule: {}, per-queue-pair: {max-rate: 2Gbps}}
  - {name: many, schedule: {fair-by: process}, per-queue-pair: {max-rate: 2Gbps}}
)";

TEST(SimulatePolicy, LimitsOfQueuePairsAsLeavesOrByPacing)
{
    Target target = default_target();
    const SimulatedStep leaves = simulated(kLimited, {"one*3=inf"}, target);
    EXPECT_DOUBLE_EQ(level_of(leaves, "one").rates.gets, 6 * kGigabit);
    EXPECT_EQ(level_of(leaves, "one").limit.kind, Limit::Kind::Below);
    EXPECT_EQ(element_of(leaves, "/one/queue-pair-2").limit.kind, Limit::Kind::Cap);

    target.capabilities.pacing.supported_types = target.capabilities.attachable;
    const LoadedTree paced = loaded_policy(kLimited, {"one*3=inf,many=inf"}, target);
    const SimulatedStep step = simulate_step(paced, target.link_speed);
    EXPECT_DOUBLE_EQ(level_of(step, "one").rates.gets, 6 * kGigabit);
    EXPECT_EQ(element_of(step, "/one").kind, ElementKind::Leaf);
    EXPECT_DOUBLE_EQ(level_of(step, "many").rates.gets, 94 * kGigabit);
    EXPECT_THAT(paced.notes,
                ElementsAre(HasSubstr("one: each queue pair is paced at 2 Gbit/s"),
                            HasSubstr("many: its limit of 2 Gbit/s for each queue pair is not simulated")));
}

TEST(SimulatePolicy, WhatADefaultShareIsWorthIsAGuess)
{
    const auto notes = [](const std::string& share_of_b) {
        return loaded_policy("qos-levels:\n  - {name: DEFAULT}\n  - {name: a, schedule: {share: device-default}}\n"
                             "  - {name: b, schedule: {share: " +
                                 share_of_b + "}}\n",
                             {"a=inf"})
            .notes;
    };
    EXPECT_THAT(notes("5"), ElementsAre(HasSubstr("`share: device-default` counts as 1")));
    EXPECT_TRUE(notes("device-default").empty()) << "all are equal, whatever it is";
}

// The device has one level less than the policy: the class's node is left out, its leaves are not.
TEST(SimulatePolicy, AFoldedClassIsTheSumOfItsLeaves)
{
    Target target = default_target();
    target.capabilities.max_depth = 2;
    const SimulatedStep step = simulated(
        "qos-levels:\n  - {name: DEFAULT}\n  - {name: rpc, schedule: {fair-by: process}}\n", {"rpc*2=30Gbps"}, target);
    const SimulatedLevel& rpc = level_of(step, "rpc");
    EXPECT_FALSE(rpc.attributes);
    EXPECT_EQ(rpc.senders, 2U);
    EXPECT_DOUBLE_EQ(rpc.rates.gets, 60 * kGigabit);
    EXPECT_EQ(rpc.limit.kind, Limit::Kind::Demand);
}

TEST(SimulatePolicy, KnowsWhatMayBeNamed)
{
    EXPECT_THAT(level_names(*policy_of(kTenants)),
                ElementsAre("DEFAULT", "rpc", "bulk", "storage", "storage.responder"));
}

TEST(SimulateCheck, PacketsAgree)
{
    const LoadedTree loaded = loaded_policy(kTenants, {"rpc*8=1Gbps,rpc=inf,bulk=inf,storage=3Gbps"});
    const Deviation deviation = check_by_packets(loaded, Bandwidth::from_gbps(100));
    EXPECT_LT(deviation.percent, 1.0);
    EXPECT_GE(deviation.compared, 12U);
    EXPECT_FALSE(deviation.path.empty());
    EXPECT_EQ(deviation.too_slow, 0U);
    EXPECT_EQ(check_by_packets({}, Bandwidth::from_gbps(100)).compared, 0U);
    EXPECT_EQ(check_by_packets(loaded, Bandwidth()).compared, 0U);
    EXPECT_EQ(check_by_packets(loaded_policy(kTenants, {"bulk=1Mbps"}), Bandwidth::from_gbps(100)).too_slow, 3U);
}

TEST(SimulateTimes, TheLastStepLastsAsLongAsTheOneBefore)
{
    using std::chrono::seconds;
    Loads loads;
    loads.steps = {{seconds(10), "a", {}}, {seconds(40), "b", {}}};
    std::vector<SimulatedStep> steps(2);
    set_times(loads, steps);
    EXPECT_EQ(steps[0].until, seconds(40));
    EXPECT_EQ(steps[1].until, seconds(70));
    EXPECT_EQ(steps[1].use, "b");
    loads.until = seconds(41);
    set_times(loads, steps);
    EXPECT_EQ(steps[1].until, seconds(41));
    loads.steps.resize(1);
    steps.resize(1);
    loads.until.reset();
    set_times(loads, steps);
    EXPECT_GT(steps[0].until, steps[0].at);
}

TEST(SimulateWords, RatesAndTimes)
{
    EXPECT_EQ(rate_in_words(100e6 / 3), "33.333 Gbit/s");
    EXPECT_EQ(rate_in_words(999'999.9999), "1 Gbit/s");
    EXPECT_EQ(rate_in_words(1500), "1.5 Mbit/s");
    EXPECT_EQ(asked_in_words(0), "");
    EXPECT_EQ(asked_in_words(INFINITY), "unlimited");
    using std::chrono::milliseconds;
    EXPECT_EQ(time_in_words(milliseconds(0)), "0 s");
    EXPECT_EQ(time_in_words(milliseconds(1500)), "1500 ms");
    EXPECT_EQ(time_in_words(milliseconds(90'000)), "90 s");
    EXPECT_EQ(time_in_words(milliseconds(120'000)), "2 min");
    EXPECT_EQ(time_in_words(milliseconds(7'200'000)), "2 h");
    EXPECT_EQ(senders_in_words(1, FairBy::Process), "1 process");
    EXPECT_EQ(senders_in_words(2, FairBy::Process), "2 processes");
    EXPECT_EQ(senders_in_words(2, FairBy::None), "2 queue pairs");
}

constexpr const char* kMarked = R"(
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: rpc, dscp: 26, schedule: {share: 1}}
  - {name: web, dscp: 26, schedule: {share: 3}}
  - {name: bulk, dscp: 10, schedule: {share: 96, max-rate: 50Gbps}}
  - {name: rest, schedule: {share: 1}}
)";

SimulatedStep simulated_with_classes(const std::vector<std::string>& words, const std::vector<std::string>& loads)
{
    LoadedTree loaded = loaded_policy(kMarked, loads);
    loaded.port = parse_port_classes(words).value();
    return simulate_step(loaded, Bandwidth::from_gbps(100));
}

TEST(SimulatePortClasses, AreAboveTheTree)
{
    const SimulatedStep step = simulated_with_classes({"tc1=70", "tc2=20", "tc0=10", "dscp26=1", "dscp10=2"},
                                                      {"rpc=inf,web=inf,bulk=inf,rest=inf"});
    EXPECT_DOUBLE_EQ(level_of(step, "rpc").rates.gets, 17.5 * kGigabit) << "a quarter of its class";
    EXPECT_DOUBLE_EQ(level_of(step, "web").rates.gets, 52.5 * kGigabit);
    EXPECT_DOUBLE_EQ(level_of(step, "bulk").rates.gets, 20 * kGigabit) << "its share counts in its class only";
    EXPECT_DOUBLE_EQ(level_of(step, "rest").rates.gets, 10 * kGigabit) << "without a DSCP: priority 0";
    EXPECT_EQ(level_of(step, "rest").limit.kind, Limit::Kind::Link);
    ASSERT_EQ(step.classes.size(), 3U);
    EXPECT_EQ(step.classes.at(0).number, 0);
    EXPECT_THAT(step.classes.at(1).levels, ElementsAre("rpc", "web"));
    EXPECT_DOUBLE_EQ(step.classes.at(1).rates.gets, 70 * kGigabit);
    EXPECT_TRUE(std::isinf(step.classes.at(1).rates.asked));
    EXPECT_DOUBLE_EQ(step.classes.at(2).rates.guaranteed, 20 * kGigabit);
}

TEST(SimulatePortClasses, HaveMaximumRatesAndLeaveTheRest)
{
    const SimulatedStep step = simulated_with_classes({"tc1=70,10Gbps", "tc2=30", "dscp26=1", "dscp10=2"},
                                                      {"rpc=inf,bulk=inf"});
    EXPECT_EQ(level_of(step, "rpc").limit, (Limit{Limit::Kind::PortClass, {}, Bandwidth::from_gbps(10), 1}));
    EXPECT_DOUBLE_EQ(level_of(step, "rpc").rates.gets, 10 * kGigabit);
    EXPECT_EQ(level_of(step, "bulk").limit.kind, Limit::Kind::Cap);
    EXPECT_DOUBLE_EQ(step.used, 60 * kGigabit);
}

TEST(SimulatePortClasses, NoneAsBefore)
{
    EXPECT_THAT(simulated(kMarked, {"rpc=inf"}).classes, IsEmpty());
    EXPECT_THAT(simulated_with_classes({}, {"rpc=inf"}).classes, IsEmpty());
}

// A row of docs/traffic.md that was measured: one tree for each process, on 100 Mbit/s.
struct MeasuredRow {
    std::string name;
    std::vector<std::string> classes;
    std::string levels;
    std::string load;
    std::map<std::string, double> gets;    // Mbit/s, of all senders of a level
};

std::vector<MeasuredRow> measured_rows()
{
    const std::string two = "  - {name: heavy, dscp: 26, schedule: {share: 1}}\n"
                            "  - {name: light, dscp: 10, schedule: {share: 1}}\n";
    const std::string control = "  - {name: control, dscp: 46, schedule: {share: 1}}\n";
    return {
        {"70 and 30 of two processes",
         {"tc1=70", "tc2=30"},
         two,
         "heavy=inf,light=inf",
         {{"heavy", 70}, {"light", 30}}},
        {"50, 30 and 20",
         {"tc1=50", "tc2=30", "tc3=20"},
         two + "  - {name: red, dscp: 18, schedule: {share: 1}}\n",
         "heavy=inf,light=inf,red=inf",
         {{"heavy", 50}, {"light", 30}, {"red", 20}}},
        {"two processes in one of them",
         {"tc1=70", "tc2=30"},
         two,
         "heavy*2=inf,light=inf",
         {{"heavy", 70}, {"light", 30}}},
        {"a maximum rate of 25",
         {"tc1=70,25Mbps", "tc2=30"},
         two,
         "heavy=inf,light=inf",
         {{"heavy", 25}, {"light", 75}}},
        {"a cap of 25 in the tree",
         {"tc1=70", "tc2=30"},
         "  - {name: heavy, dscp: 26, schedule: {share: 1, max-rate: 25Mbps}}\n"
         "  - {name: light, dscp: 10, schedule: {share: 1}}\n",
         "heavy=inf,light=inf",
         {{"heavy", 25}, {"light", 75}}},
        {"a strict one with a cap of 20 in the tree",
         {"tc1=70", "tc2=30", "tc6=strict"},
         two + "  - {name: control, dscp: 46, schedule: {share: 1, max-rate: 20Mbps}}\n",
         "heavy=inf,light=inf,control=inf",
         {{"heavy", 56}, {"light", 24}, {"control", 20}}},
        {"a strict one with a maximum rate of 20",
         {"tc1=70", "tc2=30", "tc6=strict,20Mbps"},
         two + control,
         "heavy=inf,light=inf,control=inf",
         {{"heavy", 56}, {"light", 24}, {"control", 20}}},
        {"a program that marks nothing",
         {"tc0=10", "tc1=70", "tc2=20"},
         two + "  - {name: plain, schedule: {share: 1}}\n",
         "heavy=inf,light=inf,plain=inf",
         {{"heavy", 70}, {"light", 20}, {"plain", 10}}},
        {"4 queue pairs in no leaf",
         {"tc0=30", "tc1=70"},
         two,
         "heavy=inf,outside*4=inf",
         {{"heavy", 70}, {"outside", 30}}},
        {"queue pairs in no leaf with a DSCP of a level",
         {"tc1=70", "tc2=30"},
         two,
         "heavy=inf,light=inf,outside.dscp10=inf",
         {{"heavy", 70}, {"light", 15}, {"outside.dscp10", 15}}},
    };
}

LoadedTree per_process(const MeasuredRow& row)
{
    LoadedTree loaded = loaded_policy("qos-levels:\n  - {name: DEFAULT, sl: 0}\n" + row.levels, {row.load});
    give_processes_trees(loaded, {}, CapMode::Whole);
    std::vector<std::string> words = row.classes;
    words.insert(words.end(), {"dscp26=1", "dscp10=2", "dscp18=3", "dscp46=6"});
    loaded.port = parse_port_classes(words).value();
    return loaded;
}

TEST(SimulatePerProcess, SharesOfClassesHoldBetweenProcessesAsMeasured)
{
    for (const MeasuredRow& row : measured_rows()) {
        SCOPED_TRACE(row.name);
        const SimulatedStep step = simulate_step(per_process(row), Bandwidth::from_mbps(100));
        double all = 0;
        for (const auto& [level, mbps] : row.gets) {
            EXPECT_NEAR(level_of(step, level).rates.gets, mbps * 1000, 0.01) << level;
            all += mbps;
        }
        EXPECT_NEAR(step.used, all * 1000, 0.01);
        EXPECT_EQ(all, 100) << "nothing is left over";
    }
}

TEST(SimulatePerProcess, WithoutClassesSharesDoNotHoldAndCapsHoldInEachProcess)
{
    const std::string levels = "qos-levels:\n"
                               "  - {name: DEFAULT, sl: 0}\n"
                               "  - {name: heavy, schedule: {share: 70}}\n"
                               "  - {name: light, schedule: {share: 30, max-rate: 10Gbps}}\n";
    LoadedTree loaded = loaded_policy(levels, {"heavy=inf,light*3=inf"});
    give_processes_trees(loaded, {}, CapMode::Whole);
    SimulatedStep step = simulate_step(loaded, Bandwidth::from_gbps(100));
    EXPECT_NEAR(level_of(step, "light").rates.gets, 30 * kGigabit, 1) << "10 of each process";
    EXPECT_EQ(level_of(step, "light").limit.kind, Limit::Kind::Cap);
    EXPECT_EQ(level_of(step, "light").limit.at, ElementPath("/light"));
    EXPECT_NEAR(level_of(step, "heavy").rates.gets, 70 * kGigabit, 1);
    EXPECT_NEAR(check_by_packets(loaded, Bandwidth::from_gbps(100)).percent, 0, 1);
    loaded.caps = CapMode::Divide;
    step = simulate_step(loaded, Bandwidth::from_gbps(100));
    EXPECT_NEAR(level_of(step, "light").rates.gets, 10 * kGigabit, kGigabit / 500) << "divided among the processes";
    EXPECT_NEAR(level_of(step, "heavy").rates.gets, 90 * kGigabit, kGigabit / 500);
}

TEST(SimulatePerProcess, ProcessesThatAreThereAreKnown)
{
    // One process with three queue pairs in the leaf, and one with one: the queue pairs of one do not count.
    const std::string levels = "qos-levels:\n  - {name: DEFAULT, sl: 0}\n  - {name: heavy, schedule: {share: 70}}\n"
                               "  - {name: light, schedule: {share: 30}}\n";
    LoadedTree loaded = loaded_policy(levels, {"heavy*4=inf,light=8Gbps"});
    ProcessSenders there;
    there[17].add(ElementPath("/heavy"), std::nullopt, 3);
    there[18].add(ElementPath("/heavy"), std::nullopt);
    there[17].add(ElementPath("/light"), std::nullopt);
    give_processes_trees(loaded, there, CapMode::Whole);
    const SimulatedStep step = simulate_step(loaded, Bandwidth::from_gbps(100));
    // Process 17: 8 of light beside heavy in its half; 18: its half.
    EXPECT_NEAR(level_of(step, "light").rates.gets, 8 * kGigabit, 1);
    EXPECT_NEAR(level_of(step, "heavy").rates.gets, 92 * kGigabit, 1);
    EXPECT_EQ(level_of(step, "light").limit.kind, Limit::Kind::Demand);
}

TEST(SimulateOutside, CompetesBesideTheWholeTree)
{
    const SimulatedStep step = simulated(kMarked, {"rpc=inf,web=inf,outside=inf,outside.dscp10*2=5Gbps"});
    EXPECT_NEAR(level_of(step, "outside.dscp10").rates.gets, 10 * kGigabit, 1);
    EXPECT_NEAR(level_of(step, "outside").rates.gets, 45 * kGigabit, 1) << "as the tree";
    EXPECT_NEAR(level_of(step, "rpc").rates.gets, 45 / 4.0 * kGigabit, 1);
    EXPECT_EQ(level_of(step, "outside.dscp10").senders, 2U);
    EXPECT_NEAR(step.used, 100 * kGigabit, 1);
    EXPECT_EQ(dscp_of_outside("Outside.DSCP46"), 46);
    for (const char* level : {"outside.dscp64", "outside.", "outsider", "outside.dscp", "rpc"}) {
        EXPECT_FALSE(dscp_of_outside(level)) << level;
    }
}

// Whatever the loads: no class has more than its maximum rate, no element more than its cap, and while anybody wants
// more and nothing but the link holds it, the link is full.
RC_GTEST_PROP(SimulatePerProcess, NobodyIsAboveALimitAndNothingIsLeftOver, ())
{
    const auto number = [](int from, int to) { return *rc::gen::inRange(from, to + 1); };
    const auto word = [&](int number_of_class) {
        const std::string service = number(0, 4) == 0 ? "strict" : std::to_string(number(0, 100));
        return fmt::format("tc{}={}{}", number_of_class, service,
                           number(0, 2) == 0 ? fmt::format(",{}Gbps", number(1, 120)) : "");
    };
    LoadedTree loaded = loaded_policy(
        fmt::format("qos-levels:\n  - {{name: DEFAULT, sl: 0}}\n"
                    "  - {{name: a, dscp: 26, schedule: {{share: {}, max-rate: {}Gbps}}}}\n"
                    "  - {{name: b, dscp: {}, schedule: {{share: {}, fair-by: process}}}}\n"
                    "  - {{name: c, schedule: {{share: {}}}}}\n",
                    number(1, 100), number(1, 100), number(0, 1) == 0 ? 10 : 26, number(1, 100), number(1, 100)),
        {fmt::format("a*{}=inf,b*{}={}Gbps,c*{}=inf,outside.dscp10*{}={}Gbps", number(1, 3), number(1, 5),
                     number(1, 40), number(1, 3), number(1, 2), number(1, 60))});
    const bool is_per_process = number(0, 1) == 1;
    if (is_per_process) {
        give_processes_trees(loaded, {}, number(0, 1) == 1 ? CapMode::Divide : CapMode::Whole);
    }
    loaded.port = parse_port_classes({word(0), word(1), word(2), "dscp26=1", "dscp10=2"}).value();
    const SimulatedStep step = simulate_step(loaded, Bandwidth::from_gbps(100));
    double of_classes = 0;
    bool wants_more = false;
    for (const SimulatedClass& one : step.classes) {
        of_classes += one.rates.gets;
        RC_ASSERT(!one.port_class.max_rate ||
                  one.rates.gets <= static_cast<double>(one.port_class.max_rate->kbps()) + 1);
    }
    for (const SimulatedElement& element : step.elements) {
        RC_ASSERT(element.rates.gets <= element.rates.asked + 1);
        if (const auto& cap = element.attributes.max_rate; cap && !element.path.is_root() && !is_per_process) {
            RC_ASSERT(element.rates.gets <= static_cast<double>(cap->kbps()) + 1);
        }
        wants_more = wants_more || (element.kind == ElementKind::Leaf && element.limit.kind == Limit::Kind::Link);
    }
    RC_ASSERT(std::abs(of_classes - step.used) < 1);
    RC_ASSERT(step.used < 100 * kGigabit + 1);
    RC_ASSERT(!wants_more || step.used > 100 * kGigabit - 1);
}

SimulationReport sample_with_classes()
{
    SimulationReport report;
    report.offline = true;
    report.note = "who would get what with policy.yaml on a device";
    SimulatedPort port{"mlx5_0/1", Bandwidth::from_gbps(100), {}, {}};
    port.steps.push_back(simulated_with_classes({"tc1=70,10Gbps", "tc2=30", "tc6=strict", "dscp26=1", "dscp10=2"},
                                                {"rpc=inf,web=2Gbps,bulk=inf"}));
    report.ports.push_back(port);
    return report;
}

SimulationReport sample_report()
{
    SimulationReport report;
    report.offline = true;
    report.note = "who would get what with policy.yaml on a device";
    const LoadedTree loaded = loaded_policy(kTenants, {"rpc*8=1Gbps,rpc=inf,bulk=inf,storage=3Gbps,DEFAULT=inf"});
    SimulatedPort port{"mlx5_0/1", Bandwidth::from_gbps(100), {"one note"}, {}};
    port.steps.push_back(simulate_step(loaded, port.link_speed));
    port.steps.back().deviation = Deviation{ElementPath("/tenants/rpc"), 50e6, 49.9e6, 0.2, 7, 1};
    report.ports.push_back(port);
    return report;
}

SimulationReport sample_over_time()
{
    SimulationReport report = sample_report();
    report.over_time = true;
    auto& steps = report.ports[0].steps;
    steps[0].deviation.reset();
    steps.insert(steps.begin(), simulated(kTenants, {"bulk=inf"}));
    steps[0].use = "night";
    steps[0].until = steps[1].at = std::chrono::seconds(60);
    steps[1].until = std::chrono::seconds(120);
    return report;
}

TEST(SimulateGolden, Text)
{
    expect_golden("ctl/simulate.txt", render_simulation(sample_report(), Colour::Off));
    expect_golden("ctl/simulate-steps.txt", render_simulation(sample_over_time(), Colour::Off));
    expect_golden("ctl/simulate-classes.txt", render_simulation(sample_with_classes(), Colour::Off));
}

TEST(SimulateGolden, Json)
{
    expect_golden("ctl/simulate.json", to_text(simulation_json(sample_report())));
    expect_golden("ctl/simulate-classes.json", to_text(simulation_json(sample_with_classes())));
    const Json steps = simulation_json(sample_over_time()).at("devices").at(0).at("steps");
    EXPECT_EQ(steps.at(1).at("at"), 60'000);
    EXPECT_EQ(steps.at(0).at("use"), "night");
    EXPECT_FALSE(steps.at(0).contains("check"));
}

}    // namespace
}    // namespace rdmaqos::ctl
