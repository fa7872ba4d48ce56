// A program below rdma-qos-run, and what it said of its queue pairs.
#pragma once

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/daemon_fixture.h"
#include "tests/support/emulated.h"

namespace rdmaqos::test {

// Levels that can be told apart by their place in the device, and by their marks.
constexpr const char* kLevelsByDestination = R"(version: 1
port-groups:
  - {name: targets, gid: ["fd00:99::1"]}
qos-levels:
  - {name: DEFAULT, schedule: {share: 10}}
  - {name: rpc, sl: 3, dscp: 26, schedule: {share: 60, max-rate: 40Gbps}}
  - {name: storage, sl: 5, traffic-class: 0x21, schedule: {share: 7, max-rate: 25Gbps}}
  - {name: own, sl: 6, sl-source: host, schedule: {share: 8}}
  - {name: private, allow: {unit: [no-such.service]}}
qos-match-rules:
  - {destination: [targets], qos-level-name: storage}
  - {qos-class: [96], qos-level-name: rpc}
  - {ulp-port: {space: tcp, port: [4420]}, qos-level-name: storage}
)";
constexpr const char* kInDefault = "rate 0 share 10 < root";
constexpr const char* kInRpc = "rate 40000 share 60 < root";
constexpr const char* kInStorage = "rate 25000 share 7 < root";
constexpr const char* kInOwn = "rate 0 share 8 < root";

constexpr const char* kElsewhere = "fd00:20::1";
constexpr const char* kTarget = "fd00:99::1";

inline DaemonOptions with_levels()
{
    DaemonOptions options;
    options.policy = kLevelsByDestination;
    options.devices.clear();
    options.system_bus = false;
    options.host_devices = true;
    return options;
}

inline std::string program(const std::string& name)
{
    return std::string(RDMAQOS_RUN_PROGRAMS) + "/" + name;
}

struct Described {
    std::uint32_t number = 0;
    std::string marks;    // "sl 3 traffic-class 104"
    int pid = 0;
};

using Words = std::vector<std::string>;

class Launched {
public:
    // `rdma-qos-run --root ROOT LAUNCHER -- COMMAND`.
    Launched(const std::filesystem::path& root, const Words& launcher, const Words& command,
             const Words& environment = {})
        : child_(words(root, launcher, command), environment, folder_.path() / "output")
    {
    }

    // Holds a program of this folder until finish() or its own end.
    [[nodiscard]] static Words held(const TempDir& folder, Words command)
    {
        command.insert(command.end(), {"-u", folder.path() / "go"});
        return command;
    }

    [[nodiscard]] std::string output() const
    {
        std::ifstream file(folder_.path() / "output");
        return {std::istreambuf_iterator<char>(file), {}};
    }
    // So many processes have said that they are ready.
    [[nodiscard]] bool ready(std::size_t processes = 1) const
    {
        return eventually([&] { return count("ready\n") >= processes; });
    }
    [[nodiscard]] std::size_t count(const std::string& what) const
    {
        const std::string text = output();
        std::size_t found = 0;
        for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) {
            ++found;
        }
        return found;
    }
    [[nodiscard]] std::vector<Described> queue_pairs() const
    {
        std::vector<Described> all;
        std::istringstream lines(output());
        for (std::string line; std::getline(lines, line);) {
            std::istringstream in(line);
            std::string word;
            std::string sl;
            std::string traffic_class;
            Described each;
            if (in >> word && word == "qp" &&
                in >> each.number >> word >> sl >> word >> traffic_class >> word >> each.pid) {
                each.marks = "sl " + sl + " traffic-class " + traffic_class;
                all.push_back(each);
            }
        }
        return all;
    }
    // The exit status; of what was killed 128 + its signal; -1: it runs on.
    int ended(std::chrono::milliseconds patience = std::chrono::seconds(20))
    {
        const auto status = child_.wait(patience);
        return !status ? -1 : WIFEXITED(*status) ? WEXITSTATUS(*status) : 128 + WTERMSIG(*status);
    }
    [[nodiscard]] const Child& child() const { return child_; }

private:
    static Words words(const std::filesystem::path& root, const Words& launcher, const Words& command)
    {
        Words all{RDMAQOS_RUN, "--root", root.string()};
        all.insert(all.end(), launcher.begin(), launcher.end());
        if (!command.empty()) {
            all.emplace_back("--");
            all.insert(all.end(), command.begin(), command.end());
        }
        return all;
    }

    TempDir folder_;
    Child child_;
};

// What is written to the journal below a root.
class JournalSocket {
public:
    explicit JournalSocket(const std::filesystem::path& root)
    {
        const auto folder = root / "run/systemd/journal";
        std::filesystem::create_directories(folder);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        const std::string path = folder / "socket";
        path.copy(address.sun_path, sizeof(address.sun_path) - 1);
        fd_ = UniqueFd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        if (bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {    // NOLINT
            throw std::runtime_error("bind");
        }
    }
    // The next entry; empty: there is none.
    std::string take()
    {
        std::string text(4096, '\0');
        const ssize_t length = recv(fd_.get(), text.data(), text.size(), MSG_DONTWAIT);
        text.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
        return text;
    }

private:
    UniqueFd fd_;
};

// Lets a held program end when it goes out of scope, too.
inline void let_go(const TempDir& folder)
{
    folder.write("go", "");
}

}    // namespace rdmaqos::test
