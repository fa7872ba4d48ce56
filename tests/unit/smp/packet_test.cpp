#include "lib/smp/packet.h"

#include <gtest/gtest.h>

namespace rdmaqos::smp::test {
namespace {

TEST(SmpPacket, IsAQuestionOfNoHops)
{
    const Packet packet = get(Attribute::VlArbitration, 0x00030000, 0x01020304);
    EXPECT_EQ(packet[0], 1) << "version of the header";
    EXPECT_EQ(packet[1], 0x81) << "directed route";
    EXPECT_EQ(packet[3], 1) << "get";
    EXPECT_EQ(packet[6], 0) << "hop pointer";
    EXPECT_EQ(packet[7], 0) << "hop count";
    EXPECT_EQ(packet[8] | packet[9] | packet[10] | packet[11], 0) << "the kernel's half of the transaction";
    EXPECT_EQ(packet[12], 1);
    EXPECT_EQ(packet[15], 4);
    EXPECT_EQ(packet[17], 0x18);
    EXPECT_EQ(packet[21], 3);
    EXPECT_EQ(packet[32] & packet[33] & packet[34] & packet[35], 0xff) << "permissive LIDs";
}

TEST(SmpPacket, OnlyItsOwnAnswerCounts)
{
    const Packet question = get(Attribute::PortInfo, 0, 5);
    Packet answer = question;
    EXPECT_FALSE(data_of(question, answer)) << "the question itself, as it comes back when nobody answers";
    answer[3] = 0x81;
    answer[4] = 0x80;
    answer[64] = 42;
    ASSERT_TRUE(data_of(question, answer));
    EXPECT_EQ(data_of(question, answer).value()[0], 42);
    answer[10] = 9;
    EXPECT_TRUE(data_of(question, answer)) << "the kernel's half of the transaction";
    for (const std::size_t wrong : {1U, 3U, 15U, 17U}) {
        Packet other = answer;
        ++other.at(wrong);
        ASSERT_FALSE(data_of(question, other)) << wrong;
        EXPECT_EQ(data_of(question, other).error().code, ErrorCode::DeviceFailed);
    }
    answer[5] = 0x1c;
    EXPECT_EQ(data_of(question, answer).error().code, ErrorCode::Unsupported);
}

}    // namespace
}    // namespace rdmaqos::smp::test
