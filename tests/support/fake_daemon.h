// What a client library meets: something that listens at a socket and answers D-Bus calls as a test says, older or
// newer than rdma-qosd, wrong, late, or not at all.
#pragma once

#include <atomic>
#include <cstring>
#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

namespace rdmaqos::test {

class FakeDaemon {
public:
    // Answers a call by a method return or an error; negative: the error of that errno. Runs on the daemon's thread.
    using Method = std::function<int(sd_bus_message* call)>;

    explicit FakeDaemon(std::filesystem::path socket) : path_(std::move(socket)), wake_(eventfd(0, EFD_CLOEXEC))
    {
        methods_["Ping"] = [](sd_bus_message* call) { return sd_bus_reply_method_return(call, ""); };
    }
    ~FakeDaemon()
    {
        stop();
        close(wake_);
    }
    FakeDaemon(const FakeDaemon&) = delete;
    FakeDaemon& operator=(const FakeDaemon&) = delete;

    // Before start(), or from a method.
    void on(const std::string& method, Method answer) { methods_[method] = std::move(answer); }

    void start()
    {
        std::filesystem::remove(path_);
        listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
        if (bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
            listen(listener_, 128) != 0) {
            throw std::runtime_error("the fake daemon cannot listen");
        }
        ending_ = false;
        thread_ = std::thread([this] { serve(); });
    }
    // As a daemon that is killed: its connections end, and its socket stays behind.
    void stop()
    {
        if (!thread_.joinable()) {
            return;
        }
        ending_ = true;
        eventfd_write(wake_, 1);
        thread_.join();
        close(listener_);
    }

    // How often a method was called.
    [[nodiscard]] int calls(const std::string& method) const
    {
        const std::lock_guard lock(mutex_);
        const auto found = calls_.find(method);
        return found == calls_.end() ? 0 : found->second;
    }
    void forget_calls()
    {
        const std::lock_guard lock(mutex_);
        calls_.clear();
    }
    // Those that are open.
    [[nodiscard]] std::size_t connections() const { return connections_; }
    // On the daemon's thread, with each connection.
    void each(std::function<void(sd_bus*)> what)
    {
        {
            const std::lock_guard lock(mutex_);
            wanted_.push_back(std::move(what));
        }
        eventfd_write(wake_, 1);
    }

private:
    static int on_call(sd_bus_message* message, void* data, sd_bus_error* error)
    {
        auto& self = *static_cast<FakeDaemon*>(data);
        if (sd_bus_message_is_method_call(message, nullptr, nullptr) <= 0) {
            return 0;
        }
        const std::string member = sd_bus_message_get_member(message);
        {
            const std::lock_guard lock(self.mutex_);
            ++self.calls_[member];
        }
        const auto method = self.methods_.find(member);
        if (method == self.methods_.end()) {
            return sd_bus_reply_method_errorf(message, SD_BUS_ERROR_UNKNOWN_METHOD, "Unknown method %s",
                                              member.c_str());
        }
        const int result = method->second(message);
        return result < 0 ? sd_bus_error_set_errno(error, result) : 1;
    }

    void accept_one()
    {
        const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        sd_bus* bus = nullptr;
        sd_id128_t id{};
        if (fd < 0 || sd_bus_new(&bus) < 0 || sd_id128_randomize(&id) < 0 || sd_bus_set_fd(bus, fd, fd) < 0 ||
            sd_bus_set_server(bus, 1, id) < 0 || sd_bus_negotiate_fds(bus, 1) < 0 ||
            sd_bus_add_filter(bus, nullptr, &FakeDaemon::on_call, this) < 0 || sd_bus_start(bus) < 0) {
            throw std::runtime_error("the fake daemon cannot accept");
        }
        buses_.push_back(bus);
    }

    void serve()
    {
        while (!ending_) {
            std::vector<pollfd> ready{{listener_, POLLIN, 0}, {wake_, POLLIN, 0}};
            for (sd_bus* bus : buses_) {
                ready.push_back({sd_bus_get_fd(bus), static_cast<short>(sd_bus_get_events(bus)), 0});
            }
            poll(ready.data(), ready.size(), 1000);
            if (ready[1].revents != 0) {
                eventfd_t count = 0;
                eventfd_read(wake_, &count);
            }
            if (ready[0].revents != 0) {
                accept_one();
            }
            for (auto bus = buses_.begin(); bus != buses_.end();) {
                int result = 1;
                while ((result = sd_bus_process(*bus, nullptr)) > 0) {
                }
                if (result < 0 || sd_bus_is_open(*bus) <= 0) {
                    sd_bus_close_unref(*bus);
                    bus = buses_.erase(bus);
                } else {
                    ++bus;
                }
            }
            connections_ = buses_.size();
            std::vector<std::function<void(sd_bus*)>> wanted;
            {
                const std::lock_guard lock(mutex_);
                wanted.swap(wanted_);
            }
            for (const auto& what : wanted) {
                for (sd_bus* bus : buses_) {
                    what(bus);
                    sd_bus_flush(bus);
                }
            }
        }
        for (sd_bus* bus : buses_) {
            sd_bus_close_unref(bus);
        }
        buses_.clear();
    }

    const std::filesystem::path path_;
    const int wake_;
    int listener_ = -1;
    std::map<std::string, Method> methods_;
    std::list<sd_bus*> buses_;
    std::thread thread_;
    std::atomic<bool> ending_ = false;
    std::atomic<std::size_t> connections_ = 0;
    mutable std::mutex mutex_;
    std::map<std::string, int> calls_;
    std::vector<std::function<void(sd_bus*)>> wanted_;
};

}    // namespace rdmaqos::test
