#include "tools/rdma-qosctl/output/terminal.h"

#include <cstdlib>

#include <fcntl.h>
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

TEST(Table, CellsAreMadePrintable)
{
    Table table({{"A"}});
    table.add({"a\nb\x1b"});
    EXPECT_EQ(table.render(Colour::Off), "A\na\\x0ab\\x1b\n");
}

TEST(Fields, AlignsAndLeavesOutWhatIsEmpty)
{
    Fields fields;
    fields.add("a", "1");
    fields.add("left out", "");
    fields.add("long", "2\n");
    EXPECT_EQ(fields.render(Colour::Off), "a:     1\nlong:  2\\x0a\n");
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
