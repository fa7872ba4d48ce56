// Limits of queue pairs: one truth, many who tell it. Each case is a limit that is asked for, a type of queue pair and
// a device; what the NIC then has is read from its firmware, and everything that is told must say that: results, grant,
// `sessions`, `tree --busy`, `why`, `simulate`, `status`, `check` and the metrics.
#include <map>
#include <string>

#include <gmock/gmock.h>

#include "policy/keys/level_keys.h"
#include "tests/support/service_fixture.h"
#include "tests/support/world.h"
#include "tests/unit/ctl/simulate_sample.h"
#include "tools/rdma-qosctl/offline/targets.h"
#include "tools/rdma-qosctl/rendering/world_text.h"
#include "tools/rdma-qosctl/simulate/loaded_tree.h"
#include "tools/rdma-qosctl/simulate/simulation.h"
#include "tools/rdma-qosctl/world/busy_rates.h"
#include "tools/rdma-qosctl/world/online.h"
#include "tools/rdma-qosctl/world/problems.h"
#include "tools/rdma-qosctl/world/why.h"

namespace rdmaqos {
namespace {

using testing::Contains;
using testing::HasSubstr;

constexpr std::uint64_t kGigabit = 1'000'000;    // kbit/s
constexpr std::uint64_t kLink = 100 * kGigabit;

// ---- devices ----

// Paces raw packets alone.
Capabilities connectx()
{
    return default_capabilities();
}

Capabilities paces_all()
{
    Capabilities capabilities = default_capabilities();
    capabilities.pacing.supported_types = capabilities.attachable;
    return capabilities;
}

Capabilities paces_a_range()
{
    Capabilities capabilities = paces_all();
    capabilities.pacing.min_rate = Bandwidth::from_mbps(10);
    capabilities.pacing.max_rate = Bandwidth::from_gbps(25);
    return capabilities;
}

Capabilities paces_without_bursts()
{
    Capabilities capabilities = paces_all();
    capabilities.pacing.burst = capabilities.pacing.typical_packet = false;
    return capabilities;
}

Capabilities one_rate()
{
    Capabilities capabilities = paces_all();
    capabilities.pacing.table_size = 1;
    return capabilities;
}

Capabilities paces_nothing()
{
    Capabilities capabilities = default_capabilities();
    capabilities.pacing = {};
    return capabilities;
}

Capabilities without_caps()
{
    Capabilities capabilities = default_capabilities();
    capabilities.rate_caps = false;
    return capabilities;
}

Capabilities one_leaf()
{
    Capabilities capabilities = default_capabilities();
    capabilities.max_leaves = 1;
    return capabilities;
}

// ---- cases ----

enum class Holder : std::uint8_t { Nobody, Pacing, Leaf };

struct Case {
    const char* name;
    const char* level;    // what stands behind its name
    Capabilities (*device)();
    QueuePairType type;
    Holder holder;
    std::uint64_t kbps;     // of each queue pair, on the NIC
    const char* cause;      // why not enforced; "": it is
    const char* reason;     // of the result, and of whatever else tells it
    const char* finding;    // of `check` and `status`; "": none
    std::optional<RateLimit> set_rate = {};
    const char* refusal = "";    // of set_rate
};

constexpr auto kRc = QueuePairType::Rc;
constexpr auto kRaw = QueuePairType::RawPacket;

const Case kCases[] = {
    {"nothing", "", connectx, kRc, Holder::Nobody, 0, "nothing-asked", "queue pairs are left alone", ""},
    {"paced", "schedule: {share: 10}, per-queue-pair: {max-rate: 1Gbps}", paces_all, kRc, Holder::Pacing, kGigabit, "",
     "", ""},
    {"paced_without_a_class", "per-queue-pair: {max-rate: 1Gbps}", paces_all, kRc, Holder::Pacing, kGigabit, "", "",
     ""},
    {"paced_raw", "schedule: {share: 10}, per-queue-pair: {max-rate: 1Gbps}", connectx, kRaw, Holder::Pacing, kGigabit,
     "", "", ""},
    {"paced_to_the_kbit", "schedule: {share: 10}, per-queue-pair: {max-rate: 1500kbps}", paces_all, kRc, Holder::Pacing,
     1500, "", "", ""},
    {"paced_at_the_most", "per-queue-pair: {max-rate: 5000Gbps}", paces_a_range, kRc, Holder::Pacing, 25 * kGigabit, "",
     "25 Gbit/s is the most the device can pace; 5000 Gbit/s was asked", "achievable 25 Gbit/s for rc, uc"},
    {"paced_at_what_can_be_said", "per-queue-pair: {max-rate: 5000Gbps}", paces_all, kRc, Holder::Pacing, 4'294'967'295,
     "", "4294967.295 Mbit/s is the most the device can pace", "achievable 100 Gbit/s: the port is slower"},
    {"below_the_least", "schedule: {share: 10}, per-queue-pair: {max-rate: 5Mbps}", paces_a_range, kRc, Holder::Nobody,
     0, "pacing-minimum", "the least the device can pace is 10 Mbit/s", "achievable no limit for rc, uc"},
    {"below_the_least_without_a_class", "per-queue-pair: {max-rate: 5Mbps}", paces_a_range, kRc, Holder::Nobody, 0,
     "pacing-minimum", "the least the device can pace is 10 Mbit/s", "achievable no limit for rc, uc"},
    {"type_not_paced", "per-queue-pair: {max-rate: 1Gbps}", connectx, kRc, Holder::Nobody, 0, "pacing-type",
     "the device paces raw-packet queue pairs only, and level c has no `schedule`",
     "achievable no limit for rc, uc, ud"},
    {"no_pacing", "per-queue-pair: {max-rate: 1Gbps}", paces_nothing, kRc, Holder::Nobody, 0, "no-pacing",
     "the device has no packet pacing, and level c has no `schedule`",
     "achievable no limit for rc, uc, ud, raw-packet"},
    {"table_full", "per-queue-pair: {max-rate: 1Gbps}", one_rate, kRc, Holder::Nobody, 0, "pacing-table",
     "all 1 entries of the device's pacing table have other limits", ""},
    {"burst_not_paced", "per-queue-pair: {max-rate: 1Gbps, max-burst: 64KiB}", paces_without_bursts, kRc,
     Holder::Pacing, kGigabit, "pacing-burst", "the rate of 1 Gbit/s is held, but not the burst of 64 KiB",
     "without a burst size for rc"},
    {"packet_not_paced", "per-queue-pair: {max-rate: 1Gbps, typical-packet: 1024}", paces_without_bursts, kRc,
     Holder::Pacing, kGigabit, "", "`typical-packet` has no effect", "`typical-packet` has no effect"},
    {"leaf", "schedule: {share: 10}, per-queue-pair: {max-rate: 1Gbps}", connectx, kRc, Holder::Leaf, kGigabit, "", "",
     ""},
    {"leaf_of_a_process", "schedule: {fair-by: process}, per-queue-pair: {max-rate: 1Gbps}", connectx, kRc,
     Holder::Leaf, kGigabit, "", "", ""},
    {"leaf_in_whole_mbits", "schedule: {share: 10}, per-queue-pair: {max-rate: 1500kbps}", connectx, kRc, Holder::Leaf,
     1000, "", "1 Mbit/s is held, 1.5 Mbit/s was asked", "achievable 1 Mbit/s for rc, uc, ud, devx"},
    {"leaf_above_the_link", "schedule: {share: 10}, per-queue-pair: {max-rate: 5000Gbps}", connectx, kRc, Holder::Leaf,
     5'000 * kGigabit, "", "", "the port is slower than the limit, which has no effect"},
    {"leaf_without_burst", "schedule: {share: 10}, per-queue-pair: {max-rate: 1Gbps, max-burst: 64KiB}", connectx, kRc,
     Holder::Leaf, kGigabit, "leaf-burst", "leaves take no burst size; leave `max-burst` out",
     "achievable 1 Gbit/s without a burst size for rc, uc, ud, devx"},
    {"leaf_without_packet", "schedule: {share: 10}, per-queue-pair: {max-rate: 1Gbps, typical-packet: 1024}", connectx,
     kRc, Holder::Leaf, kGigabit, "", "`typical-packet` has no effect", "`typical-packet` has no effect"},
    {"no_caps", "schedule: {share: 10}, per-queue-pair: {max-rate: 1Gbps}", without_caps, kRc, Holder::Nobody, 0,
     "no-rate-caps", "it has no caps on scheduling elements", "achievable no limit for rc"},
    {"no_leaf_left", "schedule: {share: 10}, per-queue-pair: {max-rate: 1Gbps}", one_leaf, kRc, Holder::Nobody, 0,
     "no-leaf", "no leaf is left for it: the device's leaves are used up", "achievable no limit for rc"},
    {"set_in_kbits", "schedule: {share: 10}", paces_all, kRc, Holder::Pacing, 500, "", "", "",
     RateLimit{Bandwidth::from_kbps(500), {}, {}}},
    {"set_on_a_leaf", "schedule: {fair-by: queue-pair}", connectx, kRc, Holder::Leaf, 2000, "",
     "2 Mbit/s is held, 2.5 Mbit/s was asked", "", RateLimit{Bandwidth::from_kbps(2500), {}, {}}},
    {"set_too_low_for_a_leaf", "schedule: {share: 10}, per-queue-pair: {max-rate: 1Gbps}", connectx, kRc, Holder::Leaf,
     kGigabit, "", "", "", RateLimit{Bandwidth::from_kbps(500), {}, {}}, "the least that a leaf can be capped at"},
    {"set_sizes_of_0", "schedule: {share: 10}", paces_all, kRc, Holder::Pacing, kGigabit, "", "", "",
     RateLimit{Bandwidth::from_gbps(1), 0, 0}},
    {"set_on_what_nothing_holds", "", connectx, kRc, Holder::Nobody, 0, "nothing-asked", "queue pairs are left alone",
     "", RateLimit{Bandwidth::from_gbps(1), {}, {}}, "the device paces raw-packet queue pairs only"},
};

void PrintTo(const Case& one, std::ostream* out)
{
    *out << one.name;
}

// ---- what is, and what is told ----

constexpr std::uint32_t kNumbers[] = {11, 12};

class LimitsAgree : public test::ServiceFixture, public testing::WithParamInterface<Case> {
protected:
    static std::string level()
    {
        const std::string rest = GetParam().level;
        return "{name: c" + (rest.empty() ? "" : ", " + rest) + "}";
    }

    void begin()
    {
        settings("version: 1\nleaf-reserve: 0\n");
        policy("version: 1\nqos-levels:\n  - {name: DEFAULT}\n  - " + level() +
               "\n  - {name: other, per-queue-pair: {max-rate: 7Gbps}}\n");
        start();
        ASSERT_TRUE(started.accepted) << started.to_text();
        nic = &add_device("mlx5_0", GetParam().device());
        if (std::string_view(GetParam().name) == "table_full") {
            ASSERT_TRUE(register_as(PeerId{9}, process(9), asking_for("other", "mlx5_0", {90})));
        }
        auto request = asking_for("c", "mlx5_0", {kNumbers[0], kNumbers[1]});
        for (auto& one : request.queue_pairs) {
            one.ref.type = GetParam().type;
        }
        const auto reply = register_as(PeerId{1}, process(1), std::move(request));
        ASSERT_TRUE(reply) << to_string(reply.error());
        id = reply->session;
        set_rates();
        settle();
        world = test::world_of(*service);
    }

    void set_rates()
    {
        if (!GetParam().set_rate) {
            return;
        }
        for (const std::uint32_t number : kNumbers) {
            const auto set = answer<void>([&](auto done) {
                service->session_calls().set_rate(PeerId{1}, id, "mlx5_0", number, GetParam().set_rate,
                                                  std::move(done));
            });
            EXPECT_EQ(set.has_value(), *GetParam().refusal == '\0');
            EXPECT_THAT(set ? std::string() : set.error().message, HasSubstr(GetParam().refusal));
        }
    }

    // The rate of each queue pair, and its leaf's cap if that holds this queue pair alone.
    void expect_nic()
    {
        std::size_t seen = 0;
        for (const auto& queue_pair : nic->firmware().queue_pairs()) {
            if (queue_pair.number != kNumbers[0] && queue_pair.number != kNumbers[1]) {
                continue;
            }
            ++seen;
            const std::uint64_t paced = queue_pair.rate ? queue_pair.rate->rate.kbps() : 0;
            std::uint64_t capped = 0;
            for (const auto& element : nic->firmware().elements()) {
                capped = element.id == queue_pair.requester ? element.max_rate_mbps * 1000ULL : capped;
            }
            EXPECT_EQ(paced, GetParam().holder == Holder::Pacing ? GetParam().kbps : 0);
            EXPECT_EQ(capped, GetParam().holder == Holder::Leaf ? GetParam().kbps : 0);
        }
        if (GetParam().holder != Holder::Nobody) {
            EXPECT_EQ(seen, 2U);
        }
    }

    [[nodiscard]] const ctl::SessionView& session() const
    {
        return *std::find_if(world.sessions.begin(), world.sessions.end(),
                             [](const ctl::SessionView& one) { return one.owner.pid == 1; });
    }
    [[nodiscard]] bool in_tree() const
    {
        return std::string_view(GetParam().level).find("schedule") != std::string::npos;
    }
    [[nodiscard]] bool enforced() const { return *GetParam().cause == '\0'; }
    // What both queue pairs get together when they send all they can: alone on the port.
    [[nodiscard]] static std::uint64_t both()
    {
        return GetParam().holder == Holder::Nobody ? kLink : std::min(2 * GetParam().kbps, kLink);
    }

    ModelBackend* nic = nullptr;
    SessionId id{};
    ctl::World world;
};

TEST_P(LimitsAgree, WithWhatTheNicHas)
{
    const Case& one = GetParam();
    begin();
    expect_nic();
    const ctl::DeviceView& device = world.devices.front();

    // The results, as `sessions` draws them.
    for (const auto& queue_pair : session().queue_pairs) {
        EXPECT_EQ(queue_pair.enforced, enforced());
        EXPECT_EQ(queue_pair.cause, one.cause);
        EXPECT_THAT(queue_pair.reason, HasSubstr(one.reason));
        EXPECT_EQ(queue_pair.reason.empty(), *one.reason == '\0');
        EXPECT_EQ(queue_pair.rate.value_or(RateLimit{}).rate.kbps(), one.holder == Holder::Pacing ? one.kbps : 0);
        EXPECT_EQ(queue_pair.max_rate_now.value_or(Bandwidth{}).kbps(),
                  one.holder == Holder::Nobody ? kLink : std::min(one.kbps, kLink));
    }
    const std::string drawn = ctl::render_sessions({session()}, 0, Colour::Off);
    EXPECT_THAT(drawn, HasSubstr(one.reason));
    if (one.holder == Holder::Pacing) {
        EXPECT_THAT(drawn, HasSubstr(to_string(Bandwidth::from_kbps(one.kbps)) + "; burst: "));
        EXPECT_THAT(drawn, HasSubstr("packet: device default (the port's MTU)"));
    }

    // The grant, and what `request --print` makes of it.
    const std::string grant = ctl::render_grant("1", session().grant, Colour::Off);
    EXPECT_EQ(session().grant.enforced, enforced());
    EXPECT_EQ(session().grant.cause, one.cause);
    EXPECT_THAT(grant, HasSubstr(one.reason));

    // `tree --busy`: each leaf that they are in.
    std::uint64_t busy = 0;
    for (const auto& [path, rate] : ctl::busy_rates(world, device).leaves) {
        busy += rate.kbps();
    }
    EXPECT_EQ(busy, in_tree() ? both() : 0);

    // `why`
    std::uint64_t own = 0;
    bool outside = false;
    for (const auto& leaf : ctl::explain_session(world, session()).leaves) {
        own += leaf.own.kbps();
        outside = outside || leaf.narrowness == ctl::Narrowness::Outside;
        EXPECT_THAT(leaf.verdict + leaf.remark, HasSubstr(one.reason));
        EXPECT_EQ(leaf.narrowness == ctl::Narrowness::Paced, one.holder == Holder::Pacing && 2 * one.kbps < kLink)
            << leaf.verdict;
    }
    EXPECT_EQ(outside, !in_tree() && one.holder == Holder::Nobody);
    EXPECT_EQ(own, outside ? 0 : both());

    // `simulate`, on the live tree.
    const auto loaded = ctl::load_live_tree(world.manager.levels, device, ctl::senders_on(world, device),
                                            ctl::test::loads_of({"c=inf"}));
    const auto step = ctl::simulate_step(loaded, device.link_speed);
    EXPECT_EQ(step.outside.size(), in_tree() ? 0U : 1U);
    EXPECT_NEAR(step.used, static_cast<double>(in_tree() ? both() : 0), 1);

    // `status`, and what the daemon counts.
    const auto unheld = ctl::find_unenforced(world);
    const bool counts = !enforced() && std::string_view(one.cause) != kNothingAsked;
    EXPECT_EQ(unheld.queue_pairs, counts ? 2U : 0U);
    EXPECT_THAT(unheld.reason, HasSubstr(counts ? one.reason : ""));
    std::optional<Metrics> metrics;
    service->metrics().collect([&](Metrics all) { metrics = std::move(all); });
    ASSERT_TRUE(loop.run_until([&] { return metrics.has_value(); }));
    const DeviceMetrics& counted = metrics->devices.front();
    EXPECT_EQ(counted.queue_pairs_unenforced, counts ? 2U : 0U);
    const auto of_cause = counted.unenforced_by_cause.find(one.cause);
    EXPECT_EQ(of_cause == counted.unenforced_by_cause.end() ? 0U : of_cause->second, counts ? 2U : 0U);

    // `check` on such a device, and the findings of the running policy.
    std::vector<std::string> of_check;
    for (const auto& finding :
         ctl::compile_for(*service->in_force().policy(), ctl::to_target(device), service->in_force().settings())
             .findings) {
        if (!to_string(finding).starts_with("level other")) {
            of_check.push_back(to_string(finding));
        }
    }
    if (*one.finding == '\0') {
        EXPECT_THAT(of_check, testing::IsEmpty());
    } else {
        EXPECT_THAT(of_check, Contains(HasSubstr(one.finding)));
        for (const auto& finding : of_check) {
            EXPECT_TRUE(std::ranges::any_of(device.findings, [&finding](const api::Finding& told) {
                return told.message == finding;
            })) << "`status` knows it too";
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Table, LimitsAgree, testing::ValuesIn(kCases),
                         [](const auto& instance) { return std::string(instance.param.name); });

using CapsOfPrincipals = test::ServiceFixture;

// Three processes with two queue pairs each; the third has no leaf of its own any longer.
TEST_F(CapsOfPrincipals, EachHasItsOwnAndOthersCountsAsOne)
{
    settings("version: 1\n");
    const std::string levels = R"(qos-levels:
  - {name: DEFAULT}
  - {name: train, schedule: {max-rate: 80Gbps, fair-by: process, max-rate-each: 25%, leaf-budget: 2}}
)";
    policy("version: 1\n" + levels);
    start();
    ASSERT_TRUE(started.accepted) << started.to_text();
    ModelBackend& nic = add_device("mlx5_0", connectx());
    for (const std::uint32_t pid : {1U, 2U, 3U}) {
        ASSERT_TRUE(register_as(PeerId{pid}, process(static_cast<pid_t>(pid)),
                                asking_for("train", "mlx5_0", {10 * pid, 10 * pid + 1})));
    }
    settle();
    const Policy& in_force = *service->in_force().policy();
    EXPECT_THAT(keys::properties_of(in_force, *in_force.find_level("train")),
                Contains(testing::AllOf(testing::Field(&PolicyProperty::key, "max-rate-each"),
                                        testing::Field(&PolicyProperty::value, "25 %"))));

    std::map<ObjectId, std::uint64_t> capped;    // leaves with queue pairs
    for (const auto& queue_pair : nic.firmware().queue_pairs()) {
        for (const auto& element : nic.firmware().elements()) {
            if (element.id == queue_pair.requester) {
                capped[element.id] = element.max_rate_mbps * 1000ULL;
            }
        }
    }
    EXPECT_EQ(capped.size(), 3U);
    for (const auto& [leaf, kbps] : capped) {
        EXPECT_EQ(kbps, 25 * kGigabit);
    }

    const ctl::World world = test::world_of(*service);
    for (const auto& session : world.sessions) {
        EXPECT_EQ(session.queue_pairs.front().max_rate_now, Bandwidth::from_gbps(25));
        const auto leaf = ctl::explain_session(world, session).leaves.front();
        EXPECT_EQ(leaf.own, Bandwidth::from_gbps(25));
        EXPECT_EQ(leaf.narrowness, ctl::Narrowness::Capped) << leaf.verdict;
        EXPECT_EQ(leaf.advice, "raise `max-rate-each` of level train");
    }

    // One more process in the tree that is there, and as many by the policy alone.
    const ctl::DeviceView& device = world.devices.front();
    const auto loaded = ctl::load_live_tree(world.manager.levels, device, ctl::senders_on(world, device),
                                            ctl::test::loads_of({"train*3=inf"}));
    EXPECT_NEAR(ctl::simulate_step(loaded, device.link_speed).used, 75 * kGigabit, 1);
    EXPECT_NEAR(ctl::test::simulated(levels, {"train*3=inf"}).used, 75 * kGigabit, 1);

    ctl::Target target = ctl::to_target(device);
    const auto findings = [&] { return ctl::compile_for(in_force, target, service->in_force().settings()).findings; };
    EXPECT_THAT(findings(), testing::IsEmpty());
    target.capabilities.rate_caps = false;
    EXPECT_THAT(findings(), Contains(testing::Field(&Finding::requested, HasSubstr("a max-rate for each of"))));
}

using GrantsAhead = test::ServiceFixture;

// What is expected before there are queue pairs is what then holds for each type.
TEST_F(GrantsAhead, AGrantWithoutQueuePairsSaysWhatToExpect)
{
    settings("version: 1\n");
    policy(R"(version: 1
qos-levels:
  - {name: DEFAULT}
  - {name: raw-only, per-queue-pair: {max-rate: 1Gbps}}
  - {name: all, schedule: {share: 10}, per-queue-pair: {max-rate: 1Gbps}}
)");
    start();
    add_device("mlx5_0", connectx());
    const auto grant = [&](std::uint64_t peer, const char* name) {
        return register_as(PeerId{peer}, process(static_cast<pid_t>(peer)), asking_for(name, "mlx5_0"))->grant;
    };
    EXPECT_TRUE(grant(1, "raw-only").enforced) << "for some";
    EXPECT_THAT(grant(2, "raw-only").reason, HasSubstr("rc, uc, ud queue pairs: the limit of 1 Gbit/s per queue pair"));
    EXPECT_TRUE(grant(3, "all").enforced);
    EXPECT_EQ(grant(4, "all").reason, "");
    EXPECT_EQ(grant(5, "DEFAULT").cause, "nothing-asked");
}

}    // namespace
}    // namespace rdmaqos
