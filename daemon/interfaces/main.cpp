// interfaces DIRECTORY: writes the D-Bus interfaces of the daemon as introspection returns them, for tools that
// read interfaces from files. It runs while the project is built, and is not installed.
#include <array>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <sys/socket.h>

#include "daemon/bus/device_object.h"
#include "daemon/bus/manager_object.h"
#include "daemon/bus/session_object.h"
#include "lib/base/file.h"
#include "lib/bus/connection.h"
#include "lib/bus/names.h"

namespace rdmaqos {
namespace {

constexpr const char* kHead = "<!DOCTYPE node PUBLIC \"-//freedesktop//DTD D-BUS Object Introspection 1.0//EN\"\n"
                              "\"http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd\">\n";
constexpr const char* kObject = "/object";
// Far more than authentication and one call take.
constexpr int kRounds = 1000;

int checked(int result)
{
    if (result < 0) {
        throw std::runtime_error(to_string(error_from_errno(ErrorCode::Internal, -result, "sd-bus")));
    }
    return result;
}

bus::BusPtr open_client(UniqueFd socket)
{
    sd_bus* raw = nullptr;
    checked(sd_bus_new(&raw));
    bus::BusPtr client(raw);
    checked(sd_bus_set_fd(raw, socket.get(), socket.get()));
    [[maybe_unused]] const int owned = socket.release();
    checked(sd_bus_start(raw));
    return client;
}

int take_answer(sd_bus_message* answer, void* text, sd_bus_error* /*error*/)
{
    const char* xml = nullptr;
    if (sd_bus_message_read(answer, "s", &xml) > 0) {
        static_cast<std::string*>(text)->assign(xml);
    }
    return 1;
}

// What sd-bus itself says of an object with this table, all of it.
std::string introspected(const std::string& name, const sd_bus_vtable* table)
{
    std::array<int, 2> sockets{};
    checked(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) == 0 ? 0 : -errno);
    UniqueFd other_end(sockets[1]);
    auto server = bus::open_server_bus(UniqueFd(sockets[0]));
    if (!server) {
        throw std::runtime_error(to_string(server.error()));
    }
    const bus::BusPtr client = open_client(std::move(other_end));
    checked(sd_bus_add_object_vtable(server->get(), nullptr, kObject, name.c_str(), table, nullptr));
    std::string text;
    checked(sd_bus_call_method_async(client.get(), nullptr, nullptr, kObject, "org.freedesktop.DBus.Introspectable",
                                     "Introspect", &take_answer, &text, ""));
    for (int i = 0; i < kRounds && text.empty(); ++i) {
        checked(sd_bus_process(server->get(), nullptr));
        checked(sd_bus_process(client.get(), nullptr));
    }
    return text;
}

// A document with the interface alone. The head is as in the specification of D-Bus; that of sd-bus depends on its
// version.
std::string interface_of(const std::string& name, const sd_bus_vtable* table)
{
    static const std::string kEnd = " </interface>\n";
    const std::string all = introspected(name, table);
    const auto begin = all.find(" <interface name=\"" + name + "\">");
    const auto end = all.find(kEnd, begin);
    if (begin == std::string::npos || end == std::string::npos) {
        throw std::runtime_error("sd-bus does not describe " + name);
    }
    return fmt::format("{}<node>\n{}</node>\n", kHead, all.substr(begin, end + kEnd.size() - begin));
}

void write_interface(const std::filesystem::path& directory, const std::string& name, const sd_bus_vtable* table)
{
    std::filesystem::create_directories(directory);
    if (const auto written = write_file_atomically(directory / (name + ".xml"), interface_of(name, table)); !written) {
        throw std::runtime_error(to_string(written.error()));
    }
}

}    // namespace
}    // namespace rdmaqos

int main(int argc, char** argv)
{
    using namespace rdmaqos;
    namespace names = bus::names;
    if (argc != 2) {
        std::fputs("usage: interfaces DIRECTORY\n", stderr);
        return 2;
    }
    try {
        write_interface(argv[1], names::kManager, manager_vtable());
        write_interface(argv[1], names::kDevice, device_vtable());
        write_interface(argv[1], names::kSession, session_vtable());
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "interfaces: {}\n", error.what());
        return 1;
    }
}
