#include "daemon/device_switches.h"

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
