// Each rule with a port that breaks it, and one that nearly does.
#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/port_lint/lint.h"
#include "lib/port_lint/rewrites.h"
#include "tests/unit/port_lint/healthy.h"

namespace rdmaqos::port_lint {
namespace {

using test::healthy_port;
using test::weighted;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct Case {
    const char* rule;
    void (*breaks)(Interface& port);
    const char* what;                  // part of it
    const char* command;               // part of it
    void (*keeps)(Interface& port);    // looks like it, and is well
};

void forget_dscps(Interface& port)
{
    port.settings.apps.clear();
    port.rdma.notifications = {};
}

const Case kCases[] = {
    {"trust", forget_dscps, "eth0 does not look at the DSCP of packets",
     "dcb app add dev eth0 dscp-prio 26:3 34:PRIORITY",
     [](Interface& port) {
         forget_dscps(port);
         for (Level& level : port.levels) {
             level.traffic_class = 2;    // ECN alone is no mark
         }
     }},
    {"data-priority", [](Interface& port) { port.settings.apps.erase(port.settings.apps.begin() + 1); },
     "DSCP 34 of level bulk has no priority on eth0", "dcb app add dev eth0 dscp-prio 34:3",
     [](Interface& port) { port.levels[1].traffic_class.reset(); }},
    {"cnp-class", [](Interface& port) { port.settings.apps[2].priority = 4; },
     "(CNP) of eth0 have priority 4, in traffic class 4", "dcb app add dev eth0 dscp-prio 48:6",
     [](Interface& port) { port.settings.apps[2].priority = 5, port.settings.ets->class_of_priority[5] = 5; }},
    {"cnp-class", [](Interface& port) { port.settings.apps.pop_back(); }, "have DSCP 48, which has no priority",
     "dcb app add dev eth0 dscp-prio 48:6", [](Interface& port) { port.rdma.notifications.dscp.reset(); }},
    {"cnp-lossless", [](Interface& port) { port.settings.apps[2].priority = 3; }, "have the lossless priority 3",
     "dcb app add dev eth0 dscp-prio 48:6",
     [](Interface& port) { port.rdma.notifications.priority = 3; }},    // of VLAN tags, which nobody looks at
    {"pfc-unused", [](Interface& port) { port.settings.pfc->lossless[5] = true; },
     "PFC makes priority 5 of eth0 lossless, which no level's packets have", "dcb pfc set dev eth0 prio-pfc 5:off",
     [](Interface& port) {
         port.settings.pfc->lossless[5] = true;
         port.settings.apps.push_back({dcb::Selector::Dscp, 40, 5});
         port.rdma.forced_traffic_class = 160;
     }},
    {"mixed-class", [](Interface& port) { port.settings.ets->class_of_priority[5] = 3; },
     "traffic class 3 of eth0 has lossless priority 3 and priority 5", "dcb ets set dev eth0 prio-tc 3:",
     [](Interface& port) { port.settings.ets->class_of_priority[5] = 3, port.settings.pfc->lossless[5] = true; }},
    {"lossy-rdma", [](Interface& port) { port.rdma.sent->of_rdma = 200'000; },
     "at least 110.0 kB of them not in a lossless priority", "rdma-qosctl env",
     [](Interface& port) { port.rdma.sent->of_rdma = 94'000; }},    // within what two counters may differ
    {"rdma-cm", [](Interface& port) { port.rdma.default_tos.reset(); },
     "connections of rdma_cm on mlx5_0 whose program sets no type of service get 0, so priority 0",
     "echo 104 >/sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_tos",
     [](Interface& port) { port.rdma.default_tos = 106; }},
    {"roce-mode", [](Interface& port) { port.rdma.default_mode = "IB/RoCE v1"; }, "rdma_cm uses IB/RoCE v1 on mlx5_0",
     "default_roce_mode", [](Interface& port) { port.rdma.default_mode.clear(); }},
    {"forced-class", [](Interface& port) { port.rdma.forced_traffic_class = 104; },
     "the driver gives every queue pair of mlx5_0 traffic class 104 (DSCP 26)",
     "echo 0 >/sys/class/infiniband/mlx5_0/tc/1/traffic_class",
     [](Interface& port) { port.rdma.forced_traffic_class = 105, port.levels.pop_back(); }},
    {"unforced", [](Interface& port) { port.rdma.forced_traffic_class = 104; }, "do not get the traffic class 104",
     "rdma-qosctl env", [](Interface& port) { port.rdma.forced_traffic_class = 4; }},
    {"buffers", [](Interface& port) { port.settings.buffers->size[1] = 0; }, "use receive buffer 1, which has no space",
     "dcb buffer set dev eth0 buffer-size 1:", [](Interface& port) { port.settings.buffers->size[2] = 0; }},
    {"buffers", [](Interface& port) { port.settings.buffers->buffer_of_priority[4] = 1; },
     "lossless priority 3 and priority 4 of eth0 share receive buffer 1", "dcb buffer set dev eth0 prio-buffer 3:",
     [](Interface& port) { port.settings.buffers->buffer_of_priority[4] = 2; }},
    {"reaction", [](Interface& port) { (*port.rdma.notifications.are_obeyed)[3] = false; },
     "does not obey them for priority 3", "echo 1 >/sys/class/net/eth0/ecn/roce_rp/enable/3",
     [](Interface& port) { (*port.rdma.notifications.are_obeyed)[2] = false; }},
    {"reaction", [](Interface& port) { port.rdma.notifications.are_sent = OfPriority<bool>{}; },
     "obeys congestion notifications, but sends none", "echo 1 >/sys/class/net/eth0/ecn/roce_np/enable/3",
     // One is enough: it is a switch of the port.
     [](Interface& port) { port.rdma.notifications.are_sent = OfPriority<bool>{true}; }},
    {"min-rate",
     [](Interface& port) {
         port.settings.ets->traffic_class[3].weight = 39;
         port.settings.ets->traffic_class[0].weight = 31;
     },
     "ETS gives traffic class 3 of eth0 39 % of 100 Gbit/s, which is 39 Gbit/s", "dcb ets set dev eth0 tc-bw 3:40",
     [](Interface& port) {
         port.settings.ets->traffic_class[3].weight = 40;
         port.settings.ets->traffic_class[0].weight = 30;
     }},
    {"max-rate", [](Interface& port) { port.settings.ets->traffic_class[4].max_rate = Bandwidth::from_gbps(50); },
     "traffic class 4 of eth0 sends 50 Gbit/s at most", "dcb maxrate set dev eth0 tc-maxrate 4:80000000kbit",
     [](Interface& port) { port.settings.ets->traffic_class[4].max_rate = Bandwidth::from_gbps(80); }},
    {"shared-class", [](Interface& port) { port.settings.apps[1].priority = 3; },
     "rpc (share 50, min-rate 40 Gbit/s) and bulk (share 30) are in traffic class 3 of eth0 together",
     "dcb app add dev eth0 dscp-prio",
     [](Interface& port) { port.settings.apps[1].priority = 3, port.root_children[1].share = 50; }},
    {"strict", [](Interface& port) { port.settings.ets->traffic_class[4].selection = dcb::Selection::Strict; },
     "traffic class 4 of eth0 is strict, with level bulk in it", "dcb ets set dev eth0 tc-tsa 4:ets",
     [](Interface& port) {
         port.settings.ets->traffic_class[4].selection = dcb::Selection::Strict;
         port.settings.ets->traffic_class[4].max_rate = Bandwidth::from_gbps(80);    // it cannot take all
     }},
    {"kernel-traffic",
     [](Interface& port) {
         port.kernel_traffic = {{"NFS over RDMA", "rpcrdma", "bulk", 136}, {"Lustre", "ko2iblnd", "bulk", 136}};
     },
     "connections that the kernel makes on mlx5_0 for NFS over RDMA (rpcrdma) and Lustre (ko2iblnd) get DSCP 26",
     "echo 136 >/sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_tos",
     [](Interface& port) {
         port.kernel_traffic = {{"NFS over RDMA", "rpcrdma", "rpc", 106}};    // the same but for the bits of ECN
     }},
    {"kernel-traffic",
     [](Interface& port) {
         port.kernel_traffic = {{"NFS over RDMA", "rpcrdma", "rpc", 104}, {"Lustre", "ko2iblnd", "bulk", 136}};
     },
     "the policy has DSCP 26 for NFS over RDMA (rpcrdma) and DSCP 34 for Lustre (ko2iblnd) on mlx5_0",
     "rdma-qosctl explain --kernel",
     [](Interface& port) {
         port.kernel_traffic = {{"NFS over RDMA", "rpcrdma", "rpc", 104}, {"Lustre", "ko2iblnd", "rpc", 104}};
     }},
    {"rewritten",
     [](Interface& port) {
         port.rewrites = Rewrites{60, 2, dcb::Author::Unknown};
     },
     "the settings of eth0 were written 2 times within 60 s, last by another program (as lldpad or mlnx_qos)",
     "lldptool -L -i eth0 adminStatus=disabled",
     [](Interface& port) {
         port.rewrites = Rewrites{60, 1, dcb::Author::DcbTool};
     }},    // by an administrator
    {"other-end",
     [](Interface& port) {
         port.other_ends = {{"eth7 in peer.json", port.settings}};
         port.other_ends.front().settings.apps.erase(port.other_ends.front().settings.apps.begin());
     },
     "DSCP 26 has the lossless priority 3 on eth0, and priority 0 on eth7 in peer.json",
     "dcb app add dev eth0 dscp-prio 26:0",
     [](Interface& port) {
         port.other_ends = {{"eth7 in peer.json", port.settings}};
         port.other_ends.front().settings.apps.push_back({dcb::Selector::Dscp, 10, 5});    // no level has it
         port.other_ends.front().settings.ets.reset();    // each end divides what it sends
     }},
    {"other-end",
     [](Interface& port) {
         port.other_ends = {{"eth7 in peer.json", port.settings}};
         port.other_ends.front().settings.pfc.reset();
     },
     "DSCP 26 has the lossless priority 3 on eth0, and priority 3 on eth7 in peer.json",
     "dcb pfc set dev eth0 prio-pfc 3:off",
     [](Interface& port) {
         port.other_ends = {{"eth7 in peer.json", port.settings}};
         port.other_ends.front().settings.pfc->lossless[5] = true;    // which no level's packets have
     }},
    {"negotiation", [](Interface& port) { port.settings.dcbx->host = false; },
     "the firmware of eth0 negotiates with the switch (DCBX)", "dcb dcbx set dev eth0 host ieee",
     [](Interface& port) { port.settings.dcbx.reset(); }},
    {"virtual-lanes", [](Interface& port) { port.lanes_that_differ = {"SL 2 (bulk) is in VL 0, not in VL 1"}; },
     "eth0: SL 2 (bulk) is in VL 0, not in VL 1", "rdma-qosctl export opensm", [](Interface& /*port*/) {}},
};

std::vector<Finding> of_rule(const std::vector<Finding>& findings, std::string_view rule)
{
    std::vector<Finding> some;
    std::ranges::copy_if(findings, std::back_inserter(some), [&](const Finding& each) { return each.rule == rule; });
    return some;
}

TEST(PortLint, FindsNothingOnAHealthyPort)
{
    const std::vector<Interface> host{healthy_port()};
    const auto findings = lint(host);
    EXPECT_THAT(findings, IsEmpty()) << findings.front().rule << ": " << findings.front().what;
}

TEST(PortLint, FindsWhatBreaksARuleAndNotWhatKeepsIt)
{
    for (const Case& each : kCases) {
        std::vector<Interface> broken{healthy_port()};
        each.breaks(broken.front());
        EXPECT_THAT(
            of_rule(lint(broken), each.rule),
            Contains(AllOf(Field(&Finding::what, HasSubstr(each.what)), Field(&Finding::interface, "eth0"),
                           Field(&Finding::command, HasSubstr(each.command)), Field(&Finding::why, Not(IsEmpty())))))
            << each.rule;
        std::vector<Interface> kept{healthy_port()};
        each.keeps(kept.front());
        EXPECT_THAT(of_rule(lint(kept), each.rule), IsEmpty()) << each.rule;
    }
}

Finding only_finding(const std::vector<Interface>& host, std::string_view rule)
{
    const auto findings = of_rule(lint(host), rule);
    EXPECT_EQ(findings.size(), 1U) << rule;
    return findings.empty() ? Finding{} : findings.front();
}

// A mend that moves a level out of the lossless priority that it has would be worse than what it mends.
TEST(PortLint, APriorityThatNobodyUsesIsMadeLossyUnlessALevelIsMeantForIt)
{
    std::vector<Interface> host{healthy_port()};
    Interface& port = host.front();
    port.settings.pfc->lossless[5] = true;
    port.settings.pfc->lossless[7] = true;
    Finding finding = only_finding(host, "pfc-unused");
    EXPECT_EQ(finding.command, "dcb pfc set dev eth0 prio-pfc 5:off 7:off");
    EXPECT_THAT(finding.caution, HasSubstr("may take the link down"));

    port.settings.apps.erase(port.settings.apps.begin() + 1);    // of bulk
    finding = only_finding(host, "pfc-unused");
    EXPECT_EQ(finding.command, "dcb app add dev eth0 dscp-prio 34:5") << "it has no other";
    EXPECT_THAT(finding.caution, AllOf(HasSubstr("if level bulk is not meant to be lossless"), HasSubstr("5:off 7:off"),
                                       HasSubstr("may take the link down")));

    port = healthy_port();
    port.settings.pfc = dcb::Pfc{8, {false, false, false, false, false, true, false, false}};
    finding = only_finding(host, "pfc-unused");
    EXPECT_THAT(finding.why, HasSubstr("packets of levels rpc and bulk can be dropped"));
    EXPECT_EQ(finding.command, "dcb app add dev eth0 dscp-prio 26:5") << "mlx5 takes the old one away by itself";
    port.driver = "bnxt_en";
    EXPECT_EQ(only_finding(host, "pfc-unused").command, "dcb app replace dev eth0 dscp-prio 26:5")
        << "where both stay, the higher counts";
    port.driver = "ice";
    EXPECT_EQ(only_finding(host, "pfc-unused").command,
              "dcb app del dev eth0 dscp-prio 26:3 && dcb app add dev eth0 dscp-prio 26:5");
}

// What a capped class cannot use is the others', whatever their weights are: 6 of 17 parts of 90 Gbit/s.
TEST(PortLint, AGuaranteeIsKeptByWhatACappedClassLeaves)
{
    std::vector<Interface> host{healthy_port()};
    dcb::Ets& ets = *host.front().settings.ets;
    for (dcb::TrafficClass& each : ets.traffic_class) {
        each.selection = dcb::Selection::Ets;
        each.weight = 1;
    }
    ets.traffic_class[3].weight = 30;    // of rpc, with 40 Gbit/s guaranteed
    ets.traffic_class[4].weight = 64;
    ets.traffic_class[4].max_rate = Bandwidth::from_gbps(10);
    host.front().root_children[1].max_rate = Bandwidth::from_gbps(10);
    host.front().levels[1].max_rate = Bandwidth::from_gbps(10);
    EXPECT_THAT(of_rule(lint(host), "min-rate"), IsEmpty());
    ets.traffic_class[4].max_rate.reset();
    const Finding finding = of_rule(lint(host), "min-rate").at(0);
    EXPECT_THAT(finding.what, HasSubstr("ETS gives traffic class 3 of eth0 30 % of 100 Gbit/s"));
}

TEST(PortLint, WhatRdmaCmDoesNotMarkIsInAnotherClassAlsoWhereNothingIsLossless)
{
    std::vector<Interface> host{healthy_port()};
    Interface& port = host.front();
    port.settings.pfc.reset();
    port.rdma.default_tos.reset();
    const Finding finding = only_finding(host, "rdma-cm");
    EXPECT_EQ(finding.why, "their packets are in traffic class 0, with another share of the link than those of level "
                           "rpc in traffic class 3");
    EXPECT_EQ(finding.traffic_class, 0);
    EXPECT_THAT(finding.levels, ElementsAre("rpc", "bulk"));
    EXPECT_THAT(finding.command, HasSubstr("echo 104 >"));
    EXPECT_THAT(finding.caution, HasSubstr("also to those that should have another level"));

    port.is_kept = true;    // nothing that is kept sets the default of rdma_cm
    EXPECT_THAT(of_rule(lint(host), "rdma-cm"), testing::SizeIs(1));
    port.is_divided_by_tree = true;
    EXPECT_THAT(of_rule(lint(host), "rdma-cm"), IsEmpty());
    port.is_divided_by_tree = false;
    port.rdma.default_tos = 104;
    EXPECT_THAT(of_rule(lint(host), "rdma-cm"), IsEmpty());
    port.rdma.default_tos.reset();
    port.settings.ets->class_of_priority = {0, 0, 0, 0, 0, 0, 6, 0};
    EXPECT_THAT(of_rule(lint(host), "rdma-cm"), IsEmpty()) << "all are in one class";
}

// bulk's class strict, and rpc (min-rate 40 Gbit/s) with all the weight there is.
std::vector<Interface> host_with_strict_bulk(std::optional<Bandwidth> max_rate)
{
    std::vector<Interface> host{healthy_port()};
    dcb::Ets& ets = *host.front().settings.ets;
    ets.traffic_class[0] = weighted(30);
    ets.traffic_class[3] = weighted(70);
    ets.traffic_class[4] = {dcb::Selection::Strict, 0, max_rate};
    return host;
}

TEST(PortLint, AMinRateIsOfWhatStrictClassesLeave)
{
    std::vector<Interface> host = host_with_strict_bulk(Bandwidth::from_gbps(50));
    Finding finding = only_finding(host, "min-rate");
    EXPECT_EQ(finding.what, "ETS gives traffic class 3 of eth0 70 % of the 50 Gbit/s that strict traffic class 4 can "
                            "leave of 100 Gbit/s, which is 35 Gbit/s");
    EXPECT_EQ(finding.command, "dcb ets set dev eth0 tc-bw 3:80") << "which is 40 of 50 Gbit/s";

    host = host_with_strict_bulk(Bandwidth::from_gbps(40));
    EXPECT_THAT(of_rule(lint(host), "min-rate"), IsEmpty()) << "70 % of 60 Gbit/s";
    host.front().settings.ets->class_of_priority[7] = 7;    // a strict class without a level
    host.front().settings.ets->traffic_class[7].max_rate = Bandwidth::from_gbps(30);
    finding = only_finding(host, "min-rate");
    EXPECT_THAT(finding.what, HasSubstr("the 30 Gbit/s that strict traffic classes 4 and 7 can leave"));
    EXPECT_EQ(finding.command, "dcb maxrate set dev eth0 tc-maxrate 4:RATE") << "no weight is enough";
    EXPECT_THAT(finding.caution, HasSubstr("strict traffic classes 4 and 7 may take 60 Gbit/s of the link, at most; "
                                           "before iproute2 6.18"));

    host = host_with_strict_bulk({});
    finding = only_finding(host, "min-rate");
    EXPECT_EQ(finding.what,
              "traffic class 3 of eth0 is left nothing while strict traffic class 4, which has no maximum "
              "rate, sends all it can");
    EXPECT_EQ(finding.command, "dcb ets set dev eth0 tc-tsa 4:ets tc-bw 4:PERCENT");
    host.front().root_children[1].is_strict = true;
    EXPECT_THAT(lint(host), IsEmpty()) << "the policy says so";
}

TEST(PortLint, AStrictClassWaitsForThoseAboveIt)
{
    std::vector<Interface> host = host_with_strict_bulk(Bandwidth::from_gbps(70));
    Interface& port = host.front();
    port.settings.ets->traffic_class[3] = {dcb::Selection::Strict, 0, {}};
    EXPECT_EQ(only_finding(host, "min-rate").what,
              "traffic class 3 of eth0 gets the 30 Gbit/s that strict traffic class 4 can leave of 100 Gbit/s");
    port.settings.ets->traffic_class[4].max_rate = Bandwidth::from_gbps(60);
    EXPECT_THAT(of_rule(lint(host), "min-rate"), IsEmpty());
    std::swap(port.settings.apps[0].priority, port.settings.apps[1].priority);    // rpc is above now
    port.settings.ets->traffic_class[4].max_rate.reset();
    EXPECT_THAT(of_rule(lint(host), "min-rate"), IsEmpty());
}

TEST(PortLint, AStrictClassWithoutALevelGoesFirstAsWell)
{
    std::vector<Interface> host{healthy_port()};
    Interface& port = host.front();
    port.settings.ets->class_of_priority[7] = 7;
    const Finding finding = only_finding(host, "strict");
    EXPECT_EQ(finding.what, "traffic class 7 of eth0 is strict, with priority 7 and no level in it");
    EXPECT_THAT(finding.why, HasSubstr("it goes before levels rpc and bulk"));
    EXPECT_THAT(finding.caution, HasSubstr("dcb maxrate set dev eth0 tc-maxrate 7:RATE"));
    EXPECT_THAT(only_finding(host, "min-rate").what, HasSubstr("is left nothing while strict traffic class 7"));

    port = healthy_port();
    port.settings.ets->class_of_priority[7] = 6;    // no longer for congestion notifications alone
    EXPECT_THAT(only_finding(host, "strict").what, HasSubstr("traffic class 6 of eth0 is strict, with priorities 6 "
                                                             "and 7 and no level in it"));
    port = healthy_port();
    port.rdma.notifications = {};    // which some hosts cannot read
    EXPECT_THAT(lint(host), IsEmpty()) << "DSCP 48 is the usual one";
    port.settings.apps[2].protocol = 40;
    EXPECT_THAT(only_finding(host, "strict").what, HasSubstr("traffic class 6 of eth0")) << "nobody knows whose it is";
}

TEST(PortLint, EachCommandThatSetsPfcSaysWhatItDoesToTheLink)
{
    for (const Case& each : kCases) {
        std::vector<Interface> host(3, healthy_port());
        host[1].name = "eth1";
        host[2].name = "eth2";
        each.breaks(host.front());
        for (const Finding& finding : lint(host)) {
            if (finding.command.find("dcb pfc set") != std::string::npos) {
                EXPECT_THAT(finding.caution, HasSubstr("may take the link down and up")) << finding.rule;
            }
        }
    }
}

TEST(PortLint, HasACaseForEachRule)
{
    std::set<std::string_view> tried{"alike", "infiniband"};
    for (const Case& each : kCases) {
        tried.insert(each.rule);
    }
    for (const auto rule : rule_names()) {
        EXPECT_TRUE(tried.contains(rule)) << rule;
    }
}

TEST(PortLint, NamesThePortThatIsUnlikeTheOthersOfItsKind)
{
    std::vector<Interface> host(3, healthy_port());
    host[1].name = "eth1";
    host[2].name = "eth2";
    EXPECT_THAT(lint(host), IsEmpty());
    host[1].settings.apps.push_back({dcb::Selector::Dscp, 50, 5});
    const auto findings = lint(host);
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings.front().rule, "alike");
    EXPECT_EQ(findings.front().interface, "eth1");
    EXPECT_EQ(findings.front().command,
              "dcb app flush dev eth1 dscp-prio && dcb app add dev eth1 dscp-prio 26:3 34:4 48:6");
    host[1].driver = "bnxt_en";
    EXPECT_THAT(lint(host), IsEmpty()) << "no level has DSCP 50, and cards differ in the rest";
}

TEST(PortLint, ComparesWhatLevelsGetOnCardsOfDifferentVendors)
{
    std::vector<Interface> host(3, healthy_port());
    host[1].name = "eth1";
    host[2].name = "eth2";
    Interface& other = host[2];
    other.driver = "bnxt_en";
    other.settings.ets->class_of_priority = {0, 0, 0, 1, 2, 0, 6, 0};    // which each vendor has as it can
    other.settings.ets->traffic_class[1] = weighted(50);
    other.settings.ets->traffic_class[2] = weighted(30);
    EXPECT_THAT(lint(host), IsEmpty());

    other.settings.apps[1].priority = 2;
    Finding finding = only_finding(host, "alike");
    EXPECT_EQ(finding.interface, "eth2");
    EXPECT_EQ(finding.what, "DSCP 34 has priority 2 on eth2, and priority 4 on eth0");
    EXPECT_EQ(finding.command, "dcb app replace dev eth2 dscp-prio 34:4");
    EXPECT_THAT(finding.levels, ElementsAre("bulk"));

    other.settings.apps[1].priority = 4;
    other.settings.pfc.reset();
    finding = only_finding(host, "alike");
    EXPECT_EQ(finding.what, "DSCP 26 has priority 3 on eth2, and the lossless priority 3 on eth0");
    EXPECT_EQ(finding.command, "dcb pfc set dev eth2 prio-pfc 3:on");
    EXPECT_THAT(finding.caution, HasSubstr("may take the link down"));

    other.driver = "qede";
    EXPECT_THAT(of_rule(lint(host), "alike"), IsEmpty()) << "it has no priorities of DSCPs to be set";
}

TEST(PortLint, NamesNoCommandThatADriverTakesForSomethingElse)
{
    std::vector<Interface> host{healthy_port()};
    forget_dscps(host.front());
    host.front().driver = "qede";
    const Finding finding = only_finding(host, "trust");
    EXPECT_EQ(finding.command, "") << "it takes a DSCP for a port number";
    EXPECT_THAT(finding.why, HasSubstr("its driver, qede, cannot map DSCPs"));
    EXPECT_EQ(finding.caution, "");
}

// dcb(8) has no word by which a class becomes the vendor's again: the port that has them is set as the other one.
TEST(PortLint, ClassesOfTheVendorAreNoStrictOnes)
{
    std::vector<Interface> host(3, healthy_port());
    for (std::size_t i = 0; i < 2; ++i) {
        for (auto& each : host[i].settings.ets->traffic_class) {
            each = {dcb::Selection::Vendor, 0, {}};
        }
    }
    host[1].name = "eth1";
    host[2].name = "eth2";
    const auto findings = of_rule(lint(host), "alike");
    ASSERT_THAT(findings, testing::SizeIs(1));
    EXPECT_EQ(findings.front().interface, "eth2");
    EXPECT_THAT(findings.front().what, HasSubstr("of eth0: 0:vendor 1:vendor"));
    EXPECT_THAT(findings.front().command, testing::StartsWith("dcb ets set dev eth0 tc-tsa 0:ets"));
    for (auto& each : host[2].settings.ets->traffic_class) {
        each = {dcb::Selection::Strict, 0, {}};
    }
    EXPECT_THAT(of_rule(lint(host), "alike"), testing::SizeIs(1)) << "strict classes are others";
}

// A word for each rule would be wrong of what the daemon sets, and its advice would be undone by it.
TEST(PortLint, FindsNothingInClassesThatTheDaemonKeepsButAllOfTheRest)
{
    const std::set<std::string_view> of_classes{"trust",    "data-priority", "cnp-class",    "mixed-class",
                                                "min-rate", "max-rate",      "shared-class", "strict"};
    for (const Case& each : kCases) {
        std::vector<Interface> host{healthy_port()};
        each.breaks(host.front());
        host.front().is_kept = true;
        EXPECT_EQ(of_rule(lint(host), each.rule).empty(), of_classes.contains(each.rule)) << each.rule;
    }
    std::vector<Interface> host(3, healthy_port());
    host[1].name = "eth1";
    host[2].name = "eth2";
    host[1].settings.apps.push_back({dcb::Selector::Dscp, 50, 5});
    host[0].is_kept = true;
    EXPECT_THAT(of_rule(lint(host), "alike"), testing::SizeIs(1)) << "eth1 is kept by nobody";
    host[1].is_kept = true;
    EXPECT_THAT(lint(host), IsEmpty());
}

Interface infiniband_port(const char* name)
{
    Interface port;
    port.name = name;
    port.is_infiniband = true;
    port.rdma.device = "mlx5_0";
    port.levels = {{"moe", 106, "", {}, {}}};
    return port;
}

TEST(PortLint, NamesTrafficClassesOnAHostWithoutEthernet)
{
    std::vector<Interface> host{infiniband_port("mlx5_0/1"), infiniband_port("mlx5_1/1")};
    const auto findings = lint(host);
    ASSERT_EQ(findings.size(), 1U) << "once for the host";
    EXPECT_EQ(findings.front().rule, "infiniband");
    EXPECT_EQ(findings.front().interface, "mlx5_0/1");
    EXPECT_THAT(findings.front().what, HasSubstr("level moe has a traffic class"));
    EXPECT_EQ(findings.front().command, "rdma-qosctl env --level moe");
    host.push_back(healthy_port());
    EXPECT_THAT(lint(host), IsEmpty()) << "it has an effect on Ethernet";
    host.pop_back();
    for (Interface& port : host) {
        port.is_beside_ethernet = true;
    }
    EXPECT_THAT(lint(host), IsEmpty()) << "so it has where the port on Ethernet cannot be read";
    for (Interface& port : host) {
        port.is_beside_ethernet = false;
        port.levels.front().traffic_class = 2;    // ECN alone is no mark
    }
    EXPECT_THAT(lint(host), IsEmpty());
    EXPECT_THAT(lint({}), IsEmpty());
}

TEST(Rewrites, OfAToolThatSetsSeveralThingsAreOne)
{
    using std::chrono::milliseconds;
    const std::vector<SeenWrite> writes{
        {milliseconds(100)}, {milliseconds(900)}, {milliseconds(1900)}, {milliseconds(2901), dcb::Author::DcbTool}};
    const Rewrites rewrites = count_rewrites(writes, std::chrono::seconds(30));
    EXPECT_EQ(rewrites.count, 2U);
    EXPECT_EQ(rewrites.seconds, 30U);
    EXPECT_EQ(rewrites.author, dcb::Author::DcbTool);
    EXPECT_EQ(count_rewrites({}, std::chrono::seconds(30)).count, 0U);
}

// Of a port with RDMA of the kernel's own (rxe), with the driver of intel/openlldp#125.
TEST(PortLint, WhoRewritesAPortIsToldWithWhatThatDoes)
{
    std::vector<Interface> host{healthy_port()};
    host.front().rewrites = Rewrites{60, 2, dcb::Author::Unknown};
    EXPECT_THAT(only_finding(host, "rewritten").why, HasSubstr("a write of PFC takes the link down and up"));
    host.front().driver = "ixgbe";
    EXPECT_THAT(only_finding(host, "rewritten").why,
                HasSubstr("a write of ETS or of entries closes and opens the network interface"));
    host.front().driver = "unknown";
    EXPECT_EQ(only_finding(host, "rewritten").why, "whatever else sets this port is overwritten");
    host.front().rewrites->author = dcb::Author::DcbTool;
    EXPECT_EQ(only_finding(host, "rewritten").command, "grep -rlw dcb /etc /usr/local");
    host.front().rewrites->author = dcb::Author::Driver;
    EXPECT_EQ(only_finding(host, "rewritten").command, "dcb dcbx set dev eth0 host ieee");
}

// Each fact that a host may not tell, and how it is said that it was not looked at.
struct Silence {
    void (*hides)(Interface& port);
    const char* what;
    const char* why;    // part of it
};

const Silence kSilences[] = {
    {[](Interface& port) {
         port.rdma.notifications.dscp.reset();
         port.rdma.notifications.unread = "only root may read it";
     },
     "congestion notifications of mlx5_0", "their DSCP cannot be read: only root may read it"},
    {[](Interface& port) {
         port.settings.apps.clear();    // tags are trusted
         port.rdma.notifications.priority.reset();
     },
     "congestion notifications of mlx5_0", "their priority cannot be read"},
    {[](Interface& port) { port.rdma.notifications.are_obeyed.reset(); }, "congestion notifications of mlx5_0",
     "whether they are sent and obeyed, only the driver of NVIDIA's own packages tells"},
    {[](Interface& port) {
         port.driver = "bnxt_en";
         port.rdma.notifications = {};
     },
     "congestion notifications of mlx5_0", "only NVIDIA's drivers tell of them where this looks"},
    {[](Interface& port) { port.settings.pfc.reset(); }, "lossless priorities (PFC) of eth0",
     "its driver, mlx5_core, does not tell"},
    {[](Interface& port) { port.settings.ets.reset(); }, "weights and maximum rates of traffic classes (ETS) of eth0",
     "does not tell"},
    {[](Interface& port) { port.settings.buffers.reset(), port.settings.dcbx.reset(), port.rdma.sent.reset(); },
     "receive buffers, bytes of RDMA by priority and who negotiates with the switch (DCBX) of eth0", "does not tell"},
    {[](Interface& port) { port.link_speed.reset(); }, "guarantees (min-rate) on eth0", "speed of its link"},
    {[](Interface& port) { port.is_kept = true; }, "trust, priorities of DSCPs, weights and maximum rates of eth0",
     "the daemon keeps them"},
};

TEST(PortLint, SaysWhatItCouldNotLookAt)
{
    EXPECT_THAT(unchecked(std::vector{healthy_port()}), IsEmpty());
    for (const Silence& each : kSilences) {
        Interface port = healthy_port();
        each.hides(port);
        EXPECT_THAT(unchecked(std::vector{port}),
                    ElementsAre(AllOf(Field(&Unchecked::interface, "eth0"), Field(&Unchecked::what, each.what),
                                      Field(&Unchecked::why, HasSubstr(each.why)))))
            << each.what;
    }
    EXPECT_THAT(unchecked(std::vector{infiniband_port("mlx5_0/1")}), IsEmpty()) << "it has none of this";
}

TEST(PortLint, SaysNothingOfAPortWithoutSettings)
{
    std::vector<Interface> host{healthy_port()};
    host.front().settings = {};
    EXPECT_THAT(lint(host), IsEmpty());
}

}    // namespace
}    // namespace rdmaqos::port_lint
