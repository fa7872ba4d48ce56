#include "daemon/service/device_switches.h"

#include <cerrno>
#include <filesystem>

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace rdmaqos {
namespace {

TEST(DeviceSwitches, ComeBackAsTheyWereSaved)
{
    const test::TempDir root;
    const SwitchedOff disabled{{{Guid{0xFFFF'FFFF'FFFF'FFFF}, 1}, {"mlx5_0", 1, "ens1", "0000:3b:00.0"}},
                               {{Guid{0x10}, 2}, {"mlx5_\"1\"", 2, "", ""}}};
    ASSERT_TRUE(save_disabled(root.path(), disabled));
    const auto loaded = load_disabled(root.path());
    ASSERT_TRUE(loaded) << to_string(loaded.error());
    EXPECT_EQ(*loaded, disabled);
    ASSERT_TRUE(save_disabled(root.path(), {}));
    EXPECT_EQ(load_disabled(root.path()), SwitchedOff{});
}

TEST(DeviceSwitches, ReleasedOnesAreKeptUntilTheNextBoot)
{
    const test::TempDir root;
    const SwitchedOff released{{{Guid{0x10}, 2}, {"mlx5_1", 2, "", ""}}};
    ASSERT_TRUE(save_released(root.path(), released));
    EXPECT_EQ(load_released(root.path()), released);
    EXPECT_EQ(load_disabled(root.path()), SwitchedOff{});
    EXPECT_TRUE(std::filesystem::exists(root.path() / "run/rdma-qos/released-devices.json"));
}

TEST(DeviceSwitches, NoneIsNotAnError)
{
    const test::TempDir root;
    EXPECT_EQ(load_disabled(root.path()), SwitchedOff{});
}

TEST(DeviceSwitches, ADamagedFileIsAnError)
{
    for (const char* text : {"", "[]", "{\"schema\": 2, \"devices\": []}", "{\"schema\": 1, \"devices\": [1]}",
                             "{\"schema\": 1, \"devices\": [{\"node-guid\": \"10\", \"port\": 1}]}",
                             "{\"schema\": 1, \"devices\": [{\"node-guid\": \"0x1g\", \"port\": 1}]}",
                             "{\"schema\": 1, \"devices\": [{\"node-guid\": \"0x10\", \"port\": -1}]}"}) {
        const test::TempDir root;
        root.write("/var/lib/rdma-qos/disabled-devices.json", text);
        const auto loaded = load_disabled(root.path());
        ASSERT_FALSE(loaded) << text;
        EXPECT_NE(loaded.error().message.find("disabled-devices.json"), std::string::npos);
    }
}

TEST(DeviceSwitches, APortThatCannotBeIsRefusedByName)
{
    for (const char* port : {"99999999999999", "4294967296", "0", "-1", "1.5", "1e3", "\"1\"", "null"}) {
        const test::TempDir root;
        root.write("/var/lib/rdma-qos/disabled-devices.json",
                   std::string("{\"schema\": 1, \"devices\": [{\"node-guid\": \"0x10\", \"port\": 1}, "
                               "{\"node-guid\": \"0x10\", \"port\": ") +
                       port + "}]}");
        const auto loaded = load_disabled(root.path());
        ASSERT_FALSE(loaded) << port;
        EXPECT_NE(
            loaded.error().message.find("entry 2 of `devices`: `port` must be a number from 1 to 4294967295, not"),
            std::string::npos)
            << loaded.error().message;
    }
    const test::TempDir root;
    root.write("/var/lib/rdma-qos/disabled-devices.json",
               "{\"schema\": 1, \"devices\": [{\"node-guid\": \"0x10\", \"port\": 4294967295}]}");
    ASSERT_TRUE(load_disabled(root.path()));
    EXPECT_EQ(load_disabled(root.path())->begin()->first.port, 4294967295U);
}

TEST(DeviceSwitches, AFileThatCannotBeReadIsAnErrorWithItsNumber)
{
    const test::TempDir root;
    const auto folder = root.path() / "var/lib/rdma-qos";
    std::filesystem::create_directories(folder);
    std::filesystem::create_symlink("disabled-devices.json", folder / "disabled-devices.json");
    const auto loaded = load_disabled(root.path());
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().sys_errno, ELOOP);
    EXPECT_NE(loaded.error().message.find("disabled-devices.json"), std::string::npos);
    ASSERT_TRUE(save_disabled(root.path(), {})) << "the link is replaced";
    EXPECT_EQ(load_disabled(root.path()), SwitchedOff{});

    std::filesystem::remove(folder / "disabled-devices.json");
    std::filesystem::create_directory(folder / "disabled-devices.json");
    EXPECT_FALSE(load_disabled(root.path()));
    std::filesystem::remove_all(folder);
    std::filesystem::create_symlink("rdma-qos", folder);
    EXPECT_EQ(load_disabled(root.path()).error().sys_errno, ELOOP);
    EXPECT_EQ(save_disabled(root.path(), {}).error().sys_errno, ELOOP);
}

TEST(DeviceSwitches, ADeviceIsMeantByAnyOfItsNames)
{
    const DeviceNames names{"mlx5_0", 1, "ens1", "0000:3b:00.0"};
    for (const char* name : {"mlx5_0", "mlx5_0/1", "ens1", "0000:3b:00.0"}) {
        EXPECT_TRUE(has_name(names, name)) << name;
    }
    for (const char* name : {"", "mlx5_0/2", "mlx5"}) {
        EXPECT_FALSE(has_name(names, name)) << name;
    }
    EXPECT_FALSE(has_name({"mlx5_0", 1, "", ""}, ""));
}

}    // namespace
}    // namespace rdmaqos
