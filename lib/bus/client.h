// A blocking D-Bus client for tools: one connection to rdma-qosd over either transport.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/bus/names.h"
#include "lib/bus/value.h"

namespace rdmaqos::bus {

// object path -> interface -> properties
using ManagedObjects = std::map<std::string, std::map<std::string, Dict>>;

struct Signal {
    std::string path;
    std::string interface;
    std::string member;
    std::vector<Value> arguments;
};

class Client {
public:
    // The direct socket below `root` if it is there and lets us in, else the system bus (only for the host itself).
    // Error NoDaemon says where it looked and how to start the daemon; no call starts it by bus activation.
    [[nodiscard]] static Result<Client> connect(const std::filesystem::path& root);
    [[nodiscard]] static Result<Client> connect_direct(const std::filesystem::path& socket);
    [[nodiscard]] static Result<Client> connect_system_bus();

    Client(Client&&) noexcept;
    Client& operator=(Client&&) noexcept;
    ~Client();

    // From now on polkit may ask the user for a password before a call is answered.
    void allow_interaction();

    // Calls a method; arguments and results by their D-Bus types. An error reply becomes an Error with the code of its
    // name; a lost connection is NoDaemon. Without a `timeout` it may take as long as sd-bus says: 25 s, or what
    // SYSTEMD_BUS_TIMEOUT is.
    [[nodiscard]] Result<std::vector<Value>> call(const std::string& path, const std::string& interface,
                                                  const std::string& method, const std::vector<Value>& arguments,
                                                  std::chrono::milliseconds timeout = {});
    // Calls a method without arguments on each object, many at a time; the answers are in the order of the paths.
    [[nodiscard]] std::vector<Result<std::vector<Value>>> call_each(const std::vector<std::string>& paths,
                                                                    const std::string& interface,
                                                                    const std::string& method,
                                                                    std::chrono::milliseconds timeout = {});
    [[nodiscard]] Result<Dict> properties(const std::string& path, const std::string& interface);
    // Of kRoot, or kDevices for the devices alone.
    [[nodiscard]] Result<ManagedObjects> managed_objects(const char* of = names::kRoot);

    // Subscribes, then calls `on_signal` until it returns false or the connection ends.
    [[nodiscard]] Result<void> monitor(const std::function<bool(const Signal&)>& on_signal);

    // Sends what is queued and serves the connection until `fd` becomes readable or the daemon goes away (NoDaemon);
    // for `request`, which holds a session while a child runs.
    [[nodiscard]] Result<void> wait_for(int fd);

private:
    struct State;
    explicit Client(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}    // namespace rdmaqos::bus
