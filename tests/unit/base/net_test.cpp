#include "lib/base/net.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace rdmaqos {
namespace {

TEST(Guid, Text)
{
    EXPECT_EQ(to_string(Guid{0x10000000000001}), "0x0010000000000001");
    EXPECT_EQ(to_string(Guid{0xFFFFFFFFFFFFFFFF}), "0xffffffffffffffff");
}

TEST(Gid, Halves)
{
    const auto gid = parse_gid("fe80::10:0:0:1");
    ASSERT_TRUE(gid);
    EXPECT_EQ(gid->subnet_prefix(), 0xFE80000000000000U);
    EXPECT_EQ(gid->interface_id(), Guid{0x0010000000000001});
}

struct TextCase {
    std::string given;
    std::optional<std::string> expected;    // written back; empty: refused
};

TEST(Gid, Parse)
{
    const std::vector<TextCase> cases{
        {"fd00:10::1", "fd00:10::1"},
        {"FD00:10::1", "fd00:10::1"},
        {"::", "::"},
        {"::ffff:10.1.0.1", "::ffff:10.1.0.1"},
        {"10.1.0.1", "::ffff:10.1.0.1"},
        {"", {}},
        {"10.1.0", {}},
        {"10.1.0.256", {}},
        {"010.1.0.1", {}},
        {" ::1", {}},
        {"::1 ", {}},
        {"fd00::1%eth0", {}},
        {"fd00:::1", {}},
        {"1:2:3:4:5:6:7", {}},
        {"1:2:3:4:5:6:7:8:9", {}},
        {std::string("::1\0junk", 8), {}},
        {std::string("10.1.0.1\0", 9), {}},
        {std::string(100, '1'), {}},
    };
    for (const auto& c : cases) {
        const auto gid = parse_gid(c.given);
        ASSERT_EQ(gid.has_value(), c.expected.has_value()) << c.given;
        if (gid) {
            EXPECT_EQ(to_string(*gid), *c.expected);
        }
    }
}

TEST(Gid, TextRoundTrip)
{
    EXPECT_TRUE(rc::check("parse(to_string(gid)) == gid", [] {
        const auto bytes = *rc::gen::container<std::vector<std::uint8_t>>(
            16, rc::gen::weightedOneOf<std::uint8_t>(
                    {{2, rc::gen::just(std::uint8_t{0})}, {1, rc::gen::arbitrary<std::uint8_t>()}}));
        Gid gid;
        std::copy(bytes.begin(), bytes.end(), gid.bytes.begin());
        RC_ASSERT(parse_gid(to_string(gid)) == gid);
    }));
}

TEST(GidPrefix, Parse)
{
    const std::vector<TextCase> cases{
        {"fd00:10::/32", "fd00:10::/32"},
        {"fd00:10::1", "fd00:10::1/128"},
        {"::/0", "::/0"},
        {"::ffff:10.1.0.0/112", "::ffff:10.1.0.0/112"},
        {"10.1.0.0/16", "::ffff:10.1.0.0/112"},
        {"10.1.2.3/32", "::ffff:10.1.2.3/128"},
        {"10.1.2.3", "::ffff:10.1.2.3/128"},
        {"0.0.0.0/0", "::ffff:0.0.0.0/96"},
        {"10.1.0.0/33", {}},
        {"10.1.0.0/112", {}},
        {"10.1.2.3/16", {}},
        {"fd00:10::1/32", {}},    // bits behind the prefix
        {"fd00:10::/129", {}},
        {"fd00:10::/", {}},
        {"fd00:10::/-1", {}},
        {"fd00:10::/0x20", {}},
        {"fd00:10::/32/1", {}},
        {"fd00:10::/99999999999999999999", {}},
        {"/32", {}},
    };
    for (const auto& c : cases) {
        const auto prefix = parse_gid_prefix(c.given);
        ASSERT_EQ(prefix.has_value(), c.expected.has_value()) << c.given;
        if (prefix) {
            EXPECT_EQ(to_string(*prefix), *c.expected);
        }
    }
}

TEST(GidPrefix, Contains)
{
    const auto prefix = *parse_gid_prefix("fd00:10:8000::/33");
    EXPECT_TRUE(prefix.contains(*parse_gid("fd00:10:8000::1")));
    EXPECT_TRUE(prefix.contains(*parse_gid("fd00:10:ffff:ffff:ffff:ffff:ffff:ffff")));
    EXPECT_FALSE(prefix.contains(*parse_gid("fd00:10:7fff::1")));
    EXPECT_FALSE(prefix.contains(*parse_gid("fd00:11:8000::1")));
    EXPECT_TRUE(parse_gid_prefix("::/0")->contains(*parse_gid("fd00::1")));
    const auto exact = *parse_gid_prefix("fd00::1");
    EXPECT_TRUE(exact.contains(*parse_gid("fd00::1")));
    EXPECT_FALSE(exact.contains(*parse_gid("fd00::")));
    EXPECT_TRUE(parse_gid_prefix("10.1.0.0/16")->contains(*parse_gid("10.1.255.7")));
    EXPECT_FALSE(parse_gid_prefix("10.1.0.0/16")->contains(*parse_gid("10.2.0.7")));
}

TEST(Lid, Texts)
{
    EXPECT_EQ(parse_lid("lid:1"), Lid{1});
    EXPECT_EQ(parse_lid("lid:49151"), Lid{0xBFFF});
    EXPECT_EQ(to_string(Lid{17}), "lid:17");
    for (const char* text :
         {"", "17", "lid:", "lid:0", "lid:49152", "lid:65537", "lid:-1", "lid: 1", "lid:1 ", "lid:0x11", "LID:1"}) {
        EXPECT_EQ(parse_lid(text), std::nullopt) << text;
    }
}

TEST(LidRange, HasAPowerOfTwo)
{
    EXPECT_EQ((LidRange{{17}, 0}.last()), Lid{17});
    EXPECT_EQ((LidRange{{16}, 2}.last()), Lid{19});
    EXPECT_EQ((LidRange{{0xBF80}, 7}.last()), Lid{0xBFFF});
    EXPECT_TRUE((LidRange{{16}, 2}.is_aligned()));
    EXPECT_FALSE((LidRange{{18}, 2}.is_aligned()));
    EXPECT_TRUE((LidRange{{17}, 0}.is_aligned()));
    EXPECT_EQ(in_words(LidRange{{17}, 0}), "LID 17");
    EXPECT_EQ(in_words(LidRange{{16}, 2}), "LIDs 16 to 19");
}

TEST(PKey, MembershipIsNotPartOfThePartition)
{
    EXPECT_EQ(partition_of(0xFFFF), partition_of(0x7FFF));
    EXPECT_EQ(partition_of(0x8001), 1);
    EXPECT_EQ(partition_of(0x0000), 0);
}

}    // namespace
}    // namespace rdmaqos
