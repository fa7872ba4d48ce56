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
#include "lib/base/try.h"
#include "lib/bus/names.h"
#include "tools/rdma-qosctl/world/host.h"
#include "tools/rdma-qosctl/world/level_classes.h"
#include "tools/rdma-qosctl/world/reports.h"

// Properties of the daemon's objects as records.
namespace rdmaqos::api {

std::optional<ctl::ReloadView> Wire<ctl::ReloadView>::from(const bus::Dict& dict)
{
    return ctl::to_reload(read<Reload>(dict));
}

std::optional<Diagnostics> Wire<Diagnostics>::from(const Type& dicts)
{
    return ctl::to_diagnostics(read_list<std::vector<Diagnostic>>(dicts));
}

std::optional<std::vector<ctl::AttributeView>> Wire<std::vector<ctl::AttributeView>>::from(const bus::Triples& triples)
{
    std::vector<ctl::AttributeView> attributes;
    for (const auto& [name, value, meaning] : triples) {
        attributes.push_back({name, value, meaning});
    }
    return attributes;
}

}    // namespace rdmaqos::api

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

std::string pacing_text(const RateLimit& limit)
{
    const auto size = [](std::uint64_t bytes, const char* otherwise) {
        return bytes != 0 ? bytes_to_string(bytes) : std::string(otherwise);
    };
    return fmt::format("burst: {}, packet: {}", size(limit.max_burst.value_or(0), "device default"),
                       size(limit.typical_packet.value_or(0), "device default (the port's MTU)"));
}

ManagerView to_manager(const bus::Dict& properties)
{
    auto manager = api::read<ManagerView>(properties);
    if (auto& trial = manager.trial; trial && is_on(*trial)) {
        const std::string user = UserNames().name_of(trial->uid);
        trial->user = user.empty() ? fmt::format("uid {}", trial->uid) : user;
    } else {
        trial.reset();
    }
    return manager;
}

DeviceView to_device(const bus::Dict& properties)
{
    return api::read<DeviceView>(properties);
}

SessionView to_session(const std::string& path, const bus::Dict& properties)
{
    auto session = api::read<SessionView>(properties);
    session.id = parse_number(std::string_view(path).substr(path.rfind('/') + 1)).value_or(0);
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
    }
    std::sort(world.devices.begin(), world.devices.end(), [](const DeviceView& a, const DeviceView& b) {
        return std::tie(a.name, a.port) < std::tie(b.name, b.port);
    });
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

Result<ManagerView> fetch_manager(bus::Client& client)
{
    auto properties = TRY(client.properties(kManagerPath, kManagerInterface));
    auto levels = TRY(call_manager<std::vector<api::Level>>(client, "ListLevels", {}));
    ManagerView manager = to_manager(properties);
    manager.levels = std::move(levels);
    return manager;
}

namespace {

// A page of sessions, without their queue pairs.
Result<std::vector<SessionView>> fetch_page(bus::Client& client, const SessionQuery& query, std::uint64_t after,
                                            std::size_t limit)
{
    bus::Dict options;
    options.set("after", after);
    options.set("limit", static_cast<std::uint32_t>(limit));
    if (query.pid) {
        options.set("pid", *query.pid);
    }
    if (!query.level.empty()) {
        options.set("level", query.level);
    }
    const auto listed = TRY(call_manager<std::vector<bus::Dict>>(client, "ListSessions", {options}));
    std::vector<SessionView> page;
    for (const auto& properties : listed) {
        const auto* path = properties.find("Path");
        const auto* text = path == nullptr ? nullptr : path->as<bus::ObjectPath>();
        if (text == nullptr) {
            return fail(not_as_documented("ListSessions"));
        }
        page.push_back(to_session(text->text, properties));
    }
    return page;
}

Result<void> fetch_queue_pairs(bus::Client& client, std::vector<SessionView>& sessions)
{
    std::vector<std::string> paths;
    for (const auto& session : sessions) {
        paths.push_back(fmt::format("{}/{}", bus::names::kSessions, session.id));
    }
    auto lists = client.call_each(paths, kSessionInterface, "ListQueuePairs");
    for (std::size_t index = 0; index < sessions.size(); ++index) {
        auto& listed = lists[index];
        if (listed && listed->size() == 1) {
            sessions[index].queue_pairs = api::from_value<std::vector<api::QueuePair>>(listed->front())
                                              .value_or(std::vector<api::QueuePair>());
        } else if (!listed && listed.error().code != ErrorCode::UnknownSession) {    // it may have ended meanwhile
            return fail(std::move(listed).error());
        }
    }
    return {};
}

Result<void> add_sessions(bus::Client& client, World& world)
{
    world.host_counts = fetch_host_counts(client);
    count_outside(world, world.host_counts);
    world.sessions = TRY(fetch_sessions(client, {}));
    return {};
}

}    // namespace

