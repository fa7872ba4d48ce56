#include "tools/rdma-qosctl/world/online.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pwd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/text.h"
#include "lib/bus/names.h"
#include "tools/rdma-qosctl/world/host.h"
#include "tools/rdma-qosctl/world/reports.h"

namespace rdmaqos::ctl {
namespace {

constexpr std::size_t kPasswdBuffer = 16384;

std::string user_name(std::uint32_t uid)
{
    std::array<char, kPasswdBuffer> buffer{};
    passwd entry{};
    passwd* found = nullptr;
    if (getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) {
        return {};
    }
    return found->pw_name;
}

template <typename T>
T value_of(const bus::Dict& dict, std::string_view key)
{
    const bus::Value* value = dict.find(key);
    const T* typed = value == nullptr ? nullptr : value->as<T>();
    return typed == nullptr ? T{} : *typed;
}

template <typename Record>
std::vector<Record> list_from(const bus::Dict& properties, std::string_view key)
{
    return api::read_list<std::vector<Record>>(dicts_of(properties, key));
}

}    // namespace

Result<bus::Client> connect(const Context& context)
{
    return context.system_bus ? bus::Client::connect_system_bus() : bus::Client::connect(context.root);
}

Error not_as_documented(std::string_view method)
{
    return {ErrorCode::Internal, 0,
            fmt::format("the answer to {} is not as documented: is the daemon of another version?", method)};
}

template <typename T>
Result<T> call_manager(bus::Client& client, const std::string& method, const std::vector<bus::Value>& arguments,
                       std::chrono::milliseconds timeout)
{
    auto reply = client.call(kManagerPath, kManagerInterface, method, arguments, timeout);
    if (!reply) {
        return fail(std::move(reply).error());
    }
    const T* result = reply->size() == 1 ? reply->front().as<T>() : nullptr;
    if (result == nullptr) {
        return fail(not_as_documented(method));
    }
    return *result;
}

template Result<std::string> call_manager(bus::Client&, const std::string&, const std::vector<bus::Value>&,
                                          std::chrono::milliseconds);
template Result<bus::Dict> call_manager(bus::Client&, const std::string&, const std::vector<bus::Value>&,
                                        std::chrono::milliseconds);
template Result<std::vector<bus::Dict>> call_manager(bus::Client&, const std::string&, const std::vector<bus::Value>&,
                                                     std::chrono::milliseconds);

Result<bus::FileDescriptor> as_file(const std::string& text)
{
    auto fd = std::make_shared<UniqueFd>(memfd_create("policy", MFD_CLOEXEC));
    if (!*fd) {
        return fail(error_from_errno(ErrorCode::Io, errno, "memfd_create"));
    }
    for (std::size_t written = 0; written < text.size();) {
        const ssize_t count = write(fd->get(), text.data() + written, text.size() - written);
        if (count < 0 && errno != EINTR) {
            return fail(error_from_errno(ErrorCode::Io, errno, "memfd"));
        }
        written += count < 0 ? 0 : static_cast<std::size_t>(count);
    }
    return bus::FileDescriptor{std::move(fd)};
}

std::string text_of(const bus::Dict& dict, std::string_view key)
{
    return value_of<std::string>(dict, key);
}

std::optional<std::uint64_t> find_number(const bus::Dict& dict, std::string_view key)
{
    const bus::Value* value = dict.find(key);
    return value == nullptr ? std::nullopt : value->as_unsigned();
}

std::uint64_t number_of(const bus::Dict& dict, std::string_view key)
{
    return find_number(dict, key).value_or(0);
}

std::uint32_t small_number_of(const bus::Dict& dict, std::string_view key)
{
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(number_of(dict, key), UINT32_MAX));
}

bool flag_of(const bus::Dict& dict, std::string_view key)
{
    return value_of<bool>(dict, key);
}

bool is_only_monitored(const bus::Dict& level)
{
    return text_of(level, "mode") == "monitor";
}

std::vector<std::string> list_of(const bus::Dict& dict, std::string_view key)
{
    return value_of<std::vector<std::string>>(dict, key);
}

std::vector<bus::Dict> dicts_of(const bus::Dict& dict, std::string_view key)
{
    return value_of<std::vector<bus::Dict>>(dict, key);
}

