// For tests of the daemon and the traffic classes of a port that is not a fake of the test's own: below the emulator,
// or on a kernel whose mlx5e drives the interface. Other programs that set them, what is set, and what the daemon says.
#pragma once

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <sys/wait.h>

#include "lib/dcb/port.h"
#include "lib/dcb/watcher.h"
#include "tests/nic_mlx5/program.h"
#include "tests/support/ctl.h"
#include "tests/support/emulated.h"
#include "tests/support/golden.h"
#include "tests/support/process.h"
#include "tests/support/temp_dir.h"

namespace rdmaqos::test {

// The network interface of mlx5_0: devices.yaml's, or the one that mlx5e has made, which is another one after a reset.
// "": none just now.
inline std::string interface_of_port()
{
    if (!on_kernel()) {
        return "ens1";
    }
    std::error_code none;
    for (const auto& each : std::filesystem::directory_iterator("/sys/class/infiniband/mlx5_0/device/net", none)) {
        return each.path().filename();
    }
    return "";
}

// A program of the host that sets traffic classes, and asks for them.
class PortUser {
public:
    // All that the kernel says, byte by byte. Empty: it has no such port just now.
    [[nodiscard]] std::vector<std::uint8_t> everything()
    {
        return kernel_.ask(RTM_GETDCB, question()).value_or(std::vector<std::uint8_t>());
    }
    // The same.
    [[nodiscard]] std::optional<dcb::PortSettings> settings_if_there()
    {
        auto now = dcb::read_port(kernel_, interface_of_port());
        return now ? std::optional(std::move(*now)) : std::nullopt;
    }
    [[nodiscard]] dcb::PortSettings settings()
    {
        auto now = dcb::read_port(kernel_, interface_of_port());
        if (!now) {
            throw std::runtime_error(to_string(now.error()));
        }
        return std::move(*now);
    }
    // Weights of ETS for the first classes; the others are strict. Whether it was taken.
    bool divide(const std::vector<std::uint8_t>& weights)
    {
        dcb::Ets ets = settings().ets.value();
        for (std::size_t number = 0; number < dcb::kTrafficClasses; ++number) {
            const bool has_weight = number < weights.size();
            ets.traffic_class.at(number).selection = has_weight ? dcb::Selection::Ets : dcb::Selection::Strict;
            ets.traffic_class.at(number).weight = has_weight ? weights[number] : std::uint8_t{0};
            ets.class_of_priority.at(number) = static_cast<std::uint8_t>(number);
        }
        return write({dcb::SetEts{ets}});
    }
    bool write(const std::vector<dcb::Write>& writes)
    {
        const auto report = dcb::write_port(kernel_, interface_of_port(), writes, dcb::find_driver("mlx5_core"));
        return report.complete();
    }
    // No entries, no maximum rates.
    bool clear()
    {
        std::vector<dcb::Write> writes{dcb::SetMaxRates{}};
        for (const auto& entry : settings().apps) {
            writes.emplace_back(dcb::DeleteApp{entry});
        }
        return write(writes);
    }

private:
    [[nodiscard]] static std::vector<std::uint8_t> question()
    {
        constexpr std::size_t kName = NLMSG_ALIGN(sizeof(dcbmsg)) + NLA_HDRLEN;
        const std::string interface = interface_of_port();
        std::vector<std::uint8_t> bytes(NLMSG_ALIGN(kName + interface.size() + 1));
        bytes[offsetof(dcbmsg, cmd)] = DCB_CMD_IEEE_GET;
        nlattr name{};
        name.nla_type = DCB_ATTR_IFNAME;
        name.nla_len = static_cast<std::uint16_t>(NLA_HDRLEN + interface.size() + 1);
        std::memcpy(&bytes[kName - NLA_HDRLEN], &name, sizeof(name));
        std::memcpy(&bytes[kName], interface.data(), interface.size());
        return bytes;
    }

    dcb::KernelTransport kernel_;
};

// What is set for the next test does not depend on this one's.
inline void forget_classes(PortUser& user)
{
    if (on_kernel()) {
        EXPECT_TRUE(user.clear());
    } else {
        emulator("port-classes mlx5_0 none");
    }
}

// rdma-qosd that can be killed and started again under a root that outlives it.
class PortDaemon {
public:
    PortDaemon(const std::string& policy, const std::string& settings)
    {
        set_policy(policy);
        set_settings(settings);
    }
    ~PortDaemon()
    {
        if (::testing::Test::HasFailure()) {
            GTEST_LOG_(INFO) << "logs of rdma-qosd:\n" << log();
        }
        end();
    }
    PortDaemon(const PortDaemon&) = delete;
    PortDaemon& operator=(const PortDaemon&) = delete;