Result<std::vector<SessionView>> fetch_sessions(bus::Client& client, const SessionQuery& query)
{
    constexpr std::size_t kPage = 1000;
    std::vector<SessionView> sessions;
    UserNames names;
    while (true) {
        const std::size_t wanted = query.most == 0 ? kPage : std::min(kPage, query.most - sessions.size());
        auto page = TRY(fetch_page(client, query, sessions.empty() ? 0 : sessions.back().id, wanted));
        if (query.with_queue_pairs) {
            TRY(fetch_queue_pairs(client, page));
        }
        for (auto& session : page) {
            session.owner.user = names.name_of(session.owner.uid);
            sessions.push_back(std::move(session));
        }
        if (page.size() < wanted || sessions.size() == query.most) {
            return sessions;
        }
    }
}

Result<World> fetch_world(bus::Client& client)
{
    auto world = TRY(fetch_devices(client));
    TRY(add_sessions(client, world));
    return world;
}

Result<World> fetch_devices(bus::Client& client)
{
    auto manager = TRY(fetch_manager(client));
    const auto objects = TRY(client.managed_objects(bus::names::kDevices));
    World world = to_world(std::move(manager), objects);
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
        TRY(add_sessions(client, *world));
        return world;
    }
    world->session_counts = TRY(call_manager<std::vector<api::SessionCount>>(client, "CountSessions", {}));
    return world;
}

std::uint64_t session_count(const World& world)
{
    std::uint64_t sessions = world.sessions.size();
    for (const auto& count : world.session_counts) {
        sessions += count.uid ? count.sessions.value_or(0) : 0;
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

std::vector<LeafSender> senders_in_leaves(const World& world, const DeviceView& device)
{
    const std::string key = device.key();
    struct Known {
        std::uint64_t process = 0;
        std::size_t queue_pairs = 0;
    };
    std::vector<LeafSender> senders;
    std::map<ElementPath, Known> known;
    for (const auto& session : world.sessions) {
        for (const auto& queue_pair : session.queue_pairs) {
            const ElementPath leaf(queue_pair.leaf);
            if (!leaf.empty() && queue_pair.device == key) {
                Known& here = known[leaf];
                here.process = session.owner.pid;
                ++here.queue_pairs;
                senders.push_back({here.process, leaf, queue_pair.level,
                                   queue_pair.rate ? std::optional(queue_pair.rate->rate) : std::nullopt,
                                   carried_dscp(world, queue_pair)});
            }
        }
    }
    for (const auto& element : device.tree) {
        const ElementPath leaf(element.path);
        const Known here = known[leaf];
        for (std::size_t i = here.queue_pairs; i < element.queue_pairs; ++i) {
            senders.push_back({here.process, leaf, "", std::nullopt, std::nullopt});
        }
    }
    return senders;
}

Senders senders_on(const World& world, const DeviceView& device)
{
    Senders senders;
    for (const auto& sender : senders_in_leaves(world, device)) {
        senders.add(sender.leaf, sender.rate);
    }
    return senders;
}

ProcessSenders senders_by_process(const World& world, const DeviceView& device)
{
    ProcessSenders senders;
    for (const auto& sender : senders_in_leaves(world, device)) {
        senders[sender.process].add(sender.leaf, sender.rate);
    }
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
