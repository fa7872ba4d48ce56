#include "lib/nic_model/model_backend.h"

#include <cerrno>
#include <map>

#include <gtest/gtest.h>

#include "lib/model/profile.h"
#include "tests/support/refusals.h"

namespace rdmaqos {
namespace {

DeviceInfo device()
{
    DeviceInfo info;
    info.name = "mlx5_0";
    info.driver = "model";
    info.link_speed = Bandwidth::from_gbps(100);
    return info;
}

QueuePairRef queue_pair(std::uint32_t number, QueuePairType type = QueuePairType::Rc)
{
    QueuePairRef ref;
    ref.number = number;
    ref.type = type;
    return ref;
}

ElementRequest request(ElementKind kind, std::optional<ElementHandle> parent, ElementAttributes attributes = {})
{
    return {kind, parent, attributes};
}

// A backend's interface has no flags: no unknown ones, and no value without its flag.
template <typename Fields>
bool has_plain_flags(const Fields& step)
{
    return (step.flags & ~(test::kShare | test::kMaxRate)) == 0 &&
           ((step.flags & test::kShare) != 0 || step.share == 0) &&
           ((step.flags & test::kMaxRate) != 0 || step.max_rate_mbps == 0);
}

bool backend_can(const test::Step& step)
{
    if (const auto* create = std::get_if<test::Create>(&step)) {
        return has_plain_flags(*create);
    }
    const auto* modify = std::get_if<test::Modify>(&step);
    return modify == nullptr || has_plain_flags(*modify);
}

class BackendDriver final : public test::RefusalDriver {
public:
    explicit BackendDriver(const Capabilities& capabilities)
        : backend_(device(), capabilities, strict_firmware(capabilities))
    {
    }

    [[nodiscard]] test::Verdict take(const test::Step& step) override
    {
        return std::visit([this](const auto& concrete) { return take_one(concrete); }, step);
    }

private:
    static std::shared_ptr<Firmware> strict_firmware(const Capabilities& capabilities)
    {
        FirmwareOptions options;
        options.capabilities = capabilities;
        options.implicit_queue_pairs = false;
        return std::make_shared<Firmware>(options);
    }

    static std::optional<Bandwidth> rate_of(std::uint32_t mbps)
    {
        return mbps == 0 ? std::nullopt : std::optional(Bandwidth::from_mbps(mbps));
    }

    template <typename T>
    static test::Verdict verdict(const Result<T>& result)
    {
        test::Verdict verdict;
        if (!result) {
            verdict.refused = true;
            verdict.code = result.error().code;
            verdict.message = result.error().message;
            EXPECT_EQ(result.error().message.rfind("mlx5_0: ", 0), 0U) << result.error().message;
        }
        return verdict;
    }

    [[nodiscard]] std::optional<ElementHandle> handle(const std::string& name) const
    {
        return name.empty() ? std::nullopt : std::optional(handles_.at(name));
    }

    test::Verdict take_one(const test::Create& step)
    {
        const auto made = backend_.create_element(
            request(step.kind, handle(step.parent), {step.share, rate_of(step.max_rate_mbps)}));
        if (made) {
            handles_[step.name] = *made;
        }
        return verdict(made);
    }

    test::Verdict take_one(const test::Modify& step)
    {
        ElementChange change;
        if ((step.flags & test::kShare) != 0) {
            change.share = step.share;
        }
        if ((step.flags & test::kMaxRate) != 0) {
            change.max_rate = rate_of(step.max_rate_mbps);
        }
        return verdict(backend_.modify_element(handles_.at(step.name), change));
    }

    test::Verdict take_one(const test::Expect& step)
    {
        const auto state = backend_.query_element(handles_.at(step.name));
        test::Verdict result = verdict(state);
        if (state && state->attributes != ElementAttributes{step.share, rate_of(step.max_rate_mbps)}) {
            result.refused = true;
            result.message = "it has other attributes";
        }
        return result;
    }

    test::Verdict take_one(const test::Destroy& step)
    {
        return verdict(backend_.destroy_element(handles_.at(step.name)));
    }

    test::Verdict take_one(const test::MakeQueuePair& step)
    {
        backend_.firmware().create_queue_pair(step.number, step.type, step.state);
        return {};
    }

