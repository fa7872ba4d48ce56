// Each property that is annotated as changing is changed, and PropertiesChanged names it: changed or invalidated, as
// the annotation says, on both transports, and with nothing else that did not change.
#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <ostream>
#include <set>

#include <gmock/gmock.h>
#include <unistd.h>

#include "daemon/bus/device_object.h"
#include "daemon/bus/manager_object.h"
#include "daemon/bus/object_paths.h"
#include "daemon/bus/session_object.h"
#include "daemon/service/device_control.h"
#include "daemon/service/fabric_upkeep.h"
#include "lib/model/profile.h"
#include "lib/nic_model/model_backend.h"
#include "tests/support/daemon_fixture.h"
#include "tests/support/served.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;
namespace names = bus::names;
using Names = std::set<std::string>;

constexpr const char* kPolicy = R"(version: 1
qos-class-names: {some: 7}
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: rpc, sl: 3, schedule: {share: 60}}
  - {name: bulk, sl: 1, schedule: {share: 40}}
qos-match-rules:
  - {qos-class: [some], qos-level-name: bulk}
)";
constexpr const char* kWithoutClasses = R"(version: 1
qos-class-names: {some: 7}
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: rpc, sl: 3}
  - {name: bulk, sl: 1}
qos-match-rules:
  - {qos-class: [some], qos-level-name: bulk}
)";
constexpr const char* kPolicyFile = "etc/rdma-qos/policy.yaml";

// ---- the tables under test ----

const std::map<std::string, std::span<const Property>>& tables()
{
    static const std::map<std::string, std::span<const Property>> kTables{
        {names::kManager, manager_properties()},
        {names::kDevice, device_properties()},
        {names::kSession, session_properties()},
    };
    return kTables;
}

Names all_of(const std::string& interface, const std::function<bool(const Property&)>& condition)
{
    Names result;
    for (const auto& property : tables().at(interface)) {
        if (condition(property)) {
            result.insert(property.name);
        }
    }
    return result;
}

bool is_invalidated(const Property& property)
{
    return (property.flags & SD_BUS_VTABLE_PROPERTY_EMITS_INVALIDATION) != 0;
}

Names common(const Names& a, const Names& b)
{
    Names result;
    std::ranges::set_intersection(a, b, std::inserter(result, result.end()));
    return result;
}

// ---- who listens ----

// Keeps what it hears, on a thread of its own, until the daemon goes.
class Listener {
public:
    Listener(std::string transport, bus::Client client)
        : transport_(std::move(transport)), client_(std::move(client)), thread_([this] {
              static_cast<void>(client_.monitor([this](const bus::Signal& signal) {
                  const std::lock_guard lock(mutex_);
                  heard_.push_back(signal);
                  more_.notify_all();
                  return true;
              }));
          })
    {
    }

    // What was named of an object, since forget().
    struct Named {
        std::map<std::string, bus::Value> changed;    // with the last value
        Names invalidated;

        [[nodiscard]] Names all() const
        {
            Names result = invalidated;
            for (const auto& [name, value] : changed) {
                result.insert(name);
            }
            return result;
        }
    };

    [[nodiscard]] const std::string& transport() const { return transport_; }
    void forget()
    {
        const std::lock_guard lock(mutex_);
        heard_.clear();
    }
    [[nodiscard]] Named named(const std::string& path, const std::string& interface)
    {
        const std::lock_guard lock(mutex_);
        return named_so_far(path, interface);
    }
    bool hears_of(const Names& wanted, const std::string& path, const std::string& interface)
    {
        return hears([&] { return std::ranges::includes(named_so_far(path, interface).all(), wanted); }, kHung);
    }
    bool hears_of_new(const std::string& path, std::chrono::milliseconds patience)
    {
        return hears(
            [&] {
                return std::ranges::any_of(heard_, [&](const bus::Signal& signal) {
                    return signal.member == "InterfacesAdded" &&
                           signal.arguments.at(0).as<bus::ObjectPath>()->text == path;
                });
            },
            patience);
    }

private:
    bool hears(const std::function<bool()>& enough, std::chrono::milliseconds patience)
    {
        std::unique_lock lock(mutex_);
        return more_.wait_for(lock, patience, enough);
    }
    [[nodiscard]] Named named_so_far(const std::string& path, const std::string& interface) const
    {
        Named result;
        for (const auto& signal : heard_) {
            if (signal.member != "PropertiesChanged" || signal.path != path ||
                *signal.arguments.at(0).as<std::string>() != interface) {
                continue;
            }
            for (const auto& [name, value] : signal.arguments.at(1).as<bus::Dict>()->entries()) {
                result.changed.insert_or_assign(name, value);
            }
            for (const auto& name : *signal.arguments.at(2).as<std::vector<std::string>>()) {
                result.invalidated.insert(name);
            }
        }
        return result;
    }

