// The emulator's server as `ctl` sees it.
#include <algorithm>

#include <fmt/format.h>

#include "tools/emulator/control.h"
#include "tools/emulator/controlled.h"
#include "tools/emulator/server.h"
#include "tools/emulator/uverbs_file.h"

namespace rdmaqos::emulator {
namespace {

class EmulatedDevice final : public ControlledDevice {
public:
    EmulatedDevice(Server& server, std::shared_ptr<Device> device) : server_(server), device_(std::move(device)) {}

    [[nodiscard]] const std::string& name() const override { return device_->name(); }
    [[nodiscard]] Firmware& firmware() override { return device_->firmware(); }
    [[nodiscard]] std::size_t ports() const override { return device_->ports().size(); }
    [[nodiscard]] std::size_t files() const override
    {
        const auto files = device_->files();    // those of a device that went are no longer its own
        return static_cast<std::size_t>(
            std::count_if(files.begin(), files.end(), [](const auto& file) { return !file->is_dead(); }));
    }
    [[nodiscard]] std::size_t leaked() const override { return device_->leaked(); }
    [[nodiscard]] std::optional<std::string> uverbs() const override
    {
        return fmt::format("uverbs{}", device_->index());
    }
    [[nodiscard]] std::optional<std::size_t> objects() const override
    {
        std::size_t objects = 0;
        for (const auto& file : device_->files()) {
            objects += file->objects().size();
        }
        return objects;
    }
    [[nodiscard]] Result<std::vector<QueuePairOwner>> owners() const override { return owners_of(*device_); }
    [[nodiscard]] std::optional<DeviceTraffic> traffic() const override { return device_->traffic(); }
    [[nodiscard]] std::optional<PortClasses> port_classes() const override { return device_->port_classes(); }
    [[nodiscard]] std::optional<std::uint64_t> dcb_writes() const override { return device_->dcb_writes(); }
    Result<void> order_dcb_fault(std::uint64_t nth, std::uint64_t times, const DcbFault& fault) override
    {
        device_->order_dcb_fault(nth, times, fault);
        return {};
    }
    void clear_dcb_faults() override { device_->clear_dcb_faults(); }
    bool order_queue_pairs(const std::vector<std::uint32_t>& numbers) override
    {
        return device_->order_queue_pairs(numbers);
    }

    Result<void> reset() override
    {
        server_.reset(*device_);
        return {};
    }
    Result<void> unplug() override
    {
        server_.unplug(*device_);
        return {};
    }
    Result<void> plug() override
    {
        server_.plug(*device_);
        return {};
    }
    Result<void> set_port(std::uint32_t port, bool up) override
    {
        server_.set_port(*device_, port, up);
        return {};
    }
    Result<void> set_link_speed(std::uint32_t port, Bandwidth speed) override
    {
        server_.set_link_speed(*device_, port, speed);
        return {};
    }
    Result<void> set_port_classes(const PortClasses& classes) override
    {
        server_.set_port_classes(*device_, classes);
        return {};
    }
    Result<void> set_pkeys(std::uint32_t port, std::vector<std::uint16_t> pkeys) override
    {
        server_.set_pkeys(*device_, port, std::move(pkeys));
        return {};
    }
    Result<void> send_device_fatal() override
    {
        for (const auto& file : device_->files()) {
            file->send(AsyncEvent::DeviceFatal, 0);
        }
        return {};
    }
    Result<void> fail_queue_pair(std::uint32_t number) override
    {
        for (const auto& file : device_->files()) {
            for (const auto& object : file->objects()) {
                if (object->type == ObjectType::QueuePair && object->number == number) {
                    device_->firmware().set_queue_pair_state(number, QueuePairState::Error);
                    file->send(AsyncEvent::QueuePairFatal, *object);
                    return {};
                }
            }
        }
        return fail(ErrorCode::InvalidArgument, fmt::format("{} has no queue pair {}", name(), number));
    }

private:
    Server& server_;
    const std::shared_ptr<Device> device_;
};

class EmulatedHost final : public Controlled {
public:
    explicit EmulatedHost(Server& server) : server_(server) {}

    [[nodiscard]] std::vector<std::shared_ptr<ControlledDevice>> devices() override
    {
        std::vector<std::shared_ptr<ControlledDevice>> all;
        for (const auto& device : server_.devices()) {
            all.push_back(std::make_shared<EmulatedDevice>(server_, device));
        }
        return all;
    }
    [[nodiscard]] std::uint64_t calls() const override { return server_.calls(); }
    [[nodiscard]] std::uint64_t internal_errors() const override { return server_.internal_errors(); }
    [[nodiscard]] Behaviour& behaviour() override { return server_.behaviour(); }
    [[nodiscard]] Result<void> check_setting(const std::string&, const std::string&) const override { return {}; }
    [[nodiscard]] Trace& trace() override { return server_.trace(); }

private:
    Server& server_;
};

}    // namespace

void serve_control(Server& server, UniqueFd client)
{
    EmulatedHost host(server);
    serve_control(host, std::move(client));
}

Result<std::string> control(Server& server, const std::vector<std::string>& words)
{
    EmulatedHost host(server);
    return control(host, words);
}

}    // namespace rdmaqos::emulator
