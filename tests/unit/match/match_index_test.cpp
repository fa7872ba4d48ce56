// The parts a Matcher is made of, and the whole against a plain scan on policies of hostile shapes.
#include <algorithm>
#include <limits>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "policy/match/interval_index.h"
#include "policy/match/rule_sets.h"
#include "tests/unit/match/policy_dsl.h"

namespace rdmaqos {
namespace {

using namespace test;

constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();

template <typename Key>
std::set<std::uint32_t> ids_at(const IntervalIndex<Key>& index, const Key& key)
{
    std::set<std::uint32_t> ids;
    index.stab(key, [&](std::uint32_t list) { ids.insert(index.lists()[list].begin(), index.lists()[list].end()); });
    return ids;
}

TEST(IntervalIndex, EndsAreInside)
{
    const IntervalIndex<std::uint64_t> index({{5, 7, 0}, {7, 9, 1}, {0, 0, 2}, {kMax, kMax, 3}, {0, kMax, 4}});
    EXPECT_EQ(ids_at<std::uint64_t>(index, 0), (std::set<std::uint32_t>{2, 4}));
    EXPECT_EQ(ids_at<std::uint64_t>(index, 4), (std::set<std::uint32_t>{4}));
    EXPECT_EQ(ids_at<std::uint64_t>(index, 7), (std::set<std::uint32_t>{0, 1, 4}));
    EXPECT_EQ(ids_at<std::uint64_t>(index, 9), (std::set<std::uint32_t>{1, 4}));
    EXPECT_EQ(ids_at<std::uint64_t>(index, kMax), (std::set<std::uint32_t>{3, 4}));
    EXPECT_EQ(ids_at<std::uint64_t>(IntervalIndex<std::uint64_t>(), 1), std::set<std::uint32_t>{});
    EXPECT_EQ(ids_at<std::uint64_t>(IntervalIndex<std::uint64_t>({{8, 9, 0}}), 1), std::set<std::uint32_t>{});
}

TEST(IntervalIndex, WideKeysCarry)
{
    const IntervalIndex<Key128> index({{{1, kMax}, {1, kMax}, 0}, {{2, 0}, {kMax, kMax}, 1}});
    EXPECT_EQ(ids_at<Key128>(index, {1, kMax}), (std::set<std::uint32_t>{0}));
    EXPECT_EQ(ids_at<Key128>(index, {2, 0}), (std::set<std::uint32_t>{1}));
    EXPECT_EQ(ids_at<Key128>(index, {kMax, kMax}), (std::set<std::uint32_t>{1}));
    EXPECT_EQ(ids_at<Key128>(index, {1, 0}), (std::set<std::uint32_t>{}));
}

TEST(IntervalIndex, AWideRangeTakesTheRoomOfANarrowOne)
{
    const IntervalIndex<std::uint64_t> narrow({{100, 101, 0}});
    const IntervalIndex<std::uint64_t> wide({{100, 100 + 64'000'000, 0}});
    EXPECT_EQ(narrow.memory(), wide.memory());
}

TEST(IntervalIndex, NestedRangesTakeNoSquare)
{
    constexpr std::uint32_t kCount = 4000;
    std::vector<IntervalIndex<std::uint64_t>::Item> items;
    for (std::uint32_t i = 0; i < kCount; ++i) {
        items.push_back({i, 2 * kCount - i, i});
    }
    const IntervalIndex<std::uint64_t> index(items);
    EXPECT_EQ(ids_at<std::uint64_t>(index, kCount).size(), kCount);
    EXPECT_EQ(ids_at<std::uint64_t>(index, 10).size(), 11U);
    EXPECT_LT(index.memory(), kCount * 512U);
}

TEST(IntervalIndexProperty, AgreesWithAskingAll)
{
    EXPECT_TRUE(rc::check("the index finds the intervals that contain a number", [] {
        std::vector<IntervalIndex<std::uint64_t>::Item> items;
        for (std::uint32_t id = 0, count = *rc::gen::inRange(0U, 40U); id < count; ++id) {
            const auto first = *rc::gen::element<std::uint64_t>(0, 1, 2, 3, 5, 8, 13, kMax - 1, kMax);
            const auto length = *rc::gen::element<std::uint64_t>(0, 1, 2, 5, 100);
            items.push_back({first, first > kMax - length ? kMax : first + length, id});
        }
        const IntervalIndex<std::uint64_t> index(items);
        for (const std::uint64_t key : {std::uint64_t{0}, std::uint64_t{4}, std::uint64_t{9}, kMax - 1, kMax}) {
            std::set<std::uint32_t> expected;
            for (const auto& item : items) {
                if (item.first <= key && key <= item.last) {
                    expected.insert(item.id);
                }
            }
            RC_ASSERT(ids_at(index, key) == expected);
        }
    }));
}

TEST(RuleSetsProperty, AUnionIsReadInOrder)
{
    EXPECT_TRUE(rc::check("a union holds what its sets hold, from any word on", [] {
        RuleSets sets;
        std::set<std::uint32_t> expected;
        std::vector<RuleSets::Set> numbers;
        for (int count = *rc::gen::inRange(0, 30); count > 0; --count) {
            const auto positions = *rc::gen::container<std::vector<std::uint32_t>>(
                rc::gen::inRange<std::uint32_t>(0, 3000));
            expected.insert(positions.begin(), positions.end());
            numbers.push_back(sets.add(positions));
        }
        SetUnion all(sets);
        for (const auto set : numbers) {
            all.add(set);
        }
        for (const std::uint32_t from : {0U, *rc::gen::inRange(0U, 50U)}) {
            std::set<std::uint32_t> read;
            for (auto word = all.seek(from); word.number != SetUnion::kNone; word = all.seek(word.number + 1)) {
                for (std::uint32_t bit = 0; bit < 64; ++bit) {
                    if ((word.bits >> bit & 1U) != 0) {
                        read.insert(word.number * 64 + bit);
                    }
                }
            }
            RC_ASSERT(read == std::set<std::uint32_t>(expected.lower_bound(from * 64), expected.end()));
            all.rewind();
        }
    }));
}

// Few values, so that rules and requests meet, and the ends of every range of numbers.
std::uint64_t any_number()
{
    return *rc::gen::element<std::uint64_t>(0, 1, 2, 3, 4, 5, 0x7FFF, kMax - 1, kMax);
}

IntervalSet any_numbers()
{
    std::vector<Interval> intervals;
    for (int i = *rc::gen::element(0, 0, 1, 2); i > 0; --i) {
        intervals.push_back({any_number(), any_number()});
    }
    return IntervalSet(std::move(intervals));
}

template <typename T>
std::vector<T> some_of(const std::vector<T>& values)
{
    return *rc::gen::resize(3, rc::gen::container<std::vector<T>>(rc::gen::elementOf(values)));
}

std::vector<DeviceSelector> device_conditions()
{
    return {{.link_layer = LinkLayer::Ethernet},
            {.netdev = "ib*", .link_layer = LinkLayer::InfiniBand},
            with_speed(">=200Gbps"),
            with_speed("<400Gbps", "mlx5_*")};
}

const std::vector<std::string>& globs()
{
    static const std::vector<std::string> list{
        "*",      "job-*.scope", "job-?.scope", "*-7.scope", "/system.slice/*", "*/job-*",
        "user@*", "mlx5_*",      "mlx5_0/2",    "ib[0-9]",   "/usr/bin/*",      "a\\x2db.service"};
    return list;
}

std::optional<ClientCriteria> any_client()
{
    if (*rc::gen::inRange(0, 3) > 0) {
        return std::nullopt;
    }
    ClientCriteria criteria;
    criteria.uids = some_of<std::uint32_t>({0, 1, 2});
    criteria.gids = some_of<std::uint32_t>({0, 1, 2});
    criteria.users = some_of<std::string>({"nobody-knows"});
    const auto maybe_globs = [] { return *rc::gen::arbitrary<bool>() ? some_of(globs()) : std::vector<std::string>(); };
    criteria.units = maybe_globs();
    criteria.cgroups = maybe_globs();
    criteria.executables = maybe_globs();
    criteria.commands = maybe_globs();
    return criteria;
}

NodeTypes any_types()
{
    return {*rc::gen::inRange(0, 4) == 0, *rc::gen::inRange(0, 4) == 0, *rc::gen::inRange(0, 4) == 0};
}

TestPolicy hostile_policy()
{
    TestPolicy policy;
    policy.fabric.ports = {ca_port(1, "one"), {Guid{2}, 1, {}, NodeType::Switch, "two", {0xFFFF}, false}};
    policy.fabric.ports[0].lids = LidRange{{8}, 2};
    policy.fabric.ports[1].lids = LidRange{{12}, 0};
    for (const auto* name : {"a", "b", "c", "d"}) {
        policy.level(name, [](QosLevel& l) { l.allow = any_client(); });
        policy.group(name, [](PortGroup& g) {
            g.port_guids = any_numbers();
            g.node_types = any_types();
            for (const auto& text :
                 some_of<std::string>({"fd00::/16", "fd00::1", "::/0", "::ffff:10.1.0.0/112", "fd00::/64"})) {
                g.gids.push_back(prefix(text));
            }
        });
    }
    const std::vector<std::size_t> groups{0, 1, 2, 3};
    for (int i = *rc::gen::element(0, 3, 20, 150); i > 0; --i) {
        policy.rule(*rc::gen::element("a", "b", "c", "d", "DEFAULT"), [&](MatchRule& r) {
            r.source = *rc::gen::inRange(0, 4) == 0 ? some_of(groups) : std::vector<std::size_t>();
            r.destination = *rc::gen::inRange(0, 4) == 0 ? some_of(groups) : std::vector<std::size_t>();
            r.qos_class = any_numbers();
            r.service_id = any_numbers();
            r.pkey = any_numbers();
            r.client = any_client();
            if (*rc::gen::inRange(0, 5) == 0) {
                r.devices = devices_named(some_of(globs()));
                const auto conditions = some_of(device_conditions());
                r.devices.insert(r.devices.end(), conditions.begin(), conditions.end());
            }
        });
    }
    if (*rc::gen::arbitrary<bool>()) {
        policy.partition("p", static_cast<std::uint16_t>(any_number() & 0x7FFFU), *rc::gen::element("a", "b"));
    }
    return policy;
}

std::optional<Endpoint> any_end()
{
    switch (*rc::gen::inRange(0, 4)) {
    case 0:
        return std::nullopt;
    case 1:
        return Guid{any_number()};
    case 2:
        return Lid{*rc::gen::element<std::uint16_t>(1, 7, 8, 11, 12, 13)};
    default:
        return gid(*rc::gen::element<std::string>("fd00::1", "fd00::2", "fd01::1", "10.1.0.7", "::5", "fe80::4"));
    }
}

template <typename T>
std::optional<T> maybe_number()
{
    return *rc::gen::arbitrary<bool>() ? std::optional<T>(static_cast<T>(any_number())) : std::nullopt;
}

Request any_request()
{
    Request request;
    request.qos_class = maybe_number<std::uint16_t>();
    request.service_id = maybe_number<std::uint64_t>();
    request.pkey = maybe_number<std::uint16_t>();
    request.source = any_end();
    request.destination = any_end();
    if (*rc::gen::arbitrary<bool>()) {
        request.device = DeviceNames{"mlx5_0",
                                     *rc::gen::element(1U, 2U),
                                     *rc::gen::element<std::string>("", "ib0"),
                                     "",
                                     *rc::gen::element(LinkLayer::InfiniBand, LinkLayer::Ethernet),
                                     Bandwidth::from_gbps(*rc::gen::element(0U, 100U, 200U, 400U))};
    }
    return request;
}

Identity anybody()
{
    Identity identity = somebody(*rc::gen::inRange<std::uint32_t>(0, 3));
    identity.gids = some_of<std::uint32_t>({0, 1, 2, 3});
    identity.cgroup = *rc::gen::element<std::string>(
        "", "/", "/system.slice/job-7.scope", "/system.slice/a\\x2db.service",
        "/user.slice/user-1.slice/user@1.service/app.slice/job-7.scope", "/lxc.payload/system.slice/job-7.scope");
    identity.unit = unit_of_cgroup(identity.cgroup);
    identity.executable = *rc::gen::element<std::string>("", "/usr/bin/ib_write_bw");
    identity.command = *rc::gen::element<std::string>("", "ib_write_bw", "job-7.scope");
    return identity;
}

TEST(MatchIndexProperty, AgreesWithAPlainScan)
{
    EXPECT_TRUE(rc::check("a matcher says what a plain scan says", [] {
        const TestPolicy policy = hostile_policy();
        const Matcher matcher(policy.policy, policy.resolved());
        for (int i = 0; i < 20; ++i) {
            const Request request = any_request();
            const Identity identity = anybody();
            const auto expected = in_full(scan(policy.policy, matcher.groups(), request, identity));
            RC_ASSERT(in_full(matcher.match(request, identity)) == expected);
        }
    }));
}

TEST(MatchIndex, ManyRulesThatAllMatchButAreNotAllowed)
{
    TestPolicy policy;
    policy.level("vip", [](QosLevel& l) { l.allow = ClientCriteria{.uids = {7}, .users = {"vera"}}; });
    policy.level("rpc");
    for (int i = 0; i < 1000; ++i) {
        policy.rule("vip", [](MatchRule& r) { r.service_id = number(80); });
    }
    policy.rule("rpc", [](MatchRule& r) { r.service_id = number(80); });
    Request request;
    request.service_id = 80;
    EXPECT_EQ(outcome(policy.ask(request)), "rule 1001: rpc");
    EXPECT_EQ(outcome(policy.ask(request, somebody(7))), "rule 1: vip");
}

TEST(Matcher, MemoryIsThatOfTheRules)
{
    TestPolicy policy;
    for (std::uint64_t i = 0; i < 1000; ++i) {
        policy.rule("DEFAULT", [i](MatchRule& r) { r.service_id = numbers({{i, 64'000'000 + i}}); });
    }
    EXPECT_LT(Matcher(policy.policy, policy.resolved()).memory(), 1000U * 1000);
}

}    // namespace
}    // namespace rdmaqos