std::optional<Bandwidth> rate_of(const bus::Dict& dict, std::string_view key)
{
    const auto kbps = find_number(dict, key);
    return kbps ? std::optional(Bandwidth::from_kbps(*kbps)) : std::nullopt;
}

std::string pacing_text(const bus::Dict& dict, std::string_view burst_key, std::string_view packet_key)
{
    const auto size = [&](std::string_view key, const char* otherwise) {
        const std::uint64_t bytes = number_of(dict, key);
        return bytes != 0 ? bytes_to_string(bytes) : std::string(otherwise);
    };
    return fmt::format("burst: {}, packet: {}", size(burst_key, "device default"),
                       size(packet_key, "device default (the port's MTU)"));
}

std::optional<TrialView> to_trial(const bus::Dict& dict)
{
    if (dict.empty()) {
        return std::nullopt;
    }
    const auto trial = api::read<api::Trial>(dict);
    const std::string user = UserNames().name_of(trial.uid);
    return TrialView{trial.revision,
                     trial.goes_back_to,
                     trial.file_revision,
                     trial.seconds_left,
                     user.empty() ? fmt::format("uid {}", trial.uid) : user,
                     trial.pid,
                     trial.command};
}

ManagerView to_manager(const bus::Dict& properties)
{
    ManagerView manager;
    manager.version = text_of(properties, "Version");
    manager.features = list_of(properties, "Features");
    manager.mode = text_of(properties, "Mode");
    manager.policy_revision = text_of(properties, "PolicyRevision");
    manager.policy_sources = list_of(properties, "PolicySources");
    manager.last_reload = to_reload(value_of<bus::Dict>(properties, "LastReload"));
    manager.fabric_diagnostics = to_diagnostics(list_from<api::Diagnostic>(properties, "FabricDiagnostics"));
    manager.released_devices = list_of(properties, "ReleasedDevices");
    manager.refused_devices = list_from<api::RefusedDevice>(properties, "RefusedDevices");
    manager.state_failures = list_from<api::StateFailure>(properties, "StateFailures");
    manager.trial = to_trial(value_of<bus::Dict>(properties, "Trial"));
    manager.adoption = api::read<api::Adoption>(value_of<bus::Dict>(properties, "Adoption"));
    manager.statistics = value_of<bus::Counts>(properties, "Statistics");
    return manager;
}

DeviceView to_device(const bus::Dict& properties)
{
    DeviceView device;
    device.name = text_of(properties, "Name");
    device.port = small_number_of(properties, "Port");
    device.node_guid = number_of(properties, "NodeGUID");
    device.port_guid = number_of(properties, "PortGUID");
    device.netdev = text_of(properties, "NetDev");
    device.pci_address = text_of(properties, "PCIAddress");
    device.driver = text_of(properties, "Driver");
    device.firmware = text_of(properties, "Firmware");
    device.board_id = text_of(properties, "BoardId");
    device.virtual_function = flag_of(properties, "VirtualFunction");
    device.bond = text_of(properties, "Bond");
    device.link_layer = text_of(properties, "LinkLayer");
    device.link_up = flag_of(properties, "LinkUp");
    device.link_speed = rate_of(properties, "LinkSpeed").value_or(Bandwidth{});
    device.state = text_of(properties, "State");
    device.reason = text_of(properties, "Reason");
    device.attach_mode = text_of(properties, "AttachMode");
    device.attach_reason = text_of(properties, "AttachReason");
    device.divides_caps = flag_of(properties, "DividesCaps");
    device.self_test = list_from<api::SelfTestStep>(properties, "SelfTest");
    for (const auto& [name, value, meaning] : value_of<bus::Triples>(properties, "Attributes")) {
        device.attributes.push_back({name, value, meaning});
    }
    device.capabilities = api::read<Capabilities>(value_of<bus::Dict>(properties, "Capabilities"));
    device.elements_used = small_number_of(properties, "ElementsUsed");
    device.elements_free = small_number_of(properties, "ElementsFree");
    device.leaves_used = small_number_of(properties, "LeavesUsed");
    device.leaves_free = small_number_of(properties, "LeavesFree");
    device.queue_pairs_inside = small_number_of(properties, "QueuePairsInside");
    device.queue_pairs_outside = small_number_of(properties, "QueuePairsOutside");
    device.tree = list_from<api::TreeElement>(properties, "Tree");
    device.findings = list_from<api::Finding>(properties, "Findings");
    device.failures = list_from<api::Failure>(properties, "Failures");
    device.statistics = value_of<bus::Counts>(properties, "Statistics");
    return device;
}

