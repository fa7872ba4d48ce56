#include "lib/port_classes/record.h"

#include <gtest/gtest.h>

#include "tests/unit/port_classes/support.h"

namespace rdmaqos::port_classes::test {
namespace {

Record record()
{
    Record record{"mlx5_core", as_roce_guides_say()};
    record.before.ets->traffic_class[2] = {dcb::Selection::Ets, 40, mbps(2'500)};
    record.before.ets->traffic_class[6].selection = dcb::Selection::Strict;
    record.before.dcbx->cee = true;
    return record;
}

TEST(PortClassesRecord, ComesBackAsItWas)
{
    for (const Record& one : {record(), Record{"ice", started("ice")}, Record{"none", {}}}) {
        const auto read = parse_record(to_text(one));
        ASSERT_TRUE(read) << read.error().message;
        EXPECT_EQ(*read, one);
    }
}

TEST(PortClassesRecord, BuffersAreLeftOut)
{
    Record with = record();
    with.before.buffers.emplace().total = 1024;
    EXPECT_EQ(*parse_record(to_text(with)), record());
}

TEST(PortClassesRecord, AnythingElseIsRefused)
{
    const std::string text = to_text(record());
    const auto replaced = [&](const std::string& from, const std::string& to) {
        std::string changed = text;
        const auto at = changed.find(from);
        EXPECT_NE(at, std::string::npos) << from;
        return changed.replace(at, from.size(), to);
    };
    for (const std::string& broken : {std::string(),
                                      text.substr(0, text.size() - 1),
                                      text.substr(0, text.size() - 5),
                                      text + "end\n",
                                      replaced("port-classes 1", "port-classes 2"),
                                      replaced("driver ", "drivers "),
                                      replaced("ets 8", "ets 9"),
                                      replaced("class 2 ets 40", "class 2 ets 040"),
                                      replaced("class 2 ets 40", "class 2 ets 256"),
                                      replaced("class 2 ets", "class 2 est"),
                                      replaced("class 2 ", "class 1 "),
                                      replaced("2500000", "-1"),
                                      replaced("priority 3 3", "priority 3 8"),
                                      replaced("app 5 0 0", "app 0 0 0"),
                                      replaced("app 5 0 0", "app 5 0 8"),
                                      replaced("app 5 0 0\n", ""),
                                      replaced("app 5 1 0\n", "app 5 1 0 \n"),
                                      replaced("pfc 8 3", "pfc 8 9"),
                                      replaced("dcbx host ieee cee", "dcbx ieee host cee"),
                                      replaced("max-rates\n", "max-rates 1\n")}) {
        const auto read = parse_record(broken);
        if (read) {
            // An entry that is not there is no mistake that anybody could see.
            EXPECT_EQ(to_text(*read), broken);
            EXPECT_NE(*read, record());
        }
    }
    EXPECT_FALSE(parse_record(text + "end\n"));
    EXPECT_FALSE(parse_record(replaced("class 2 ets 40", "class 2 ets 040")));
    EXPECT_FALSE(parse_record(replaced("dcbx host ieee cee", "dcbx ieee host cee")));
    EXPECT_FALSE(parse_record(std::string(kLongestRecord + 1, 'x')));
}

}    // namespace
}    // namespace rdmaqos::port_classes::test