    test::Verdict take_one(const test::DestroyQueuePair& step)
    {
        backend_.firmware().destroy_queue_pair(step.number);
        return {};
    }

    test::Verdict take_one(const test::Attach& step)
    {
        return verdict(
            backend_.place(queue_pair(step.number, step.type), handle(step.requester), handle(step.responder)));
    }

    test::Verdict take_one(const test::Pace& step)
    {
        return verdict(backend_.set_rate(queue_pair(step.number, step.type), step.rate));
    }

    ModelBackend backend_;
    std::map<std::string, ElementHandle> handles_;
};

class BackendRefusalTest : public testing::TestWithParam<test::RefusalRow> {};

TEST_P(BackendRefusalTest, ThroughTheBackend)
{
    BackendDriver driver(GetParam().capabilities);
    test::run_row(GetParam(), driver);
}

INSTANTIATE_TEST_SUITE_P(Table, BackendRefusalTest, testing::ValuesIn(test::refusal_table(backend_can)),
                         test::row_name);

struct ModelBackendTest : testing::Test {
    ElementHandle make(ElementKind kind, std::optional<ElementHandle> parent, ElementAttributes attributes = {})
    {
        const auto made = backend.create_element(request(kind, parent, attributes));
        EXPECT_TRUE(made) << to_string(made.error());
        return made.value_or(ElementHandle{});
    }

