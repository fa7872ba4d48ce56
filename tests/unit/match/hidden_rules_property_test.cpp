// Rules that are said to be hidden against brute force: all requests and clients of a small world are asked of small
// policies, rule by rule, and the rules that decide about none of them are those that are hidden.
#include <cstdlib>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "policy/match/hidden_rules.h"
#include "tests/unit/match/policy_dsl.h"

namespace rdmaqos {
namespace {

using namespace test;

// What a world can differ in. A case uses some of them.
enum class Axis : std::uint8_t {
    ServiceId,
    PKey,
    QosClass,
    Source,
    Destination,
    Device,
    User,
    Group,
    Unit,
    Cgroup,
    Executable
};
constexpr std::size_t kAxes = 11;

// Ends of paths: GUIDs of which 4 is nobody's, GIDs inside and outside of the groups' prefixes, known and unknown LIDs.
std::vector<Endpoint> ends()
{
    std::vector<Endpoint> all{Lid{7}, Lid{8}, gid("10.1.0.1"), gid("10.2.0.1")};
    for (const std::uint64_t guid : {1, 2, 3, 4}) {
        all.emplace_back(Guid{guid});
        all.emplace_back(gid(fmt::format("fd00::{}", guid)));
        all.emplace_back(gid(fmt::format("fd00:0:0:1::{}", guid)));
        all.emplace_back(gid(fmt::format("fe80::{}", guid)));
    }
    return all;
}

const std::vector<std::string> kCgroups{"/q",
                                        "/q.service",
                                        "/slurm/x.service",
                                        "/system.slice/a.service",
                                        "/system.slice/b.scope",
                                        "/system.slice/cc.service",
                                        "/system.slice/c.scope",
                                        "/system.slice/cc.scope",
                                        "/system.slice/cc.scope/cc.service",
                                        "/system.slice/b.scope/a.service",
                                        "/system.slice/a.service/b.scope",
                                        "/user.slice/user@1.service/a.service",
                                        "/lxc/a.service",
                                        "/slurm/job_1",
                                        "/slurm/job_2/step",
                                        "/slurm/x/c.service"};

std::vector<DeviceNames> devices()
{
    std::vector<DeviceNames> all;
    for (const auto* name : {"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_01", "x"}) {
        all.push_back({name, 1, "", "", LinkLayer::Ethernet, Bandwidth::from_gbps(100)});
    }
    for (const auto* name : {"mlx5_0", "x"}) {
        all.push_back({name, 1, "", "", LinkLayer::Ethernet, Bandwidth::from_gbps(200)});
        all.push_back({name, 1, "eth0", "", LinkLayer::InfiniBand, Bandwidth::from_gbps(400)});
        all.push_back({name, 1, "", "", LinkLayer::InfiniBand, Bandwidth{}});
    }
    return all;
}

std::vector<DeviceSelector> device_selectors()
{
    auto all = devices_named({"mlx5_0", "mlx5_1", "mlx5_?", "mlx5_*", "mlx5_0/1", "*", "mlx5_[01]"});
    all.insert(all.end(), {{.link_layer = LinkLayer::Ethernet},
                           {.name = "mlx5_?", .link_layer = LinkLayer::InfiniBand},
                           {.netdev = "eth*"},
                           with_speed(">=200Gbps"),
                           with_speed(">200Gbps"),
                           with_speed("<=200Gbps"),
                           with_speed("<400Gbps", "mlx5_*"),
                           with_speed("400Gbps")});
    return all;
}

// A random policy, and all requests and clients that differ in what it may ask for.
class SmallWorld {
public:
    explicit SmallWorld(std::uint32_t seed) : random_(seed)
    {
        for (std::size_t i = up_to(1, 3); i > 0; --i) {
            axes_.insert(static_cast<Axis>(up_to(0, kAxes - 1)));
        }
        add_groups();
        for (const auto* name : {"a", "b", "c", "d"}) {
            made.level(name, [&](QosLevel& level) { set_allow(level.allow); });
        }
        const std::size_t rules = up_to(2, 5);
        const std::size_t ulps = up_to(0, 1);
        for (std::size_t i = 0; i < rules; ++i) {
            made.rule(one_of<std::string>({"a", "b", "c", "d", "DEFAULT"}), [&](MatchRule& rule) { set(rule); });
            made.policy.rules.back().origin = i + ulps >= rules ? RuleOrigin::Ulp : RuleOrigin::MatchRule;
        }
        made.local = {LocalPort{}};
        made.fabric.ports = {ca_port(1, "a HCA-1"), ca_port(2, "b HCA-1"), ca_port(3, "switch")};
        made.fabric.ports[2].type = NodeType::Switch;
        made.fabric.ports[0].lids = LidRange{Lid{7}, 0};
        groups = made.resolved();
    }