SessionView to_session(const std::string& path, const bus::Dict& properties)
{
    SessionView session;
    session.id = parse_number(std::string_view(path).substr(path.rfind('/') + 1)).value_or(0);
    session.owner = value_of<bus::Dict>(properties, "Owner");
    session.adopted = flag_of(properties, "Adopted");
    session.state = text_of(properties, "State");
    session.level = text_of(properties, "Level");
    session.grant = value_of<bus::Dict>(properties, "Grant");
    return session;
}

World to_world(ManagerView manager, const bus::ManagedObjects& objects)
{
    World world;
    world.manager = std::move(manager);
    for (const auto& [path, interfaces] : objects) {
        if (const auto device = interfaces.find(kDeviceInterface); device != interfaces.end()) {
            world.devices.push_back(to_device(device->second));
            world.devices.back().object_path = path;
        }
        if (const auto session = interfaces.find(kSessionInterface); session != interfaces.end()) {
            world.sessions.push_back(to_session(path, session->second));
        }
    }
    std::sort(world.devices.begin(), world.devices.end(), [](const DeviceView& a, const DeviceView& b) {
        return std::tie(a.name, a.port) < std::tie(b.name, b.port);
    });
    std::sort(world.sessions.begin(), world.sessions.end(),
              [](const SessionView& a, const SessionView& b) { return a.id < b.id; });
    return world;
}

const std::string& UserNames::name_of(std::uint32_t uid)
{
    const auto [entry, is_new] = names_.try_emplace(uid);
    if (is_new) {
        entry->second = user_name(uid);
    }
    return entry->second;
}

void UserNames::add_to(bus::Dict& owner)
{
    if (const auto& name = name_of(small_number_of(owner, "uid")); !name.empty()) {
        owner.set("user", name);
    }
}

Result<ManagerView> fetch_manager(bus::Client& client)
{
    auto properties = client.properties(kManagerPath, kManagerInterface);
    if (!properties) {
        return fail(std::move(properties).error());
    }
    auto levels = call_manager<std::vector<bus::Dict>>(client, "ListLevels", {});
    if (!levels) {
        return fail(std::move(levels).error());
    }
    ManagerView manager = to_manager(*properties);
    manager.levels = std::move(*levels);
    return manager;
}

Result<World> fetch_world(bus::Client& client)
{
    auto manager = fetch_manager(client);
    if (!manager) {
        return fail(std::move(manager).error());
    }
    auto objects = client.managed_objects();
    if (!objects) {
        return fail(std::move(objects).error());
    }
    World world = to_world(std::move(*manager), *objects);
    world.at = std::chrono::system_clock::now();
    world.host_counts = fetch_host_counts(client);
    count_outside(world, world.host_counts);
    std::vector<std::string> paths;
    for (const auto& session : world.sessions) {
        paths.push_back(fmt::format("{}/{}", bus::names::kSessions, session.id));
    }
    auto lists = client.call_each(paths, kSessionInterface, "ListQueuePairs");
    UserNames names;
    for (std::size_t index = 0; index < world.sessions.size(); ++index) {
        auto& session = world.sessions[index];
        auto& listed = lists[index];
        if (listed && listed->size() == 1 && listed->front().as<std::vector<bus::Dict>>() != nullptr) {
            session.queue_pairs = *listed->front().as<std::vector<bus::Dict>>();
        } else if (!listed && listed.error().code != ErrorCode::UnknownSession) {    // it may have ended meanwhile
            return fail(std::move(listed).error());
        }
        names.add_to(session.owner);
    }
    return world;
}

Result<World> fetch_devices(bus::Client& client)
{
    auto manager = fetch_manager(client);
    if (!manager) {
        return fail(std::move(manager).error());
    }
    auto objects = client.managed_objects(bus::names::kDevices);
    if (!objects) {
        objects = client.managed_objects();    // of an older daemon
    }
    if (!objects) {
        return fail(std::move(objects).error());
    }
    World world = to_world(std::move(*manager), *objects);
    world.sessions.clear();
    world.at = std::chrono::system_clock::now();
    return world;
}

