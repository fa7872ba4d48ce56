// The client of bus_client.py with sdbus-c++, versions 1 and 2 (SDBUS_MAJOR):
//
//     sdbus_client TRANSPORT read
//     sdbus_client TRANSPORT hold LEVEL DESCRIPTOR NUMBER HANDLE NUMBER HANDLE
//     sdbus_client TRANSPORT watch
//     sdbus_client TRANSPORT check FILE
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include <fcntl.h>
#include <sdbus-c++/sdbus-c++.h>
#include <unistd.h>

namespace {

#if SDBUS_MAJOR >= 2
using ServiceName = sdbus::ServiceName;
using PropertyName = sdbus::PropertyName;
using InterfaceName = sdbus::InterfaceName;
#else
using ServiceName = std::string;
using PropertyName = std::string;
using InterfaceName = std::string;
#endif

constexpr const char* kName = "org.rdmaqos1";
constexpr const char* kRoot = "/org/rdmaqos1";
constexpr const char* kManager = "org.rdmaqos1.Manager";
constexpr const char* kProperties = "org.freedesktop.DBus.Properties";

using Dict = std::map<std::string, sdbus::Variant>;
using Dicts = std::vector<Dict>;
using Managed = std::map<sdbus::ObjectPath, std::map<std::string, Dict>>;
using Row = sdbus::Struct<std::string, std::string, std::string>;

// ---- JSON ----

void put(const sdbus::Variant& value);

void put(const std::string& text)
{
    std::cout << '"';
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            std::cout << '\\' << c;
        } else if (c == '\n') {
            std::cout << "\\n";
        } else {
            std::cout << c;
        }
    }
    std::cout << '"';
}

void put(bool value)
{
    std::cout << (value ? "true" : "false");
}

template <typename T>
std::enable_if_t<std::is_integral_v<T>> put(T value)
{
    std::cout << +value;
}

template <typename T>
void put(const std::vector<T>& values);

template <typename Key, typename T>
void put(const std::map<Key, T>& values)
{
    const char* between = "";
    std::cout << '{';
    for (const auto& [key, value] : values) {
        std::cout << between;
        put(std::string(key));
        std::cout << ": ";
        put(value);
        between = ", ";
    }
    std::cout << '}';
}

void put(const Row& row)
{
    put(std::vector<std::string>{std::get<0>(row), std::get<1>(row), std::get<2>(row)});
}

template <typename T>
void put(const std::vector<T>& values)
{
    const char* between = "";
    std::cout << '[';
    for (const auto& value : values) {
        std::cout << between;
        put(value);
        between = ", ";
    }
    std::cout << ']';
}

template <typename T>
bool put_as(const sdbus::Variant& value)
{
    if (!value.containsValueOfType<T>()) {
        return false;
    }
    put(value.get<T>());
    return true;
}

template <typename... Types>
void put_one_of(const sdbus::Variant& value)
{
    if (!(put_as<Types>(value) || ...)) {
        std::cerr << "a value of another type than docs/dbus.md has\n";
        std::exit(1);
    }
}

void put(const sdbus::Variant& value)
{
    put_one_of<bool, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, std::string, std::vector<std::string>,
               Dict, Dicts, std::map<std::string, std::uint64_t>, std::vector<Row>>(value);
}

// ---- the daemon ----

std::unique_ptr<sdbus::IConnection> connect(const std::string& transport)
{
    const std::string address = "unix:path=/run/rdma-qos/bus";
    if (transport == "system") {
        return sdbus::createSystemBusConnection();
    }
    if (transport == "socket-hello") {
        return sdbus::createSessionBusConnectionWithAddress(address);
    }
#if SDBUS_MAJOR >= 2
    return sdbus::createDirectBusConnection(address);
#else
    std::cout << "begins with Hello on every connection, before version 2\n";
    std::exit(3);
#endif
}

std::unique_ptr<sdbus::IProxy> object(sdbus::IConnection& connection, const std::string& path)
{
    return sdbus::createProxy(connection, ServiceName(kName), sdbus::ObjectPath(path));
}

Managed managed_objects(sdbus::IConnection& connection)
{
    Managed found;
    object(connection, kRoot)
        ->callMethod("GetManagedObjects")
        .onInterface("org.freedesktop.DBus.ObjectManager")
        .storeResultsTo(found);
    return found;
}

