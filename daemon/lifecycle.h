// Signals and the service manager: SIGHUP reloads, SIGTERM and SIGINT drain and end; systemd is told each time.
#pragma once

#include <memory>
#include <vector>

#include "daemon/service/service.h"
#include "lib/bus/event.h"

namespace rdmaqos {

class Lifecycle {
public:
    // Both must outlive it.
    Lifecycle(bus::EventLoop& loop, Service& service);
    ~Lifecycle();
    Lifecycle(const Lifecycle&) = delete;
    Lifecycle& operator=(const Lifecycle&) = delete;

    // Everything is open: tells systemd.
    void ready();

private:
    void reload();
    void stop();

    bus::EventLoop& loop_;
    Service& service_;
    std::vector<std::unique_ptr<bus::EventSource>> signals_;
    std::unique_ptr<Timer> patience_;
    bool stopping_ = false;
};

// Logs how reading the files went.
void report(const ReloadOutcome& outcome);

}    // namespace rdmaqos
