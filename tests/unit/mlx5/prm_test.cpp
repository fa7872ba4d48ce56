#include "lib/mlx5/prm.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace rdmaqos::mlx5 {
namespace {

TEST(Prm, FieldsAreBigEndianBits)
{
    Mailbox mailbox(16);
    set(mailbox, {0, 16}, 0xa00);
    set(mailbox, {48, 16}, 0x26);
    set(mailbox, {65, 3}, 0x5);
    EXPECT_EQ(mailbox, (Mailbox{0x0a, 0x00, 0, 0, 0, 0, 0x00, 0x26, 0x50, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(Prm, NothingIsReadOrWrittenBeyondTheEnd)
{
    Mailbox mailbox{0xff, 0xff};
    EXPECT_EQ(get(mailbox, {8, 16}), 0xff00U);
    EXPECT_EQ(get(mailbox, {1000, 64}), 0U);
    set(mailbox, {8, 16}, 0);
    set(mailbox, {1000, 64}, 1);
    EXPECT_EQ(mailbox, (Mailbox{0xff, 0x00}));
}

RC_GTEST_PROP(Prm, WhatIsSetIsReadAndTheRestStays, (std::vector<std::uint8_t> bytes, std::uint64_t value))
{
    RC_PRE(!bytes.empty());
    const auto bits = bytes.size() * 8;
    const auto offset = *rc::gen::inRange<std::size_t>(0, bits);
    const auto width = *rc::gen::inRange<std::size_t>(1, std::min<std::size_t>(64, bits - offset) + 1);
    const std::uint64_t cut = width == 64 ? value : value & ((1ULL << width) - 1);
    Mailbox changed = bytes;
    set(changed, {offset, width}, value);
    RC_ASSERT(get(changed, {offset, width}) == cut);
    for (std::size_t bit = 0; bit < bits; ++bit) {
        if (bit < offset || bit >= offset + width) {
            RC_ASSERT(get(changed, {bit, 1}) == get(bytes, {bit, 1}));
        }
    }
}

}    // namespace
}    // namespace rdmaqos::mlx5
