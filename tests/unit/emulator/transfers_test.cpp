#include "tools/emulator/datapath/transfers.h"

#include <gtest/gtest.h>

namespace rdmaqos::emulator {
namespace {

// All pieces of a message, and what they take of the link.
MessagePiece whole(std::uint64_t length)
{
    MessagePiece sum;
    do {
        const MessagePiece piece = next_piece(length, sum.length);
        EXPECT_LE(piece.length, 16384U) << length;
        sum.length += piece.length;
        sum.of_link += piece.of_link;
    } while (sum.length < length);
    return sum;
}

TEST(Transfers, AMessageTakesItsDataOfTheLink)
{
    for (const std::uint64_t length : {64U, 65U, 256U, 16384U, 16385U, 32768U, 1U << 20, (1U << 20) + 1}) {
        EXPECT_EQ(whole(length).length, length);
        EXPECT_EQ(whole(length).of_link, length);
    }
}

TEST(Transfers, AMessageTakesAFrameAtLeast)
{
    for (const std::uint64_t length : {0U, 1U, 8U, 63U}) {
        EXPECT_EQ(whole(length).length, length);
        EXPECT_EQ(whole(length).of_link, 64U) << length;
    }
}

}    // namespace
}    // namespace rdmaqos::emulator