Result<World> fetch_summary(bus::Client& client)
{
    constexpr std::uint64_t kFewSessions = 1024;
    constexpr std::uint64_t kFewQueuePairs = 16'384;
    auto world = fetch_devices(client);
    if (!world) {
        return world;
    }
    std::uint64_t sessions = 0;
    for (const auto& [name, count] : world->manager.statistics) {
        sessions = name == "sessions-now" ? count : sessions;
    }
    std::uint64_t queue_pairs = 0;
    for (const auto& device : world->devices) {
        queue_pairs += device.queue_pairs_inside + device.queue_pairs_outside;
    }
    if (sessions <= kFewSessions && queue_pairs <= kFewQueuePairs) {
        return fetch_world(client);
    }
    auto counts = call_manager<std::vector<bus::Dict>>(client, "CountSessions", {});
    if (!counts) {
        return fail(std::move(counts).error());
    }
    world->session_counts = std::move(*counts);
    return world;
}

std::uint64_t session_count(const World& world)
{
    std::uint64_t sessions = world.sessions.size();
    for (const auto& count : world.session_counts) {
        sessions += count.contains("uid") ? number_of(count, "sessions") : 0;
    }
    return sessions;
}

Tree to_tree(const DeviceView& device)
{
    Tree tree;
    for (const auto& element : device.tree) {
        tree[ElementPath(element.path)] = Element{
            element.kind, ElementPath(element.parent), {element.share.value_or(0), element.max_rate}};
    }
    return tree;
}

namespace {

// Each queue pair in a leaf: its process, its leaf, and its own rate. Those of which only the number is known are taken
// to be of a process that is known in the leaf, else of process 0.
template <typename Take>
void for_each_sender(const World& world, const DeviceView& device, Take&& take)
{
    const std::string key = device.key();
    struct Known {
        std::uint64_t process = 0;
        std::size_t queue_pairs = 0;
    };
    std::map<ElementPath, Known> known;
    for (const auto& session : world.sessions) {
        for (const auto& queue_pair : session.queue_pairs) {
            const ElementPath leaf(text_of(queue_pair, "leaf"));
            if (!leaf.empty() && text_of(queue_pair, "device") == key) {
                Known& here = known[leaf];
                here.process = number_of(session.owner, "pid");
                ++here.queue_pairs;
                take(here.process, leaf, rate_of(queue_pair, "rate"));
            }
        }
    }
    for (const auto& element : device.tree) {
        const ElementPath leaf(element.path);
        const Known here = known[leaf];
        for (std::size_t i = here.queue_pairs; i < element.queue_pairs; ++i) {
            take(here.process, leaf, std::nullopt);
        }
    }
}

}    // namespace

Senders senders_on(const World& world, const DeviceView& device)
{
    Senders senders;
    for_each_sender(world, device, [&](std::uint64_t, const ElementPath& leaf, std::optional<Bandwidth> rate) {
        senders.add(leaf, rate);
    });
    return senders;
}

ProcessSenders senders_by_process(const World& world, const DeviceView& device)
{
    ProcessSenders senders;
    for_each_sender(world, device, [&](std::uint64_t process, const ElementPath& leaf, std::optional<Bandwidth> rate) {
        senders[process].add(leaf, rate);
    });
    return senders;
}

Result<const DeviceView*> find_device(const World& world, const std::string& name)
{
    std::vector<std::string> known;
    const DeviceView* found = nullptr;
    for (const auto& device : world.devices) {
        if (device.key() == name || (!device.netdev.empty() && device.netdev == name) ||
            (!device.pci_address.empty() && device.pci_address == name)) {
            return &device;
        }
        if (device.name == name && found == nullptr) {
            found = &device;    // its first port
        }
        known.push_back(printable(device.key()));
    }
    if (found != nullptr) {
        return found;
    }
    for (const auto& refused : world.manager.refused_devices) {
        const std::string& key = refused.device;
        if (key == name || key.substr(0, key.find('/')) == name || refused.netdev == name ||
            refused.pci_address == name) {
            return fail(ErrorCode::UnknownDevice,
                        fmt::format("{} is not managed: {}", printable(key), printable(refused.reason)));
        }
    }
    return fail(ErrorCode::UnknownDevice,
                known.empty()
                    ? fmt::format("there is no device {}: the daemon has none", printable(name))
                    : fmt::format("there is no device {}; there are: {}", printable(name), fmt::join(known, ", ")));
}

}    // namespace rdmaqos::ctl