    // Calls visit(request, identity).
    template <typename Visit>
    void for_each(Visit visit) const
    {
        std::vector<Request> requests{{}};
        vary<std::uint64_t>(requests, Axis::ServiceId, {1, 2, 3}, [](Request& r, auto v) { r.service_id = v; });
        vary<std::uint16_t>(requests, Axis::PKey, {1, 2}, [](Request& r, auto v) { r.pkey = v; });
        vary<std::uint16_t>(requests, Axis::QosClass, {4094, 4095}, [](Request& r, auto v) { r.qos_class = v; });
        vary<Endpoint>(requests, Axis::Source, ends(), [](Request& r, auto v) { r.source = v; });
        vary<Endpoint>(requests, Axis::Destination, ends(), [](Request& r, auto v) { r.destination = v; });
        vary<DeviceNames>(requests, Axis::Device, devices(), [](Request& r, const auto& v) { r.device = v; });
        std::vector<Identity> clients{{}};
        vary<std::uint32_t>(clients, Axis::User, {1, 2, 3}, [](Identity& i, auto v) { i.uid = v; });
        vary<std::vector<std::uint32_t>>(clients, Axis::Group, {{1}, {2}, {3}, {1, 2}, {1, 3}},
                                         [](Identity& i, const auto& v) { i.gids = v; });
        const Axis of_cgroups = axes_.contains(Axis::Unit) ? Axis::Unit : Axis::Cgroup;
        vary<std::string>(clients, of_cgroups, kCgroups, [](Identity& i, const auto& v) {
            i.cgroup = v;
            i.unit = unit_of_cgroup(v);
        });
        vary<std::string>(clients, Axis::Executable, {"/bin/x", "/bin/y", "/opt/x", "/opt/y", "/z/x", "/z"},
                          [](Identity& i, const auto& v) { i.executable = v; });
        for (const auto& request : requests) {
            for (const auto& client : clients) {
                visit(request, client);
            }
        }
    }

    [[nodiscard]] bool has(Axis axis) const { return axes_.contains(axis); }

    TestPolicy made;
    ResolvedGroups groups;

private:
    std::size_t up_to(std::size_t least, std::size_t most) { return least + random_() % (most - least + 1); }
    template <typename T>
    T one_of(const std::vector<T>& all)
    {
        return all[up_to(0, all.size() - 1)];
    }
    template <typename T>
    std::vector<T> some_of(const std::vector<T>& all)
    {
        std::vector<T> some{one_of(all)};
        if (up_to(0, 1) == 1) {
            some.push_back(one_of(all));
        }
        return some;
    }
    // Most rules ask for most of what the case uses.
    bool wants(Axis axis) { return axes_.contains(axis) && up_to(0, 3) != 0; }

    IntervalSet some_numbers(const std::vector<std::uint64_t>& values)
    {
        std::vector<Interval> intervals;
        for (const auto value : some_of(values)) {
            intervals.push_back({value, one_of(values)});
        }
        return IntervalSet(std::move(intervals));
    }

    void add_groups()
    {
        made.group("1", [](PortGroup& g) { g.port_guids = number(1); });
        made.group("2", [](PortGroup& g) { g.port_guids = number(2); });
        made.group("1-2", [](PortGroup& g) { g.port_guids = numbers({{1, 2}}); });
        made.group("hosts", [](PortGroup& g) { g.node_types.ca = true; });
        made.group("all but routers", [](PortGroup& g) { g.node_types = {true, true, false}; });
        made.group("all", [](PortGroup& g) { g.node_types = {true, true, true}; });
        made.group("net", [](PortGroup& g) { g.gids = {prefix("fd00::/63")}; });
        made.group("net 0", [](PortGroup& g) { g.gids = {prefix("fd00::/64")}; });
        made.group("net 1 and 2", [](PortGroup& g) {
            g.gids = {prefix("fd00:0:0:1::/64")};
            g.port_guids = number(2);
        });
        made.group("ipv4", [](PortGroup& g) { g.gids = {prefix("10.1.0.0/16")}; });
        made.group("all guids", [](PortGroup& g) { g.port_guids = numbers({{0, ~std::uint64_t{0}}}); });
        made.group("nobody", [](PortGroup&) {});
    }

