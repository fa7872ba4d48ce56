#include "lib/dcb/port_settings.h"

#include <gtest/gtest.h>

namespace rdmaqos::dcb {
namespace {

PortSettings with_apps(std::vector<AppEntry> apps)
{
    PortSettings settings;
    settings.ets.emplace();
    settings.ets->class_of_priority = {1, 0, 2, 3, 4, 5, 6, 7};
    settings.apps = std::move(apps);
    return settings;
}

TEST(PortSettings, ADscpLeadsToAPriorityAndAClass)
{
    const PortSettings settings = with_apps({{Selector::DatagramPort, 26, 7}, {Selector::Dscp, 26, 3}});
    EXPECT_EQ(priority_of_dscp(settings, 26), 3);
    EXPECT_EQ(class_of_dscp(settings, 26), 3);
    EXPECT_EQ(priority_of_dscp(settings, 27), 0);
    EXPECT_EQ(class_of_dscp(settings, 27), 1) << "priority 0 is in class 1";
    EXPECT_TRUE(trusts_dscp(settings));
}

TEST(PortSettings, OfSeveralEntriesTheHighestPriorityCounts)
{
    EXPECT_EQ(priority_of_dscp(with_apps({{Selector::Dscp, 26, 2}, {Selector::Dscp, 26, 5}}), 26), 5);
}

TEST(PortSettings, WithoutEntriesOfADscpTheTagsOfVlansAreTrusted)
{
    EXPECT_FALSE(trusts_dscp(with_apps({{Selector::DatagramPort, 4791, 3}})));
    EXPECT_EQ(class_of_dscp(PortSettings{}, 26), 0);
}

}    // namespace
}    // namespace rdmaqos::dcb
