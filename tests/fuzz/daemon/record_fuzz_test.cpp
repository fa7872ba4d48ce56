// The record of an earlier daemon: for any text it is read or refused, and what was read is written as it was.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "daemon/handover/record_text.h"
#include "tests/fuzz/support/mutator.h"

namespace rdmaqos {
namespace {

constexpr const char* kDevice = "0x0010000000000001/1";

TEST(RecordFuzz, AnyText)
{
    const std::string head = record_head(kDevice);
    const LeftElement leaf{ElementId{3},
                           {ElementPath("/rpc"), ElementKind::Leaf, ElementId{1}, {40, Bandwidth::from_gbps(10)}},
                           ElementHandle{0x300000012}};
    const LeftQueuePair queue_pair{
        {71}, {4711, 90210}, {ElementId{3}, ElementId{3}, RateLimit{Bandwidth::from_mbps(5), 4096, 1024}}};
    const std::vector<std::string> seeds{
        head,
        head + record_line(leaf) + record_line(queue_pair),
        head + record_line(leaf) + record_line(leaf.id) + record_line(queue_pair) + record_line(queue_pair.queue_pair),
    };
    test::fuzz("record", seeds, [](const std::string& text) {
        const auto read = read_record(text, kDevice);
        if (!read) {
            ASSERT_FALSE(read.error().message.empty());
            return;
        }
        const auto again = read_record(to_text(*read, kDevice), kDevice);
        ASSERT_TRUE(again) << to_string(again.error());
        ASSERT_EQ(*again, *read);
    });
}

}    // namespace
}    // namespace rdmaqos
