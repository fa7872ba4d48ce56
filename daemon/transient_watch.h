// Watches for the end of transient policy files: their time, and their cgroups. Sleeps while there are none.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "daemon/service/observer.h"
#include "daemon/service/service.h"
#include "lib/bus/event.h"

namespace rdmaqos {

class TransientWatch final : private ServiceObserver {
public:
    // Both must outlive it.
    TransientWatch(Service& service, bus::EventLoop& loop);
    ~TransientWatch() override;
    TransientWatch(const TransientWatch&) = delete;
    TransientWatch& operator=(const TransientWatch&) = delete;

    // The service has read the files.
    void start();

private:
    void reload_answered() override { arrange(); }

    // For what the service now knows of: the next look, and who is watched.
    void arrange();
    void look();
    // False: one of the cgroups cannot be watched.
    bool watch_cgroups();

    Service& service_;
    bus::EventLoop& loop_;
    std::unique_ptr<Timer> next_look_;
    // Of the folders in which the cgroups are: there the kernel tells when one is removed, and not in the cgroup
    // itself.
    std::map<std::filesystem::path, std::unique_ptr<bus::EventSource>> folders_;
    std::map<std::filesystem::path, std::set<std::string>> cgroups_;    // names in each folder
};

}    // namespace rdmaqos
