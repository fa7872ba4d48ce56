// A level with `mode: monitor`: who gets it is told, and nothing is written to a device for it.
#include <gmock/gmock.h>

#include "policy/model/lower.h"
#include "tests/support/service_fixture.h"
#include "tests/unit/daemon/adoption_fixture.h"

namespace rdmaqos {
namespace {

using testing::AnyOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::StartsWith;
using testing::UnorderedElementsAre;

std::string with_new(const std::string& mode, const std::string& more = ", schedule: {share: 10, fair-by: process}, "
                                                                        "per-queue-pair: {max-rate: 5Gbps}")
{
    return "version: 1\nqos-levels:\n  - {name: DEFAULT, sl: 0}\n  - {name: rpc, schedule: {share: 60}}\n"
           "  - {name: new, sl: 3, rate-limit: 40Gbps, mode: " +
           mode + more + "}\nqos-match-rules:\n  - {client: {unit: job.service}, qos-level-name: new}\n";
}

constexpr const char* kWouldBe =
    "level new is only monitored (`mode: monitor`): with `enforce`, its class would be /new, "
    "and the limit of each queue pair 5 Gbit/s";

class ServiceLevelMonitor : public test::ServiceFixture {
protected:
    void begin(const std::string& text, AttachMode mode = AttachMode::Shared)
    {
        policy(text);
        start();
        ASSERT_TRUE(started.accepted) << started.to_text();
        Capabilities capabilities = default_capabilities();
        capabilities.pacing.supported_types = capabilities.attachable;
        auto backend = std::make_unique<ModelBackend>(new_device("mlx5_0"), capabilities, nullptr, mode);
        nic = backend.get();
        service->device_control().add(std::move(backend));
        settle();
    }
    SessionId join(const std::string& level, std::uint32_t number, std::uint64_t peer)
    {
        const auto reply = register_as(PeerId{peer}, process(static_cast<pid_t>(peer)),
                                       asking_for(level, "mlx5_0", {number}));
        EXPECT_TRUE(reply);
        settle();
        return reply ? reply->session : SessionId{};
    }
    // What is written by a reload of this policy.
    std::vector<std::string> reload_of(const std::string& text)
    {
        nic->clear_log();
        policy(text);
        EXPECT_TRUE(reload().accepted);
        settle();
        return writes(*nic);
    }
    QueuePairResult result(SessionId id) { return service->sessions().with_queue_pairs(id)->queue_pairs.at(0); }
    Grant grant(SessionId id) { return service->sessions().with_queue_pairs(id)->grant; }
    std::vector<std::string> elements()
    {
        std::vector<std::string> paths;
        for (const auto& [id, element] : service->devices().status("mlx5_0/1")->snapshot->actual.elements) {
            paths.push_back(element.path.text());
        }
        std::ranges::sort(paths);
        return paths;
    }