    ModelBackend backend{device(), default_capabilities()};
};

// Unless a kind of device can tell, it says that it cannot.
TEST_F(ModelBackendTest, DoesNotTellWhatIsInAFile)
{
    const auto file = std::make_shared<ClientFile>(UniqueFd(), nullptr);
    const auto found = backend.find_queue_pairs(file, {{17, QueuePairType::Rc, 18}}, {});
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, ErrorCode::Unsupported);
    EXPECT_EQ(found.error().message, "mlx5_0/1 does not tell which queue pairs are in a file of another process");
}

TEST_F(ModelBackendTest, ReadsBackWhatItWrote)
{
    const ElementHandle root = make(ElementKind::Node, {});
    const ElementAttributes attributes{60, Bandwidth::from_gbps(40)};
    const ElementHandle leaf = make(ElementKind::Leaf, root, attributes);
    EXPECT_EQ(backend.query_element(leaf).value(), (ElementState{ElementKind::Leaf, root, attributes}));
    EXPECT_EQ(backend.query_element(root).value(), (ElementState{ElementKind::Node, {}, {}}));
}

TEST_F(ModelBackendTest, ChangedShareIsOneOperationWithOnlyThatField)
{
    const ElementHandle root = make(ElementKind::Node, {});
    const ElementHandle leaf = make(ElementKind::Leaf, root, {60, Bandwidth::from_gbps(40)});
    backend.clear_log();
    const std::uint64_t before = backend.writes();
    ElementChange change;
    change.share = 40;
    ASSERT_TRUE(backend.modify_element(leaf, change));
    EXPECT_EQ(backend.writes() - before, 1U);
    EXPECT_EQ(backend.log_text(), std::vector<std::string>{"modify #2: share 40"});
    EXPECT_EQ(backend.query_element(leaf)->attributes, (ElementAttributes{40, Bandwidth::from_gbps(40)}));
}

TEST_F(ModelBackendTest, LogTellsEveryOperationInOrder)
{
    const ElementHandle root = make(ElementKind::Node, {});
    const ElementHandle leaf = make(ElementKind::Leaf, root, {7, Bandwidth::from_mbps(4096)});
    ElementChange lift;
    lift.share = 0;
    lift.max_rate.emplace();
    ASSERT_TRUE(backend.modify_element(leaf, lift));
    ASSERT_TRUE(backend.place(queue_pair(17), leaf, {}));
    ASSERT_TRUE(backend.query_queue_pair(queue_pair(17)));
    ASSERT_FALSE(backend.destroy_element(leaf));
    ASSERT_TRUE(backend.place(queue_pair(17), {}, {}));
    const auto raw = queue_pair(18, QueuePairType::RawPacket);
    ASSERT_TRUE(backend.set_rate(raw, RateLimit{Bandwidth::from_gbps(5), 65536, 1024}));
    ASSERT_TRUE(backend.set_rate(raw, {}));
    ASSERT_TRUE(backend.query_element(leaf));
    ASSERT_TRUE(backend.destroy_element(leaf));
    EXPECT_EQ(backend.log_text(),
              (std::vector<std::string>{
                  "create node #1 as root",
                  "create leaf #2 below #1: share 7, max-rate 4.096 Gbit/s",
                  "modify #2: share device default, max-rate unlimited",
                  "attach queue pair 17: requester #2, responder none",
                  "query queue pair 17",
                  "destroy #2: failed: mlx5_0: leaf 2 still holds 1 queue pair; detach first (Device or resource busy)",
                  "attach queue pair 17: requester none, responder none",
                  "set-rate queue pair 18: 5 Gbit/s, burst 64 KiB, packet 1 KiB",
                  "set-rate queue pair 18: unlimited",
                  "query #2",
                  "destroy #2",
              }));
    EXPECT_EQ(backend.operations(), 11U);
    EXPECT_EQ(backend.writes(), 9U);
}

TEST_F(ModelBackendTest, LogIsBoundedAndCountersAreNot)
{
    backend.set_log_limit(2);
    const ElementHandle root = make(ElementKind::Node, {});
    for (int round = 0; round < 10; ++round) {
        ASSERT_TRUE(backend.query_element(root));
    }
    EXPECT_EQ(backend.log_text(), (std::vector<std::string>{"query #1", "query #1"}));
    EXPECT_EQ(backend.operations(), 11U);
    backend.set_log_limit(0);
    ASSERT_TRUE(backend.query_element(root));
    EXPECT_TRUE(backend.log().empty());
    EXPECT_EQ(backend.operations(), 12U);
}

TEST_F(ModelBackendTest, TakesOnlyWholeMbps)
{
    const ElementHandle root = make(ElementKind::Node, {});
    for (const Bandwidth rate : {Bandwidth::from_kbps(0), Bandwidth::from_kbps(999), Bandwidth::from_kbps(1500),
                                 Bandwidth::from_mbps(1ULL << 32)}) {
        const auto made = backend.create_element(request(ElementKind::Leaf, root, {1, rate}));
        ASSERT_FALSE(made) << to_string(rate);
        EXPECT_EQ(made.error().code, ErrorCode::InvalidArgument);
        EXPECT_NE(made.error().message.find("whole Mbit/s"), std::string::npos) << made.error().message;
    }
    EXPECT_EQ(backend.firmware().usage().leaves, 0U);
}

TEST_F(ModelBackendTest, UnknownElementIsRecognised)
{
    const ElementHandle root = make(ElementKind::Node, {});
    ASSERT_TRUE(backend.firmware().lose(ModelBackend::object_of(root)));
    for (const ElementHandle gone : {root, ElementHandle{77}, ElementHandle{(1ULL << 32) + 1}}) {
        const auto state = backend.query_element(gone);
        ASSERT_FALSE(state);
        EXPECT_EQ(state.error().code, ErrorCode::InvalidArgument);
        EXPECT_EQ(state.error().sys_errno, ENOENT);
    }
}

TEST_F(ModelBackendTest, InjectedFaultsBecomeDeviceErrors)
{
    backend.firmware().faults().fail(CommandKind::Create, 1, {FirmwareStatus::InternalError, 0x1234, 0, true});
    const auto failed = backend.create_element(request(ElementKind::Node, {}));
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::DeviceFailed);
    EXPECT_EQ(failed.error().sys_errno, EIO);
    EXPECT_EQ(failed.error().message,
              "mlx5_0: the device failed the command \"create\" with status internal error (0x1), syndrome 0x1234");
    EXPECT_EQ(backend.log_text().back(), "create node as root: failed: " + to_string(failed.error()));

    backend.firmware().faults().fail(CommandKind::Create, 1, {FirmwareStatus::InternalError, 0, EREMOTEIO, false});
    const auto silent = backend.create_element(request(ElementKind::Node, {}));
    ASSERT_FALSE(silent);
    EXPECT_EQ(silent.error().code, ErrorCode::DeviceFailed);
    EXPECT_EQ(silent.error().sys_errno, EREMOTEIO);

