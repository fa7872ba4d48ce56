// What the direct socket reads before sd-bus does: for any bytes, however they are cut, the same answer, and no byte is
// lost.
#include <gtest/gtest.h>

#include "lib/bus/framing.h"
#include "tests/fuzz/support/mutator.h"

namespace rdmaqos::bus {
namespace {

using namespace std::string_literals;

struct Outcome {
    std::string passed;
    std::size_t taken = 0;
    bool done = false;
    bool refused = false;

    friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome converse(const std::string& text, std::size_t at_once)
{
    AuthDialogue dialogue(1000, 0);
    Outcome outcome;
    while (outcome.taken < text.size() && !dialogue.done()) {
        std::string_view input = std::string_view(text).substr(outcome.taken, at_once);
        const std::size_t before = input.size();
        const auto passed = dialogue.take(input);
        if (!passed) {
            return {{}, 0, false, true};
        }
        outcome.passed += *passed;
        outcome.taken += before - input.size();
        EXPECT_TRUE(input.empty() || dialogue.done()) << "what is not taken is not the dialogue's";
    }
    outcome.done = dialogue.done();
    return outcome;
}

TEST(BusFuzz, Authentication)
{
    const std::vector<std::string> seeds{
        "\0AUTH EXTERNAL 31303030\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\nl\1\0\1"s,
        "\0AUTH EXTERNAL\r\nDATA\r\nBEGIN\r\n"s,
        "\0AUTH\r\nAUTH ANONYMOUS\r\nCANCEL\r\nAUTH EXTERNAL\r\nDATA 31303030\r\nERROR\r\nBEGIN\r\n"s,
    };
    test::fuzz("auth", seeds, [](const std::string& text) {
        const Outcome whole = converse(text, SIZE_MAX);
        const Outcome pieces = converse(text, 1);
        ASSERT_TRUE(pieces == whole) << whole.taken << " and " << pieces.taken;
        for (const std::string claim : {"\nAUTH EXTERNAL ", "\nDATA "}) {
            for (auto at = whole.passed.find(claim); at != std::string::npos; at = whole.passed.find(claim, at + 1)) {
                ASSERT_EQ(whole.passed.substr(at + claim.size(), 4), "30\r\n")
                    << "nobody is passed on as somebody else";
            }
        }
    });
}

TEST(BusFuzz, Heads)
{
    const std::string error = error_reply(7, "org.freedesktop.DBus.Error.LimitsExceeded", "text");
    test::fuzz("head", {error, error.substr(0, 16), "B\1\0\1\0\0\0\0\0\0\0\1\0\0\0\0"s}, [](const std::string& text) {
        const auto head = parse_head(text);
        if (!head) {
            return;
        }
        ASSERT_GE(head->size(), kHeadSize);
        ASSERT_EQ(head->fields % 8, 0U);
        ASSERT_TRUE(head->is_call || !head->expects_reply);
        const auto answer = parse_head(error_reply(head->serial, "org.freedesktop.DBus.Error.LimitsExceeded", text));
        ASSERT_TRUE(answer.has_value());
    });
}

}    // namespace
}    // namespace rdmaqos::bus