    const std::string transport_;
    bus::Client client_;
    std::mutex mutex_;
    std::condition_variable more_;
    std::vector<bus::Signal> heard_;
    std::jthread thread_;    // last: uses the others
};

// ---- what is changed ----

// The daemon with the devices mlx5_0 and mlx5_1, of which only the first paces, a session in level bulk, and a listener
// on each transport.
class World {
public:
    World()
    {
        root_.write(kPolicyFile, kPolicy);
        setenv("DBUS_SYSTEM_BUS_ADDRESS", bus_.address().c_str(), 1);    // NOLINT(concurrency-mt-unsafe): one thread
        served_ = std::make_unique<Served>(root_.path());
        caller_.emplace(connected(bus::Client::connect_direct(below_root(root_.path(), names::kSocket))));
        listen("direct socket", bus::Client::connect_direct(below_root(root_.path(), names::kSocket)));
        listen("system bus", bus::Client::connect_system_bus());
        nic_ = add_device("mlx5_0", default_capabilities());
        Capabilities no_pacing = default_capabilities();
        no_pacing.pacing = {};
        add_device("mlx5_1", no_pacing);
        bus::Dict request;
        request.set("qos-class", std::uint32_t{7});
        session_ = registered(request);
    }

    [[nodiscard]] std::string path_of(const std::string& interface) const
    {
        return interface == names::kManager  ? names::kRoot
               : interface == names::kDevice ? device_path("mlx5_0/1")
                                             : session_;
    }
    bus::Dict properties(const std::string& interface)
    {
        auto read = caller_->properties(path_of(interface), interface);
        return read ? std::move(*read) : throw std::runtime_error(to_string(read.error()));
    }
    std::vector<std::unique_ptr<Listener>>& listeners() { return listeners_; }

    // Until devices have done what they were told, and what there was to tell of it was heard.
    void settle()
    {
        // The first round may find a device about to be told something, the second does not.
        for (int round = 0; round < 2; ++round) {
            static_cast<void>(manage(*caller_, "Verify", ""));
            const std::string last = registered({});
            for (const auto& listener : listeners_) {
                EXPECT_TRUE(listener->hears_of_new(last, kHung)) << listener->transport();
            }
        }
    }

