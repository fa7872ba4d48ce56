// The oddities of OpenSM's lexer, one by one: what it takes, and where it says that it does not.
#include <string>

#include "tests/unit/opensm/opensm_support.h"

namespace rdmaqos::test {
namespace {

const std::string kSyntaxError = "syntax error";

std::string name_of_group(const std::string& entry)
{
    const Policy policy = accepted(with_group(entry));
    return policy.groups.empty() ? "(no group)" : policy.groups.front().name;
}

std::string use_of_group(const std::string& entry)
{
    const Policy policy = accepted(with_group("name: g\n" + entry));
    return policy.groups.empty() ? "(no group)" : policy.groups.front().use;
}

TEST(OpensmLexer, BlanksVanishFromUnquotedNames)
{
    EXPECT_EQ(name_of_group("name: Virtual \t Servers  \n"), "VirtualServers");
    EXPECT_EQ(name_of_group("name: \"Virtual Servers\"\n"), "Virtual Servers");
    EXPECT_EQ(name_of_group("name: foo \"b c\" d\n"), "foob cd");
    EXPECT_EQ(name_of_group("name: \"  stripped \"\n"), "stripped");
    EXPECT_EQ(name_of_group("name: \"\"\n"), "");
}

TEST(OpensmLexer, DescriptionsKeepBlanksAndLoseQuotesAndComments)
{
    EXPECT_EQ(use_of_group("use: our  SRP, targets: 7 \"in quotes\"  # comment\n"), "our  SRP, targets: 7 in quotes");
    EXPECT_EQ(use_of_group("use: port-groups end-port-group name: x\n"), "port-groups end-port-group name: x");
    EXPECT_EQ(use_of_group("use: a lone \" quote\n"), "a lone \" quote");
}

TEST(OpensmLexer, CommentsStandAnywhereButInQuotes)
{
    EXPECT_EQ(name_of_group("name: a#b\n"), "a");
    EXPECT_EQ(name_of_group("name: \"a#b\"\n"), "a#b");
    EXPECT_EQ(name_of_group("name: # the name follows\nx\n"), "x");
    EXPECT_EQ(accepted("# first\n" + kDefaultLevel + "# last\n").levels.size(), 1U);
}

TEST(OpensmLexer, ACommentNeedsItsNewline)
{
    expect_refused(kDefaultLevel + "# last", "7:2", kSyntaxError);
    const std::string without_newline(kDefaultLevel.substr(0, kDefaultLevel.size() - 1));
    EXPECT_EQ(accepted(without_newline).levels.size(), 1U);
    expect_warned(kDefaultLevel + "# last",
                  "the file ends in a comment without a newline: OpenSM reads it as text and rejects the file");
}

TEST(OpensmLexer, CarriageReturnsAreText)
{
    expect_refused("qos-levels\r\nqos-level\r\n", "1:12", kSyntaxError);
    std::string crlf;
    for (const char c : kDefaultLevel) {
        crlf += c == '\n' ? "\r\n" : std::string(1, c);
    }
    const Policy policy = expect_warned(crlf, "lines end in CR LF: OpenSM reads the CR as text and rejects the file");
    ASSERT_EQ(policy.levels.size(), 1U);
    EXPECT_EQ(policy.levels.front().name, "DEFAULT");
}

TEST(OpensmLexer, FormFeedsAndByteOrderMarksAreText)
{
    expect_refused("\f" + kDefaultLevel, "1:2", kSyntaxError);
    expect_warned("\f" + kDefaultLevel, "a form feed or vertical tab: OpenSM reads it as text and rejects the file");
    expect_refused("\xef\xbb\xbf" + kDefaultLevel, "1:2", kSyntaxError);
    expect_warned("\xef\xbb\xbf" + kDefaultLevel, "the file starts with a byte order mark: OpenSM rejects it");
}

TEST(OpensmLexer, NulsEndWhatIsCopied)
{
    EXPECT_EQ(name_of_group(std::string("name: a\0b\n", 10)), "ab");
    EXPECT_EQ(name_of_group(std::string("name: \"ab\0c\"\n", 13)), "a");
}

TEST(OpensmLexer, KeywordsAreFoundInsideOfNames)
{
    expect_refused(with_group("name: my-qos-level-1\n"), "3:19", kSyntaxError);
    EXPECT_EQ(name_of_group("name: \"my-qos-level-1\"\n"), "my-qos-level-1");
    const Policy policy = expect_warned(
        with_group("name: my-qos-level-1\nport-guid: 1\n"),
        "`qos-level` inside a value: OpenSM reads it as a keyword and rejects the file");
    EXPECT_EQ(policy.groups.front().name, "my-qos-level-1");
    // A tag needs its colon, and node types are words only where they are asked for.
    EXPECT_EQ(name_of_group("name: source-to-across\n"), "source-to-across");
    EXPECT_EQ(name_of_group("name: MySwitchRouterCaAll\n"), "MySwitchRouterCaAll");
}

TEST(OpensmLexer, LongWordsHideKeywords)
{
    // "ca" is one token of OpenSM's, so that "across:" does not begin at its second letter; likewise 0xdefa.
    EXPECT_EQ(name_of_group("name: cacross:x\n"), "cacross:x");
    EXPECT_EQ(name_of_group("name: 0xdefault:x\n"), "0xdefault:x");
}

TEST(OpensmLexer, TagsTakeBlanksAroundTheirColon)
{
    EXPECT_EQ(name_of_group("name \t : \t g\n"), "g");
    EXPECT_EQ(name_of_group("name:g\n"), "g");
    expect_refused(with_group("Name: g\n"), "3:2", kSyntaxError);
}

TEST(OpensmLexer, ABlockMayFollowANameOnItsLine)
{
    const std::string text = "qos-levels qos-level sl: 1 name: a end-qos-level qos-level\nsl: 2 name: default "
                             "end-qos-level end-qos-levels qos-match-rules end-qos-match-rules";
    for (const OpensmMode mode : {OpensmMode::Default, OpensmMode::Strict}) {
        const Policy policy = accepted(text, mode);
        ASSERT_EQ(policy.levels.size(), 2U);
        EXPECT_EQ(policy.levels.front().name, "a");
    }
}

TEST(OpensmLexer, SeveralEntriesOnALine)
{
    EXPECT_EQ(accepted("qos-levels qos-level sl: 3 name: X end-qos-level qos-level name: default\nsl: 1\n"
                       "end-qos-level end-qos-levels")
                  .levels.size(),
              2U);
    // Behind a name digits are text.
    const std::string same_line = "qos-levels\nqos-level\nname: DEFAULT sl: 3\nend-qos-level\nend-qos-levels\n";
    expect_refused(same_line, "3:20", kSyntaxError);
    EXPECT_EQ(expect_warned(same_line, "`sl:` after a name on the same line: OpenSM reads digits in such a line as "
                                       "text")
                  .levels.front()
                  .sl,
              3);
    // ... and a text that cannot stand ends at its first token.
    expect_refused(with_group("name: g end-port-group foo\n"), "3:25", kSyntaxError);
}

TEST(OpensmLexer, ValuesGoOnOverLines)
{
    EXPECT_EQ(name_of_group("name: de\nfault\n"), "default");
    EXPECT_EQ(accepted(with_rule("pkey: 1,\n5\n")).rules.front().pkey, IntervalSet({{1, 1}, {5, 5}}));
    EXPECT_EQ(name_of_group("name: \"a\nb\"\n"), "a\nb");
    // On the second line digits are numbers.
    expect_refused(with_group("name: a\n1\n"), "4:2", kSyntaxError);
    const auto forgiving = read_native(with_group("name: a\n1\nport-guid: 1\n"), OpensmMode::Default);
    ASSERT_TRUE(forgiving.value) << shown(forgiving);
    EXPECT_EQ(forgiving.value->groups.front().name, "a1");
    EXPECT_EQ(forgiving.diagnostics.warning_count(), 2U) << "that it goes on, and that the line end vanishes";
}

TEST(OpensmLexer, AnUnpairedQuotePairsWithTheNextOneAnywhere)
{
    EXPECT_EQ(name_of_group("name: a\"b\n"), "a\"b");
    const Policy policy = accepted("qos-levels\nqos-level\nname: a\"b\nsl: 3\nuse: c\"d\nsl: 4\nend-qos-level\n"
                                   "qos-level\nname: default\nsl: 1\nend-qos-level\nend-qos-levels\n");
    EXPECT_EQ(policy.levels.front().name, "ab\nsl: 3\nuse: cd");
    EXPECT_EQ(policy.levels.front().sl, 4);
}

TEST(OpensmLexer, NumbersAreThoseOfStrtoull)
{
    const auto classes = [](const std::string& numbers) {
        return accepted(with_rule("qos-class: " + numbers + "\n")).rules.front().qos_class;
    };
    EXPECT_EQ(classes("010"), IntervalSet({{8, 8}}));
    EXPECT_EQ(classes("09"), IntervalSet({{0, 0}}));
    EXPECT_EQ(classes("018"), IntervalSet({{1, 1}}));
    EXPECT_EQ(classes("0x1F"), IntervalSet({{31, 31}}));
    EXPECT_EQ(classes("0X1f"), IntervalSet({{31, 31}}));
    EXPECT_EQ(classes("9-7 , 3"), IntervalSet({{3, 3}, {7, 9}}));
    EXPECT_EQ(classes("99999999999999999999999"), IntervalSet({{~std::uint64_t{0}, ~std::uint64_t{0}}}));
    expect_refused(with_rule("qos-class: 12ab\n"), "10:15", kSyntaxError);
    expect_refused(with_rule("qos-class: -1\n"), "10:13", kSyntaxError);
    expect_refused(with_rule("qos-class: 0x\n"), "10:14", kSyntaxError);
}

TEST(OpensmLexer, CaseOfUlpsAndNodeTypes)
{
    EXPECT_EQ(accepted(with_ulps("SDP,port-num 1:1\nAny  ,  pkey 5 : 3\nSrp,target-port-guid 1:2\n")).rules.size(), 3U);
    expect_refused(with_ulps("sdp, Port-num 1 : 1\n"), "2:2", kSyntaxError);
    const NodeTypes types = accepted(with_group("name: g\nnode-type: ca , Switch\n")).groups.front().node_types;
    EXPECT_TRUE(types.ca && types.switch_ && !types.router);
}

TEST(OpensmLexer, WhatIsNoUlp)
{
    expect_refused(with_ulps("rds, : 0\n"), "2:2", kSyntaxError);
    expect_refused(with_ulps("srp : 0\n"), "2:2", kSyntaxError);
    expect_refused(with_ulps("any : 0\n"), "2:2", kSyntaxError);
    expect_refused(with_ulps("lustre, port-num 988 : 1\n"), "2:2", kSyntaxError);
}

TEST(OpensmLexer, LongValues)
{
    EXPECT_EQ(name_of_group("name: " + std::string(kLongestOpensmValue, 'x') + "\n").size(), kLongestOpensmValue);
    const std::string too_long = with_group("name: " + std::string(kLongestOpensmValue + 1, 'x') + "\n");
    expect_refused(too_long, "4:15", "a value is longer than 10239 bytes");
    EXPECT_EQ(read_native(too_long, OpensmMode::Default).diagnostics.error_count(), 1U);
}

// Each of these has a pattern that a careless lexer would look for again and again.
TEST(OpensmLexer, HostileTextEndsSoon)
{
    constexpr std::size_t kMany = 1U << 20U;
    for (const std::string& repeated :
         {std::string("\""), std::string("name "), std::string("#"), std::string("name: \"a\n"), std::string("any , "),
          std::string("0x"), std::string("port-group\n"), std::string("use: \"\n"), std::string("a: ")}) {
        std::string text = "port-groups\nport-group\nname: ";
        while (text.size() < kMany) {
            text += repeated;
        }
        for (const OpensmMode mode : {OpensmMode::Default, OpensmMode::Strict}) {
            EXPECT_FALSE(read_native(text, mode).value) << repeated;
        }
    }
}

}    // namespace
}    // namespace rdmaqos::test
