// rdma-qosd with `port-classes: report` and ports whose traffic classes other programs change.
#include <chrono>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/ports/port_rig.h"

namespace rdmaqos::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// What is known without the interval is known by a notification.
constexpr const char* kSeldom = "version: 1\nport-classes: report\ndrift-interval: 24h\n";

class PortsReported : public ::testing::Test {
protected:
    void TearDown() override
    {
        forget_classes(other_);
        make_as_it_was();
    }
    [[nodiscard]] nlohmann::json said() const { return said_of_port(daemon_.root()); }
    [[nodiscard]] bool comes_to_say(const std::string& classes) const
    {
        return eventually([&] { return classes_in(said()).starts_with(classes); });
    }
    // In a shell; {} is the interface.
    static bool run(const std::string& command) { return std::system(command.c_str()) == 0; }

    Daemon daemon_{on_emulator(kThreeClasses, kSeldom)};
    PortUser other_;
};

TEST_F(PortsReported, AreReadOnceAndNothingIsWritten)
{
    ASSERT_TRUE(eventually([&] { return said().value("state", "") == "read"; }));
    EXPECT_EQ(said().value("driver", ""), "mlx5_core");
    EXPECT_EQ(said().value("netdev", ""), "ens1");
    EXPECT_THAT(classes_in(said()), StartsWith("0: vendor 0, 1: vendor 0"));
    EXPECT_FALSE(said().contains("last-change"));
    EXPECT_EQ(writes_so_far(), 0U);
}

TEST_F(PortsReported, AWriteOfAnotherProgramIsSaidByANotification)
{
    ASSERT_TRUE(eventually([&] { return said().value("state", "") == "read"; }));
    ASSERT_TRUE(other_.divide({60, 40}));
    ASSERT_TRUE(comes_to_say("0: ets 60, 1: ets 40, 2: strict 0"));
    EXPECT_THAT(said().at("last-change").value("by", ""), HasSubstr("another program"));
    EXPECT_TRUE(
        eventually([&] { return daemon_.log().find("have changed, by another program") != std::string::npos; }));

    ASSERT_TRUE(other_.write({dcb::SetApp{{dcb::Selector::Dscp, 26, 1}}}));
    ASSERT_TRUE(eventually([&] { return said().value("trust", "") == "dscp"; }));
    ASSERT_TRUE(other_.write({dcb::DeleteApp{{dcb::Selector::Dscp, 26, 1}}}));
    ASSERT_TRUE(eventually([&] { return said().value("trust", "") == "pcp"; }));
}

TEST_F(PortsReported, ARefusedWriteIsNotifiedAndChangesNothing)
{
    ASSERT_TRUE(other_.divide({60, 40}));
    ASSERT_TRUE(comes_to_say("0: ets 60, 1: ets 40"));
    const auto before = said().at("last-change").at("at");
    emulator("dcb-fault mlx5_0 1 refuse");
    EXPECT_FALSE(other_.divide({10, 90}));
    EXPECT_THAT(classes_in(said()), StartsWith("0: ets 60, 1: ets 40"));
    emulator("dcb-fault mlx5_0 1 half");
    EXPECT_FALSE(other_.divide({10, 90}));
    EXPECT_THAT(classes_in(said()), StartsWith("0: ets 60, 1: ets 40"));
    EXPECT_GE(said().at("last-change").at("at"), before);
}

TEST_F(PortsReported, TheEmulatorsOwnerIsAnotherProgram)
{
    ASSERT_TRUE(eventually([&] { return said().value("state", "") == "read"; }));
    emulator("port-classes mlx5_0 tc1=70 tc2=30 dscp26=1");
    ASSERT_TRUE(comes_to_say("0: ets 0, 1: ets 70, 2: ets 30"));
    EXPECT_THAT(said().at("last-change").value("by", ""), HasSubstr("another program"));
}