    ModelBackend& nic() { return *nic_; }
    void change_port(const std::function<void(DeviceInfo&)>& change)
    {
        DeviceInfo info = nic_->info();
        change(info);
        nic_->set_info(info);
    }
    void remove_first_device()
    {
        served_->on_loop([](Service& service) { service.device_control().remove("mlx5_0/1"); });
    }
    // In place of the first device, and with a policy that makes no use of it.
    void use_untested_device(const AttachReport& found)
    {
        reload_with(kPolicyFile, kWithoutClasses);
        remove_first_device();
        nic_ = add_device("mlx5_0", default_capabilities(), found);
    }
    void manage_device(const std::string& method, const std::string& device)
    {
        static_cast<void>(manage(*caller_, method, device));
    }
    void refuse_device(const std::string& name)
    {
        DeviceInfo info;
        info.name = name;
        info.node_guid = Guid{0x99};
        served_->on_loop([&](Service& service) { service.device_control().not_managed(info, "it cannot be opened"); });
    }
    // Nothing can be kept below /var/lib/rdma-qos.
    void divide_caps(const std::string& why)
    {
        served_->on_loop([&](Service& service) { service.devices().at("mlx5_0/1").set_not_adaptive(why); });
    }
    void break_state() const
    {
        std::filesystem::remove_all(root_.path() / "var/lib/rdma-qos");
        root_.write("var/lib/rdma-qos", "a file");
    }
    void write(const std::string& file, const std::string& text) const { root_.write(file, text); }
    void remove(const std::string& file) const { std::filesystem::remove(root_.path() / file); }
    void reload() { static_cast<void>(caller_->call(names::kRoot, names::kManager, "Reload", {})); }
    void reload_with(const std::string& file, const std::string& text)
    {
        write(file, text);
        reload();
    }
    // Reloads the policy with `before` replaced by `after`.
    void change_policy(const std::string& before, const std::string& after)
    {
        std::string text = kPolicy;
        text.replace(text.find(before), before.size(), after);
        reload_with(kPolicyFile, text);
    }
    void reread_fabric()
    {
        served_->on_loop([](Service& service) { service.fabric().reread([] {}); });
    }
    // To the session, or to a new one that asks for a level.
    void attach_to_session() { attach_to(session_); }
    void attach_to_level(const char* level)
    {
        bus::Dict request;
        request.set("level", level);
        attach_to(registered(request));
    }

private:
    static bus::Client connected(Result<bus::Client> client)
    {
        return client ? std::move(*client) : throw std::runtime_error(to_string(client.error()));
    }
    void listen(const char* transport, Result<bus::Client> client)
    {
        auto& listener = *listeners_.emplace_back(std::make_unique<Listener>(transport, connected(std::move(client))));
        // It has subscribed when it hears of one.
        if (!eventually([&] { return listener.hears_of_new(registered({}), 50ms); })) {
            throw std::runtime_error(listener.transport() + ": nothing is heard");
        }
    }
    ModelBackend* add_device(const std::string& name, const Capabilities& capabilities,
                             const std::optional<AttachReport>& found_later = std::nullopt)
    {
        DeviceInfo info;
        info.name = name;
        info.driver = "model";
        info.node_guid = Guid{0x10 + devices_++};
        info.port_guid = Guid{info.node_guid.value + 0x1000};
        info.link_speed = Bandwidth::from_gbps(100);
        auto backend = std::make_unique<ModelBackend>(info, capabilities);
        if (found_later) {
            backend->postpone_test(*found_later);
        }
        ModelBackend* kept = backend.get();
        served_->on_loop([&](Service& service) { service.device_control().add(std::move(backend)); });
        return kept;
    }
    std::string registered(const bus::Dict& request)
    {
        const auto session = register_session(*caller_, request);
        return session ? session->path : throw std::runtime_error(to_string(session.error()));
    }
    void attach_to(const std::string& session)
    {
        const auto results = attach(*caller_, session, {queue_pair("mlx5_0", 11)});
        ASSERT_TRUE(results) << to_string(results.error());
        EXPECT_EQ(text_of(results->at(0), "error"), "absent");
    }

    TempDir root_;
    PrivateBus bus_{root_.path()};
    std::vector<std::unique_ptr<Listener>> listeners_;
    std::unique_ptr<Served> served_;    // goes before those who listen until it goes
    std::optional<bus::Client> caller_;
    ModelBackend* nic_ = nullptr;
    std::uint64_t devices_ = 0;
    std::string session_;
};

// What a device refuses from now on, it refuses for ever.
void refuse(World& world, CommandKind kind)
{
    world.nic().firmware().faults().fail(kind, 1, {}, UINT64_MAX);
}

void refuse_new_shares(World& world)
{
    refuse(world, CommandKind::Modify);
    world.change_policy("share: 40", "share: 20");
}

void add_class(World& world)
{
    world.change_policy("qos-match-rules:", "  - {name: extra, schedule: {share: 10}}\nqos-match-rules:");
}

void add_class_in_vain(World& world)
{
    refuse(world, CommandKind::Create);
    add_class(world);
}

// ---- the table ----

struct Row {
    const char* interface;
    const char* property;
    std::function<void(World&)> change;
    Names with{};                                          // what cannot but change with it
    std::function<void(World&)> before = [](World&) {};    // what there is to be already

    [[nodiscard]] Names named() const
    {
        Names result = with;
        result.insert(property);
        return result;
    }
};

std::string name_of(const Row& row)
{
    const std::string interface = row.interface;
    return interface.substr(interface.rfind('.') + 1) + row.property;
}

void PrintTo(const Row& row, std::ostream* out)
{
    *out << name_of(row);
}

// An element is used or free; a leaf is an element too.
const Names kElements{"ElementsUsed", "ElementsFree", "Tree"};
const Names kLeaves{"LeavesUsed", "LeavesFree", "ElementsUsed", "ElementsFree", "Tree"};

