// The shipped interface descriptions are what the running service says of itself.
// RDMAQOS_UPDATE_GOLDEN=1 rewrites them for review.
#include <cstdlib>
#include <fstream>
#include <sstream>

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

std::string interface_of(const std::string& xml, const std::string& interface)
{
    const auto begin = xml.find(" <interface name=\"" + interface + "\">");
    const std::string end_tag = " </interface>\n";
    const auto end = xml.find(end_tag, begin);
    return begin == std::string::npos ? std::string() : xml.substr(begin, end + end_tag.size() - begin);
}

std::string document(const std::string& interface)
{
    return "<!DOCTYPE node PUBLIC \"-//freedesktop//DTD D-BUS Object Introspection 1.0//EN\"\n"
           "\"http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd\">\n<node>\n" +
           interface + "</node>\n";
}

class Introspection : public ::testing::Test {
protected:
    Daemon daemon{{kTwoLevelPolicy, kTwoDevices, "", false, RDMAQOS_DAEMON}};
    bus::Client client = daemon.direct();
};

TEST_F(Introspection, IsWhatWeShip)
{
    const auto session = register_session(client, {});
    ASSERT_TRUE(session);
    for (const auto& [path, interface] : std::vector<std::pair<std::string, std::string>>{
             {names::kRoot, names::kManager},
             {"/org/rdmaqos1/device/mlx5_5f0_2f1", names::kDevice},
             {session->path, names::kSession},
         }) {
        const auto running = interface_of(introspect(client, path), interface);
        ASSERT_FALSE(running.empty()) << interface;
        const std::string file = std::string(RDMAQOS_SOURCE_DIR) + "/config/dbus/" + interface + ".xml";
        if (std::getenv("RDMAQOS_UPDATE_GOLDEN") != nullptr) {
            std::ofstream(file) << document(running);
            continue;
        }
        std::ifstream in(file);
        std::ostringstream shipped;
        shipped << in.rdbuf();
        EXPECT_EQ(shipped.str(), document(running)) << file;
    }
}

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

// docs/dbus.md names every method, property and signal in backticks.
TEST_F(Introspection, IsDocumented)
{
    std::ifstream in(std::string(RDMAQOS_SOURCE_DIR) + "/docs/dbus.md");
    std::ostringstream text;
    text << in.rdbuf();
    const std::string manual = text.str();
    const auto session = register_session(client, {});
    ASSERT_TRUE(session);
    for (const auto& [path, interface] : std::vector<std::pair<std::string, std::string>>{
             {names::kRoot, names::kManager},
             {"/org/rdmaqos1/device/mlx5_5f0_2f1", names::kDevice},
             {session->path, names::kSession},
         }) {
        std::istringstream lines(interface_of(introspect(client, path), interface));
        for (std::string line; std::getline(lines, line);) {
            for (const auto* kind : {"<method name=\"", "<property name=\"", "<signal name=\""}) {
                if (const auto at = line.find(kind); at != std::string::npos) {
                    const auto begin = at + std::string_view(kind).size();
                    const auto name = line.substr(begin, line.find('"', begin) - begin);
                    EXPECT_NE(manual.find("`" + name), std::string::npos) << interface << " " << name;
                }
            }
        }
    }
}

}    // namespace
}    // namespace rdmaqos::test
