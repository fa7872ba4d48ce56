// Introspection shows the objects that there are.
#include <gtest/gtest.h>

#include "tests/support/daemon_fixture.h"

namespace rdmaqos::test {
namespace {

namespace names = bus::names;

std::string introspect(bus::Client& client, const std::string& path)
{
    const auto reply = client.call(path, "org.freedesktop.DBus.Introspectable", "Introspect", {});
    if (!reply) {
        ADD_FAILURE() << to_string(reply.error());
        return {};
    }
    return *reply->front().as<std::string>();
}

class Introspection : public ::testing::Test {
protected:
    Daemon daemon{{kTwoLevelPolicy, kTwoDevices, "", false, RDMAQOS_DAEMON}};
    bus::Client client = daemon.direct();
};

TEST_F(Introspection, ShowsTheObjectTree)
{
    const auto session = register_session(client, {});
    ASSERT_TRUE(session);
    EXPECT_NE(introspect(client, names::kRoot).find("org.freedesktop.DBus.ObjectManager"), std::string::npos);
    EXPECT_NE(introspect(client, names::kDevices).find("<node name=\"mlx5_5f1_2f1\"/>"), std::string::npos);
    EXPECT_NE(introspect(client, names::kSessions)
                  .find("<node name=\"" + session->path.substr(session->path.rfind('/') + 1) + "\"/>"),
              std::string::npos);
}

}    // namespace
}    // namespace rdmaqos::test
