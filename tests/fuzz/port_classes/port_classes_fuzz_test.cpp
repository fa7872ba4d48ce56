// What the daemon reads back of a port's settings before it: any bytes are a record that is written as it was read, or
// none.
#include <string>

#include <gtest/gtest.h>

#include "lib/port_classes/record.h"
#include "lib/port_classes/render.h"
#include "lib/port_classes/steps.h"
#include "tests/fuzz/support/mutator.h"
#include "tests/unit/port_classes/support.h"

namespace rdmaqos::port_classes::test {
namespace {

TEST(PortClassesRecordFuzz, Text)
{
    const Rules mlx5 = rules("mlx5_core");
    rdmaqos::test::fuzz("port_classes_record",
                        {to_text({"mlx5_core", as_roce_guides_say()}), to_text({"mlx5_core", started("mlx5_core")}),
                         to_text({"ice", started("ice")})},
                        [&](const std::string& text) {
                            const auto record = parse_record(text);
                            if (record) {
                                ASSERT_EQ(to_text(*record), text);
                                static_cast<void>(difference(started("mlx5_core"), record->before, mlx5));
                                static_cast<void>(plan({}, record->before, mlx5, {}));
                            }
                        });
}

}    // namespace
}    // namespace rdmaqos::port_classes::test
