#include "lib/tree/capabilities.h"

#include <gtest/gtest.h>

namespace rdmaqos {
namespace {

TEST(QueuePairType, NamesGoBothWays)
{
    for (const auto type :
         {QueuePairType::Rc, QueuePairType::Uc, QueuePairType::Ud, QueuePairType::RawPacket, QueuePairType::Devx}) {
        EXPECT_EQ(parse_queue_pair_type(to_string(type)), type) << to_string(type);
    }
}

TEST(QueuePairType, UnknownNameIsNothing)
{
    EXPECT_EQ(parse_queue_pair_type("xrc"), std::nullopt);
    EXPECT_EQ(parse_queue_pair_type(""), std::nullopt);
    EXPECT_EQ(parse_queue_pair_type("RC"), std::nullopt);
}

}    // namespace
}    // namespace rdmaqos
