#include "daemon/lifecycle.h"

#include <csignal>
#include <ctime>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <systemd/sd-daemon.h>

#include "daemon/handover/restart_job.h"
#include "daemon/service/context.h"
#include "daemon/service/device_table.h"
#include "daemon/service/policy_in_force.h"
#include "daemon/service/reloads.h"
#include "daemon/service/trial_in_force.h"
#include "lib/base/log.h"
#include "lib/base/text.h"

namespace rdmaqos {
namespace {

// A device that does not answer must not keep us from ending; below TimeoutStopSec= of rdma-qosd.service.
constexpr auto kTimeToDrain = std::chrono::seconds(20);

std::string summary_of(const Service& service)
{
    const auto policy = service.in_force().policy();
    const auto devices = service.devices().keys().size();
    return fmt::format("{}{}, {}", policy ? fmt::format("policy {}", policy->revision) : "no valid policy",
                       service.trial().status() ? " on trial" : "",
                       devices == 0 ? "waiting for a device" : counted(devices, "device port"));
}

// What `systemctl status` shows.
std::string status_of(const Service& service)
{
    const auto& newest = service.in_force().last_reload;
    return summary_of(service) + (newest.accepted ? ""
                                                  : fmt::format("; the newest {} refused: {}",
                                                                newest.is_of_settings() ? "settings are" : "policy is",
                                                                newest.why_refused()));
}

// How often systemd's watchdog is fed: a third of the time after which it bites. Empty: it has none on this process.
std::optional<Duration> watchdog_period()
{
    std::uint64_t usec = 0;
    if (sd_watchdog_enabled(0, &usec) <= 0) {
        return std::nullopt;
    }
    return std::chrono::microseconds(usec / 3);
}

std::uint64_t monotonic_usec()
{
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000U + static_cast<std::uint64_t>(now.tv_nsec) / 1000U;
}

}    // namespace

void report(const ReloadOutcome& outcome)
{
    ReloadOutcome said = outcome;
    said.failures.clear();    // each has had its line
    const std::string text = said.to_text();
    if (!outcome.accepted && outcome.is_of_settings() && !outcome.revision.empty()) {
        log_event(LogLevel::Error, LogEvent::PolicyApplied, {}, {{"REVISION", outcome.revision}},
                  "policy {} is running, but not all settings are in force:\n{}", outcome.revision, text);
    } else if (!outcome.accepted) {
        log_event(LogLevel::Error, LogEvent::PolicyRejected, {}, {{"REVISION", outcome.revision}},
                  "the policy was refused:\n{}", text);
    } else {
        const bool is_whole = outcome.failures.empty() && outcome.unanswered.empty();
        log_event(outcome.has_warnings() || !is_whole ? LogLevel::Warning : LogLevel::Notice, LogEvent::PolicyApplied,
                  {}, {{"REVISION", outcome.revision}}, "policy {} is running{}{}{}", outcome.revision,
                  is_whole ? "" : ", but not all of it is on the devices", text.empty() ? "" : ":\n", text);
    }
}

void report_refusal(const std::string& why)
{
    log(LogLevel::Error, "{}", why);
    sd_notify(0, fmt::format("STATUS={}", why).c_str());
}

Lifecycle::Lifecycle(bus::EventLoop& loop, Service& service) : loop_(loop), service_(service)
{
    const auto on = [this](int signal, std::function<void(bus::SignalSender)> function) {
        auto source = loop_.on_signal(signal, std::move(function));
        if (!source) {
            throw std::runtime_error(to_string(source.error()));
        }
        signals_.push_back(std::move(*source));
    };
    on(SIGHUP, [this](bus::SignalSender sender) { reload(sender); });
    on(SIGTERM, [this](bus::SignalSender) { stop(); });
    on(SIGINT, [this](bus::SignalSender) { stop(); });
    service_.context().add_observer(*this);
}

Lifecycle::~Lifecycle()
{
    service_.context().remove_observer(*this);
}

void Lifecycle::ready()
{
    if (stopping_) {
        return;
    }
    published_ = status_of(service_);
    // Why a policy was refused has been logged.
    log_event(LogLevel::Info, LogEvent::DaemonReady, {}, {}, "ready: {}", summary_of(service_));
    notify(fmt::format("READY=1\nSTATUS={}", *published_));
    if (const auto period = watchdog_period()) {
        watchdog_.emplace(
            loop_, *period, [this] { return service_.devices().pulses(); }, [] { sd_notify(0, "WATCHDOG=1"); });
    }
}

void Lifecycle::notify(std::string text)
{
    notices_.push_back(std::move(text));
    send_notices();
}

void Lifecycle::send_notices()
{
    constexpr auto kAgain = std::chrono::milliseconds(50);
    while (!notices_.empty()) {
        if (const int sent = sd_notify(0, notices_.front().c_str()); sent < 0 && is_shortage(-sent)) {
            notices_timer_ = loop_.after(kAgain, [this] { send_notices(); });
            return;
        }
        notices_.pop_front();
    }
}

// Who asked for a reload does not matter: `systemctl status` shows what is so now.
void Lifecycle::tell_status()
{
    if (!published_ || stopping_) {
        return;
    }
    std::string status = status_of(service_);
    if (status != *published_) {
        notify(fmt::format("STATUS={}", status));
        published_ = std::move(status);
    }
}

void Lifecycle::reload(bus::SignalSender sender)
{
    if (stopping_) {
        return;
    }
    log_event(LogLevel::Notice, LogEvent::ManagementCall, {},
              {{"METHOD", "SIGHUP"}, {"UID", fmt::format("{}", sender.uid)}, {"PID", fmt::format("{}", sender.pid)}},
              "a reload is asked for by SIGHUP of uid {}, pid {}", sender.uid, sender.pid);
    notify(fmt::format("RELOADING=1\nMONOTONIC_USEC={}", monotonic_usec()));
    // The service has logged how it went, and the observer has published the status.
    service_.reloads().reload([this, alive = std::weak_ptr(alive_)](const ReloadOutcome& /*outcome*/) {
        if (!alive.expired() && published_) {    // else the start is not over, which ready() says
            notify("READY=1");
        }
    });
}

void Lifecycle::stop()
{
    if (std::exchange(stopping_, true)) {
        log_event(LogLevel::Warning, LogEvent::DaemonStopping, {}, {},
                  "second request to stop: the devices are left as they are");
        loop_.exit(1);
        return;
    }
    const bool restarts = is_restart_asked_for();
    log_event(LogLevel::Info, LogEvent::DaemonStopping, {}, {}, "{}",
              restarts ? "restarting: what is on the devices stays for the next rdma-qosd"
                       : "stopping: removing queue pairs and elements from the devices");
    notify(fmt::format("STOPPING=1\nSTATUS={}", restarts ? "restarting" : "draining devices"));
    patience_ = loop_.after(kTimeToDrain, [this, restarts] {
        const auto silent = service_.devices().silent();
        log_event(LogLevel::Error, LogEvent::DaemonStopping, {}, {}, "stopping although {}: what it still has {}",
                  silent.empty() ? "the devices were not emptied in time"
                                 : fmt::format("{} does not answer", fmt::join(silent, ", ")),
                  restarts ? "is for the next rdma-qosd" : "goes when the kernel closes it");
        loop_.exit(1);
    });
    service_.shutdown(restarts ? EndOfService::Restart : EndOfService::Stop, [this] { loop_.exit(0); });
}

}    // namespace rdmaqos
