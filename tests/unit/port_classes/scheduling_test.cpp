#include "lib/port_classes/scheduling.h"

#include <gtest/gtest.h>

namespace rdmaqos::port_classes::test {
namespace {

dcb::PortSettings some_settings()
{
    dcb::PortSettings settings;
    dcb::Ets& ets = settings.ets.emplace();
    ets.traffic_class[0] = {dcb::Selection::Ets, 30, {}};
    ets.traffic_class[1] = {dcb::Selection::Ets, 70, Bandwidth::from_gbps(40)};
    ets.traffic_class[2] = {dcb::Selection::Ets, 0, {}};
    ets.traffic_class[6] = {dcb::Selection::Strict, 7, Bandwidth::from_gbps(1)};
    ets.class_of_priority = {0, 1, 2, 0, 0, 0, 6, 0};
    settings.has_max_rates = true;
    settings.apps = {
        {dcb::Selector::DatagramPort, 4791, 2}, {dcb::Selector::Dscp, 26, 1}, {dcb::Selector::Dscp, 46, 6}};
    return settings;
}

TEST(Scheduling, IsThatOfTheClassesAndOfTheTable)
{
    const PortClasses port = scheduling_of(some_settings());
    EXPECT_EQ(port.classes[0], (PortClass{false, 30, {}}));
    EXPECT_EQ(port.classes[1], (PortClass{false, 70, Bandwidth::from_gbps(40)}));
    EXPECT_EQ(port.classes[2], (PortClass{false, 0, {}})) << "served last";
    EXPECT_EQ(port.classes[6], (PortClass{true, 0, Bandwidth::from_gbps(1)})) << "one that is strict has no weight";
    EXPECT_EQ(port.class_of_dscp(26), 1);
    EXPECT_EQ(port.class_of_dscp(46), 6);
    EXPECT_EQ(port.class_of_dscp(10), 0) << "it has no entry, and another selector says nothing of a DSCP";
    EXPECT_TRUE(divides(port));
}

TEST(Scheduling, WhatTheVendorDoesAreEqualParts)
{
    dcb::PortSettings settings = some_settings();
    for (auto& each : settings.ets->traffic_class) {
        each = {dcb::Selection::Vendor, 0, {}};
    }
    const PortClasses port = scheduling_of(settings);
    for (const PortClass& each : port.classes) {
        EXPECT_EQ(weight_of(each), weight_of(port.classes[0]));
        EXPECT_GT(each.weight, 0U) << "else it would be served after those that have a weight";
    }
}

TEST(Scheduling, NothingIsDividedWhereAllIsInOneClass)
{
    dcb::PortSettings settings = some_settings();
    settings.apps.clear();
    EXPECT_FALSE(divides(scheduling_of(settings))) << "it trusts VLAN tags: all have priority 0";
    settings.ets->class_of_priority[0] = 1;
    EXPECT_TRUE(divides(scheduling_of(settings))) << "that class has a maximum rate";
    EXPECT_EQ(scheduling_of({}), PortClasses());
    EXPECT_FALSE(divides({}));
}

}    // namespace
}    // namespace rdmaqos::port_classes::test
