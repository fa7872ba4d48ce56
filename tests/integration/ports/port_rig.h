// For tests of the daemon and the traffic classes of a port that is not a fake of the test's own: below the emulator,
// or on a kernel whose mlx5e drives the interface. Other programs that set them, what is set, and what the daemon says.
#pragma once

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>

#include "lib/dcb/port.h"
#include "tests/nic_mlx5/program.h"
#include "tests/support/ctl.h"
#include "tests/support/emulated.h"
#include "tests/support/golden.h"
#include "tests/support/process.h"
#include "tests/support/temp_dir.h"

namespace rdmaqos::test {

// A program of the host that sets traffic classes, and asks for them.
class PortUser {
public:
    explicit PortUser(std::string interface) : interface_(std::move(interface)) {}

    // All that the kernel says, byte by byte.
    [[nodiscard]] std::vector<std::uint8_t> everything()
    {
        const auto answer = kernel_.ask(RTM_GETDCB, question());
        if (!answer) {
            throw std::runtime_error("the port cannot be read: errno " + std::to_string(answer.error()));
        }
        return *answer;
    }
    [[nodiscard]] dcb::PortSettings settings()
    {
        auto now = dcb::read_port(kernel_, interface_);
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
        const auto report = dcb::write_port(kernel_, interface_, writes, dcb::find_driver("mlx5_core"));
        return report.complete();
    }

private:
    [[nodiscard]] std::vector<std::uint8_t> question() const
    {
        std::vector<std::uint8_t> bytes(NLMSG_ALIGN(sizeof(dcbmsg)));
        bytes[offsetof(dcbmsg, cmd)] = DCB_CMD_IEEE_GET;
        nlattr name{};
        name.nla_type = DCB_ATTR_IFNAME;
        name.nla_len = static_cast<std::uint16_t>(NLA_HDRLEN + interface_.size() + 1);
        const auto* header = reinterpret_cast<const std::uint8_t*>(&name);
        bytes.insert(bytes.end(), header, header + sizeof(name));
        bytes.insert(bytes.end(), interface_.begin(), interface_.end());
        bytes.resize(NLMSG_ALIGN(bytes.size() + 1));
        return bytes;
    }

    dcb::KernelTransport kernel_;
    const std::string interface_;
};

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
        if (process_ && !process_->has_ended()) {
            EXPECT_TRUE(stop());
        }
    }
    PortDaemon(const PortDaemon&) = delete;
    PortDaemon& operator=(const PortDaemon&) = delete;

    [[nodiscard]] std::filesystem::path root() const { return dir_.path(); }
    void set_policy(const std::string& policy) const { dir_.write("etc/rdma-qos/policy.yaml", policy); }
    void set_settings(const std::string& settings) const { dir_.write("etc/rdma-qos/rdma-qosd.yaml", settings); }

    // Returns at once.
    void begin()
    {
        process_ = std::make_unique<Child>(
            std::vector<std::string>{RDMAQOS_DAEMON, "--root", root().string(), "--host-devices"},
            std::vector<std::string>(), log_file(++starts_));
    }
    void start()
    {
        begin();
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

// Requests to set something that have reached the emulated port.
inline std::uint64_t writes_so_far()
{
    return emulated_device().at("dcb-writes").get<std::uint64_t>();
}

}    // namespace rdmaqos::test
