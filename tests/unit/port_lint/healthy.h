// A port on which nothing is wrong: rpc in lossless priority 3, bulk in 4, congestion notifications in 6.
#pragma once

#include "lib/port_lint/values.h"

namespace rdmaqos::port_lint::test {

inline dcb::TrafficClass weighted(std::uint8_t percent)
{
    return {dcb::Selection::Ets, percent, {}};
}

inline Interface healthy_port()
{
    Interface port;
    port.name = "eth0";
    port.driver = "mlx5_core";
    port.link_speed = Bandwidth::from_gbps(100);
    dcb::Ets ets;
    ets.traffic_class[0] = weighted(20);
    ets.traffic_class[3] = weighted(50);
    ets.traffic_class[4] = weighted(30);
    ets.class_of_priority = {0, 0, 0, 3, 4, 0, 6, 0};
    port.settings.ets = ets;
    port.settings.has_max_rates = true;
    port.settings.apps = {{dcb::Selector::Dscp, 26, 3}, {dcb::Selector::Dscp, 34, 4}, {dcb::Selector::Dscp, 48, 6}};
    port.settings.pfc = dcb::Pfc{8, {false, false, false, true, false, false, false, false}};
    port.settings.buffers = dcb::Buffers{{0, 0, 0, 1, 0, 0, 0, 0}, {100'000, 200'000, 0, 0, 0, 0, 0, 0}, 300'000};
    port.settings.dcbx = dcb::Dcbx{.host = true, .firmware = false, .ieee = true, .cee = false};
    port.rdma.device = "mlx5_0";
    port.rdma.default_tos = 104;
    port.rdma.default_mode = "RoCE v2";
    port.rdma.notifications = {.dscp = 48,
                               .priority = 6,
                               .are_sent = OfPriority<bool>{true, true, true, true, true, true, true, true},
                               .are_obeyed = OfPriority<bool>{true, true, true, true, true, true, true, true}};
    port.rdma.sent = SentBytes{{1000, 0, 0, 90'000, 4000, 0, 10, 0}, 90'010};
    port.root_children = {{"rpc", 50, Bandwidth::from_gbps(40), {}, false},
                          {"bulk", 30, {}, Bandwidth::from_gbps(80), false}};
    port.levels = {{"rpc", 104, "rpc", Bandwidth::from_gbps(40), {}}, {"bulk", 136, "bulk", {}, {}}};
    return port;
}

}    // namespace rdmaqos::port_lint::test
