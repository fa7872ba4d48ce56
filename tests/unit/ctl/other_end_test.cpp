// The ports of another host, from its JSON.
#include "tools/rdma-qosctl/offline/other_end.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lib/api/json.h"
#include "lib/api/port.h"

namespace rdmaqos::ctl {
namespace {

using ::testing::HasSubstr;

dcb::PortSettings peer_settings()
{
    dcb::PortSettings settings;
    settings.apps = {{dcb::Selector::Dscp, 26, 3}, {dcb::Selector::Dscp, 48, 6}};
    settings.pfc.emplace().capacity = 8;
    settings.pfc->lossless[3] = true;
    return settings;
}

// As `devices --json` prints it.
std::string json_of(const std::vector<std::pair<std::string, dcb::PortSettings>>& ports)
{
    auto devices = nlohmann::ordered_json::array();
    for (const auto& [name, settings] : ports) {
        api::Port port{.state = std::string(api::kPortRead), .netdev = name};
        api::set_settings(port, settings);
        devices.push_back({{"device", "mlx5_0/1"}, {"port-classes", api::to_json(port)}});
    }
    return nlohmann::ordered_json{{"devices", devices}}.dump();
}

TEST(OtherEnd, IsWhatTheOtherHostSaid)
{
    const auto ends = other_ends_of(json_of({{"eth7", peer_settings()}}), "peer.json");
    ASSERT_TRUE(ends) << ends.error().message;
    ASSERT_EQ(ends->size(), 1U);
    EXPECT_EQ(ends->front().name, "eth7 in peer.json");
    EXPECT_EQ(ends->front().settings.apps, peer_settings().apps);
    EXPECT_EQ(ends->front().settings.pfc, peer_settings().pfc);
}

TEST(OtherEnd, PortsThatAreSetTheSameAreOne)
{
    dcb::PortSettings other = peer_settings();
    other.pfc->lossless[3] = false;
    const auto ends = other_ends_of(
        json_of({{"eth0", peer_settings()}, {"eth1", other}, {"eth2", peer_settings()}, {"eth3", peer_settings()}}),
        "peer.json");
    ASSERT_TRUE(ends) << ends.error().message;
    ASSERT_EQ(ends->size(), 2U);
    EXPECT_EQ(ends->front().name, "eth0 and 2 more in peer.json");
    EXPECT_EQ(ends->back().name, "eth1 in peer.json");
}

TEST(OtherEnd, WithoutAPortThatWasReadIsAnError)
{
    for (const char* text : {"", "no JSON", "[]", "{}", R"({"devices": 7})", R"({"devices": [7, null, "x"]})",
                             R"({"devices": [{"port-classes": {"state": "off", "netdev": "eth0"}}]})"}) {
        const auto ends = other_ends_of(text, "peer.json");
        ASSERT_FALSE(ends) << text;
        EXPECT_EQ(ends.error().code, ErrorCode::InvalidArgument);
        EXPECT_THAT(ends.error().message, HasSubstr("peer.json: there is no port with traffic classes in it"));
    }
}

TEST(OtherEnd, NumbersThatAreNoneAreLeftOut)
{
    const auto ends = other_ends_of(
        R"({"devices": [{"port-classes": {"state": "read", "netdev": "eth0", "lossless-capacity": 8,
            "applications": [{"selector": "dscp", "protocol": 26, "priority": 8},
                             {"selector": "dscp", "protocol": -1, "priority": 1},
                             {"selector": "dscp", "protocol": 30, "priority": 1}, 7],
            "priorities": [{"priority": 99, "lossless": true}, {"priority": 2, "lossless": "yes"}]}}]})",
        "peer.json");
    ASSERT_TRUE(ends) << ends.error().message;
    const std::vector<dcb::AppEntry> apps{{dcb::Selector::Dscp, 30, 1}};
    EXPECT_EQ(ends->front().settings.apps, apps);
    EXPECT_EQ(ends->front().settings.pfc, (dcb::Pfc{8, {}}));
}

}    // namespace
}    // namespace rdmaqos::ctl