    [[nodiscard]] std::filesystem::path root() const { return dir_.path(); }
    void set_policy(const std::string& policy) const { dir_.write("etc/rdma-qos/policy.yaml", policy); }
    void set_settings(const std::string& settings) const { dir_.write("etc/rdma-qos/rdma-qosd.yaml", settings); }

    // Returns at once. `launcher`: words before the command.
    void begin(std::vector<std::string> launcher = {})
    {
        launcher.insert(launcher.end(), {RDMAQOS_DAEMON, "--root", root().string(), "--host-devices"});
        process_ = std::make_unique<Child>(launcher, std::vector<std::string>(), log_file(++starts_));
    }
    void start(const std::vector<std::string>& launcher = {})
    {
        begin(launcher);
        const auto is_ready = [&] { return read_text(log_file(starts_)).find("ready: ") != std::string::npos; };
        if (!eventually([&] { return is_ready() || process_->has_ended(); }) || !is_ready()) {
            throw std::runtime_error("rdma-qosd does not become ready: " + log());
        }
    }
    // By SIGKILL, of whomever.
    [[nodiscard]] bool dies()
    {
        const auto status = process_->wait();
        return status && WIFSIGNALED(*status) && WTERMSIG(*status) == SIGKILL;
    }
    void kill()
    {
        process_->signal(SIGKILL);
        EXPECT_TRUE(dies());
    }
    [[nodiscard]] bool stop()
    {
        process_->signal(SIGTERM);
        const auto status = process_->wait();
        return status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0;
    }
    // If it runs.
    void end()
    {
        if (process_ && !process_->has_ended()) {
            EXPECT_TRUE(stop());
        }
    }
    // Of all starts.
    [[nodiscard]] std::string log() const
    {
        std::string text;
        for (int start = 1; start <= starts_; ++start) {
            text += read_text(log_file(start));
        }
        return text;
    }
    [[nodiscard]] bool comes_to_log(const std::string& what) const
    {
        return eventually([&] { return log().find(what) != std::string::npos; });
    }
    Outcome ctl(const std::string& words) const { return run_ctl(root(), words); }

private:
    [[nodiscard]] std::filesystem::path log_file(int start) const { return root() / ("log." + std::to_string(start)); }

    TempDir dir_;
    int starts_ = 0;
    std::unique_ptr<Child> process_;
};

// The traffic classes of mlx5_0 as `rdma-qosctl devices --json` has them; an empty object: the daemon does not answer.
inline nlohmann::json said_of_port(const std::filesystem::path& root)
{
    const auto answer = nlohmann::json::parse(run_ctl(root, "devices --json").output, nullptr, false);
    if (answer.is_object() && answer.contains("devices")) {
        for (const auto& device : answer.at("devices")) {
            if (device.value("name", "") == "mlx5_0" && device.contains("port-classes")) {
                return device.at("port-classes");
            }
        }
    }
    return nlohmann::json::object();
}

// "0: ets 60, 1: ets 40, 2: strict 0": of the classes in what was said.
inline std::string classes_in(const nlohmann::json& said)
{
    std::string text;
    for (const auto& each : said.value("classes", nlohmann::json::array())) {
        text += fmt::format("{}{}: {} {}", text.empty() ? "" : ", ", each.at("class").dump(),
                            each.at("selection").get<std::string>(), each.at("weight").dump());
    }
    return text;
}

// Notifications of traffic classes, which the kernel has sent before it answers whoever has set them, also to what it
// refuses.
class NoticeCounter {
public:
    NoticeCounter()
    {
        const int room = 64 << 20;
        if (setsockopt(watcher_.fd(), SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) != 0) {
            throw std::runtime_error("no room for notifications");
        }
    }
    [[nodiscard]] std::uint64_t count()
    {
        for (auto changes = watcher_.drain(); !changes.empty(); changes = watcher_.drain()) {
            if (std::ranges::any_of(changes, [](const auto& each) { return each.kind == dcb::ChangeKind::Lost; })) {
                throw std::runtime_error("notifications are lost");
            }
            count_ += static_cast<std::uint64_t>(
                std::ranges::count(changes, interface_of_port(), &dcb::Change::interface));
        }
        return count_;
    }

private:
    dcb::Watcher watcher_ = dcb::Watcher::open().value();
    std::uint64_t count_ = 0;
};

// Requests to set something that have reached the port, those that were refused too; what counts is how many more there
// are from one call to the next.
inline std::uint64_t writes_so_far()
{
    if (on_kernel()) {
        static NoticeCounter counter;
        return counter.count();
    }
    return emulated_device().at("dcb-writes").get<std::uint64_t>();
}

}    // namespace rdmaqos::test
