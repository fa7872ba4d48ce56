#include "tools/rdma-qosctl/output/terminal.h"

#include <cstdlib>

#include <cerrno>
#include <fcntl.h>
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "lib/base/file.h"

namespace rdmaqos::ctl {
namespace {

TEST(Table, AlignsByCharactersNotBytes)
{
    Table table({{"NAME"}, {"N", Table::Align::Right}, {"LAST"}});
    table.add({"größe", "7", "x"});
    table.add({"a", "1234", "yy"});
    EXPECT_EQ(table.render(Colour::Off), "NAME      N  LAST\n"
                                         "größe     7  x\n"
                                         "a      1234  yy\n");
}

TEST(Table, EmptyAndMissingCellsAreDashes)
{
    Table table({{"A"}, {"B"}, {"C"}});
    table.add({"", "x"});
    EXPECT_EQ(table.render(Colour::Off), "A  B  C\n-  x  -\n");
}

TEST(Table, ColourDoesNotMoveColumns)
{
    Table table({{"A"}, {"B"}});
    table.add({Cell("bad", Style::Bad), "x"});
    EXPECT_EQ(table.render(Colour::On), "\x1b[1mA\x1b[0m    \x1b[1mB\x1b[0m\n\x1b[1;31mbad\x1b[0m  x\n");
}

// A pager forgets colours at the end of a line.
TEST(Output, EachLineHasItsColour)
{
    EXPECT_EQ(styled("one\n  two", Style::Heading, Colour::On), "\x1b[1mone\x1b[0m\n\x1b[1m  two\x1b[0m");
    EXPECT_EQ(styled("one\n  two", Style::Heading, Colour::Off), "one\n  two");
}

TEST(Table, CellsAreMadePrintable)
{
    Table table({{"A"}});
    table.add({"a\nb\x1b"});
    EXPECT_EQ(table.render(Colour::Off), "A\na\\x0ab\\x1b\n");
}

TEST(Table, ANarrowScreenLeavesOutThenShortens)
{
    using Align = Table::Align;
    using Fit = Table::Fit;
    Table table({{"NAME"},
                 {"PATH", Align::Left, Fit::ShortenPath},
                 {"WORDS", Align::Left, Fit::Shorten},
                 {"MORE", Align::Left, Fit::Drop},
                 {"MOST", Align::Right, Fit::DropSoon}});
    table.add({"a", "/tenants/gold/pid:4711", "a sentence that goes on", "more", "most"});
    EXPECT_EQ(table.render(Colour::Off), "NAME  PATH                    WORDS                    MORE  MOST\n"
                                         "a     /tenants/gold/pid:4711  a sentence that goes on  more  most\n");
    EXPECT_EQ(table.render({Colour::Off, 62}), "NAME  PATH                    WORDS                    MORE\n"
                                               "a     /tenants/gold/pid:4711  a sentence that goes on  more\n");
    EXPECT_EQ(table.render({Colour::Off, 40}), "NAME  PATH              WORDS\n"
                                               "a     /tena…d/pid:4711  a sentence that…\n");
    const std::string least = table.render({Colour::Off, 5});
    EXPECT_THAT(least, testing::HasSubstr("…")) << "not narrower than its columns can be";
}

TEST(Fields, AlignsAndLeavesOutWhatIsEmpty)
{
    Fields fields;
    fields.add("a", "1");
    fields.add("left out", "");
    fields.add("long", "2\n");
    EXPECT_EQ(fields.render(Colour::Off), "a:     1\nlong:  2\\x0a\n");
}

TEST(Fields, LongValuesGoOnBelow)
{
    Fields fields;
    fields.add("a", "one two three");
    fields.add("long", "four", Style::Good);
    EXPECT_EQ(fields.render({Colour::Off, 14}), "a:     one two\n       three\nlong:  four\n");
    EXPECT_EQ(fields.render(Colour::Off), "a:     one two three\nlong:  four\n");
}

TEST(Sentences, AreBrokenAtTheEdgeOfTheScreen)
{
    EXPECT_EQ(sentence_on({Colour::Off, 20}, 9, 4, "one two three four five"), "one two\n    three four five");
    EXPECT_EQ(sentence_on({Colour::Off, 20}, 2, 2, "one two three four five"), "one two three four\n  five");
    EXPECT_EQ(sentence_on(Colour::Off, 9, 4, "one two three four five"), "one two three four five");
    EXPECT_EQ(sentence_on({Colour::Off, 3}, 9, 4, ""), "");
    EXPECT_EQ(sentence_on({Colour::Off, 20}, 17, 4, "one two"), "one\n    two");
    EXPECT_EQ(sentence_on({Colour::Off, 20}, 18, 4, "one two"), "\n    one two") << "there is no room for a word";
}

TEST(Sentences, FollowTheirLabels)
{
    const auto on = [](const Screen& screen) {
        return labelled("not simulated:", Style::Warning, "one two\x1b three", screen, 1);
    };
    EXPECT_EQ(on(Colour::Off), " not simulated: one two\\x1b three\n");
    EXPECT_EQ(on({Colour::Off, 20}), " not simulated: one\n   two\\x1b three\n");
    EXPECT_EQ(on({Colour::On, 12}),
              " \x1b[33mnot\x1b[0m\n\x1b[33m   simulated:\x1b[0m \n   one\n   two\\x1b\n   three\n");
}

TEST(Lines, TooWideOnesGoOnBelow)
{
    EXPECT_EQ(lines_on(Colour::Off, "a  b c\n\n  d\x1b"), "a  b c\n\n  d\\x1b\n");
    EXPECT_EQ(lines_on({Colour::Off, 20}, "  key    one two three four\n"), "  key    one two\n         three four\n");
    EXPECT_EQ(lines_on({Colour::Off, 20}, "  one two three four five\n"), "  one two three\n    four five\n");
}

TEST(Lines, ColumnsMoveTogetherBeforeTheyAreBroken)
{
    const std::string line = "  yes   asks a word        has another\n";
    EXPECT_EQ(lines_on({Colour::Off, 36}, line), "  yes  asks a word  has another\n");
    EXPECT_EQ(lines_on({Colour::Off, 24}, line), "  yes  asks a word\n    has another\n");
    EXPECT_EQ(lines_on({Colour::Off, 12}, line), "  yes\n    asks a\n    word\n    has\n    another\n");
}

TEST(Lines, BranchesOfATreeGoOn)
{
    const std::string tree = "/\n├── class               share 30   gets 60 Gbit/s\n"
                             "│   └── leaf            share 1    gets 60 Gbit/s\n";
    EXPECT_EQ(lines_on({Colour::Off, 30}, tree), "/\n├── class  share 30\n│     gets 60 Gbit/s\n"
                                                 "│   └── leaf  share 1\n│         gets 60 Gbit/s\n");
    EXPECT_EQ(lines_on({Colour::Off, 20}, "+ ├── class   share 30\n"), "+ ├── class\n  │     share 30\n");
}

TEST(Lines, OfATreeKeepTheirColumnsOrNoneDoes)
{
    const std::string tree = "/\n├── one            share 30\n└── three-leaves   share 1    gets 60 Gbit/s\n";
    EXPECT_EQ(tree_on({Colour::Off, 44}, tree), tree);
    EXPECT_EQ(tree_on({Colour::Off, 43}, tree), "/\n├── one  share 30\n└── three-leaves  share 1  gets 60 Gbit/s\n");
    EXPECT_EQ(tree_on({Colour::Off, 30}, tree),
              "/\n├── one  share 30\n└── three-leaves  share 1\n      gets 60 Gbit/s\n");
}

TEST(Output, PrintableLinesKeepsLineFeedsOnly)
{
    EXPECT_EQ(printable_lines("a\nb\tc\n"), "a\nb\\x09c\n");
    EXPECT_EQ(printable_lines("a\n\nb"), "a\n\nb");
    EXPECT_EQ(printable_lines(""), "");
}

TEST(Output, ErrorsSayWhatToDo)
{
    EXPECT_EQ(render_error({ErrorCode::UnknownLevel, 0, "there is no level x"}, Colour::Off),
              "rdma-qosctl: error: there is no level x\n"
              "  hint: `rdma-qosctl levels` lists the levels of the running policy\n");
    constexpr uid_t kUser = 1000;
    EXPECT_NE(advice({ErrorCode::AuthorizationRequired, 0, "no"}, kUser).find("polkit grant"), std::string::npos);
    EXPECT_EQ(advice({ErrorCode::AuthorizationRequired, EACCES, "only root may confirm a trial"}, kUser),
              "run it as root: the files are root's, and no grant of polkit's changes that");
    for (const int is_file : {0, EACCES}) {
        EXPECT_EQ(advice({ErrorCode::AuthorizationRequired, is_file, "your uid is 0, but ..."}, 0),
                  "run it on the host, outside of containers: their root is a user like any other, and polkit is not "
                  "asked about it");
    }
    EXPECT_EQ(render_error({ErrorCode::Internal, 0, "odd\x1b\n"}, Colour::Off), "rdma-qosctl: error: odd\\x1b\n");
}

TEST(Output, ExplicitColourChoiceWins)
{
    EXPECT_EQ(choose_colour(ColourChoice::Always, -1), Colour::On);
    EXPECT_EQ(choose_colour(ColourChoice::Never, 1), Colour::Off);
}

class Terminal : public testing::Test {
protected:
    void SetUp() override
    {
        unsetenv("NO_COLOR");
        setenv("TERM", "xterm", 1);
        fd_ = UniqueFd(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
        if (!fd_) {
            GTEST_SKIP() << "no pseudo terminal here";
        }
    }

    UniqueFd fd_;
};

TEST_F(Terminal, IsColoured)
{
    EXPECT_EQ(choose_colour(ColourChoice::Auto, fd_.get()), Colour::On);
}

TEST_F(Terminal, IsNotColouredWithNoColor)
{
    setenv("NO_COLOR", "1", 1);
    EXPECT_EQ(choose_colour(ColourChoice::Auto, fd_.get()), Colour::Off);
    setenv("NO_COLOR", "", 1);
    EXPECT_EQ(choose_colour(ColourChoice::Auto, fd_.get()), Colour::On);
    unsetenv("NO_COLOR");
}

TEST_F(Terminal, IsNotColouredWhenDumb)
{
    setenv("TERM", "dumb", 1);
    EXPECT_EQ(choose_colour(ColourChoice::Auto, fd_.get()), Colour::Off);
}

TEST(Output, FilesAreNotColoured)
{
    unsetenv("NO_COLOR");
    const UniqueFd null(open("/dev/null", O_WRONLY | O_CLOEXEC));
    EXPECT_EQ(choose_colour(ColourChoice::Auto, null.get()), Colour::Off);
}

}    // namespace
}    // namespace rdmaqos::ctl
