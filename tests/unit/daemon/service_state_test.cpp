// Service: what cannot be kept on the disk, or not be read from it, is in the reports until it can.
#include <filesystem>

#include <gmock/gmock.h>

#include "daemon/service/device_switches.h"
#include "daemon/service/last_good.h"
#include "tests/support/service_fixture.h"

namespace rdmaqos {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::FieldsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr const char* kStatePolicy = "version: 1\nqos-levels: [{name: DEFAULT}]\n";
constexpr const char* kStateFolder = "/var/lib/rdma-qos";

class ServiceState : public test::ServiceFixture {
protected:
    void break_state()
    {
        std::filesystem::remove_all(root.path() / "var/lib/rdma-qos");
        root.write(kStateFolder, "a file, where the folder should be");
    }
    void mend_state() { std::filesystem::remove(root.path() / "var/lib/rdma-qos"); }
};

TEST_F(ServiceState, APolicyThatCannotBeKeptIsReportedUntilOneCan)
{
    policy(kStatePolicy);
    break_state();
    start();
    EXPECT_THAT(
        service->context().state_failures,
        testing::Contains(Pair(kLastGoodFile, FieldsAre(AllOf(HasSubstr(service->in_force().policy()->revision),
                                                              HasSubstr("cannot be saved as the last good one")),
                                                        true))));
    mend_state();
    ASSERT_TRUE(reload().accepted);
    EXPECT_FALSE(service->context().state_failures.contains(kLastGoodFile));
    break_state();
    EXPECT_TRUE(reload().accepted) << "it is in force all the same";
    EXPECT_TRUE(service->context().state_failures.contains(kLastGoodFile));
}

TEST_F(ServiceState, WhatAKilledDaemonLeftBesideItsFilesIsRemoved)
{
    policy(kStatePolicy);
    const std::string folder = std::string(kStateFolder) + "/";
    const std::vector<std::string> foreign{"port-classes.json.backup", "port-classes.json.new-1",
                                           "port-classes.json.new-backups", "notes.new-a1B2c3"};
    for (const std::string& name : foreign) {
        root.write(folder + name, "of somebody else");
    }
    root.write(folder + "port-classes.json.new-a1B2c3", "{");
    std::filesystem::create_directory(root.path() / "var/lib/rdma-qos/last-good-policy.json.new-a1B2c3");
    start();
    const auto is_there = [&](const std::string& name) {
        return std::filesystem::exists(root.path() / "var/lib/rdma-qos" / name);
    };
    EXPECT_FALSE(is_there("port-classes.json.new-a1B2c3"));
    for (const std::string& name : foreign) {
        EXPECT_TRUE(is_there(name)) << name;
    }
    EXPECT_TRUE(is_there("last-good-policy.json.new-a1B2c3")) << "a folder";
}

TEST_F(ServiceState, AListOfDevicesThatCannotBeReadIsReportedUntilItIsReplaced)
{
    policy(kStatePolicy);
    root.write(kDisabledFile, "{\"schema\": 1, \"devices\": [17]}");
    start();
    EXPECT_THAT(service->context().state_failures,
                ElementsAre(Pair(kDisabledFile, FieldsAre(HasSubstr("no device is disabled: "), false))));
    add_device("mlx5_0");
    ASSERT_TRUE(answer<std::vector<DeviceReconcile>>(
        [&](auto done) { service->device_control().disable("mlx5_0", std::move(done)); }));
    EXPECT_THAT(service->context().state_failures, IsEmpty());
    break_state();
    EXPECT_FALSE(answer<std::vector<DeviceReconcile>>(
        [&](auto done) { service->device_control().enable("mlx5_0", std::move(done)); }));
    EXPECT_THAT(service->context().state_failures,
                ElementsAre(Pair(kDisabledFile, FieldsAre(HasSubstr("will not be known after a restart"), true))));
}

}    // namespace
}    // namespace rdmaqos