void read(sdbus::IConnection& connection)
{
    std::map<std::string, Dict> one_by_one;
    std::map<std::string, Dict> at_once;
    std::map<std::string, Dict> managed;
    const auto take = [&](const std::string& path, const std::string& interface) {
        const std::string key = path + " " + interface;
        const auto proxy = object(connection, path);
        proxy->callMethod("GetAll").onInterface(kProperties).withArguments(interface).storeResultsTo(at_once[key]);
        for (const auto& [name, value] : at_once[key]) {
            one_by_one[key][name] = proxy->getProperty(PropertyName(name)).onInterface(InterfaceName(interface));
        }
    };
    take(kRoot, kManager);
    for (const auto& [path, interfaces] : managed_objects(connection)) {
        for (const auto& [interface, values] : interfaces) {
            if (interface.rfind(kName, 0) == 0) {
                take(path, interface);
                managed[path + " " + interface] = values;
            }
        }
    }
    put(std::map<std::string, std::map<std::string, Dict>>{
        {"Get", one_by_one}, {"GetAll", at_once}, {"GetManagedObjects", managed}});
    std::cout << std::endl;
}

Dict queue_pair(char** words, int descriptor)
{
    return {{"device", sdbus::Variant(std::string("mlx5_0"))},
            {"number", sdbus::Variant(static_cast<std::uint32_t>(std::atoll(words[0])))},
            {"handle", sdbus::Variant(static_cast<std::uint32_t>(std::atoll(words[1])))},
            {"type", sdbus::Variant(std::string("rc"))},
            {"uverbs", sdbus::Variant(sdbus::UnixFd(descriptor))}};
}

void hold(sdbus::IConnection& connection, char** words)
{
    const int descriptor = std::atoi(words[1]);
    const Dict request{{"level", sdbus::Variant(std::string(words[0]))},
                       {"queue-pairs", sdbus::Variant(Dicts{queue_pair(words + 2, descriptor)})}};
    sdbus::ObjectPath session;
    Dict grant;
    Dicts attached;
    object(connection, kRoot)
        ->callMethod("Register")
        .onInterface(kManager)
        .withArguments(request)
        .storeResultsTo(session, grant);
    object(connection, session)
        ->callMethod("Attach")
        .onInterface("org.rdmaqos1.Session")
        .withArguments(Dicts{queue_pair(words + 4, descriptor)})
        .storeResultsTo(attached);
    std::cout << "{\"grant\": ";
    put(grant);
    std::cout << ", \"attached\": ";
    put(attached);
    std::cout << '}' << std::endl;
    pause();
}

void watch(sdbus::IConnection& connection)
{
    std::vector<std::unique_ptr<sdbus::IProxy>> proxies;
    const auto follow = [&](const std::string& path) {
        auto proxy = object(connection, path);
        proxy->uponSignal("PropertiesChanged")
            .onInterface(kProperties)
            .call([path](const std::string& interface, const Dict& changed, const std::vector<std::string>& gone) {
                std::cout << path << " PropertiesChanged ";
                put(interface);
                put(changed);
                put(gone);
                std::cout << std::endl;
            });
        if (path == kRoot) {
            proxy->uponSignal("PolicyChanged").onInterface(kManager).call([path](const std::string& revision) {
                std::cout << path << " PolicyChanged " << revision << std::endl;
            });
        }
#if SDBUS_MAJOR < 2
        proxy->finishRegistration();
#endif
        proxies.push_back(std::move(proxy));
    };
    follow(kRoot);
    for (const auto& entry : managed_objects(connection)) {
        follow(entry.first);
    }
    proxies.front()->callMethod("Subscribe").onInterface(kManager);
    std::cout << "watching" << std::endl;
    connection.enterEventLoop();
}

void check(sdbus::IConnection& connection, const char* file)
{
    Dict report;
    object(connection, kRoot)
        ->callMethod("Check")
        .onInterface(kManager)
        .withArguments(sdbus::UnixFd(open(file, O_RDONLY | O_CLOEXEC), sdbus::adopt_fd))
        .storeResultsTo(report);
    put(report);
    std::cout << std::endl;
}

}    // namespace

int main(int argc, char** argv)
{
    try {
        const auto connection = connect(argv[1]);
        const std::string action = argv[2];
        if (action == "read") {
            read(*connection);
        } else if (action == "hold" && argc == 9) {
            hold(*connection, argv + 3);
        } else if (action == "watch") {
            watch(*connection);
        } else if (action == "check" && argc == 4) {
            check(*connection, argv[3]);
        }
        return 0;
    } catch (const sdbus::Error& error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
