#include "daemon/end_in_time.h"

#include <future>

#include <gtest/gtest.h>

#include "daemon/service/service.h"
#include "tests/support/service_fixture.h"

namespace rdmaqos {
namespace {

using namespace std::chrono_literals;

TEST(EndInTime, WhoEndsInTimeIsLeftAlone)
{
    {
        EndInTime end(1ms);    // never begun
        std::this_thread::sleep_for(5ms);
    }
    EndInTime end(10min);
    end.begin(3);
}

class EndInTimeDeathTest : public test::ServiceFixture {};

// As main() does: the end is watched over, then the service goes, and with it the thread of a device that hangs.
TEST_F(EndInTimeDeathTest, ADeviceThatAnswersNothingDoesNotKeepTheProgram)
{
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            policy("version: 1\nqos-levels:\n  - {name: DEFAULT, sl: 0, schedule: {share: 1}}\n");
            start();
            ModelBackend& nic = add_device("mlx5_0");
            test::Gate gate;
            test::hang(nic, gate);
            service->device_control().reconcile("", [](const auto&) {});
            gate.wait_until_it_holds();
            EndInTime end(50ms);
            end.begin(3);
            service.reset();
        },
        ::testing::ExitedWithCode(3), "");
}

}    // namespace
}    // namespace rdmaqos
