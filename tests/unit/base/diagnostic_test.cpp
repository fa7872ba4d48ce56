#include "lib/base/diagnostic.h"

#include <gtest/gtest.h>

namespace rdmaqos {
namespace {

std::shared_ptr<const SourceFile> file(std::string name, std::string text)
{
    return std::make_shared<const SourceFile>(SourceFile{std::move(name), std::move(text)});
}

std::string rendered(const Location& location)
{
    return render(Diagnostic{Severity::Error, location, "wrong", {}}, Colour::Off);
}

TEST(Location, ToString)
{
    const auto policy = file("policy.yaml", "");
    EXPECT_EQ((Location{policy, 12, 7, 1}).to_string(), "policy.yaml:12:7");
    EXPECT_EQ((Location{policy, 0, 0, 1}).to_string(), "policy.yaml");
    EXPECT_EQ(Location{}.to_string(), "");
    EXPECT_EQ((Location{file("a\x1b[31m", ""), 0, 0, 1}).to_string(), "a\\x1b[31m");
}

TEST(Diagnostic, RendersPlaceLineCaretAndHint)
{
    const auto policy = file("policy.yaml", "version: 1\nqos-levels:\n  - max-rat: 40Gbps\n");
    Diagnostics diagnostics;
    diagnostics.error({policy, 3, 5, 7}, "unknown key `max-rat`").hint = "did you mean `max-rate`?";
    EXPECT_EQ(render(diagnostics, Colour::Off), "policy.yaml:3:5: error: unknown key `max-rat`\n"
                                                "    3 |   - max-rat: 40Gbps\n"
                                                "      |     ^~~~~~~\n"
                                                "      = hint: did you mean `max-rate`?\n"
                                                "1 error\n");
}

TEST(Diagnostic, ColoursOnlyWhenAsked)
{
    const auto policy = file("p", "x\n");
    const Diagnostic diagnostic{Severity::Warning, {policy, 1, 1, 1}, "m", {}};
    EXPECT_EQ(render(diagnostic, Colour::Off).find('\x1b'), std::string::npos);
    EXPECT_NE(render(diagnostic, Colour::On).find("\x1b[1;35mwarning"), std::string::npos);
}

struct SourceCase {
    std::string name;
    std::string text;
    std::uint32_t line;
    std::uint32_t column;
    std::uint32_t length;
    std::string expected;    // below the head line
};

class DiagnosticSource : public testing::TestWithParam<SourceCase> {};

TEST_P(DiagnosticSource, Renders)
{
    const auto& c = GetParam();
    const std::string text = rendered({file("p", c.text), c.line, c.column, c.length});
    EXPECT_EQ(text.substr(text.find('\n') + 1), c.expected);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, DiagnosticSource,
    testing::Values(
        SourceCase{"WholeFile", "a\n", 0, 0, 1, ""},
        SourceCase{"FirstColumn", "abc\n", 1, 1, 3, "    1 | abc\n      | ^~~\n"},
        SourceCase{"LengthZeroIsOneCaret", "abc", 1, 2, 0, "    1 | abc\n      |  ^\n"},
        SourceCase{"LengthBeyondLine", "abc", 1, 3, 4'000'000'000U, "    1 | abc\n      |   ^\n"},
        SourceCase{"ColumnBeyondLine", "abc", 1, 99, 1, "    1 | abc\n      |    ^\n"},
        SourceCase{"LineBeyondFile", "abc", 7, 1, 1, "    7 | \n      | ^\n"},
        SourceCase{"CarriageReturn", "a: b\r\nc", 1, 4, 1, "    1 | a: b\n      |    ^\n"},
        SourceCase{"TabsAreBlanks", "\ta: b", 1, 2, 1, "    1 |  a: b\n      |  ^\n"},
        SourceCase{"CountsCodePoints", "\xc3\xa4\xc3\xb6: x", 1, 7, 1, "    1 | \xc3\xa4\xc3\xb6: x\n      |     ^\n"},
        SourceCase{"EscapesWidenTheLine", "\x01\x02: x", 1, 5, 1, "    1 | \\x01\\x02: x\n      |           ^\n"},
        SourceCase{"EmptyText", "", 1, 1, 1, "    1 | \n      | ^\n"}),
    [](const auto& test) { return test.param.name; });

TEST(Diagnostic, LongLineIsCutToAWindowAroundTheCaret)
{
    const std::string line = std::string(300, 'a') + "HERE" + std::string(300, 'b');
    const std::string text = rendered({file("p", line), 1, 301, 4});
    EXPECT_EQ(text.substr(text.find('\n') + 1), "    1 | ..." + std::string(80, 'a') + "HERE" + std::string(76, 'b') +
                                                    "...\n      | " + std::string(83, ' ') + "^~~~\n");
}

// A window of bytes may not begin or end inside a character: both would be shown as broken UTF-8.
TEST(Diagnostic, WindowKeepsCharactersWhole)
{
    std::string line = "x";
    for (int i = 0; i < 300; ++i) {
        line += "\xc3\xa4";
    }
    for (const std::uint32_t column : {1U, 2U, 200U, 300U, 302U, 600U}) {
        const std::string text = rendered({file("p", line), 1, column, 1});
        EXPECT_EQ(text.find("\\x"), std::string::npos) << "column " << column << '\n' << text;
    }
}

TEST(Diagnostics, CountsBySeverity)
{
    Diagnostics diagnostics;
    EXPECT_TRUE(diagnostics.empty());
    EXPECT_EQ(render(diagnostics, Colour::Off), "");
    diagnostics.note({}, "n");
    EXPECT_FALSE(diagnostics.has_errors());
    diagnostics.warning({}, "w");
    diagnostics.warning({}, "w");
    diagnostics.error({}, "e");
    EXPECT_TRUE(diagnostics.has_errors());
    EXPECT_EQ(diagnostics.error_count(), 1U);
    EXPECT_EQ(diagnostics.warning_count(), 2U);
    EXPECT_EQ(render(diagnostics, Colour::Off), "note: n\nwarning: w\nwarning: w\nerror: e\n1 error, 2 warnings\n");
}

TEST(Diagnostics, KeepsABoundedNumberAndCountsTheRest)
{
    Diagnostics diagnostics;
    for (std::size_t i = 0; i < Diagnostics::kMaxKept + 5; ++i) {
        diagnostics.error({}, "e" + std::to_string(i)).hint = "hint";
    }
    EXPECT_EQ(diagnostics.all().size(), Diagnostics::kMaxKept);
    EXPECT_EQ(diagnostics.dropped(), 5U);
    EXPECT_EQ(diagnostics.error_count(), Diagnostics::kMaxKept + 5);
    EXPECT_EQ(diagnostics.all().back().message, "e" + std::to_string(Diagnostics::kMaxKept - 1));
    EXPECT_NE(render(diagnostics, Colour::Off).find("... and 5 more messages not shown\n205 errors\n"),
              std::string::npos);
}

// 200 warnings must not hide the one error for which a policy is refused.
TEST(Diagnostics, ErrorsTakeThePlaceOfWarnings)
{
    Diagnostics diagnostics;
    for (std::size_t i = 0; i < Diagnostics::kMaxKept; ++i) {
        diagnostics.warning({}, "w" + std::to_string(i));
    }
    diagnostics.error({}, "the reason").hint = "the way out";
    EXPECT_EQ(diagnostics.all().size(), Diagnostics::kMaxKept);
    EXPECT_EQ(diagnostics.all().back().message, "the reason");
    EXPECT_EQ(diagnostics.all().back().hint, "the way out");
    EXPECT_EQ(diagnostics.all().front().message, "w0");
    EXPECT_EQ(diagnostics.dropped(), 1U);
    EXPECT_EQ(diagnostics.warning_count(), Diagnostics::kMaxKept);
}

TEST(Diagnostics, AppendAddsCountsAndHints)
{
    Diagnostics first;
    first.error({}, "one");
    Diagnostics second;
    for (std::size_t i = 0; i < Diagnostics::kMaxKept + 3; ++i) {
        second.warning({}, "w").hint = "h";
    }
    first.append(std::move(second));
    EXPECT_EQ(first.error_count(), 1U);
    EXPECT_EQ(first.warning_count(), Diagnostics::kMaxKept + 3);
    EXPECT_EQ(first.all().size(), Diagnostics::kMaxKept);
    EXPECT_EQ(first.dropped(), 4U);
    EXPECT_EQ(first.all().at(1).hint, "h");
}

TEST(Diagnostics, SortsByFileOfFirstAppearanceThenPlaceAndKeepsNotesBehind)
{
    const auto b = file("b.yaml", "");
    const auto a = file("a.yaml", "");
    Diagnostics diagnostics;
    diagnostics.error({b, 9, 1, 1}, "b9");
    diagnostics.note({a, 1, 1, 1}, "note of b9");
    diagnostics.error({a, 5, 2, 1}, "a5:2");
    diagnostics.warning({b, 2, 1, 1}, "b2");
    diagnostics.error({a, 5, 1, 1}, "a5:1");
    diagnostics.error({b, 2, 1, 1}, "b2 again");
    diagnostics.sort_by_location();
    std::vector<std::string> messages;
    for (const auto& diagnostic : diagnostics.all()) {
        messages.push_back(diagnostic.message);
    }
    EXPECT_EQ(messages, (std::vector<std::string>{"b2", "b2 again", "b9", "note of b9", "a5:1", "a5:2"}));
}

TEST(Diagnostics, PlacesAndSentencesStayWhereNothingMayBeQuoted)
{
    Diagnostics diagnostics;
    diagnostics.error({file("p.yaml", "a: 1\nsecret: 2\n"), 2, 1, 6}, "unknown key").hint = "remove it";
    EXPECT_EQ(render(diagnostics, Colour::Off, Quote::Nothing),
              "p.yaml:2:1: error: unknown key\n      = hint: remove it\n1 error\n");
    EXPECT_NE(render(diagnostics, Colour::Off).find("secret: 2"), std::string::npos);
}

TEST(Diagnostics, MessagesCannotForgeLines)
{
    const Diagnostic diagnostic{Severity::Error, {}, "a\nerror: b", "c\nd"};
    EXPECT_EQ(render(diagnostic, Colour::Off), "error: a\\x0aerror: b\n      = hint: c\\x0ad\n");
}

}    // namespace
}    // namespace rdmaqos
