// A direct transport with a toy object behind it, served by a loop on a thread of its own.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "lib/base/file_closer.h"
#include "lib/bus/names.h"
#include "lib/bus/server.h"
#include "tests/support/temp_dir.h"

namespace rdmaqos::test {

class ToyServer final : public bus::ServerHandler {
public:
    // `helper`: the program that receives descriptors, as DescriptorOptions::command.
    explicit ToyServer(bus::ServerLimits limits = {}, std::vector<std::string> helper = {})
        : path_(dir_.path() / "run/toy/bus")
    {
        bus::ServerOptions options{path_, limits, {}, {}};
        options.descriptors.command = std::move(helper);
        options.close = [this](Account account, UniqueFd fd) { closer_.close(account, std::move(fd)); };
        auto server = bus::Server::listen(loop_, turns_, std::move(options), *this);
        if (!server) {
            throw std::runtime_error(to_string(server.error()));
        }
        server_ = std::move(*server);
        thread_ = std::thread([this] { loop_.run(); });
    }
    ~ToyServer() override
    {
        loop_.post([this] {
            server_.reset();
            connections_.clear();
            loop_.exit(0);
        });
        thread_.join();
    }
    ToyServer(const ToyServer&) = delete;
    ToyServer& operator=(const ToyServer&) = delete;

    Result<void> connected(std::uint64_t id, const bus::PeerProcess& process,
                           const std::shared_ptr<bus::Connection>& connection) override
    {
        last_pid = process.pid;
        if (refuse_all) {
            return fail(ErrorCode::LimitReached, "on purpose");
        }
        const int result = sd_bus_add_object_vtable(connection->bus(), nullptr, bus::names::kRoot, bus::names::kManager,
                                                    kVtable, this);
        if (result < 0) {
            return fail(error_from_errno(ErrorCode::Internal, -result, "vtable"));
        }
        connections_.emplace(id, connection);
        ++opened;
        return {};
    }
    void closed(std::uint64_t id) override
    {
        connections_.erase(id);
        ++ended;
    }

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    // Its descriptors may be looked at from any thread.
    [[nodiscard]] bus::Shares& shares() { return turns_.shares(); }
    // Runs on the loop's thread.
    void run(std::function<void()> function) { loop_.post(std::move(function)); }
    [[nodiscard]] std::map<std::uint64_t, std::shared_ptr<bus::Connection>>& connections() { return connections_; }

    std::atomic<int> opened = 0;
    std::atomic<int> ended = 0;
    std::atomic<pid_t> last_pid = 0;
    std::atomic<bool> refuse_all = false;
    std::atomic<bool> may_start_us = false;    // whether the last Echo would have had a bus start its service

private:
    static int on_echo(sd_bus_message* message, void* userdata, sd_bus_error*)
    {
        static_cast<ToyServer*>(userdata)->may_start_us = sd_bus_message_get_auto_start(message) > 0;
        const auto dict = bus::read_dict(message);
        if (!dict) {
            return -EINVAL;
        }
        sd_bus_message* raw = nullptr;
        sd_bus_message_new_method_return(message, &raw);
        const auto reply = bus::MessageRef::adopt(raw);
        bus::Writer writer(raw);
        writer.put(*dict);
        return sd_bus_send(nullptr, raw, nullptr);
    }
    static int on_fail(sd_bus_message*, void*, sd_bus_error* error)
    {
        return sd_bus_error_set(error, "org.rdmaqos1.Error.LevelNotAllowed", "not you");
    }
    static int on_silence(sd_bus_message*, void*, sd_bus_error*) { return 1; }
    static int on_subscribe(sd_bus_message* message, void* userdata, sd_bus_error*)
    {
        const int result = sd_bus_reply_method_return(message, "");
        auto& toy = *static_cast<ToyServer*>(userdata);
        for (const auto& [id, connection] : toy.connections_) {
            sd_bus_emit_signal(connection->bus(), bus::names::kRoot, bus::names::kManager, "PolicyChanged", "s", "r1");
            sd_bus_emit_signal(connection->bus(), "/elsewhere", "org.other", "Other", "");
            sd_bus_emit_signal(connection->bus(), bus::names::kRoot, bus::names::kManager, "PolicyChanged", "s", "r2");
        }
        return result;
    }

    static inline const sd_bus_vtable kVtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD("Echo", "a{sv}", "a{sv}", on_echo, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("Fail", "", "", on_fail, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("Silence", "", "", on_silence, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("Subscribe", "", "", on_subscribe, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_SIGNAL("PolicyChanged", "s", 0),
        SD_BUS_VTABLE_END,
    };

    TempDir dir_;
    std::filesystem::path path_;
    FileCloser closer_;
    bus::EventLoop loop_;
    bus::Turns turns_{loop_};
    std::map<std::uint64_t, std::shared_ptr<bus::Connection>> connections_;
    std::unique_ptr<bus::Server> server_;
    std::thread thread_;
};

}    // namespace rdmaqos::test
