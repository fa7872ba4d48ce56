// Signals and the service manager: SIGHUP reloads, SIGTERM and SIGINT drain and end; systemd is notified each time, and
// what `systemctl status` shows follows policy and devices. Its watchdog is fed from here (watchdog.h).
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/service/observer.h"
#include "daemon/service/service.h"
#include "daemon/watchdog.h"
#include "lib/bus/event.h"

namespace rdmaqos {

class Lifecycle final : private ServiceObserver {
public:
    // Both must outlive it.
    Lifecycle(bus::EventLoop& loop, Service& service);
    ~Lifecycle() override;
    Lifecycle(const Lifecycle&) = delete;
    Lifecycle& operator=(const Lifecycle&) = delete;

    // Clients can connect, and the devices have the policy: tells systemd, now and, if it has a watchdog on us, again
    // and again.
    void ready();

private:
    void device_added(const std::string& /*key*/) override { tell_status(); }
    void device_removed(const std::string& /*key*/) override { tell_status(); }
    void policy_changed() override { tell_status(); }
    void reload_answered() override { tell_status(); }
    void trial_changed(TrialStep, const std::string& /*revision*/) override { tell_status(); }

    // To systemd, in this order, each as soon as there is a descriptor for it.
    void notify(std::string text);
    void send_notices();
    void tell_status();
    void reload(bus::SignalSender sender);
    void stop();

    bus::EventLoop& loop_;
    Service& service_;
    std::vector<std::unique_ptr<bus::EventSource>> signals_;
    std::unique_ptr<Timer> patience_;
    std::optional<Watchdog> watchdog_;
    std::optional<std::string> published_;    // the status; empty until systemd knows that we are ready
    bool stopping_ = false;
    std::deque<std::string> notices_;    // that were not sent yet
    std::unique_ptr<Timer> notices_timer_;
    std::shared_ptr<const int> alive_ = std::make_shared<const int>(
        0);    // for callbacks of the service, which outlives it
};

// The daemon ends before it has begun: logs why, and tells systemd.
void report_refusal(const std::string& why);

// Logs how the start went.
void report(const ReloadOutcome& outcome);

}    // namespace rdmaqos