const auto kPortGuid = [](DeviceInfo& info) { info.port_guid.value += 1; };
const auto kNetDev = [](DeviceInfo& info) { info.netdev = "ens9"; };
const auto kBond = [](DeviceInfo& info) { info.bond = "bond0"; };
const auto kLinkLayer = [](DeviceInfo& info) { info.link_layer = LinkLayer::InfiniBand; };
const auto kLinkDown = [](DeviceInfo& info) { info.link_up = false; };
const auto kLinkSpeed = [](DeviceInfo& info) { info.link_speed = Bandwidth::from_gbps(200); };

std::function<void(World&)> port(const std::function<void(DeviceInfo&)>& change)
{
    return [change](World& world) { world.change_port(change); };
}

std::function<void(World&)> policy(const std::string& before, const std::string& after)
{
    return [before, after](World& world) { world.change_policy(before, after); };
}

void reload_broken_policy(World& world)
{
    world.reload_with(kPolicyFile, "version: 1\nqos-levels: 1\n");
}

void reload_without_port_classes(World& world)
{
    world.reload_with("etc/rdma-qos/rdma-qosd.yaml", "version: 1\nport-classes: off\n");
}

void reload_in_mode_monitor(World& world)
{
    world.reload_with("etc/rdma-qos/rdma-qosd.yaml", "version: 1\nmode: monitor\n");
}

void rename_policy(World& world)
{
    world.remove(kPolicyFile);
    world.reload_with("etc/rdma-qos/policy.d/60-other.yaml", kPolicy);
}

void break_fabric(World& world)
{
    world.write("etc/rdma-qos/fabric.yaml", "version: 7\n");
    world.reread_fabric();
}

void use_classes(World& world)
{
    world.reload_with(kPolicyFile, kPolicy);
}

const AttachReport kSharedFound{AttachMode::Shared, "tested", {}};
const AttachReport kSharedFoundInSteps{
    AttachMode::Shared, "a simulated device", {{"attach in RTS", true, 0, 0, 0, ""}}};
const AttachReport kPerProcessFound{AttachMode::PerProcess, "a simulated device", {}};
const AttachReport kNoneFound{AttachMode::None, "a simulated device", {}};
const AttachReport kDividing{
    .mode = AttachMode::Shared, .reason = "a simulated device", .steps = {}, .caps = CapMode::Divide};

std::function<void(World&)> untested(const AttachReport& found)
{
    return [found](World& world) { world.use_untested_device(found); };
}

const std::vector<Row>& rows()
{
    static const std::vector<Row> kRows{
        // The one device that paces goes.
        {names::kManager, "Features", [](World& world) { world.remove_first_device(); }},
        {names::kManager, "Mode", reload_in_mode_monitor},
        // The report of the reload has the revision, too.
        {names::kManager, "PolicyRevision", policy("share: 40", "share: 20"), {"LastReload"}},
        {names::kManager, "PolicySources", rename_policy},
        {names::kManager, "LastReload", reload_broken_policy},
        {names::kManager, "FabricDiagnostics", break_fabric},
        {names::kManager, "ReleasedDevices", [](World& world) { world.manage_device("Release", "mlx5_1"); }},
        {names::kManager, "RefusedDevices", [](World& world) { world.refuse_device("mlx5_9"); }},
        {names::kManager, "StateFailures",
         [](World& world) {
             world.break_state();
             world.manage_device("Disable", "mlx5_1");
         }},

        {names::kDevice, "PortGUID", port(kPortGuid)},
        // Whose traffic classes they are.
        {names::kDevice, "NetDev", port(kNetDev), {"PortClasses"}},
        {names::kDevice, "PortClasses", reload_without_port_classes},
        {names::kDevice, "Bond", port(kBond)},
        {names::kDevice, "LinkLayer", port(kLinkLayer), {"PortClasses"}},
        {names::kDevice, "LinkUp", port(kLinkDown)},
        {names::kDevice, "LinkSpeed", port(kLinkSpeed)},
        // Every state has its reason.
        {names::kDevice, "State", reload_in_mode_monitor, {"Reason"}},
        // One more element is refused, and the other shares are what the policy requests.
        {names::kDevice, "Reason", add_class_in_vain, {"Failures", "Tree"}, refuse_new_shares},
        // What was not tested is when there are classes, which are built then.
        {names::kDevice, "AttachMode", use_classes, kLeaves, untested(kPerProcessFound)},
        {names::kDevice, "AttachReason", use_classes, kLeaves, untested(kSharedFound)},
        {names::kDevice, "CapMode", use_classes, kLeaves, untested(kDividing)},
        {names::kDevice, "CapReason", [](World& world) { world.divide_caps("nothing counts"); }, {"CapMode"}},
        {names::kDevice, "SelfTest", use_classes, kLeaves, untested(kSharedFoundInSteps)},
        // Classes are refused where nothing can be attached.
        {names::kDevice,
         "Capabilities",
         use_classes,
         {"AttachMode", "ElementsFree", "LeavesFree"},
         untested(kNoneFound)},
        {names::kDevice, "ElementsUsed", policy("share: 60", "share: 60, fair-by: process"), kElements},
        {names::kDevice, "ElementsFree", policy("share: 60", "share: 60, fair-by: process"), kElements},
        {names::kDevice, "LeavesUsed", add_class, kLeaves},
        {names::kDevice, "LeavesFree", add_class, kLeaves},
        // The tree says how many are in a leaf.
        {names::kDevice, "QueuePairsInside", [](World& world) { world.attach_to_level("bulk"); }, {"Tree"}},
        {names::kDevice, "QueuePairsOutside", [](World& world) { world.attach_to_level("DEFAULT"); }},
        {names::kDevice, "Tree", policy("share: 40", "share: 20")},
        // A limit that the first device can hold for some types of queue pairs, and the second for none.
        {names::kDevice,
         "Findings",
         policy("sl: 0", "sl: 0, per-queue-pair: {max-rate: 5Gbps}"),
         {},
         [](World& world) { world.manage_device("Release", "mlx5_1"); }},
        // Tried once more.
        {names::kDevice,
         "Failures",
         [](World& world) { world.manage_device("Reconcile", "mlx5_0"); },
         {},
         refuse_new_shares},

        // The grant has the cause `detached`.
        {names::kSession,
         "State",
         [](World& world) { world.nic().reset(); },
         {"Grant"},
         [](World& world) { world.attach_to_session(); }},
        // The grant has the level, too.
        {names::kSession, "Level", policy("qos-level-name: bulk", "qos-level-name: rpc"), {"Grant"}},
        {names::kSession, "Grant", policy("sl: 1", "sl: 2")},
    };
    return kRows;
}

