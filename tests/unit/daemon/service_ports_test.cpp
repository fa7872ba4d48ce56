// Service: the traffic classes of ports, which are read and reported.
#include <algorithm>
#include <cerrno>
#include <chrono>

#include <gmock/gmock.h>

#include "daemon/service/managed_ports.h"
#include "daemon/service/port_records.h"
#include "lib/base/file.h"
#include "tests/support/fake_ports.h"
#include "tests/support/journal.h"
#include "tests/support/service_fixture.h"

namespace rdmaqos {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::FieldsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

class ServicePorts : public test::ServiceFixture, public ServiceObserver {
protected:
    void SetUp() override
    {
        policy("version: 1\nqos-levels: [{name: DEFAULT, sl: 0}]\n");
        more_options = [this](ServiceOptions& options) {
            options.port_kernel = ports;
            options.watch_ports = ports->watch();
            options.wall_clock = [this] { return WallTime(std::chrono::seconds(now)); };
        };
        ports->set("eth0", test::three_classes());
    }
    void TearDown() override
    {
        gate.open();
        if (service) {
            service->context().remove_observer(*this);
        }
        service.reset();
    }

    void begin() { start().context().add_observer(*this); }
    void device_changed(const std::string& /*key*/) override { ++changes; }

    ModelBackend& add(const std::string& name, const std::string& netdev, LinkLayer layer = LinkLayer::Ethernet)
    {
        DeviceInfo info = new_device(name);
        info.netdev = netdev;
        info.link_layer = layer;
        auto backend = std::make_unique<ModelBackend>(info, default_capabilities());
        ModelBackend& kept = *backend;
        service->device_control().add(std::move(backend));
        settle();
        return kept;
    }

    [[nodiscard]] PortStatus status(const std::string& key = "mlx5_0/1") const { return service->ports().status(key); }
    // Runs the timers that are due, and waits for this many readings of the interface, answers included.
    void read(int times, const std::string& netdev = "eth0")
    {
        loop.advance(PortReader::kSettle);
        EXPECT_TRUE(loop.run_until([&] { return ports->reads(netdev) >= times; }));
        loop.run_until_rest();
    }

