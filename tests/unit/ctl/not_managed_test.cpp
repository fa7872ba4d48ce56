// Devices of the host that are not managed, in lists and errors.
#include <gtest/gtest.h>

#include "tests/support/golden.h"
#include "tests/unit/ctl/sample.h"
#include "tools/rdma-qosctl/rendering/devices.h"
#include "tools/rdma-qosctl/rendering/world_json.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {
namespace {

using namespace rdmaqos::ctl::test;
using rdmaqos::test::expect_golden;

TEST(NotManaged, DevicesAreListed)
{
    World world = sample_world();
    world.manager.refused_devices = {
        {.device = "mlx5_3/1", .netdev = "ens4", .reason = "the device cannot be opened: Operation not permitted"}};
    world.manager.released_devices = {"mlx5_4/1"};
    expect_golden("ctl/devices-not-managed.txt", render_devices(world, Colour::Off));
    EXPECT_EQ(find_device(world, "ens4").error().message,
              "mlx5_3/1 is not managed: the device cannot be opened: Operation not permitted");
}

}    // namespace
}    // namespace rdmaqos::ctl