// ---- the tests ----

class EachProperty : public ::testing::TestWithParam<Row> {
protected:
    void SetUp() override
    {
        if (geteuid() != 0) {
            GTEST_SKIP() << "only root may own org.rdmaqos1 and manage devices";
        }
    }
};

INSTANTIATE_TEST_SUITE_P(Changed, EachProperty, ::testing::ValuesIn(rows()),
                         [](const auto& row) { return name_of(row.param); });

// Of those that are not counters; what is constant is looked at as well.
Names differing(const std::string& interface, const bus::Dict& before, const bus::Dict& after)
{
    return all_of(interface, [&](const Property& property) {
        const bool counts = property.flags == 0;
        return !counts && !(*before.find(property.name) == *after.find(property.name));
    });
}

TEST_P(EachProperty, IsNamedAlone)
{
    const Row& row = GetParam();
    World world;
    row.before(world);
    world.settle();
    const std::string path = world.path_of(row.interface);
    const bus::Dict before = world.properties(row.interface);
    for (const auto& listener : world.listeners()) {
        listener->forget();
    }
    row.change(world);
    for (const auto& listener : world.listeners()) {
        EXPECT_TRUE(listener->hears_of(row.named(), path, row.interface)) << listener->transport();
    }
    world.settle();
    EXPECT_EQ(differing(row.interface, before, world.properties(row.interface)), row.named());
    for (const auto& listener : world.listeners()) {
        SCOPED_TRACE(listener->transport());
        const auto named = listener->named(path, row.interface);
        EXPECT_EQ(named.all(), row.named());
        EXPECT_EQ(named.invalidated, common(row.named(), all_of(row.interface, is_invalidated)));
        for (const auto& [name, value] : named.changed) {
            EXPECT_FALSE(value == *before.find(name)) << name << " has the value it had";
        }
    }
}

TEST(TableOfProperties, HasARowForEachThatChanges)
{
    for (const auto& [interface, properties] : tables()) {
        Names in_rows;
        for (const auto& row : rows()) {
            if (row.interface == interface) {
                EXPECT_TRUE(in_rows.insert(row.property).second) << name_of(row) << " has two rows";
            }
        }
        EXPECT_EQ(in_rows, all_of(interface, [](const Property& property) { return property.is_published(); }))
            << interface;
    }
}

}    // namespace
}    // namespace rdmaqos::test