// By the same group, which the kernel sends to every other socket but those with the port number 0, its own.
TEST_F(PortsReported, WhoHasNoPortNumberIsToldNothing)
{
    const auto listener = [](bool has_number) {
        UniqueFd made(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE));
        sockaddr_nl any{};
        any.nl_family = AF_NETLINK;
        EXPECT_TRUE(!has_number || bind(made.get(), reinterpret_cast<const sockaddr*>(&any), sizeof(any)) == 0);
        const int group = RTNLGRP_DCB;
        EXPECT_EQ(setsockopt(made.get(), SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)), 0);
        return dcb::Watcher(std::move(made));
    };
    auto without = listener(false);
    auto with = listener(true);
    ASSERT_TRUE(other_.divide({60, 40}));
    EXPECT_TRUE(eventually([&] { return !with.drain().empty(); }));
    EXPECT_TRUE(without.drain().empty());
}

// iproute2's, by its own socket.
TEST_F(PortsReported, TheCommandDcbIsNamed)
{
    if (!run("command -v dcb >/dev/null")) {
        GTEST_SKIP() << "dcb (iproute2) is not installed";
    }
    ASSERT_TRUE(eventually([&] { return said().value("state", "") == "read"; }));
    ASSERT_TRUE(run("dcb ets set dev ens1 tc-tsa all:strict 0:ets 1:ets tc-bw all:0 0:55 1:45"));
    ASSERT_TRUE(comes_to_say("0: ets 55, 1: ets 45"));
    EXPECT_THAT(said().at("last-change").value("by", ""), HasSubstr("the command `dcb`"));
    EXPECT_TRUE(run("dcb ets show dev ens1 | grep -q 'tc-bw 0:55 1:45 '"));
    ASSERT_TRUE(run("dcb app add dev ens1 dscp-prio 26:3"));
    EXPECT_TRUE(eventually([&] { return said().value("trust", "") == "dscp"; }));
    EXPECT_TRUE(run("dcb app show dev ens1 | grep -qE '(26|AF31):3'"));
    EXPECT_FALSE(run("dcb ets show dev ens7 2>/dev/null")) << "there is no such interface, here or on the host";
}

// With every dcb(8): those before 6.18 set 125 times the rate that they are given in kbit.
TEST_F(PortsReported, TheExportedCommandsSetTheCapsOfThePolicy)
{
    if (!run("command -v dcb >/dev/null")) {
        GTEST_SKIP() << "dcb (iproute2) is not installed";
    }
    const TempDir host;
    host.write("etc/rdma-qos/policy.yaml", R"(version: 1
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: rpc, dscp: 26, schedule: {share: 70}}
  - {name: bulk, dscp: 10, schedule: {share: 30, max-rate: 25Gbps}}
)");
    const char* sysfs = std::getenv("SYSFS_PATH");    // NOLINT(concurrency-mt-unsafe): nobody sets it
    ASSERT_NE(sysfs, nullptr) << "the emulator has said where its devices are";
    std::filesystem::create_directory_symlink(sysfs, host.path() / "sys");
    const auto exported = run_ctl(host.path(), "export dcb --interface ens1");
    ASSERT_EQ(exported.status, 0) << exported.error;
    host.write("commands", exported.output);
    ASSERT_TRUE(run("sh -e " + (host.path() / "commands").string())) << exported.output;
    const auto set = other_.settings();
    EXPECT_EQ(set.ets->traffic_class.at(dcb::class_of_dscp(set, 10)).max_rate, Bandwidth::from_gbps(25));
    EXPECT_EQ(set.ets->traffic_class.at(dcb::class_of_dscp(set, 26)).max_rate, std::nullopt);
    EXPECT_NE(dcb::class_of_dscp(set, 10), dcb::class_of_dscp(set, 26));
}

// The group does not tell of it, and the device is opened again.
TEST_F(PortsReported, AResetIsNoticedAndAllIsLost)
{
    for (const std::string how : {"reset mlx5_0", "unplug mlx5_0"}) {
        ASSERT_TRUE(eventually([&] { return said().value("state", "") == "read"; })) << how;
        ASSERT_TRUE(other_.divide({60, 40}));
        ASSERT_TRUE(comes_to_say("0: ets 60")) << how;
        emulator(how);
        emulator("plug mlx5_0");
        ASSERT_TRUE(comes_to_say("0: vendor 0, 1: vendor 0")) << how;
        ASSERT_TRUE(other_.divide({30, 70})) << how;
        EXPECT_TRUE(comes_to_say("0: ets 30, 1: ets 70")) << how << ": it still listens";
    }
}

}    // namespace
}    // namespace rdmaqos::test