    std::vector<std::size_t> some_groups()
    {
        std::vector<std::size_t> all(made.policy.groups.size());
        std::iota(all.begin(), all.end(), 0);
        return some_of(all);
    }

    void set(MatchRule& rule)
    {
        if (wants(Axis::ServiceId)) {
            rule.service_id = some_numbers({1, 2, 3});
        }
        if (wants(Axis::PKey)) {
            rule.pkey = some_numbers({1, 2});
        }
        if (wants(Axis::QosClass)) {
            rule.qos_class = some_numbers({4094, 4095, 5000});
        }
        if (wants(Axis::Source)) {
            rule.source = some_groups();
        }
        if (wants(Axis::Destination)) {
            rule.destination = some_groups();
        }
        if (wants(Axis::Device)) {
            rule.devices = some_of(device_selectors());
        }
        set_client(rule.client.emplace());
        if (wants(Axis::Executable)) {
            rule.client->executables = some_of<std::string>({"/bin/x", "/bin/*", "*/x", "*", "/opt/?"});
        }
    }

    void set_allow(std::optional<ClientCriteria>& allow)
    {
        if (up_to(0, 2) != 0) {
            return;
        }
        set_client(allow.emplace());
        const auto is_asked = [&](const ClientKey& key) { return asks(*allow, key); };
        // Seldom one that names nobody.
        if (std::ranges::none_of(kClientKeys, is_asked) && up_to(0, 7) != 0) {
            allow.reset();
        }
    }

    void set_client(ClientCriteria& client)
    {
        if (wants(Axis::User)) {
            client.uids = some_of<std::uint32_t>({1, 2, 2, 3});
            if (up_to(0, 15) == 0) {
                client.users = {"ghost"};
                client.uids.clear();
            }
        }
        if (wants(Axis::Group)) {
            client.gids = some_of<std::uint32_t>({1, 2});
        }
        if (wants(Axis::Unit)) {
            client.units = some_of<std::string>({"a.service", "b.scope", "*.service", "*.scope", "*", "?.s*"});
        }
        if (wants(Axis::Cgroup)) {
            client.cgroups = some_of<std::string>({"/slurm/*", "/slurm/job_1", "/system.slice/*", "*", "*.service"});
        }
    }

    // With each of the values, and with none.
    template <typename Value, typename Object, typename Set>
    void vary(std::vector<Object>& objects, Axis axis, const std::vector<Value>& values, Set set) const
    {
        if (!axes_.contains(axis)) {
            return;
        }
        for (std::size_t i = objects.size(); i > 0; --i) {
            for (const auto& value : values) {
                Object object = objects[i - 1];
                set(object, value);
                objects.push_back(std::move(object));
            }
        }
    }

