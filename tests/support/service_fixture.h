// A Service on model NICs, stepped by a test: policy files in a temporary root, no bus, no processes.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "daemon/service/adoption.h"
#include "daemon/service/context.h"
#include "daemon/service/device_control.h"
#include "daemon/service/device_table.h"
#include "daemon/service/fabric_upkeep.h"
#include "daemon/service/host_view.h"
#include "daemon/service/limits.h"
#include "daemon/service/metrics_collector.h"
#include "daemon/service/path_queries.h"
#include "daemon/service/plans.h"
#include "daemon/service/policy_in_force.h"
#include "daemon/service/reloads.h"
#include "daemon/service/service.h"
#include "daemon/service/session_calls.h"
#include "daemon/service/session_reports.h"
#include "daemon/service/tally.h"
#include "daemon/service/transient_ends.h"
#include "daemon/service/trial_in_force.h"
#include "daemon/service/trials.h"
#include "lib/model/profile.h"
#include "lib/nic_model/model_backend.h"
#include "tests/support/gate.h"
#include "tests/support/manual_loop.h"
#include "tests/support/temp_dir.h"

namespace rdmaqos::test {

// A model NIC on which every attach hangs until let_go().
class HangingAttach {
public:
    explicit HangingAttach(ModelBackend& nic)
    {
        nic.firmware().faults().set_sleeper([this](std::chrono::milliseconds) {
            hangs_ = true;
            const std::lock_guard wait(mutex_);
        });
        nic.firmware().faults().delay(CommandKind::Attach, std::chrono::milliseconds(1));
    }
    [[nodiscard]] bool hangs() const { return hangs_; }
    void let_go() { held_.unlock(); }

private:
    std::mutex mutex_;
    std::unique_lock<std::mutex> held_{mutex_};
    std::atomic<bool> hangs_ = false;
};

// Every command of a model NIC hangs from now on.
inline void hang(ModelBackend& nic, const Gate& gate)
{
    nic.firmware().faults().set_sleeper([wait = gate.waiter()](std::chrono::milliseconds) { wait(); });
    nic.firmware().faults().delay({}, std::chrono::milliseconds(1));
}

class ServiceFixture : public ::testing::Test {
protected:
    void policy(const std::string& text) { root.write("/etc/rdma-qos/policy.yaml", text); }
    void settings(const std::string& text) { root.write("/etc/rdma-qos/rdma-qosd.yaml", text); }

    Service& start()
    {
        NameService names;
        names.uid_of = [this](const std::string& name) -> std::optional<std::uint32_t> {
            if (while_reading) {
                while_reading();
            }
            return name == "alice" ? std::optional<std::uint32_t>(1000) : std::nullopt;
        };
        names.gid_of = [](const std::string&) { return std::optional<std::uint32_t>(); };
        ServiceOptions options{root.path(), names, true};
        options.survey_host = survey_host;
        if (more_options) {
            more_options(options);
        }
        service = std::make_unique<Service>(std::move(options), loop, service_clock());
        service->start([this](ReloadOutcome outcome) { started = std::move(outcome); });    // at once without devices
        return *service;
    }

    // Of the service that start() makes. Timers go by the loop's.
    [[nodiscard]] virtual const Clock& service_clock() const { return loop.clock; }

    DeviceInfo new_device(const std::string& name)
    {
        DeviceInfo info;
        info.name = name;
        info.driver = "model";
        info.node_guid = Guid{0x1000 + devices++};
        info.port_guid = Guid{info.node_guid.value + 0x10000};
        info.link_speed = Bandwidth::from_gbps(100);
        return info;
    }

    ModelBackend& add_device(const std::string& name, std::optional<Capabilities> capabilities = std::nullopt)
    {
        auto backend = std::make_unique<ModelBackend>(new_device(name), capabilities.value_or(default_capabilities()));
        ModelBackend& kept = *backend;
        service->device_control().add(std::move(backend));
        settle();
        return kept;
    }

    static std::shared_ptr<const Identity> process(pid_t pid, std::uint32_t uid = 1000)
    {
        auto identity = std::make_shared<Identity>();
        identity->pid = pid;
        identity->uid = uid;
        identity->gids = {uid};
        identity->unit = "job.service";
        return identity;
    }

    static QueuePairRequest queue_pair(const std::string& device, std::uint32_t number)
    {
        QueuePairRequest request;
        request.device = device;
        request.ref.number = number;
        return request;
    }

    static RegisterRequest asking_for(const std::string& level, const std::string& device = {},
                                      const std::vector<std::uint32_t>& numbers = {})
    {
        RegisterRequest request;
        if (!level.empty()) {
            request.request.level = level;
        }
        for (const std::uint32_t number : numbers) {
            request.queue_pairs.push_back(queue_pair(device, number));
        }
        return request;
    }

    // Calls and waits for the answer.
    template <typename T, typename Call>
    Result<T> answer(Call call)
    {
        std::optional<Result<T>> got;
        call([&got](Result<T> result) { got.emplace(std::move(result)); });
        if (!loop.run_until([&got] { return got.has_value(); })) {
            return fail(ErrorCode::Timeout, "no answer");
        }
        return std::move(*got);
    }

    Result<RegisterReply> register_as(PeerId peer, const std::shared_ptr<const Identity>& who, RegisterRequest request)
    {
        return answer<RegisterReply>([&](auto done) {
            service->session_calls().register_session(peer, who, std::move(request), std::move(done));
        });
    }

    ReloadOutcome reload()
    {
        std::optional<ReloadOutcome> got;
        service->reloads().reload([&got](ReloadOutcome outcome) { got = std::move(outcome); });
        EXPECT_TRUE(loop.run_until([&got] { return got.has_value(); }));
        return got.value_or(ReloadOutcome{});
    }

    // Until every device has done what it was told so far.
    void settle()
    {
        EXPECT_TRUE(answer<std::vector<DeviceDrift>>(
            [&](auto done) { service->device_control().verify("", std::move(done)); }));
    }

    static std::vector<std::string> writes(const ModelBackend& device)
    {
        std::vector<std::string> lines;
        for (const auto& operation : device.log()) {
            if (operation.is_write()) {
                lines.push_back(to_string(operation));
            }
        }
        return lines;
    }

    TempDir root;
    // On the thread that reads policies, when one names a user. Set while none is read.
    std::function<void()> while_reading;
    std::function<HostSurvey()> survey_host;              // of the service that start() makes
    std::function<void(ServiceOptions&)> more_options;    // of it, too
    ManualLoop loop;
    std::uint64_t devices = 0;
    ReloadOutcome started;
    std::unique_ptr<Service> service;
};

}    // namespace rdmaqos::test