    ModelBackend* nic = nullptr;
};

TEST_F(ServiceLevelMonitor, IsGrantedAndNotWritten)
{
    begin(with_new("monitor"));
    EXPECT_THAT(elements(), ElementsAre("/", "/rpc"));
    nic->clear_log();
    const auto without = register_as(PeerId{1}, process(1), asking_for(""));
    ASSERT_TRUE(without);
    const Grant given = without->grant;
    EXPECT_EQ(given.level, "new");
    EXPECT_EQ(given.sl, 3);
    EXPECT_TRUE(given.rate.has_value());
    EXPECT_EQ(given.share, 10U);
    EXPECT_EQ(given.leaf, "");
    EXPECT_FALSE(given.enforced);
    EXPECT_EQ(given.cause, kLevelMonitor);
    EXPECT_EQ(given.reason, kWouldBe);

    const auto id = join("", 7, 2);
    EXPECT_THAT(writes(*nic), IsEmpty());
    EXPECT_FALSE(result(id).enforced);
    EXPECT_EQ(result(id).cause, kLevelMonitor);
    EXPECT_EQ(result(id).reason, kWouldBe);
    EXPECT_EQ(result(id).leaf, "");
    EXPECT_FALSE(result(id).rate);
    EXPECT_EQ(grant(id).cause, kLevelMonitor);
    std::optional<Metrics> all;
    service->metrics().collect([&all](Metrics got) { all = std::move(got); });
    ASSERT_TRUE(loop.run_until([&all] { return all.has_value(); }));
    EXPECT_THAT(all->policy->monitored, ElementsAre("new"));
    const DeviceMetrics metrics = all->devices.at(0);
    EXPECT_EQ(metrics.levels.at("new").queue_pairs, 1U);
    EXPECT_EQ(metrics.levels.at("new").sessions, 1U);
    EXPECT_EQ(metrics.queue_pairs_unscheduled, 1U);
    EXPECT_EQ(metrics.queue_pairs_unenforced, 0U) << "nothing of what is asked for is missing";
}

TEST_F(ServiceLevelMonitor, WithoutAClassOrWithoutALimitTheReasonSaysLess)
{
    begin(with_new("monitor", ", schedule: {}"));
    const auto id = join("", 7, 1);
    EXPECT_EQ(result(id).reason,
              "level new is only monitored (`mode: monitor`): with `enforce`, its class would be /new");
    reload_of(with_new("monitor", ", per-queue-pair: {max-rate: 5Gbps}"));
    EXPECT_EQ(result(id).reason,
              "level new is only monitored (`mode: monitor`): with `enforce`, the limit of each queue pair "
              "would be 5 Gbit/s");
    reload_of(with_new("monitor", ""));
    EXPECT_EQ(result(id).cause, kNothingAsked);
    reload_of(with_new("monitor", ", schedule: {}, devices: mlx5_1"));
    EXPECT_EQ(result(id).cause, kNothingAsked) << "with `enforce` it would have no class here either";
    EXPECT_THAT(result(id).reason, HasSubstr("no class on this device"));
    EXPECT_THAT(reload_of(with_new("monitor", ", schedule: {}, devices: mlx5_0")), IsEmpty());
    EXPECT_EQ(result(id).cause, kLevelMonitor);
}

class EachAttachMode : public ServiceLevelMonitor, public testing::WithParamInterface<AttachMode> {};

TEST_P(EachAttachMode, AReloadTakesQueuePairsOutAndPutsThemBack)
{
    begin(with_new("enforce"), GetParam());
    const auto other = join("rpc", 1, 1);
    const auto id = join("new", 7, 2);
    const auto another = join("new", 8, 3);
    EXPECT_EQ(result(id).leaf, "/new/pid:2");
    EXPECT_EQ(result(id).rate->rate, Bandwidth::from_gbps(5));
    const auto all = elements();
    const QueuePairResult untouched = result(other);

    const auto away = reload_of(with_new("monitor"));
    EXPECT_THAT(away, UnorderedElementsAre("attach queue pair 7: requester none, responder none",
                                           "attach queue pair 8: requester none, responder none",
                                           "set-rate queue pair 7: unlimited", "set-rate queue pair 8: unlimited",
                                           StartsWith("destroy"), StartsWith("destroy"), StartsWith("destroy"),
                                           StartsWith("destroy")));
    EXPECT_THAT(elements(), ElementsAre("/", "/rpc")) << "what was destroyed is of the level";
    EXPECT_EQ(result(id).cause, kLevelMonitor) << result(id).reason;
    EXPECT_EQ(result(id).leaf, "");
    EXPECT_FALSE(result(another).rate);
    EXPECT_EQ(result(other).leaf, untouched.leaf);
    EXPECT_THAT(reload_of(with_new("monitor")), IsEmpty());

    const auto back = reload_of(with_new("enforce"));
    EXPECT_THAT(back, Each(AnyOf(StartsWith("create"), HasSubstr("queue pair 7:"), HasSubstr("queue pair 8:"))));
    EXPECT_EQ(elements(), all);
    EXPECT_EQ(result(id).leaf, "/new/pid:2");
    EXPECT_EQ(result(another).leaf, "/new/pid:3");
    EXPECT_EQ(result(id).rate->rate, Bandwidth::from_gbps(5));
    EXPECT_NE(result(id).cause, kLevelMonitor) << result(id).reason;
}

INSTANTIATE_TEST_SUITE_P(Modes, EachAttachMode, testing::Values(AttachMode::Shared, AttachMode::PerProcess),
                         [](const auto& test) { return test.param == AttachMode::Shared ? "Shared" : "PerProcess"; });

TEST_F(ServiceLevelMonitor, ARateThatAProgramSetsWaitsForTheLevel)
{
    begin(with_new("monitor"));
    const auto id = join("new", 7, 1);
    nic->clear_log();
    const RateLimit rate{Bandwidth::from_gbps(2), {}, {}};
    EXPECT_TRUE(answer<void>(
        [&](auto done) { service->session_calls().set_rate(PeerId{1}, id, "mlx5_0", 7, rate, std::move(done)); }));
    settle();
    EXPECT_THAT(writes(*nic), IsEmpty());
    EXPECT_FALSE(result(id).rate);
    EXPECT_THAT(result(id).reason, HasSubstr("the limit of each queue pair 2 Gbit/s"));
    reload_of(with_new("monitor", ""));
    EXPECT_EQ(result(id).cause, kLevelMonitor) << "of what the program asked for";
    EXPECT_FALSE(result(id).rate);
    reload_of(with_new("enforce"));
    EXPECT_EQ(result(id).rate->rate, Bandwidth::from_gbps(2));
}

// What could not be undone is told, rather than that all is as the level says.
TEST_F(ServiceLevelMonitor, AQueuePairThatCannotBeTakenOutIsAnError)
{
    begin(with_new("enforce"));
    const auto id = join("new", 7, 1);
    nic->firmware().faults().fail(CommandKind::Attach, 1, {}, UINT64_MAX);
    reload_of(with_new("monitor"));
    EXPECT_NE(result(id).cause, kLevelMonitor);
    EXPECT_FALSE(result(id).enforced);
    nic->firmware().faults().clear();
    service->device_control().reconcile("mlx5_0/1", [](const auto&) {});
    settle();
    EXPECT_EQ(result(id).cause, kLevelMonitor) << result(id).reason;
    EXPECT_THAT(elements(), ElementsAre("/", "/rpc"));
}

// With min-rates the weights of siblings follow from one another.
TEST_F(ServiceLevelMonitor, SiblingsGetTheWeightsThatTheyNeedWithoutIt)
{
    const std::string levels =
        "version: 1\nqos-levels:\n  - {name: DEFAULT}\n  - {name: a, schedule: {min-rate: 30Gbps, "
        "max-rate: 90Gbps}, allow: {user: alice}}\n"
        "  - {name: b, schedule: {share: 5}}\n  - {name: c, schedule: {share: 5}, mode: ";
    begin(levels + "enforce}\n");
    const auto lines = reload_of(levels + "monitor}\n");
    EXPECT_THAT(lines, ElementsAre(StartsWith("modify"), StartsWith("destroy")));
    EXPECT_THAT(elements(), ElementsAre("/", "/a", "/b"));
}

class MonitoredAdoption : public test::AdoptionFixture {
protected:
    static std::string rules(const std::string& mode)
    {
        return "version: 1\nqos-levels: [{name: DEFAULT}, {name: rpc, mode: " + mode +
               ", schedule: {share: 60}}]\nqos-match-rules: [{client: {command: [job]}, qos-level-name: rpc}]\n";
    }
};

TEST_F(MonitoredAdoption, NoDeviceFileIsTakenForIt)
{
    begin("adopt", rules("monitor"));
    const auto seen = make(program(100), 17);
    tell({seen});
    rest();
    EXPECT_THAT(programs->asked(), IsEmpty());
    EXPECT_EQ(programs->looks(), 0U);
    EXPECT_THAT(listed(seen),
                Pair(kLevelMonitor, "level rpc is only monitored (`mode: monitor`): with `enforce`, it would "
                                    "be adopted, and its class would be /rpc"));
    EXPECT_EQ(service->host().standing(seen).level, "rpc");
    const LevelUse use = service->sessions().level_uses()["rpc"];
    EXPECT_EQ(use.queue_pairs, 1U);
    EXPECT_EQ(use.unregistered, 1U);
    std::optional<Metrics> metrics;
    service->metrics().collect([&](Metrics all) { metrics = std::move(all); });
    ASSERT_TRUE(until([&] { return metrics.has_value(); }));
    EXPECT_EQ(metrics->devices.at(0).levels.at("rpc").queue_pairs, 1U);
    EXPECT_EQ(refused(kLevelMonitor), 1U);
    EXPECT_THAT(service->sessions().ids(), IsEmpty());

    ASSERT_TRUE(reload_with(rules("enforce")).accepted);
    tell({seen});
    EXPECT_TRUE(comes_into("/rpc", 17));
    EXPECT_EQ(service->sessions().level_uses()["rpc"].unregistered, 0U) << "it is counted once";
    ASSERT_TRUE(reload_with(rules("monitor")).accepted);
    EXPECT_TRUE(until([&] { return service->sessions().ids().empty(); })) << "it is let go of";
    EXPECT_TRUE(gets_word(kLevelMonitor, seen));
}

}    // namespace
}    // namespace rdmaqos
