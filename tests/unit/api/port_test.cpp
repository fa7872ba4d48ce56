// The traffic classes of a port, into the record and back.
#include "lib/api/port.h"

#include <gtest/gtest.h>

namespace rdmaqos::api {
namespace {

dcb::PortSettings everything()
{
    dcb::PortSettings settings;
    dcb::Ets& ets = settings.ets.emplace();
    ets.classes = 4;
    ets.traffic_class[0] = {dcb::Selection::Ets, 10, {}};
    ets.traffic_class[1] = {dcb::Selection::Ets, 90, Bandwidth::from_gbps(40)};
    ets.traffic_class[2] = {dcb::Selection::CreditBasedShaper, 0, {}};
    ets.traffic_class[3] = {dcb::Selection::Vendor, 0, {}};
    ets.class_of_priority = {1, 0, 2, 3, 3, 0, 1, 2};
    settings.has_max_rates = true;
    settings.apps = {{dcb::Selector::Ethertype, 0x8915, 3},
                     {dcb::Selector::StreamPort, 3260, 4},
                     {dcb::Selector::DatagramPort, 4791, 3},
                     {dcb::Selector::AnyPort, 80, 1},
                     {dcb::Selector::Dscp, 26, 3}};
    dcb::Pfc& pfc = settings.pfc.emplace();
    pfc.capacity = 2;
    pfc.lossless = {false, true, false, true, false, false, false, false};
    dcb::Buffers& buffers = settings.buffers.emplace();
    buffers.buffer_of_priority = {0, 1, 0, 1, 7, 6, 5, 4};
    buffers.size = {1, 2, 3, 4, 5, 6, 7, 8};
    buffers.total = 36;
    settings.dcbx = dcb::Dcbx{.host = true, .firmware = false, .ieee = true, .cee = false};
    return settings;
}

Port record_of(const dcb::PortSettings& settings)
{
    Port port;
    port.state = kPortRead;
    set_settings(port, settings);
    return port;
}

TEST(PortRecord, EverythingComesBack)
{
    EXPECT_EQ(settings_of(record_of(everything())), everything());
}

TEST(PortRecord, WhatADriverDoesNotHaveIsAbsent)
{
    dcb::PortSettings settings;
    EXPECT_EQ(settings_of(record_of(settings)), settings);
    settings.pfc.emplace();
    EXPECT_EQ(settings_of(record_of(settings)), settings);
    settings.buffers.emplace();
    EXPECT_EQ(settings_of(record_of(settings)), settings);
    settings.ets.emplace();
    EXPECT_EQ(settings_of(record_of(settings)), settings);
}

TEST(PortRecord, NothingIsMadeOfWhatWasNotRead)
{
    Port port = record_of(everything());
    for (const char* state : {"", "off", "none", "pending", "failed", "of a later version"}) {
        port.state = state;
        EXPECT_FALSE(settings_of(port)) << state;
    }
}

// A daemon may say anything.
TEST(PortRecord, NumbersOutOfRangeAreLeftOut)
{
    Port port;
    port.state = kPortRead;
    port.priorities = {{.priority = 8, .traffic_class = 1}, {.priority = 1, .traffic_class = 300}};
    port.classes = {{.number = 8, .selection = "ets", .weight = 70},
                    {.number = 0, .selection = "later", .weight = 300}};
    port.buffers_total = 1;
    port.buffers = {{8, 1}};
    port.applications = {{"later", 1, 1}, {"dscp", 70'000, 300}};
    const auto settings = settings_of(port);
    ASSERT_TRUE(settings);
    for (const std::uint8_t each : settings->ets->class_of_priority) {
        EXPECT_LT(each, dcb::kTrafficClasses);
    }
    EXPECT_TRUE(settings->apps.empty());
    EXPECT_EQ(settings->ets->traffic_class[0].selection, dcb::Selection::Vendor);
}

TEST(PortRecord, TrustIsSaidInWords)
{
    EXPECT_EQ(record_of(everything()).trust, "dscp");
    EXPECT_EQ(record_of({}).trust, "pcp");
}

}    // namespace
}    // namespace rdmaqos::api