    std::shared_ptr<test::FakePorts> ports = std::make_shared<test::FakePorts>();
    test::Gate gate;
    int now = 1000;
    int changes = 0;
};

TEST_F(ServicePorts, AreReadWhenADeviceComes)
{
    begin();
    add("mlx5_0", "eth0");
    EXPECT_EQ(status().reading, PortReading::Pending);
    read(1);
    EXPECT_EQ(status(), (PortStatus{.reading = PortReading::Read,
                                    .netdev = "eth0",
                                    .driver = "mlx5_core",
                                    .settings = test::three_classes(),
                                    .read_at = WallTime(1000s)}));
    EXPECT_EQ(ports->reads("eth0"), 1);
    EXPECT_EQ(status("mlx5_9/1").reading, PortReading::Off) << "there is no such device";
}

TEST_F(ServicePorts, ThatHaveNoneSaySo)
{
    begin();
    add("mlx5_0", "");
    add("mlx5_1", "ib0", LinkLayer::InfiniBand);
    add("mlx5_2", "eth2");
    read(1, "eth2");
    EXPECT_EQ(status("mlx5_0/1").reading, PortReading::None);
    EXPECT_THAT(status("mlx5_0/1").reason, HasSubstr("no network interface"));
    EXPECT_EQ(status("mlx5_1/1").reading, PortReading::None);
    EXPECT_THAT(status("mlx5_1/1").reason, HasSubstr("InfiniBand"));
    EXPECT_EQ(status("mlx5_2/1").reading, PortReading::None);
    EXPECT_THAT(status("mlx5_2/1").reason, HasSubstr("has no DCB"));
    EXPECT_EQ(ports->reads("ib0"), 0);
}

TEST_F(ServicePorts, AreLeftAloneWhenTheSettingsSaySo)
{
    settings("version: 1\nport-classes: off\n");
    begin();
    EXPECT_FALSE(ports->is_watched());
    add("mlx5_0", "eth0");
    loop.advance(1h);
    loop.run_until_rest();
    EXPECT_EQ(status(), PortStatus());
    EXPECT_EQ(ports->reads("eth0"), 0);

    settings("version: 1\n");
    EXPECT_TRUE(reload().accepted);
    EXPECT_TRUE(ports->is_watched());
    read(1);
    EXPECT_EQ(status().reading, PortReading::Read);

    settings("version: 1\nport-classes: off\n");
    EXPECT_TRUE(reload().accepted);
    EXPECT_FALSE(ports->is_watched());
    EXPECT_EQ(status(), PortStatus()) << "what is not read any longer is not shown";
}

TEST_F(ServicePorts, ADeviceThatComesBackHasANewInterface)
{
    begin();
    add("mlx5_0", "eth0");
    read(1);
    service->device_control().remove("mlx5_0/1");
    EXPECT_EQ(status().reading, PortReading::Off);
    ports->set("eth0", {});
    ports->set("eth1", {});
    devices = 0;
    add("mlx5_0", "eth0");
    EXPECT_EQ(status().reading, PortReading::Pending) << "what was read is of the interface before";
    read(2);
    EXPECT_EQ(status().settings, dcb::PortSettings());
}

TEST_F(ServicePorts, AreInTheMetrics)
{
    begin();
    add("mlx5_0", "eth0");
    read(1);
    std::optional<Metrics> metrics;
    service->metrics().collect([&](Metrics all) { metrics = std::move(all); });
    loop.advance(1s);
    ASSERT_TRUE(loop.run_until([&] { return metrics.has_value(); }));
    EXPECT_EQ(metrics->devices.at(0).port_settings, test::three_classes());
}

// With `port-classes: manage`: the policy's classes are on the port.
class ManagedServicePorts : public ServicePorts {
protected:
    static std::string two(int share)
    {
        return "version: 1\nqos-levels:\n  - {name: DEFAULT, sl: 0}\n"
               "  - {name: rpc, traffic-class: 104, schedule: {share: " +
               std::to_string(share) +
               "}}\n"
               "  - {name: bulk, traffic-class: 40, schedule: {share: 30}}\n";
    }
    static constexpr const char* kManage = "version: 1\nport-classes: manage\n";

