// Programs below rdma-qos-run.
#pragma once

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/support/daemon_fixture.h"
#include "tests/support/emulated.h"
#include "tests/support/running.h"

namespace rdmaqos::test {

// Levels that can be told apart by their place in the device, and by their marks.
constexpr const char* kLevelsByDestination = R"(version: 1
port-groups:
  - {name: targets, gid: ["fd00:99::1"], port-guid: 0x99}
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

inline DaemonOptions with_levels()
{
    DaemonOptions options;
    options.policy = kLevelsByDestination;
    options.devices.clear();
    options.system_bus = false;
    options.host_devices = true;
    return options;
}

// A program below `rdma-qos-run --root ROOT LAUNCHER -- COMMAND`.
class Launched : public Running {
public:
    Launched(const std::filesystem::path& root, const Words& launcher, const Words& command,
             const Words& environment = {})
        : Running(words(root, launcher, command), environment)
    {
    }

    // The emulator takes what an ended program had a moment later, unlike a kernel. A daemon that ends before would
    // leave its leaves behind. What a child of the program has is not waited for.
    int ended(std::chrono::milliseconds patience = kHung)
    {
        const int status = Running::ended(patience);
        const auto made = queue_pairs();
        if (status == -1 || made.empty()) {
            return status;
        }
        EXPECT_TRUE(eventually([&] {
            const auto there = places(emulated_device());
            return std::ranges::none_of(
                made, [&](const auto& each) { return each.pid == child().pid() && there.contains(each.number); });
        })) << "queue pairs of a program that has ended are still there";
        return status;
    }

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

}    // namespace rdmaqos::test
