// What systemd is to rdma-qosd when it is restarted: gives the next process the descriptors that the one before has put
// into its store, however that one ended.
#pragma once

#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/descriptor_message.h"
#include "lib/base/file.h"
#include "tests/support/process.h"
#include "tests/support/temp_dir.h"

namespace rdmaqos::test {

class ServiceManager {
public:
    ServiceManager()
    {
        const std::string path = socket_path();
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        if (path.size() >= sizeof(address.sun_path)) {
            throw std::runtime_error("the path of a socket is too long: " + path);
        }
        std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
        socket_ = UniqueFd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        if (bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
            throw std::runtime_error("bind");
        }
        end_ = UniqueFd(eventfd(0, EFD_CLOEXEC));
        thread_ = std::thread([this] { serve(); });
    }
    ~ServiceManager()
    {
        const std::uint64_t one = 1;
        (void)!write(end_.get(), &one, sizeof(one));
        thread_.join();
    }
    ServiceManager(const ServiceManager&) = delete;
    ServiceManager& operator=(const ServiceManager&) = delete;

    [[nodiscard]] std::unique_ptr<Child> start(const std::vector<std::string>& command,
                                               std::vector<std::string> environment, const std::filesystem::path& log)
    {
        const std::lock_guard lock(mutex_);
        is_ready_ = false;
        environment.push_back("NOTIFY_SOCKET=" + socket_path());
        std::vector<int> descriptors;
        std::string names;
        for (const auto& [name, fd] : store_) {
            descriptors.push_back(fd.get());
            names += (names.empty() ? "" : ":") + name;
        }
        environment.push_back("LISTEN_FDNAMES=" + names);
        return std::make_unique<Child>(command, environment, log, descriptors);
    }
    [[nodiscard]] bool is_ready() const
    {
        const std::lock_guard lock(mutex_);
        return is_ready_;
    }
    // The names of what is in the store, sorted.
    [[nodiscard]] std::vector<std::string> kept() const
    {
        const std::lock_guard lock(mutex_);
        std::vector<std::string> names;
        for (const auto& [name, fd] : store_) {
            names.push_back(name);
        }
        return names;
    }
    // One of them.
    [[nodiscard]] int kept_descriptor(const std::string& name) const
    {
        const std::lock_guard lock(mutex_);
        return store_.find(name)->second.get();
    }
    // For a forked copy of this process, which has them as well: what closes them there.
    [[nodiscard]] std::function<void()> closer() const
    {
        const std::lock_guard lock(mutex_);
        std::vector<int> descriptors;
        for (const auto& [name, fd] : store_) {
            descriptors.push_back(fd.get());
        }
        return [descriptors] {
            for (const int fd : descriptors) {
                close(fd);
            }
        };
    }
    // As after `systemctl stop`.
    void empty_store()
    {
        const std::lock_guard lock(mutex_);
        store_.clear();
    }
    // In place of what has this name.
    void replace(const std::string& name, UniqueFd fd)
    {
        const std::lock_guard lock(mutex_);
        store_.erase(name);
        store_.emplace(name, std::move(fd));
    }

private:
    [[nodiscard]] std::string socket_path() const { return (dir_.path() / "notify").string(); }

    void serve()
    {
        while (true) {
            std::array<pollfd, 2> wanted{pollfd{socket_.get(), POLLIN, 0}, pollfd{end_.get(), POLLIN, 0}};
            if (poll(wanted.data(), wanted.size(), -1) < 0 || wanted[1].revents != 0) {
                return;
            }
            take_message();
        }
    }
    void take_message()
    {
        std::array<char, 4096> text{};
        iovec part{text.data(), text.size()};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        DescriptorRoom room;
        room.offer(message);
        const ssize_t length = recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
        std::vector<UniqueFd> descriptors = take_descriptors(message);
        std::map<std::string, std::string> fields;
        std::istringstream lines(std::string(text.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))));
        for (std::string line; std::getline(lines, line);) {
            fields[line.substr(0, line.find('='))] = line.substr(line.find('=') + 1);
        }
        act(fields, std::move(descriptors));
    }
    // A barrier is a descriptor that is closed when all before it was taken: with `descriptors`, here.
    void act(const std::map<std::string, std::string>& fields, std::vector<UniqueFd> descriptors)
    {
        const std::lock_guard lock(mutex_);
        is_ready_ = is_ready_ || fields.contains("READY");
        if (fields.contains("FDSTORE")) {
            for (auto& fd : descriptors) {
                store_.emplace(fields.at("FDNAME"), std::move(fd));
            }
        }
        if (fields.contains("FDSTOREREMOVE")) {
            store_.erase(fields.at("FDNAME"));
        }
    }

    TempDir dir_;
    UniqueFd socket_;
    UniqueFd end_;
    mutable std::mutex mutex_;
    std::multimap<std::string, UniqueFd> store_;
    bool is_ready_ = false;
    std::thread thread_;
};

}    // namespace rdmaqos::test
