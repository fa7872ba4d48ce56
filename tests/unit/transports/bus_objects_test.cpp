#include "daemon/bus/object_paths.h"

#include <gtest/gtest.h>

namespace rdmaqos {
namespace {

TEST(Paths, OfSessionsGoBothWays)
{
    for (const std::uint64_t number : {std::uint64_t{1}, std::uint64_t{17}, UINT64_MAX}) {
        EXPECT_EQ(session_of_path(session_path(SessionId{number})), SessionId{number});
    }
    EXPECT_EQ(session_path(SessionId{17}), "/org/rdmaqos1/session/17");
}

TEST(Paths, OthersAreNoSessions)
{
    for (const auto* path :
         {"/", "/org/rdmaqos1/session", "/org/rdmaqos1/session/", "/org/rdmaqos1/session/0", "/org/rdmaqos1/session/01",
          "/org/rdmaqos1/session/1a", "/org/rdmaqos1/session/_31", "/org/rdmaqos1/session/1/2",
          "/org/rdmaqos1/session/18446744073709551616", "/org/rdmaqos1/sessions/1", "/org/rdmaqos1/device/1"}) {
        EXPECT_EQ(session_of_path(path), std::nullopt) << path;
    }
}

TEST(Paths, OfDevicesGoBothWays)
{
    EXPECT_EQ(device_path("mlx5_0/1"), "/org/rdmaqos1/device/mlx5_5f0_2f1");
    EXPECT_EQ(device_of_path("/org/rdmaqos1/device/mlx5_5f0_2f1"), "mlx5_0/1");
    EXPECT_EQ(device_of_path("/org/rdmaqos1/session/1"), std::nullopt);
    EXPECT_EQ(device_of_path("/"), std::nullopt);
}

}    // namespace
}    // namespace rdmaqos
