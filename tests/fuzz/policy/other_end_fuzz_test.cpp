// What an administrator brings from another host: any bytes are ports whose settings the lint can be asked about, or an
// error.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/port_lint/lint.h"
#include "tests/fuzz/support/mutator.h"
#include "tests/unit/port_lint/healthy.h"
#include "tools/rdma-qosctl/offline/other_end.h"

namespace rdmaqos::ctl {
namespace {

constexpr const char* kSeed = R"({"devices": [{"device": "mlx5_0/1", "port-classes": {"state": "read", "netdev": "eth7",
"trust": "dscp", "lossless-capacity": 8, "applications": [{"selector": "dscp", "protocol": 26, "priority": 3}],
"priorities": [{"priority": 0, "class": 0, "lossless": false}, {"priority": 3, "class": 3, "lossless": true}]}}]})";

TEST(OtherEndFuzz, Text)
{
    rdmaqos::test::fuzz("other_end", {kSeed, "{}"}, [](const std::string& text) {
        const auto ends = other_ends_of(text, "fuzz");
        ASSERT_TRUE(!ends || !ends->empty());
        if (!ends) {
            ASSERT_FALSE(ends.error().message.empty());
            return;
        }
        std::vector host{port_lint::test::healthy_port()};
        host.front().other_ends = *ends;
        for (const auto& finding : port_lint::lint(host)) {
            for (const char byte : finding.what) {
                ASSERT_GE(static_cast<unsigned char>(byte), 0x20) << "a control character in a finding";
            }
        }
    });
}

}    // namespace
}    // namespace rdmaqos::ctl
