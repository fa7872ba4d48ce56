#include "lib/bus/framing.h"

#include <gtest/gtest.h>

namespace rdmaqos::bus {
namespace {

using namespace std::string_literals;

std::string call_head(char order, std::uint32_t body, std::uint32_t fields)
{
    std::string bytes{order, 1, 0, 1};
    for (const std::uint32_t value : {body, 7U, fields}) {
        for (unsigned byte = 0; byte < 4; ++byte) {
            const unsigned shift = order == 'l' ? 8 * byte : 8 * (3 - byte);
            bytes.push_back(static_cast<char>(value >> shift));
        }
    }
    return bytes;
}

TEST(Framing, KnowsTheSizeOfAMessageInBothByteOrders)
{
    for (const char order : {'l', 'B'}) {
        const auto head = parse_head(call_head(order, 1000, 61));
        ASSERT_TRUE(head);
        EXPECT_EQ(head->fields, 64U) << "padded";
        EXPECT_EQ(head->body, 1000U);
        EXPECT_EQ(head->serial, 7U);
        EXPECT_EQ(head->size(), 16U + 64 + 1000);
        EXPECT_TRUE(head->is_call);
        EXPECT_TRUE(head->expects_reply);
    }
}

TEST(Framing, TheLargestLengthsDoNotWrap)
{
    const auto head = parse_head(call_head('l', UINT32_MAX, UINT32_MAX));
    ASSERT_TRUE(head);
    EXPECT_EQ(head->size(), 16U + 0x1'0000'0000U + 0xffff'ffffU);
}

TEST(Framing, OtherBytesAreNoMessage)
{
    EXPECT_FALSE(parse_head(call_head('l', 0, 0).substr(0, 15))) << "too short to say";
    EXPECT_FALSE(parse_head(call_head('x', 0, 0)));
    auto version = call_head('l', 0, 0);
    version[3] = 2;
    EXPECT_FALSE(parse_head(version));
}

TEST(Framing, NotEveryMessageExpectsAReply)
{
    auto signal = call_head('l', 0, 0);
    signal[1] = 4;
    EXPECT_FALSE(parse_head(signal)->expects_reply);
    auto quiet = call_head('l', 0, 0);
    quiet[2] = 1;
    EXPECT_TRUE(parse_head(quiet)->is_call);
    EXPECT_FALSE(parse_head(quiet)->expects_reply);
}

TEST(Framing, AnErrorIsAMessageOfItsOwnSize)
{
    const std::string error = error_reply(7, "org.freedesktop.DBus.Error.LimitsExceeded", "too large");
    const auto head = parse_head(error);
    ASSERT_TRUE(head);
    EXPECT_EQ(head->size(), error.size());
    EXPECT_FALSE(head->is_call);
    EXPECT_NE(error.find("too large"), std::string::npos);
}

// ---- authentication ----

struct Spoken {
    std::string text;
    std::string rest;
    bool done = false;
    bool refused = false;
};

Spoken say(const std::string& text, std::size_t at_once = SIZE_MAX)
{
    AuthDialogue dialogue(1000, 0);
    Spoken spoken;
    for (std::size_t at = 0; at < text.size();) {
        const std::string piece = text.substr(at, at_once);
        std::string_view input = piece;
        const auto passed = dialogue.take(input);
        if (!passed) {
            spoken.refused = true;
            return spoken;
        }
        spoken.text += *passed;
        at += piece.size() - input.size();
        if (dialogue.done()) {
            spoken.done = true;
            spoken.rest = text.substr(at);
            return spoken;
        }
    }
    return spoken;
}

TEST(Auth, TranslatesWhoTheClientIs)
{
    // 1000 and 0 as decimal digits in hex.
    const Spoken spoken = say("\0AUTH EXTERNAL 31303030\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\nl..."s);
    EXPECT_EQ(spoken.text, "\0AUTH EXTERNAL 30\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n"s);
    EXPECT_TRUE(spoken.done);
    EXPECT_EQ(spoken.rest, "l...") << "the first message is not the dialogue's";
}

TEST(Auth, TellsWhichBytesAreItsOwn)
{
    const std::string text = "\0AUTH EXTERNAL\r\nDATA\r\nBEGIN\r\n"s;
    for (std::size_t at = 0; at < text.size(); ++at) {
        AuthDialogue dialogue(1000, 0);
        std::string_view taken = std::string_view(text).substr(0, at);
        ASSERT_TRUE(dialogue.take(taken));
        EXPECT_EQ(dialogue.part_of(text.substr(at) + "l..."), text.size() - at) << at;
        EXPECT_EQ(dialogue.part_of(text.substr(at, 1)), 1U) << at;
        EXPECT_FALSE(dialogue.done()) << at;
    }
    EXPECT_EQ(AuthDialogue(1000, 0).part_of("no NUL"), 6U) << "all of what is refused";
}

TEST(Auth, ByteByByteIsTheSame)
{
    const std::string text = "\0AUTH EXTERNAL\r\nDATA\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n"s;
    const Spoken spoken = say(text, 1);
    EXPECT_EQ(spoken.text, text);
    EXPECT_TRUE(spoken.done);
}

TEST(Auth, RefusesWhoClaimsToBeAnother)
{
    EXPECT_TRUE(say("\0AUTH EXTERNAL 30\r\n"s).refused) << "root";
    EXPECT_TRUE(say("\0AUTH EXTERNAL\r\nDATA 30\r\n"s).refused);
    EXPECT_TRUE(say("\0AUTH EXTERNAL zz\r\n"s).refused);
    EXPECT_FALSE(say("\0AUTH EXTERNAL 31303030\r\n"s).refused);
}

TEST(Auth, RefusesWhatIsNotADialogue)
{
    EXPECT_TRUE(say("GET / HTTP/1.1\r\n").refused);
    EXPECT_TRUE(say("\0"s + std::string(5000, 'x')).refused) << "without an end";
    EXPECT_TRUE(say("\0"s +
                    [] {
                        std::string lines;
                        for (int count = 0; count < 1000; ++count) {
                            lines += "ERROR\r\n";
                        }
                        return lines;
                    }())
                    .refused)
        << "with too many lines";
}

}    // namespace
}    // namespace rdmaqos::bus
