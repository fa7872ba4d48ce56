#include "daemon/handover/restart_job.h"

#include <cstdint>
#include <memory>
#include <string>

#include <systemd/sd-bus.h>
#include <unistd.h>

namespace rdmaqos {
namespace {

constexpr const char* kSystemd = "org.freedesktop.systemd1";
constexpr std::uint64_t kTimeToTell = 1'000'000;    // µs

struct CloseBus {
    void operator()(sd_bus* bus) const noexcept { sd_bus_flush_close_unref(bus); }
};
using Bus = std::unique_ptr<sd_bus, CloseBus>;

struct UnrefMessage {
    void operator()(sd_bus_message* message) const noexcept { sd_bus_message_unref(message); }
};
using Message = std::unique_ptr<sd_bus_message, UnrefMessage>;

Bus connect()
{
    sd_bus* bus = nullptr;
    if (sd_bus_open_system(&bus) < 0) {
        return nullptr;
    }
    Bus owned(bus);
    (void)sd_bus_set_method_call_timeout(bus, kTimeToTell);
    return owned;
}

Message get(sd_bus& bus, const std::string& path, const char* interface, const char* property, const char* type)
{
    sd_bus_message* reply = nullptr;
    (void)sd_bus_get_property(&bus, kSystemd, path.c_str(), interface, property, nullptr, &reply, type);
    return Message(reply);
}

std::string unit_path(sd_bus& bus)
{
    sd_bus_message* reply = nullptr;
    (void)sd_bus_call_method(&bus, kSystemd, "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager",
                             "GetUnitByPID", nullptr, &reply, "u", static_cast<std::uint32_t>(getpid()));
    const Message owned(reply);
    const char* path = nullptr;
    return owned && sd_bus_message_read(reply, "o", &path) > 0 ? path : std::string();
}

// Empty: there is none.
std::string job_type(sd_bus& bus, const std::string& unit)
{
    const Message job = get(bus, unit, "org.freedesktop.systemd1.Unit", "Job", "(uo)");
    std::uint32_t id = 0;
    const char* path = nullptr;
    if (!job || sd_bus_message_read(job.get(), "(uo)", &id, &path) <= 0 || id == 0) {
        return {};
    }
    const Message type = get(bus, path, "org.freedesktop.systemd1.Job", "JobType", "s");
    const char* text = nullptr;
    return type && sd_bus_message_read(type.get(), "s", &text) > 0 ? text : std::string();
}

bool keeps_descriptors(sd_bus& bus, const std::string& unit)
{
    const Message count = get(bus, unit, "org.freedesktop.systemd1.Service", "NFileDescriptorStore", "u");
    std::uint32_t kept = 0;
    return count && sd_bus_message_read(count.get(), "u", &kept) > 0 && kept > 0;
}

}    // namespace

bool is_restart_asked_for()
{
    const Bus bus = connect();
    if (!bus) {
        return false;
    }
    const std::string unit = unit_path(*bus);
    if (unit.empty()) {
        return false;
    }
    const std::string type = job_type(*bus, unit);
    return (type == "restart" || type == "try-restart") && keeps_descriptors(*bus, unit);
}

}    // namespace rdmaqos