    const ElementHandle root = make(ElementKind::Node, {});
    const ElementHandle leaf = make(ElementKind::Leaf, root);
    backend.firmware().faults().busy(CommandKind::Attach, 1);
    EXPECT_EQ(backend.place(queue_pair(1), leaf, {}).error().code, ErrorCode::Busy);
    EXPECT_TRUE(backend.place(queue_pair(1), leaf, {}));
}

TEST_F(ModelBackendTest, CountersAdvanceWithTheClock)
{
    ManualClock clock;
    EXPECT_EQ(backend.port_counters().value(), PortCounters{});
    backend.carry({Bandwidth::from_gbps(60), Bandwidth::from_mbps(8)}, clock);
    EXPECT_EQ(backend.port_counters().value(), PortCounters{});
    clock.advance(std::chrono::seconds(2));
    EXPECT_EQ(backend.port_counters().value(), (PortCounters{15'000'000'000, 2'000'000}));
    backend.carry({{}, Bandwidth::from_mbps(8)}, clock);
    clock.advance(std::chrono::milliseconds(1));
    EXPECT_EQ(backend.port_counters().value(), (PortCounters{15'000'000'000, 2'001'000}));
}

TEST_F(ModelBackendTest, CountersFollowTheLink)
{
    ManualClock clock;
    backend.carry({Bandwidth::from_gbps(60), {}}, clock);
    backend.set_link(Bandwidth::from_gbps(8));
    clock.advance(std::chrono::seconds(1));
    EXPECT_EQ(backend.port_counters()->transmit_bytes, 1'000'000'000U);
    backend.set_link(Bandwidth::from_gbps(8), false);
    clock.advance(std::chrono::seconds(1));
    EXPECT_EQ(backend.port_counters()->transmit_bytes, 1'000'000'000U);
    backend.reset();
    EXPECT_EQ(backend.port_counters().error().code, ErrorCode::DeviceGone);
    backend.replug();
    backend.set_link(Bandwidth::from_gbps(8));
    EXPECT_EQ(backend.port_counters().value(), PortCounters{});
    clock.advance(std::chrono::seconds(1));
    EXPECT_EQ(backend.port_counters()->transmit_bytes, 1'000'000'000U);
}

TEST_F(ModelBackendTest, CountersOfAYearDoNotOverflow)
{
    ManualClock clock;
    TrafficMeter meter;
    meter.change({Bandwidth::from_gbps(800), {}}, clock.now());
    clock.advance(std::chrono::hours(24 * 365));
    EXPECT_EQ(meter.read(clock.now()).transmit_bytes, 100'000'000'000ULL * 86'400 * 365);
}

TEST_F(ModelBackendTest, APortMayNotCount)
{
    backend.withhold_counters();
    const auto counters = backend.port_counters();
    ASSERT_FALSE(counters);
    EXPECT_EQ(counters.error().code, ErrorCode::Unsupported);
    EXPECT_EQ(counters.error().message, "mlx5_0/1 has no port counters");
}

TEST_F(ModelBackendTest, LinkSpeedChangesAtRunTime)
{
    std::vector<DeviceEventKind> events;
    backend.set_event_handler([&](DeviceEvent event) { events.push_back(event.kind); });
    EXPECT_EQ(backend.info().link_speed, Bandwidth::from_gbps(100));
    backend.set_link(Bandwidth::from_gbps(10));
    EXPECT_EQ(backend.info().link_speed, Bandwidth::from_gbps(10));
    EXPECT_TRUE(backend.info().link_up);
    backend.set_link(Bandwidth::from_gbps(10), false);
    EXPECT_FALSE(backend.info().link_up);
    EXPECT_EQ(events, (std::vector{DeviceEventKind::LinkChanged, DeviceEventKind::LinkChanged}));
}

TEST_F(ModelBackendTest, APortCanBecomeAnother)
{
    std::vector<DeviceEventKind> events;
    backend.set_event_handler([&](DeviceEvent event) { events.push_back(event.kind); });
    DeviceInfo info = backend.info();
    info.netdev = "ens9";
    info.bond = "bond0";
    backend.set_info(info);
    EXPECT_EQ(backend.info(), info);
    EXPECT_EQ(events, std::vector{DeviceEventKind::LinkChanged});
}

TEST_F(ModelBackendTest, ResetLosesAllAndComesBackEmpty)
{
    std::vector<DeviceEventKind> events;
    backend.set_event_handler([&](DeviceEvent event) { events.push_back(event.kind); });
    const ElementHandle root = make(ElementKind::Node, {});
    const ElementHandle leaf = make(ElementKind::Leaf, root);
    ASSERT_TRUE(backend.place(queue_pair(1), leaf, {}));
    backend.reset();
    EXPECT_FALSE(backend.info().link_up);
    EXPECT_EQ(backend.create_element(request(ElementKind::Node, {})).error().code, ErrorCode::DeviceGone);
    EXPECT_EQ(backend.place(queue_pair(1), leaf, {}).error().code, ErrorCode::DeviceGone);
    EXPECT_EQ(backend.query_element(root).error().message,
              "mlx5_0: the device is in reset; it comes back as a new one");
    backend.replug();
    EXPECT_TRUE(backend.info().link_up);
    EXPECT_EQ(backend.query_element(root).error().sys_errno, ENOENT);
    EXPECT_EQ(backend.firmware().usage(), FirmwareUsage{});
    EXPECT_NE(make(ElementKind::Node, {}), root);
    EXPECT_EQ(events, (std::vector{DeviceEventKind::Reset, DeviceEventKind::LinkChanged}));
}

TEST_F(ModelBackendTest, RemovalIsAnEventOfItsOwn)
{
    std::vector<DeviceEventKind> events;
    backend.set_event_handler([&](DeviceEvent event) { events.push_back(event.kind); });
    backend.remove();
    EXPECT_EQ(events, std::vector{DeviceEventKind::Removed});
    EXPECT_EQ(backend.query_queue_pair(queue_pair(1)).error().code, ErrorCode::DeviceGone);
}

TEST_F(ModelBackendTest, EventsWithoutAHandlerAreDropped)
{
    backend.reset();
    backend.replug();
    make(ElementKind::Node, {});
}

TEST(ModelBackend, SharedFirmwareIsSharedByItsBackends)
{
    Capabilities capabilities = default_capabilities();
    capabilities.max_leaves = 2;
    const auto firmware = std::make_shared<Firmware>(capabilities);
    ModelBackend first(device(), capabilities, firmware);
    {
        ModelBackend second(device(), capabilities, firmware);
        const auto root = second.create_element(request(ElementKind::Node, {})).value();
        ASSERT_TRUE(second.create_element(request(ElementKind::Leaf, root)));
        const auto mine = first.create_element(request(ElementKind::Node, {})).value();
        ASSERT_TRUE(first.create_element(request(ElementKind::Leaf, mine)));
        EXPECT_EQ(first.create_element(request(ElementKind::Leaf, mine)).error().code, ErrorCode::NoSpace);
        EXPECT_EQ(first.query_element(root).error().code, ErrorCode::InvalidArgument);
    }
    EXPECT_EQ(firmware->usage(), (FirmwareUsage{2, 1, 0, 0}));    // the second's file was closed
}

TEST(ModelBackend, MadeWhileTheDeviceIsGone)
{
    const auto firmware = std::make_shared<Firmware>(default_capabilities());
    firmware->reset();
    ModelBackend backend(device(), default_capabilities(), firmware);
    EXPECT_EQ(backend.create_element(request(ElementKind::Node, {})).error().code, ErrorCode::DeviceGone);
    firmware->replug();
    EXPECT_EQ(backend.create_element(request(ElementKind::Node, {})).error().message,
              "mlx5_0: the device file was closed, or is from before a reset; open the device again");
    backend.replug();
    EXPECT_TRUE(backend.create_element(request(ElementKind::Node, {})));
}

TEST(ModelBackend, StatesItsAttachMode)
{
    EXPECT_EQ(ModelBackend(device(), default_capabilities()).attach_report().mode, AttachMode::Shared);
    EXPECT_EQ(ModelBackend(device(), default_capabilities(), nullptr, AttachMode::None).attach_report().mode,
              AttachMode::None);
}

}    // namespace
}    // namespace rdmaqos