    std::mt19937 random_;
    std::set<Axis> axes_;
};

// By rule, the questions that it would take if it were the only one; and how many it decides about.
struct Truth {
    std::vector<std::set<std::size_t>> takes;
    std::vector<std::size_t> decides;
    std::vector<bool> asks_in_vain;    // one of its criteria holds for no question
    std::size_t questions = 0;
};

Truth try_all(const SmallWorld& world)
{
    const Policy& policy = world.made.policy;
    Truth truth;
    truth.takes.resize(policy.rules.size());
    truth.decides.resize(policy.rules.size());
    std::vector<std::set<std::string_view>> held(policy.rules.size());
    world.for_each([&](const Request& request, const Identity& client) {
        const Evaluator evaluator(policy, world.groups, request, client);
        bool is_decided = false;
        for (std::size_t rule = 0; rule < policy.rules.size(); ++rule) {
            const MatchRule& asked = policy.rules[rule];
            for (const Criterion& criterion : kCriteria) {
                if (evaluator.holds(asked, criterion)) {
                    held[rule].insert(criterion.key);
                }
            }
            if (all_hold(evaluator, asked) && is_allowed(policy.levels[asked.level], client)) {
                truth.takes[rule].insert(truth.questions);
                truth.decides[rule] += is_decided ? 0 : 1;
                is_decided = true;
            }
        }
        ++truth.questions;
    });
    for (const auto& criteria : held) {
        truth.asks_in_vain.push_back(criteria.size() < kCriteria.size());
    }
    return truth;
}

bool is_within(const std::set<std::size_t>& narrow, const std::set<std::size_t>& wide)
{
    return std::includes(wide.begin(), wide.end(), narrow.begin(), narrow.end());
}

// Why a rule that decides about nothing was not found.
std::string reason(const SmallWorld& world, const Truth& truth, std::size_t rule)
{
    if (truth.takes[rule].empty()) {
        return truth.asks_in_vain[rule] ? "asks for what nobody has, which has its own warning"
                                        : "units, cgroups and `allow` that do not fit together";
    }
    for (std::size_t above = 0; above < rule; ++above) {
        if (is_within(truth.takes[rule], truth.takes[above])) {
            return world.has(Axis::Device) ? "one rule: a device and its port"
                   : world.has(Axis::Unit) ? "one rule: units end in .service or .scope, and follow from cgroups"
                                           : "one rule";
        }
    }
    return "several rules";
}

TEST(HiddenRulesProperty, AgreesWithBruteForce)
{
    const char* const wanted = std::getenv("RDMAQOS_HIDDEN_RULES_CASES");
    const auto cases = static_cast<std::uint32_t>(wanted == nullptr ? 1'500 : std::atoi(wanted));
    std::map<std::string, std::size_t> found;
    std::map<std::string, std::size_t> missed;
    std::size_t rules = 0;
    std::size_t reachable = 0;
    std::size_t questions = 0;
    std::size_t wrong = 0;
    for (std::uint32_t seed = 1; seed <= cases; ++seed) {
        SCOPED_TRACE(fmt::format("seed {}", seed));
        const SmallWorld world(seed);
        const Matcher matcher(world.made.policy, world.groups);
        const Truth truth = try_all(world);
        questions += truth.questions;
        rules += truth.decides.size();
        std::set<std::size_t> said;
        for (const auto& hidden : hidden_rules(matcher)) {
            said.insert(hidden.rule);
            ++found[hidden.how == Hidden::ByRules    ? hidden.by.size() > 1 ? "by several rules" : "by one rule"
                    : hidden.how == Hidden::ByNobody ? "by a level for nobody"
                                                     : "by the level's allow"];
            std::set<std::size_t> above;
            for (const std::size_t rule : hidden.by) {
                ASSERT_LT(rule, hidden.rule);
                above.insert(truth.takes[rule].begin(), truth.takes[rule].end());
            }
            const bool is_true = truth.decides[hidden.rule] == 0 && is_within(truth.takes[hidden.rule], above);
            EXPECT_TRUE(is_true) << "rule " << hidden.rule + 1 << " by "
                                 << fmt::format("{}", fmt::join(hidden.by, ", "));
            if (hidden.is_equal) {
                EXPECT_TRUE(is_within(above, truth.takes[hidden.rule]));
            }
            wrong += is_true ? 0 : 1;
        }
        for (std::size_t rule = 0; rule < truth.decides.size(); ++rule) {
            reachable += truth.decides[rule] > 0 ? 1 : 0;
            if (truth.decides[rule] == 0 && !said.contains(rule)) {
                const std::string why = reason(world, truth, rule);
                ++missed[why];
                // What is promised to be found.
                EXPECT_NE(why, "one rule") << "rule " << rule + 1;
            }
        }
    }
    fmt::print("{} policies, {} rules, {} questions: {} rules decide, {} claims wrong\n", cases, rules, questions,
               reachable, wrong);
    for (const auto& [how, count] : found) {
        fmt::print("  found, {}: {}\n", how, count);
    }
    for (const auto& [why, count] : missed) {
        fmt::print("  not found, {}: {}\n", why, count);
    }
}

}    // namespace
}    // namespace rdmaqos
