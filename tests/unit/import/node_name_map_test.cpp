#include "tools/rdma-qosctl/import/node_name_map.h"

#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/import/import_support.h"

namespace rdmaqos::test {
namespace {

using testing::ElementsAre;
using testing::Pair;

ReadResult<NodeNameMap> read_names(const std::string& text)
{
    return read_node_name_map(source("names", text));
}

TEST(NodeNames, LinesOfGuidAndName)
{
    EXPECT_THAT(good(read_names("# comment\n\n  0x10 \"leaf 1\"  # first\n\t0x11\tspine#2\n18 \"c\"d\n")),
                ElementsAre(Pair(0x10, "leaf 1"), Pair(0x11, "spine"), Pair(18, "c")));
    EXPECT_TRUE(good(read_names("")).empty());
}

// As OpenSM cuts it: at the next quote or number sign, and nowhere else.
TEST(NodeNames, WithoutQuotesBlanksStay)
{
    EXPECT_THAT(good(read_names("0x10 a name # of two words\n")), ElementsAre(Pair(0x10, "a name ")));
    EXPECT_THAT(good(read_names("0x10 \"caf\xc3\xa9\"\r\n")), ElementsAre(Pair(0x10, "caf\xc3\xa9")));
}

TEST(NodeNames, NamesThatCannotBeWritten)
{
    EXPECT_TRUE(
        with_warning(read_names("0x10 \"caf\xe9\"\n"), "a name that is not UTF-8 or too long is left out").empty());
    EXPECT_TRUE(with_warning(read_names("0x10 \"\"\n"), "a GUID without a name has no effect").empty());
    const auto result = read_names(fmt::format("0x10 \"{}\"\n", std::string(300, 'x')));
    EXPECT_EQ(result.diagnostics.warning_count(), 1U);
    std::string text = shown(result).substr(0, shown(result).find('\n') + 1);
    text += shown(read_names("0x10 \"caf\xe9\"\n"));
    expect_golden("diagnostics/node-names-long.txt", text);
}

TEST(NodeNames, MistakesAreShownWhereTheyAre)
{
    expect_golden_diagnostics("diagnostics/node-names.names", read_node_name_map);
}

}    // namespace
}    // namespace rdmaqos::test
