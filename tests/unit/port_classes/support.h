// Requests and ports for the tests of lib/port_classes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/dcb/driver.h"
#include "lib/dcb/port_settings.h"
#include "lib/port_classes/plan.h"
#include "lib/port_classes/rules.h"

namespace rdmaqos::port_classes::test {

inline Bandwidth gbps(std::uint64_t rate)
{
    return Bandwidth::from_gbps(rate);
}
inline Bandwidth mbps(std::uint64_t rate)
{
    return Bandwidth::from_mbps(rate);
}

// A level that is a child of the root: "rpc" with DSCP 26.
inline ClassRequest child(const std::string& name, std::uint32_t share, std::optional<std::uint8_t> dscp)
{
    ClassRequest request;
    request.path = ElementPath("/" + name);
    request.levels = {{name, dscp}};
    request.share = share;
    return request;
}
inline ClassRequest capped(ClassRequest request, Bandwidth rate)
{
    request.max_rate = rate;
    return request;
}
inline ClassRequest guaranteed(ClassRequest request, Bandwidth rate)
{
    request.min_rate = rate;
    return request;
}
inline ClassRequest strict(ClassRequest request)
{
    request.strict = true;
    return request;
}

inline Rules rules(std::string_view driver)
{
    return rules_of(dcb::find_driver(driver));
}

// A port as a driver starts it.
inline dcb::PortSettings started(std::string_view driver)
{
    const dcb::Driver* const row = dcb::find_driver(driver);
    dcb::PortSettings port;
    dcb::Ets ets;
    ets.classes = row != nullptr && row->starts_swapped ? 8 : driver == "bnxt_en" ? 3 : driver == "hns3" ? 4 : 8;
    for (std::uint8_t index = 0; index < 8; ++index) {
        if (driver == "mlx5_core") {
            ets.traffic_class.at(index) = {dcb::Selection::Vendor, 100, std::nullopt};
            ets.class_of_priority.at(index) = index < 2 ? 1 - index : index;
        } else {
            ets.traffic_class.at(index) = {driver == "ice" ? dcb::Selection::Ets : dcb::Selection::Strict,
                                           static_cast<std::uint8_t>(driver == "ice" && index == 0 ? 100 : 0),
                                           std::nullopt};
        }
    }
    port.ets = ets;
    port.has_max_rates = row != nullptr && row->max_rates == dcb::Access::Write;
    port.pfc = dcb::Pfc{8, {}};
    port.dcbx = dcb::Dcbx{true, false, true, false};
    return port;
}

// With the map that `mlnx_qos --trust dscp` leaves: DSCP / 8; and PFC on priority 3.
inline dcb::PortSettings as_roce_guides_say()
{
    dcb::PortSettings port = started("mlx5_core");
    for (std::uint16_t dscp = 0; dscp < 64; ++dscp) {
        port.apps.push_back({dcb::Selector::Dscp, dscp, static_cast<std::uint8_t>(dscp / 8)});
    }
    port.pfc->lossless[3] = true;
    return port;
}

}    // namespace rdmaqos::port_classes::test
