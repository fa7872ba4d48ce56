#include "daemon/bus/objects.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "daemon/bus/device_object.h"
#include "daemon/bus/manager_object.h"
#include "daemon/bus/object_paths.h"
#include "daemon/bus/session_object.h"
#include "lib/bus/names.h"

namespace rdmaqos {
namespace {

namespace names = bus::names;

int find_device(sd_bus* /*bus*/, const char* path, const char* /*interface*/, void* userdata, void** found,
                sd_bus_error* /*error*/) noexcept
{
    try {
        const auto key = device_of_path(path);
        if (!key || !static_cast<BusEndpoint*>(userdata)->context.device_keys.contains(*key)) {
            return 0;
        }
        *found = userdata;
        return 1;
    } catch (const std::exception&) {
        return -ENOMEM;
    }
}

int find_session(sd_bus* bus, const char* path, const char* /*interface*/, void* userdata, void** found,
                 sd_bus_error* error) noexcept
{
    const auto id = session_of_path(path);
    if (!id) {
        return 0;
    }
    if (static_cast<BusEndpoint*>(userdata)->context.session_ids.contains(static_cast<std::uint64_t>(*id))) {
        *found = userdata;
        return 1;
    }
    if (sd_bus_get_current_message(bus) == nullptr) {
        return 0;
    }
    count_refusal(*static_cast<BusEndpoint*>(userdata), ErrorCode::UnknownSession);
    return sd_bus_error_setf(error, "org.rdmaqos1.Error.UnknownSession",
                             "there is no session %s; it ended, or its connection or process did", path);
}

// What sd_bus_node_enumerator_t wants: an array of malloced strings with a null behind them.
template <typename Range, typename ToPath>
int list_nodes(const Range& range, const ToPath& to_path, char*** nodes) noexcept
{
    auto** list = static_cast<char**>(std::calloc(range.size() + 1, sizeof(char*)));    // NOLINT(*-no-malloc)
    if (list == nullptr) {
        return -ENOMEM;
    }
    std::size_t count = 0;
    try {
        for (const auto& item : range) {
            list[count] = strdup(to_path(item).c_str());
            if (list[count++] == nullptr) {
                throw std::bad_alloc();
            }
        }
    } catch (const std::exception&) {
        std::for_each(list, list + count, [](char* path) { std::free(path); });    // NOLINT(*-no-malloc)
        std::free(list);                                                           // NOLINT(*-no-malloc)
        return -ENOMEM;
    }
    *nodes = list;
    return 0;
}

int list_devices(sd_bus* /*bus*/, const char* /*prefix*/, void* userdata, char*** nodes,
                 sd_bus_error* /*error*/) noexcept
{
    return list_nodes(static_cast<BusEndpoint*>(userdata)->context.device_keys, device_path, nodes);
}

int list_sessions(sd_bus* /*bus*/, const char* /*prefix*/, void* userdata, char*** nodes,
                  sd_bus_error* /*error*/) noexcept
{
    return list_nodes(
        static_cast<BusEndpoint*>(userdata)->context.session_ids,
        [](std::uint64_t id) { return session_path(SessionId{id}); }, nodes);
}

}    // namespace

Result<void> install_objects(BusEndpoint& endpoint)
{
    // Without slots: the objects live and die with the connection.
    sd_bus* bus = endpoint.connection->bus();
    if (auto admission = install_admission(endpoint); !admission) {
        return admission;
    }
    int result = sd_bus_add_object_vtable(bus, nullptr, names::kRoot, names::kManager, manager_vtable(), &endpoint);
    if (result >= 0) {
        result = sd_bus_add_fallback_vtable(bus, nullptr, names::kDevices, names::kDevice, device_vtable(),
                                            &find_device, &endpoint);
    }
    if (result >= 0) {
        result = sd_bus_add_fallback_vtable(bus, nullptr, names::kSessions, names::kSession, session_vtable(),
                                            &find_session, &endpoint);
    }
    if (result >= 0) {
        result = sd_bus_add_node_enumerator(bus, nullptr, names::kDevices, &list_devices, &endpoint);
    }
    if (result >= 0) {
        result = sd_bus_add_node_enumerator(bus, nullptr, names::kSessions, &list_sessions, &endpoint);
    }
    if (result >= 0) {
        result = sd_bus_add_object_manager(bus, nullptr, names::kRoot);
    }
    if (result < 0) {
        return fail(error_from_errno(ErrorCode::Internal, -result, "the D-Bus objects cannot be registered"));
    }
    return {};
}

}    // namespace rdmaqos
