// The running daemon: connecting, and its answers as the values of views.h.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/try.h"
#include "lib/bus/client.h"
#include "lib/model/process_trees.h"
#include "lib/model/senders.h"
#include "tools/rdma-qosctl/output/context.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

inline constexpr const char* kManagerPath = "/org/rdmaqos1";
inline constexpr const char* kManagerInterface = "org.rdmaqos1.Manager";
inline constexpr const char* kDeviceInterface = "org.rdmaqos1.Device";
inline constexpr const char* kSessionInterface = "org.rdmaqos1.Session";

[[nodiscard]] Result<bus::Client> connect(const Context& context);

// What the daemon answered to this method cannot be read.
[[nodiscard]] Error not_as_documented(std::string_view method);

// A Manager method with one result: a T of D-Bus, a record or a list of records.
template <typename T>
[[nodiscard]] Result<T> call_manager(bus::Client& client, const std::string& method,
                                     const std::vector<bus::Value>& arguments, std::chrono::milliseconds timeout = {})
{
    const auto reply = TRY(client.call(kManagerPath, kManagerInterface, method, arguments, timeout));
    auto result = reply.size() == 1 ? api::from_value<T>(reply.front()) : std::nullopt;
    return result ? Result<T>(std::move(*result)) : fail(not_as_documented(method));
}

// A text as a file that the daemon may read, also when it came from a pipe.
[[nodiscard]] Result<bus::FileDescriptor> as_file(const std::string& text);

// "burst: 64 KiB, packet: device default"
[[nodiscard]] std::string pacing_text(const RateLimit& limit);

// Properties that are missing or of another type stay as they are: an older or newer daemon is no error. Without the
// levels, which are no property.
[[nodiscard]] ManagerView to_manager(const bus::Dict& properties);
[[nodiscard]] DeviceView to_device(const bus::Dict& properties);
[[nodiscard]] SessionView to_session(const std::string& path, const bus::Dict& properties);
// Of devices alone.
[[nodiscard]] World to_world(ManagerView manager, const bus::ManagedObjects& objects);

// Names of users on this host, each looked up once.
class UserNames {
public:
    // Empty: it has none.
    [[nodiscard]] const std::string& name_of(std::uint32_t uid);

private:
    std::map<std::uint32_t, std::string> names_;
};

// Which sessions are asked for.
struct SessionQuery {
    std::optional<std::uint32_t> pid;
    std::string level;       // empty: any
    std::size_t most = 0;    // 0: all
    bool with_queue_pairs = true;
};
// In the order in which they began.
[[nodiscard]] Result<std::vector<SessionView>> fetch_sessions(bus::Client& client, const SessionQuery& query);

[[nodiscard]] Result<ManagerView> fetch_manager(bus::Client& client);
[[nodiscard]] Result<World> fetch_world(bus::Client& client);
// Without sessions: how long that takes does not depend on how many others have.
[[nodiscard]] Result<World> fetch_devices(bus::Client& client);
// With sessions, if there are few; else with `session_counts`.
[[nodiscard]] Result<World> fetch_summary(bus::Client& client);
[[nodiscard]] std::uint64_t session_count(const World& world);

// The scheduling tree it has, draining elements included.
[[nodiscard]] Tree to_tree(const DeviceView& device);
// A queue pair in a leaf. Those of which only the number is known count as unpaced and without a level, and as those of
// a process that is known in the leaf, else of process 0.
struct LeafSender {
    std::uint64_t process = 0;
    ElementPath leaf;
    std::string level;    // empty: not known
    std::optional<Bandwidth> rate{};
    std::optional<std::uint8_t> dscp{};    // that its packets carry; empty: not known
};
[[nodiscard]] std::vector<LeafSender> senders_in_leaves(const World& world, const DeviceView& device);
// The queue pairs in its leaves with the rates at which they are paced.
[[nodiscard]] Senders senders_on(const World& world, const DeviceView& device);
// The same by the process that has them.
[[nodiscard]] ProcessSenders senders_by_process(const World& world, const DeviceView& device);

// By "name", "name/port", netdev or PCI address. UnknownDevice names those there are.
[[nodiscard]] Result<const DeviceView*> find_device(const World& world, const std::string& name);

}    // namespace rdmaqos::ctl
