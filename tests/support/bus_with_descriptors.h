// Programs on a message bus that take descriptors, which neither the daemon nor its commands do there.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "lib/base/file.h"
#include "lib/bus/message.h"
#include "lib/bus/names.h"

namespace rdmaqos::test {

class BusWithDescriptors {
public:
    explicit BusWithDescriptors(const std::string& address)
    {
        sd_bus* raw = nullptr;
        if (sd_bus_new(&raw) < 0) {
            throw std::runtime_error("sd_bus_new");
        }
        bus_.reset(raw);
        if (sd_bus_set_address(raw, address.c_str()) < 0 || sd_bus_set_bus_client(raw, 1) < 0 ||
            sd_bus_negotiate_fds(raw, 1) < 0 || sd_bus_start(raw) < 0) {
            throw std::runtime_error("no connection to the bus");
        }
    }

    [[nodiscard]] sd_bus* get() const { return bus_.get(); }

    [[nodiscard]] std::string name() const
    {
        const char* name = nullptr;
        return sd_bus_get_unique_name(get(), &name) < 0 ? "" : name;
    }

    // Of everybody on it.
    [[nodiscard]] std::vector<std::string> unique_names() const
    {
        sd_bus_message* reply = nullptr;
        if (sd_bus_call_method(get(), bus::names::kBus, bus::names::kBusPath, bus::names::kBus, "ListNames", nullptr,
                               &reply, nullptr) < 0) {
            throw std::runtime_error("ListNames");
        }
        const auto message = bus::MessageRef::adopt(reply);
        std::vector<std::string> names;
        const char* name = nullptr;
        sd_bus_message_enter_container(reply, 'a', "s");
        while (sd_bus_message_read_basic(reply, 's', &name) > 0) {
            if (*name == ':') {
                names.emplace_back(name);
            }
        }
        return names;
    }

    // Of a process; "": it is not on it.
    [[nodiscard]] std::string name_of(pid_t process) const
    {
        for (const auto& name : unique_names()) {
            sd_bus_message* reply = nullptr;
            sd_bus_call_method(get(), bus::names::kBus, bus::names::kBusPath, bus::names::kBus,
                               "GetConnectionUnixProcessID", nullptr, &reply, "s", name.c_str());
            const auto message = bus::MessageRef::adopt(reply);
            std::uint32_t number = 0;
            if (reply != nullptr && sd_bus_message_read_basic(reply, 'u', &number) > 0 &&
                static_cast<pid_t>(number) == process) {
                return name;
            }
        }
        return "";
    }

    // Unasked, with a descriptor, which this process does not keep.
    void send_signal(const std::string& to, UniqueFd fd) const
    {
        sd_bus_message* raw = nullptr;
        sd_bus_message_new_signal(get(), &raw, "/test", "org.rdmaqos1.Test", "Unasked");
        const auto message = bus::MessageRef::adopt(raw);
        if (sd_bus_message_set_destination(raw, to.c_str()) < 0 || sd_bus_message_append(raw, "h", fd.get()) < 0 ||
            sd_bus_send(get(), raw, nullptr) < 0 || sd_bus_flush(get()) < 0) {
            throw std::runtime_error("a signal cannot be sent");
        }
    }

private:
    bus::BusPtr bus_;
};

// Whether a bus tells who takes descriptors the pidfd of a sender: dbus 1.16 on Linux 6.5.
[[nodiscard]] inline bool gives_pidfds(const std::string& address)
{
    const BusWithDescriptors bus(address);
    sd_bus_message* reply = nullptr;
    if (sd_bus_call_method(bus.get(), bus::names::kBus, bus::names::kBusPath, bus::names::kBus,
                           "GetConnectionCredentials", nullptr, &reply, "s", bus.name().c_str()) < 0) {
        throw std::runtime_error("GetConnectionCredentials");
    }
    const auto message = bus::MessageRef::adopt(reply);
    bool gives = false;
    sd_bus_message_enter_container(reply, 'a', "{sv}");
    while (sd_bus_message_enter_container(reply, 'e', "sv") > 0) {
        const char* key = nullptr;
        sd_bus_message_read_basic(reply, 's', &key);
        gives = gives || std::string_view(key) == "ProcessFD";
        sd_bus_message_skip(reply, "v");
        sd_bus_message_exit_container(reply);
    }
    return gives;
}

}    // namespace rdmaqos::test
