#include "policy/path/path.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/unit/match/policy_dsl.h"

namespace rdmaqos {
namespace {

using namespace test;

std::string text(const Result<PathAnswer>& answer)
{
    if (!answer) {
        EXPECT_EQ(answer.error().code, ErrorCode::NoMatchingPath);
        return answer.error().message;
    }
    return fmt::format("mtu={} rate={} life={} pkey={} sl={}", static_cast<int>(answer->mtu),
                       rdmaqos::number(answer->rate), answer->packet_life,
                       answer->pkey ? fmt::format("{:#06x}", *answer->pkey) : "-",
                       answer->sl ? fmt::format("{}", *answer->sl) : "-");
}

// A path as between two HDR ports: MTU 4096, 40 Gb/s, the default partition.
PathLimits usual_path()
{
    PathLimits limits;
    limits.rate = rate(7);
    limits.source_pkeys = {0xFFFF};
    limits.destination_pkeys = {0xFFFF};
    limits.pkeys_known = true;
    return limits;
}

struct PathCase {
    const char* name;
    void (*edit)(QosLevel&, Request&, PathLimits&);
    const char* expected;
};

class PathTable : public testing::TestWithParam<PathCase> {};

TEST_P(PathTable, Answer)
{
    QosLevel level;
    level.name = "rpc";
    level.sl = 3;
    Request request;
    PathLimits limits = usual_path();
    GetParam().edit(level, request, limits);
    EXPECT_EQ(text(apply_level(level, request, limits)), GetParam().expected);
}

std::string name_of(const testing::TestParamInfo<PathCase>& info)
{
    return info.param.name;
}

using enum Selector;

INSTANTIATE_TEST_SUITE_P(
    Limits, PathTable,
    testing::Values(
        PathCase{"none", [](QosLevel&, Request&, PathLimits&) {}, "mtu=5 rate=7 life=18 pkey=0xffff sl=3"},
        PathCase{"stricter_of_level_and_path",
                 [](QosLevel& l, Request&, PathLimits&) { l.mtu_limit = IbMtu::Mtu1024, l.rate_limit = rate(3); },
                 "mtu=3 rate=3 life=18 pkey=0xffff sl=3"},
        PathCase{"a_limit_never_raises",
                 [](QosLevel& l, Request&, PathLimits& p) {
                     p.mtu = IbMtu::Mtu256, l.mtu_limit = IbMtu::Mtu4096, l.rate_limit = rate(16);
                 },
                 "mtu=1 rate=7 life=18 pkey=0xffff sl=3"},
        PathCase{"rates_by_order_not_by_number", [](QosLevel& l, Request&, PathLimits&) { l.rate_limit = rate(15); },
                 "mtu=5 rate=15 life=18 pkey=0xffff sl=3"},
        PathCase{"thirty_is_below_twenty_five",
                 [](QosLevel& l, Request&, PathLimits& p) { p.rate = rate(4), l.rate_limit = rate(15); },
                 "mtu=5 rate=4 life=18 pkey=0xffff sl=3"},
        PathCase{"life_replaces", [](QosLevel& l, Request&, PathLimits&) { l.packet_life = 63; },
                 "mtu=5 rate=7 life=63 pkey=0xffff sl=3"},
        PathCase{"life_zero", [](QosLevel& l, Request&, PathLimits&) { l.packet_life = 0; },
                 "mtu=5 rate=7 life=0 pkey=0xffff sl=3"},
        PathCase{"subnet_timeout", [](QosLevel&, Request&, PathLimits& p) { p.subnet_timeout = 12; },
                 "mtu=5 rate=7 life=12 pkey=0xffff sl=3"},
        PathCase{"loopback_has_no_lifetime",
                 [](QosLevel& l, Request&, PathLimits& p) { l.packet_life = 63, p.loopback = true; },
                 "mtu=5 rate=7 life=0 pkey=0xffff sl=3"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Selectors, PathTable,
    testing::Values(
        PathCase{"mtu_above",
                 [](QosLevel&, Request& r, PathLimits&) {
                     r.mtu = {GreaterThan, IbMtu::Mtu2048};
                 },
                 "mtu=5 rate=7 life=18 pkey=0xffff sl=3"},
        PathCase{"mtu_not_above",
                 [](QosLevel& l, Request& r, PathLimits&) {
                     l.mtu_limit = IbMtu::Mtu2048, r.mtu = {GreaterThan, IbMtu::Mtu2048};
                 },
                 "MTU above 4 = 2048 bytes was requested; the path with this level has 4 = 2048 bytes"},
        PathCase{"mtu_below_lowers",
                 [](QosLevel&, Request& r, PathLimits&) {
                     r.mtu = {LessThan, IbMtu::Mtu2048};
                 },
                 "mtu=3 rate=7 life=18 pkey=0xffff sl=3"},
        PathCase{"mtu_below_already",
                 [](QosLevel& l, Request& r, PathLimits&) {
                     l.mtu_limit = IbMtu::Mtu256, r.mtu = {LessThan, IbMtu::Mtu2048};
                 },
                 "mtu=1 rate=7 life=18 pkey=0xffff sl=3"},
        PathCase{"mtu_below_the_lowest",
                 [](QosLevel&, Request& r, PathLimits&) {
                     r.mtu = {LessThan, IbMtu::Mtu256};
                 },
                 "no MTU is below 1 = 256 bytes"},
        PathCase{"mtu_exactly_lowers",
                 [](QosLevel&, Request& r, PathLimits&) {
                     r.mtu = {Exactly, IbMtu::Mtu1024};
                 },
                 "mtu=3 rate=7 life=18 pkey=0xffff sl=3"},
        PathCase{"mtu_exactly_too_large",
                 [](QosLevel& l, Request& r, PathLimits&) {
                     l.mtu_limit = IbMtu::Mtu1024, r.mtu = {Exactly, IbMtu::Mtu2048};
                 },
                 "MTU 4 = 2048 bytes was requested; the path with this level has 3 = 1024 bytes"},
        PathCase{"largest_has_no_effect",
                 [](QosLevel&, Request& r, PathLimits&) {
                     r.mtu = {Largest, IbMtu::Mtu256}, r.rate = {Largest, rate(2)}, r.packet_life = {Largest, 1};
                 },
                 "mtu=5 rate=7 life=18 pkey=0xffff sl=3"},
        PathCase{"no_mtu",
                 [](QosLevel&, Request& r, PathLimits&) {
                     r.mtu = {Exactly, static_cast<IbMtu>(9)};
                 },
                 "9 is no MTU"},
        PathCase{"rate_above",
                 [](QosLevel&, Request& r, PathLimits&) {
                     r.rate = {GreaterThan, rate(3)};
                 },
                 "mtu=5 rate=7 life=18 pkey=0xffff sl=3"},
        PathCase{"rate_not_above",
                 [](QosLevel&, Request& r, PathLimits&) {
                     r.rate = {GreaterThan, rate(7)};
                 },
                 "a rate above 7 = 40 Gbit/s was requested; the path with this level has 7 = 40 Gbit/s"},
        PathCase{"rate_below_is_the_one_before",
                 [](QosLevel&, Request& r, PathLimits&) {
                     r.rate = {LessThan, rate(7)};
                 },
                 "mtu=5 rate=19 life=18 pkey=0xffff sl=3"},
        PathCase{"rate_below_the_lowest",
                 [](QosLevel&, Request& r, PathLimits&) {
                     r.rate = {LessThan, rate(2)};
                 },
                 "no rate is below 2 = 2.5 Gbit/s"},
        PathCase{"rate_exactly",
                 [](QosLevel&, Request& r, PathLimits&) {
                     r.rate = {Exactly, rate(7)};
                 },
                 "mtu=5 rate=7 life=18 pkey=0xffff sl=3"},
        PathCase{"rate_exactly_does_not_lower",
                 [](QosLevel&, Request& r, PathLimits&) {
                     r.rate = {Exactly, rate(3)};
                 },
                 "a rate of exactly 3 = 10 Gbit/s was requested; the path with this level has 7 = 40 Gbit/s"},
        PathCase{"no_rate",
                 [](QosLevel&, Request& r, PathLimits&) {
                     r.rate = {GreaterThan, rate(1)};
                 },
                 "1 is not a rate"},
        PathCase{"life_below",
                 [](QosLevel&, Request& r, PathLimits&) {
                     r.packet_life = {LessThan, 10};
                 },
                 "mtu=5 rate=7 life=9 pkey=0xffff sl=3"},
        PathCase{"life_exactly",
                 [](QosLevel&, Request& r, PathLimits&) {
                     r.packet_life = {Exactly, 16};
                 },
                 "mtu=5 rate=7 life=16 pkey=0xffff sl=3"},
        PathCase{"life_above_the_levels",
                 [](QosLevel& l, Request& r, PathLimits&) {
                     l.packet_life = 16, r.packet_life = {GreaterThan, 16};
                 },
                 "packet lifetime above 16 = 268 ms was requested; the path with this level has 16 = 268 ms"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    PKeys, PathTable,
    testing::Values(
        PathCase{"asked_and_shared",
                 [](QosLevel&, Request& r, PathLimits& p) {
                     r.pkey = 0x0005, p.source_pkeys = {0x0005}, p.destination_pkeys = {0x8005};
                 },
                 "mtu=5 rate=7 life=18 pkey=0x0005 sl=3"},
        PathCase{"two_limited_members_share_nothing",
                 [](QosLevel&, Request& r, PathLimits& p) {
                     r.pkey = 0x0005, p.source_pkeys = {0x0005}, p.destination_pkeys = {0x0005};
                 },
                 "the two ports do not share P_Key 0x5"},
        PathCase{"asked_and_in_the_level",
                 [](QosLevel& l, Request& r, PathLimits&) { l.pkeys = rdmaqos::test::number(0x7FFF), r.pkey = 0xFFFF; },
                 "mtu=5 rate=7 life=18 pkey=0xffff sl=3"},
        PathCase{"asked_and_not_in_the_level",
                 [](QosLevel& l, Request& r, PathLimits&) {
                     l.pkeys = numbers({{1, 5}}), r.pkey = 0xFFFF;
                 },
                 "P_Key 0xffff is not among those of level rpc (0x1-0x5)"},
        PathCase{"the_levels_lowest_without_membership_bit",
                 [](QosLevel& l, Request&, PathLimits& p) {
                     l.pkeys = numbers({{2, 0x1000}}), p.source_pkeys = {0xFFFF, 0x8F01, 0x8102},
                     p.destination_pkeys = {0x8102, 0x8F01};
                 },
                 "mtu=5 rate=7 life=18 pkey=0x0102 sl=3"},
        PathCase{"none_of_the_levels",
                 [](QosLevel& l, Request&, PathLimits&) {
                     l.pkeys = numbers({{1, 5}});
                 },
                 "the two ports share none of the P_Keys of level rpc (0x1-0x5)"},
        PathCase{"any_is_the_first_of_opensms_table",
                 [](QosLevel&, Request&, PathLimits& p) {
                     p.source_pkeys = p.destination_pkeys = {0x8009, 0x8F07};
                 },
                 "mtu=5 rate=7 life=18 pkey=0x8f07 sl=3"},
        PathCase{"any_and_none_shared",
                 [](QosLevel&, Request&, PathLimits& p) { p.source_pkeys = {0x7FFF}, p.destination_pkeys = {0x7FFF}; },
                 "the two ports share no P_Key"},
        PathCase{"as_the_sender_has_it",
                 [](QosLevel&, Request&, PathLimits& p) {
                     p.source_pkeys = {0x0007, 0x8007}, p.destination_pkeys = {0x8007};
                 },
                 "mtu=5 rate=7 life=18 pkey=0x8007 sl=3"},
        PathCase{"unknown_tables_and_nothing_asked", [](QosLevel&, Request&, PathLimits& p) { p.pkeys_known = false; },
                 "mtu=5 rate=7 life=18 pkey=- sl=3"},
        PathCase{"unknown_tables_and_asked",
                 [](QosLevel&, Request& r, PathLimits& p) { r.pkey = 0x8001, p.pkeys_known = false; },
                 "mtu=5 rate=7 life=18 pkey=0x8001 sl=3"},
        PathCase{
            "unknown_tables_and_one_pkey_of_the_level",
            [](QosLevel& l, Request&, PathLimits& p) { l.pkeys = rdmaqos::test::number(5), p.pkeys_known = false; },
            "mtu=5 rate=7 life=18 pkey=0x0005 sl=3"},
        PathCase{"unknown_tables_and_several",
                 [](QosLevel& l, Request&, PathLimits& p) {
                     l.pkeys = numbers({{5, 6}}), p.pkeys_known = false;
                 },
                 "mtu=5 rate=7 life=18 pkey=- sl=3"},
        PathCase{"unknown_tables_and_not_in_the_level",
                 [](QosLevel& l, Request& r, PathLimits& p) {
                     l.pkeys = numbers({{5, 6}}), r.pkey = 7, p.pkeys_known = false;
                 },
                 "P_Key 0x7 is not among those of level rpc (0x5-0x6)"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    ServiceLevels, PathTable,
    testing::Values(
        PathCase{"asked_the_same", [](QosLevel&, Request& r, PathLimits&) { r.sl = 3; },
                 "mtu=5 rate=7 life=18 pkey=0xffff sl=3"},
        PathCase{"asked_another", [](QosLevel&, Request& r, PathLimits&) { r.sl = 4; },
                 "SL 4 was requested; level rpc has SL 3"},
        PathCase{"level_not_usable_here", [](QosLevel&, Request&, PathLimits& p) { p.valid_sl_mask = 0xFFF7; },
                 "SL 3 of level rpc cannot be used on this path: a port maps it to VL15"},
        PathCase{"level_leaves_it_alone", [](QosLevel& l, Request&, PathLimits&) { l.sl.reset(); },
                 "mtu=5 rate=7 life=18 pkey=0xffff sl=-"},
        PathCase{"level_leaves_it_to_the_request", [](QosLevel& l, Request& r, PathLimits&) { l.sl.reset(), r.sl = 4; },
                 "mtu=5 rate=7 life=18 pkey=0xffff sl=4"},
        PathCase{"asked_and_not_usable_here",
                 [](QosLevel& l, Request& r, PathLimits& p) { l.sl.reset(), r.sl = 4, p.valid_sl_mask = 0xFFEF; },
                 "SL 4 cannot be used on this path: a port maps it to VL15"},
        PathCase{"asked_no_sl", [](QosLevel& l, Request& r, PathLimits&) { l.sl.reset(), r.sl = 16; },
                 "SL 16 cannot be used on this path: a port maps it to VL15"}),
    name_of);

}    // namespace
}    // namespace rdmaqos