    void SetUp() override
    {
        ServicePorts::SetUp();
        policy(two(70));
        settings(kManage);
    }
    void begin_with(AttachMode mode = AttachMode::PerProcess)
    {
        begin();
        add_port(mode);
        rest();
    }
    void add_port(AttachMode mode = AttachMode::PerProcess)
    {
        devices = 0;    // the same one
        DeviceInfo info = new_device("mlx5_0");
        info.netdev = "eth0";
        service->device_control().add(std::make_unique<ModelBackend>(info, default_capabilities(), nullptr, mode));
    }
    // What is due, and what follows from it.
    void rest()
    {
        for (int i = 0; i < 6; ++i) {
            loop.advance(PortReader::kSettle);
            loop.run_until_rest();
        }
    }
    template <typename T, typename Call>
    Result<T> wait_for(Call call)
    {
        std::optional<Result<T>> got;
        call([&got](Result<T> result) { got.emplace(std::move(result)); });
        EXPECT_TRUE(loop.run_until([&] {
            loop.advance(1ms);
            return got.has_value();
        }));
        return got ? std::move(*got) : fail(ErrorCode::Timeout, "no answer");
    }
    ReloadOutcome reload_now()
    {
        return *wait_for<ReloadOutcome>([&](auto done) { service->reloads().reload(std::move(done)); });
    }
    Result<std::vector<DeviceReconcile>> disable()
    {
        return wait_for<std::vector<DeviceReconcile>>(
            [&](auto done) { service->device_control().disable("mlx5_0", std::move(done)); });
    }
    Result<std::vector<DeviceReconcile>> enable()
    {
        return wait_for<std::vector<DeviceReconcile>>(
            [&](auto done) { service->device_control().enable("mlx5_0", std::move(done)); });
    }
    void other_writes()
    {
        auto other = ports->settings("eth0");
        std::erase_if(other.apps, [](const dcb::AppEntry& entry) { return entry.protocol == 26; });
        other.apps.push_back({dcb::Selector::Dscp, 26, 5});
        std::ranges::sort(other.apps);
        ports->set("eth0", other);
        ports->notify({"eth0", "the tool dcb"});
        rest();
    }
    void stop(EndOfService how)
    {
        bool ended = false;
        service->shutdown(how, [&ended] { ended = true; });
        EXPECT_TRUE(loop.run_until([&] {
            loop.advance(1ms);
            return ended;
        }));
        service->context().remove_observer(*this);
        service.reset();
    }
    // As if it was killed.
    void restart()
    {
        service->context().remove_observer(*this);
        service.reset();
        begin_with();
    }
    [[nodiscard]] std::vector<std::string> failures_now() const
    {
        std::vector<std::string> files;
        for (const auto& [file, failure] : service->context().state_failures) {
            files.push_back(file);
        }
        return files;
    }
    [[nodiscard]] PortKeeping keeping() const { return status().care.keeping; }
    [[nodiscard]] bool has_record() const
    {
        const auto text = read_regular_file(root.path() / "var/lib/rdma-qos/port-classes.json", 65536);
        return text && text->find("before") != std::string::npos;
    }
};

TEST_F(ManagedServicePorts, AreSetAndTheRecordIsOnTheDiskBefore)
{
    bool had_record = false;
    ports->set_before_write([&] { had_record = has_record(); });
    begin_with();
    EXPECT_EQ(keeping(), PortKeeping::Kept) << status().care.reason;
    EXPECT_TRUE(had_record);
    const auto set = ports->settings("eth0");
    EXPECT_NE(set, test::three_classes());
    EXPECT_GT(set.ets->traffic_class.at(dcb::class_of_dscp(set, 26)).weight,
              set.ets->traffic_class.at(dcb::class_of_dscp(set, 10)).weight);
}

TEST_F(ManagedServicePorts, AreLeftToTheTreeWhereItDivides)
{
    begin_with(AttachMode::Shared);
    EXPECT_EQ(keeping(), PortKeeping::LeftAlone);
    EXPECT_EQ(ports->writes("eth0"), 0);
}

TEST_F(ManagedServicePorts, AreNotWrittenAfterARestart)
{
    begin_with();
    const int writes = ports->writes("eth0");
    EXPECT_GT(writes, 0);
    service->context().remove_observer(*this);
    service.reset();    // as if it was killed
    begin_with();
    EXPECT_EQ(keeping(), PortKeeping::Kept);
    EXPECT_EQ(ports->writes("eth0"), writes);
    EXPECT_TRUE(disable());
    EXPECT_EQ(ports->settings("eth0"), test::three_classes()) << "what was there before the first run";
}

// What is not this daemon's file, or of an earlier boot, is no reason not to set the ports; what could not be read is
// said.
TEST_F(ManagedServicePorts, AreSetBesideARecordThatCannotBeUsed)
{
    begin_with();
    const std::filesystem::path file = "var/lib/rdma-qos/port-classes.json";
    const std::string whole = *read_regular_file(root.path() / file, 65536);
    const auto with = [&whole](std::string_view from, std::string_view to) {
        std::string text = whole;
        const auto at = text.find(from);
        EXPECT_NE(at, std::string::npos) << from;
        return text.replace(at, from.size(), to);
    };
    struct Case {
        std::string text;
        const char* said;    // of the file; empty: it is well
    };
    const Case cases[] = {
        {"", "port-classes.json"},
        {whole.substr(0, whole.size() / 2), "port-classes.json"},
        {"[]", "port-classes.json"},
        {with("\"schema\": 1", "\"schema\": 2"), "of this version"},
        {R"({"schema": 1, "ports": [7]})", "entry 1 of `ports`: `port` is missing"},
        {with("\"port\"", "\"gate\""), "entry 1 of `ports`: `port` is missing"},
        {with("driver mlx5_core", "driver"), "entry 1 of `ports`"},
        {with("\"before\"", "\"after\""), "entry 1 of `ports`"},
        {with("\"boot\": \"", "\"boot\": \"of another time"), ""},
    };
    for (const Case& each : cases) {
        SCOPED_TRACE(each.text);
        service->context().remove_observer(*this);
        service.reset();
        root.write(file, each.text);
        const auto read = load_port_records(root.path());
        EXPECT_THAT(read ? "" : to_string(read.error()), HasSubstr(each.said));
        EXPECT_EQ(read.has_value(), *each.said == '\0');
        ports->set("eth0", test::three_classes());
        begin_with();
        EXPECT_EQ(keeping(), PortKeeping::Kept);
        EXPECT_TRUE(has_record());
        const bool is_well = *each.said == '\0';
        const auto kept = port_records_kept_aside(root.path());
        const auto& failures = service->context().state_failures;
        EXPECT_EQ(kept.size(), is_well ? 0U : 1U);
        EXPECT_EQ(failures.size(), kept.size()) << "still, although the file was written again";
        for (const std::string& aside : kept) {
            EXPECT_EQ(*read_regular_file(below_root(root.path(), aside), 65536), each.text);
            EXPECT_THAT(failures, ElementsAre(Pair(
                                      aside, FieldsAre(AllOf(HasSubstr(each.said), HasSubstr("to use it")), false))));
        }
        restart();
        EXPECT_EQ(failures_now(), kept) << "until somebody has seen to it";
        for (const std::string& aside : kept) {
            std::filesystem::remove(below_root(root.path(), aside));
        }
        EXPECT_TRUE(reload().accepted);
        EXPECT_THAT(failures_now(), testing::IsEmpty()) << "they are gone";
        EXPECT_TRUE(disable());
        EXPECT_EQ(ports->settings("eth0"), test::three_classes()) << "what it was when it was read stands for it";
        EXPECT_TRUE(enable());
    }
}

TEST_F(ManagedServicePorts, ArePutBackByDisableAndSetByEnable)
{
    begin_with();
    const auto wanted = ports->settings("eth0");
    EXPECT_TRUE(disable());
    EXPECT_EQ(ports->settings("eth0"), test::three_classes()) << "when it is answered";
    EXPECT_FALSE(has_record());
    EXPECT_EQ(keeping(), PortKeeping::Off);
    EXPECT_TRUE(enable());
    EXPECT_EQ(ports->settings("eth0"), wanted);
}

TEST_F(ManagedServicePorts, ArePutBackByRelease)
{
    begin_with();
    const auto released = wait_for<std::vector<DeviceReconcile>>(
        [&](auto done) { service->device_control().release("mlx5_0", std::move(done)); });
    ASSERT_TRUE(released);
    EXPECT_TRUE(released->at(0).failures.empty());
    EXPECT_EQ(ports->settings("eth0"), test::three_classes());
    EXPECT_FALSE(has_record());
}

TEST_F(ManagedServicePorts, ArePutBackByOtherSettings)
{
    for (const char* text :
         {"version: 1\n", "version: 1\nport-classes: off\n", "version: 1\nport-classes: manage\nmode: monitor\n"}) {
        settings(kManage);
        if (service == nullptr) {
            begin_with();
        } else {
            EXPECT_TRUE(reload_now().accepted);
        }
        EXPECT_EQ(keeping(), PortKeeping::Kept) << text;
        settings(text);
        EXPECT_TRUE(reload_now().accepted);
        EXPECT_EQ(ports->settings("eth0"), test::three_classes()) << text;
        EXPECT_FALSE(has_record()) << text;
        EXPECT_EQ(keeping(), PortKeeping::Off) << text;
    }
}

TEST_F(ManagedServicePorts, HaveAClassForNotificationsWhenTheSettingsAsk)
{
    const auto of_notifications = [this] {
        const auto set = ports->settings("eth0");
        return set.ets->traffic_class.at(dcb::class_of_dscp(set, 48));
    };
    begin_with();
    EXPECT_EQ(of_notifications().selection, dcb::Selection::Ets) << "with everything else";
    settings("version: 1\nport-classes: manage\ncnp-dscp: 48\n");
    EXPECT_TRUE(reload_now().accepted);
    EXPECT_EQ(of_notifications().selection, dcb::Selection::Strict);
    EXPECT_TRUE(of_notifications().max_rate);
    EXPECT_EQ(status().care.cnp_dscp, 48);
    settings(kManage);
    EXPECT_TRUE(reload_now().accepted);
    EXPECT_EQ(of_notifications().selection, dcb::Selection::Ets);
    EXPECT_EQ(status().care.cnp_dscp, std::nullopt);
}

TEST_F(ManagedServicePorts, ArePutBackWhenTheDaemonStopsAndNotWhenItRestarts)
{
    begin_with();
    const auto wanted = ports->settings("eth0");
    stop(EndOfService::Restart);
    EXPECT_EQ(ports->settings("eth0"), wanted);
    EXPECT_TRUE(has_record());
    begin_with();
    stop(EndOfService::Stop);
    EXPECT_EQ(ports->settings("eth0"), test::three_classes());
    EXPECT_FALSE(has_record());
}

// The reload is accepted: the scheduling tree is enforced all the same.
TEST_F(ManagedServicePorts, WhatTheyCannotHaveIsInTheAnswerToAReload)
{
    begin_with();
    EXPECT_THAT(reload_now().findings, IsEmpty());
    policy(two(70) + "  - {name: plain, schedule: {share: 5}}\n");
    const auto outcome = reload_now();
    EXPECT_TRUE(outcome.accepted);
    EXPECT_THAT(outcome.findings, ElementsAre(FieldsAre("mlx5_0/1", Field(&Finding::path, ElementPath("/plain")),
                                                        FindingVerdict::Harmless)));
    EXPECT_THAT(status().care.findings, SizeIs(1));
    EXPECT_TRUE(disable());
    EXPECT_THAT(reload_now().findings, IsEmpty()) << "nothing is asked of it";
}

TEST_F(ManagedServicePorts, FollowAReload)
{
    begin_with();
    const auto before = ports->settings("eth0");
    policy(two(10));
    EXPECT_TRUE(reload_now().accepted);
    EXPECT_NE(ports->settings("eth0"), before) << "when it is answered";
    EXPECT_EQ(keeping(), PortKeeping::Kept);
}

TEST_F(ManagedServicePorts, AreRepairedAndWhoWroteIsNamed)
{
    begin_with();
    const auto wanted = ports->settings("eth0");
    other_writes();
    EXPECT_EQ(ports->settings("eth0"), wanted);
    EXPECT_EQ(status().care.repairs, 1U);
    ASSERT_TRUE(status().care.drift);
    EXPECT_EQ(status().care.drift->by, "the tool dcb");
    EXPECT_THAT(status().care.drift->what, HasSubstr("DSCP 26 to priority 5"));
}

TEST_F(ManagedServicePorts, AreNotFoughtFor)
{
    begin_with();
    const auto wanted = ports->settings("eth0");
    for (int i = 0; i < 3; ++i) {
        other_writes();
    }
    EXPECT_EQ(keeping(), PortKeeping::Stopped);
    EXPECT_NE(ports->settings("eth0"), wanted);
    EXPECT_THAT(status().care.reason, HasSubstr("the tool dcb"));
    const ReloadOutcome outcome = reload_now();
    EXPECT_TRUE(outcome.failures.empty());
    EXPECT_EQ(keeping(), PortKeeping::Kept) << "a reload begins again";
    EXPECT_EQ(ports->settings("eth0"), wanted);
}

TEST_F(ManagedServicePorts, ThatAreRefusedSayItInTheReload)
{
    begin_with();
    ports->refuse(0, 1, EINVAL);
    policy(two(10));
    const ReloadOutcome outcome = reload_now();
    EXPECT_TRUE(outcome.accepted);
    ASSERT_EQ(outcome.failures.size(), 1U);
    EXPECT_THAT(outcome.failures[0].failure.error.message, HasSubstr("mlx5_core"));
    EXPECT_EQ(keeping(), PortKeeping::Failed);
    EXPECT_TRUE(wait_for<std::vector<DeviceReconcile>>(
        [&](auto done) { service->device_control().reconcile("mlx5_0", std::move(done)); }));
    EXPECT_EQ(keeping(), PortKeeping::Kept);
}

TEST_F(ManagedServicePorts, ThatCannotBeReadSayItInEveryAnswer)
{
    settings("version: 1\nport-classes: manage\ndrift-interval: 10s\n");
    begin_with();
    const auto wanted = ports->settings("eth0");
    ports->set_error(Error{ErrorCode::Timeout, 0, "the kernel does not answer about eth0"});
    policy(two(10));
    const ReloadOutcome outcome = reload_now();
    EXPECT_TRUE(outcome.accepted);
    ASSERT_EQ(outcome.failures.size(), 1U);
    EXPECT_THAT(outcome.failures[0].failure.error.message,
                HasSubstr("the traffic classes of eth0 are not set yet, since they cannot be read: "));
    EXPECT_THAT(outcome.failures[0].failure.error.message, HasSubstr("the kernel does not answer about eth0"));
    EXPECT_EQ(keeping(), PortKeeping::Waiting);
    std::optional<Metrics> metrics;
    service->metrics().collect([&](Metrics all) { metrics = std::move(all); });
    ASSERT_TRUE(loop.run_until([&] {
        loop.advance(1ms);
        return metrics.has_value();
    }));
    ASSERT_TRUE(metrics->devices.at(0).port_keeping);
    EXPECT_TRUE(metrics->devices.at(0).port_keeping->is_failed);

    const auto reconciled = wait_for<std::vector<DeviceReconcile>>(
        [&](auto done) { service->device_control().reconcile("mlx5_0", std::move(done)); });
    ASSERT_EQ(reconciled->at(0).failures.size(), 1U);
    const auto disabled = disable();
    ASSERT_EQ(disabled->at(0).failures.size(), 1U);
    EXPECT_THAT(disabled->at(0).failures[0].error.message, HasSubstr("is not put back yet"));
    EXPECT_EQ(ports->settings("eth0"), wanted);

    ports->set_error({});
    loop.advance(10s);
    rest();
    EXPECT_EQ(ports->settings("eth0"), test::three_classes()) << "it is tried again by itself";
    EXPECT_EQ(keeping(), PortKeeping::Off);
}

// The kernel keeps the thread that asks it.
TEST_F(ManagedServicePorts, OfWhichTheKernelIsSilentKeepNobodyWaiting)
{
    begin_with();
    ports->set_before_answer(gate.waiter());
    policy(two(10));
    const ReloadOutcome outcome = reload_now();
    ASSERT_EQ(outcome.failures.size(), 1U);
    EXPECT_THAT(outcome.failures[0].failure.error.message, HasSubstr("has not answered for 5 s"));
    EXPECT_EQ(keeping(), PortKeeping::Waiting);
    gate.open();
    EXPECT_TRUE(loop.run_until([&] { return keeping() == PortKeeping::Kept; }));
}

TEST_F(ManagedServicePorts, ThatAreNotPutBackAtTheEndAreNamedInTheLog)
{
    begin_with();
    const auto wanted = ports->settings("eth0");
    ports->refuse(0, 100, EBUSY);
    const test::Journal journal;
    stop(EndOfService::Stop);
    EXPECT_EQ(ports->settings("eth0"), wanted);
    EXPECT_TRUE(has_record());
    EXPECT_THAT(journal.lines(), Contains(HasSubstr("the traffic classes of eth0 stay as it has set them")));
}

TEST_F(ManagedServicePorts, OfWhichTheKernelHasNoClassesAreLeftAlone)
{
    begin();
    DeviceInfo info = new_device("mlx5_0");
    info.netdev = "eth2";
    service->device_control().add(
        std::make_unique<ModelBackend>(info, default_capabilities(), nullptr, AttachMode::PerProcess));
    rest();
    EXPECT_EQ(keeping(), PortKeeping::LeftAlone);
    EXPECT_THAT(status().care.reason, HasSubstr("has no DCB"));
    EXPECT_TRUE(reload_now().failures.empty());
}

TEST_F(ManagedServicePorts, ThatWereGivenUpBeginAgainWithEnable)
{
    begin_with();
    const auto wanted = ports->settings("eth0");
    for (int i = 0; i < 3; ++i) {
        other_writes();
    }
    ASSERT_EQ(keeping(), PortKeeping::Stopped);
    const auto enabled = enable();
    ASSERT_EQ(enabled->size(), 1U);
    EXPECT_TRUE(enabled->at(0).failures.empty());
    EXPECT_EQ(ports->settings("eth0"), wanted) << "when it is answered";
    EXPECT_EQ(keeping(), PortKeeping::Kept);

    ports->refuse(0, 1, EINVAL);
    policy(two(10));
    EXPECT_EQ(reload_now().failures.size(), 1U);
    ports->refuse(0, 1, EINVAL);
    EXPECT_EQ(enable()->at(0).failures.size(), 1U) << "what is refused again is said";
    EXPECT_TRUE(enable()->at(0).failures.empty());
}

TEST_F(ManagedServicePorts, OfADeviceThatComesBackAreSetAgain)
{
    begin_with();
    const auto wanted = ports->settings("eth0");
    service->device_control().remove("mlx5_0/1");
    const int writes = ports->writes("eth0");
    rest();
    EXPECT_EQ(ports->writes("eth0"), writes) << "nothing is tried on what is gone";
    dcb::PortSettings fresh = test::three_classes();
    fresh.apps.clear();
    ports->set("eth0", fresh);
    add_port();
    rest();
    EXPECT_EQ(ports->settings("eth0"), wanted);
    EXPECT_EQ(status().care.repairs, 0U);
}

TEST_F(ManagedServicePorts, AreInThePlanAndInVerify)
{
    settings("version: 1\n");
    begin_with();
    settings(kManage);
    const auto plan = [&] {
        return wait_for<PlanReport>([&](auto done) { service->plans().plan(std::nullopt, 0, std::move(done)); });
    };
    const auto first = plan();
    ASSERT_TRUE(first);
    ASSERT_TRUE(first->devices.at(0).port);
    EXPECT_FALSE(first->devices.at(0).port->steps.empty());
    EXPECT_THAT(first->devices.at(0).port->classes, HasSubstr("/rpc"));
    EXPECT_EQ(ports->writes("eth0"), 0);
    EXPECT_TRUE(reload_now().accepted);
    EXPECT_TRUE(plan()->devices.at(0).port->steps.empty());

    const auto verify = [&] {
        return wait_for<std::vector<DeviceDrift>>(
            [&](auto done) { service->device_control().verify("", std::move(done)); });
    };
    const auto differs = [](const std::vector<DeviceDrift>& drifts) {
        return std::ranges::any_of(drifts, [](const DeviceDrift& drift) { return drift.port.has_value(); });
    };
    EXPECT_FALSE(differs(*verify()));
    ports->set("eth0", test::three_classes());    // without a notice
    const int writes = ports->writes("eth0");
    EXPECT_TRUE(differs(*verify()));
    EXPECT_EQ(ports->writes("eth0"), writes);
}

TEST_F(ManagedServicePorts, AreTriedAndPutBackWithATrial)
{
    begin_with();
    const auto wanted = ports->settings("eth0");
    TrialRequest request;
    request.text = std::make_shared<SourceFile>(SourceFile{std::string(kTriedFile), two(10)});
    request.timeout = 60s;
    request.who = process(1);
    ASSERT_TRUE(
        wait_for<TrialOutcome>([&](auto done) { service->trials().begin(std::move(request), std::move(done)); }));
    EXPECT_NE(ports->settings("eth0"), wanted);
    loop.advance(61s);
    rest();
    EXPECT_EQ(ports->settings("eth0"), wanted);
}

TEST_F(ManagedServicePorts, StepsOfThePortCountAsOperations)
{
    begin_with();
    const auto operations = [](const Result<std::vector<DeviceReconcile>>& results) {
        return results && results->size() == 1 ? results->front().operations : 4711;
    };
    const auto reconcile = [this] {
        return wait_for<std::vector<DeviceReconcile>>(
            [&](auto done) { service->device_control().reconcile("mlx5_0", std::move(done)); });
    };
    EXPECT_EQ(operations(reconcile()), 0U);
    const auto wanted = ports->settings("eth0");
    // Without a notice: it is found because the port is read.
    auto other = wanted;
    other.apps.front().priority = 7;
    ports->set("eth0", other);
    int before = ports->writes("eth0");
    const auto repaired = operations(reconcile());
    EXPECT_GT(repaired, 0U);
    EXPECT_EQ(repaired, static_cast<std::uint64_t>(ports->writes("eth0") - before));
    EXPECT_EQ(ports->settings("eth0"), wanted);

    before = ports->writes("eth0");
    const auto disabled = disable();
    EXPECT_GT(ports->writes("eth0"), before);
    EXPECT_GE(operations(disabled), static_cast<std::uint64_t>(ports->writes("eth0") - before));
}

// It says whether the daemon tries again, and not that it does in any case.
TEST_F(ManagedServicePorts, ARefusalThatIsFinalIsGivenUp)
{
    begin_with();
    policy(two(10));
    ports->refuse(0, 1, EINVAL);
    const ReloadOutcome refused = reload_now();
    ASSERT_EQ(refused.failures.size(), 1U);
    EXPECT_TRUE(refused.failures.front().failure.is_given_up);
    EXPECT_THAT(refused.to_text(), HasSubstr("a reload tries again\n"));
    policy(two(20));
    ports->refuse(0, 1000, EBUSY);    // also when it is tried again before the answer
    const ReloadOutcome busy = reload_now();
    ASSERT_EQ(busy.failures.size(), 1U);
    EXPECT_FALSE(busy.failures.front().failure.is_given_up);
    EXPECT_THAT(busy.to_text(), HasSubstr("; this will be retried\n"));
}

TEST_F(ManagedServicePorts, NeedAPrivilege)
{
    settings("version: 1\n");
    std::string why;
    const auto usual = more_options;
    more_options = [&](ServiceOptions& options) {
        usual(options);
        options.why_ports_cannot_be_set = [&why] { return why; };
    };
    begin_with();
    settings(kManage);
    why = "CAP_NET_ADMIN is missing";
    const ReloadOutcome refused = reload_now();
    EXPECT_FALSE(refused.accepted);
    EXPECT_THAT(refused.to_text(), HasSubstr("/etc/rdma-qos/rdma-qosd.yaml:2:15: error: `port-classes: manage`: "
                                             "CAP_NET_ADMIN is missing"));
    EXPECT_TRUE(refused.is_of_settings()) << "nothing is wrong with the policy";
    EXPECT_THAT(refused.to_text(), HasSubstr("/share/rdma-qos/port-classes.conf /etc/systemd/system/"));
    EXPECT_EQ(service->in_force().settings().port_classes, PortClassesSetting::Report);

    service->context().remove_observer(*this);
    service.reset();
    begin_with();
    EXPECT_FALSE(started.accepted);
    EXPECT_TRUE(started.is_of_settings());
    EXPECT_THAT(started.to_text(), HasSubstr("/etc/rdma-qos/rdma-qosd.yaml:2:15: error: "));
    EXPECT_NE(service->in_force().policy(), nullptr) << "the policy runs";
    EXPECT_EQ(service->in_force().settings().port_classes, PortClassesSetting::Report);
    EXPECT_EQ(ports->writes("eth0"), 0);
}

}    // namespace
}    // namespace rdmaqos
