#include "daemon/port_classes/port_reader.h"

#include <utility>

#include <fmt/format.h>

#include "lib/base/log.h"

namespace rdmaqos {

PortReader::PortReader(Executor& loop, PortClassesOptions options, ForKey changed, ForKey was_read)
    : loop_(loop), options_(std::move(options)), changed_(std::move(changed)), was_read_(std::move(was_read)),
      calls_(loop)
{
}

PortReader::~PortReader() = default;

void PortReader::set(PortClassesSetting setting, std::chrono::milliseconds interval)
{
    const bool was_off = std::exchange(setting_, setting) == PortClassesSetting::Off;
    const bool is_off = setting_ == PortClassesSetting::Off;
    const bool other_interval = std::exchange(interval_, interval) != interval;
    if (is_off == was_off) {
        if (!is_off && other_interval && options_.kernel != nullptr) {
            arm_round();
        }
        return;
    }
    if (is_off) {
        watch_ = nullptr;
        next_round_ = nullptr;
    } else if (options_.kernel != nullptr) {
        if (options_.watch) {
            watch_ = options_.watch([this](const PortNotice& notice) { take(notice); });
        }
        arm_round();
    }
    for (auto& [key, port] : ports_) {
        begin(key, port);
    }
}

void PortReader::follow(const std::string& key, const std::string& netdev, const std::string& reason)
{
    const auto [found, is_new] = ports_.try_emplace(key);
    Port& port = found->second;
    if (is_new || port.netdev != netdev || port.reason != reason) {
        port.netdev = netdev;
        port.reason = reason;
        begin(key, port);
    }
}

void PortReader::forget(const std::string& key)
{
    ports_.erase(key);
}

PortStatus PortReader::status(const std::string& key) const
{
    const auto found = ports_.find(key);
    return found == ports_.end() ? PortStatus() : found->second.status;
}

// Whatever was known of it is of another interface, or too old.
void PortReader::begin(const std::string& key, Port& port)
{
    port.number = 0;
    port.due_again = false;
    port.settling = nullptr;
    port.patience = nullptr;
    PortStatus status;
    status.netdev = port.netdev;
    if (setting_ == PortClassesSetting::Off) {
        status.netdev.clear();
    } else if (port.netdev.empty() || options_.kernel == nullptr) {
        status.reading = PortReading::None;
        status.reason = port.netdev.empty() ? port.reason : "simulated devices have no traffic classes";
    } else {
        status.reading = PortReading::Pending;
        read_soon(key, port, Duration::zero());
    }
    set_status(key, port, std::move(status));
}

void PortReader::take(const PortNotice& notice)
{
    for (auto& [key, port] : ports_) {
        if (port.netdev.empty() || (!notice.netdev.empty() && notice.netdev != port.netdev)) {
            continue;
        }
        if (!notice.netdev.empty()) {
            PortStatus status = port.status;
            status.last_change = PortChange{options_.wall_clock(), notice.by};
            set_status(key, port, std::move(status));
        }
        read_soon(key, port, kSettle);
    }
}

void PortReader::read_soon(const std::string& key, Port& port, Duration delay)
{
    if (port.number != 0) {
        port.due_again = true;
    } else if (!port.settling && options_.kernel != nullptr) {
        port.settling = loop_.after(delay, [this, key] { read(key); });
    }
}

void PortReader::read_now(const std::string& key)
{
    if (const auto found = ports_.find(key); found != ports_.end() && !found->second.netdev.empty()) {
        found->second.settling = nullptr;
        read_soon(key, found->second, Duration::zero());
    }
}

bool PortReader::is_busy(const std::string& key) const
{
    const auto found = ports_.find(key);
    return found != ports_.end() && (found->second.number != 0 || found->second.settling);
}

void PortReader::occupy(const std::string& key, Port& port, std::chrono::seconds patience)
{
    port.settling = nullptr;
    port.number = ++last_number_;
    port.patience = loop_.after(patience, [this, key, patience] {
        Port& silent = ports_.at(key);
        silent.patience = nullptr;
        PortStatus status = silent.status;
        status.reading = PortReading::Failed;
        status.reason = fmt::format("the kernel has not answered for {} s", patience.count());
        set_status(key, silent, std::move(status));
        if (was_read_) {
            was_read_(key);
        }
    });
}

PortReader::Port* PortReader::finished(const std::string& key, std::uint64_t number)
{
    const auto found = ports_.find(key);
    if (found == ports_.end() || found->second.number != number) {
        return nullptr;    // it went away, or has another interface
    }
    Port& port = found->second;
    port.number = 0;
    port.patience = nullptr;
    if (std::exchange(port.due_again, false)) {
        read_soon(key, port, kSettle);
    }
    return &port;
}

void PortReader::read(const std::string& key)
{
    Port& port = ports_.at(key);
    occupy(key, port, kPatience);
    calls_.run(
        worker_, [kernel = options_.kernel, netdev = port.netdev] { return kernel->read(netdev); },
        [this, key, number = port.number](const Result<PortAnswer>& answer) { take_answer(key, number, answer); });
}

void PortReader::look_aside(const std::string& key, LoopCallback<void(const Result<PortAnswer>&)> done)
{
    calls_.run(
        worker_, [kernel = options_.kernel, netdev = ports_.at(key).netdev] { return kernel->read(netdev); },
        [done = std::move(done)](const Result<PortAnswer>& answer) { done(answer); });
}

void PortReader::write(const std::string& key, std::vector<dcb::Write> writes,
                       LoopCallback<void(const Result<dcb::WriteReport>&)> done)
{
    Port& port = ports_.at(key);
    port.due_again = port.settling != nullptr;    // of what comes from others
    occupy(key, port, kPatienceWithWrites);
    calls_.run(
        worker_,
        [kernel = options_.kernel, netdev = port.netdev, writes = std::move(writes)] {
            return kernel->write(netdev, writes);
        },
        [this, key, number = port.number, done = std::move(done)](const Result<dcb::WriteReport>& report) {
            if (Port* written = finished(key, number)) {
                take_written(key, *written, report);
                done(report);
            }
        });
}

void PortReader::work(const std::string& key, std::function<Result<void>()> work,
                      LoopCallback<void(const Result<void>&)> done)
{
    Port& port = ports_.at(key);
    port.due_again = port.settling != nullptr;
    occupy(key, port, kPatienceWithWrites);
    calls_.run(worker_, std::move(work),
               [this, key, number = port.number, done = std::move(done)](const Result<void>& result) {
                   if (finished(key, number) != nullptr) {
                       done(result);
                   }
               });
}

void PortReader::take_written(const std::string& key, Port& port, const Result<dcb::WriteReport>& report)
{
    if (!report || !report->now) {
        PortStatus status = port.status;
        status.reading = PortReading::Failed;
        status.reason = to_string(report ? report->now.error() : report.error());
        set_status(key, port, std::move(status));
        return;
    }
    PortStatus status = port.status;
    status.reading = PortReading::Read;
    status.reason.clear();
    if (status.settings != *report->now) {
        status.last_change = PortChange{options_.wall_clock(), "rdma-qosd"};
    }
    status.settings = *report->now;
    status.read_at = options_.wall_clock();
    set_status(key, port, std::move(status));
}

void PortReader::take_answer(const std::string& key, std::uint64_t number, const Result<PortAnswer>& answer)
{
    Port* const found = finished(key, number);
    if (found == nullptr) {
        return;
    }
    Port& port = *found;
    PortStatus status;
    status.netdev = port.netdev;
    status.last_change = port.status.last_change;
    if (answer) {
        status.reading = PortReading::Read;
        status.driver = answer->driver;
        status.settings = answer->settings;
        status.owners = answer->owners;
        status.read_at = options_.wall_clock();
    } else {
        const bool has_none = answer.error().code == ErrorCode::Unsupported;
        status.reading = has_none ? PortReading::None : PortReading::Failed;
        status.reason = to_string(answer.error());
    }
    set_status(key, port, std::move(status));
    if (was_read_) {
        was_read_(key);
    }
}

void PortReader::set_status(const std::string& key, Port& port, PortStatus status)
{
    const PortStatus before = std::exchange(port.status, std::move(status));
    const bool fails = port.status.reading == PortReading::Failed;
    if (fails && (before.reading != PortReading::Failed || before.reason != port.status.reason)) {
        log(LogLevel::Warning, {{"DEVICE", key}}, "{}: the traffic classes of {} cannot be read: {}", key, port.netdev,
            port.status.reason);
    } else if (before.reading == PortReading::Failed && port.status.reading == PortReading::Read) {
        log(LogLevel::Notice, {{"DEVICE", key}}, "{}: the traffic classes of {} can be read again", key, port.netdev);
    } else if (before.reading == PortReading::Read && port.status.reading == PortReading::Read &&
               before.settings != port.status.settings) {
        const auto& change = port.status.last_change;
        log(LogLevel::Notice, {{"DEVICE", key}}, "{}: the traffic classes of {} have changed, by {}", key, port.netdev,
            change && change->at >= before.read_at ? change->by : "something that the kernel does not notify of");
    }
    // When it was read last is not worth a signal.
    PortStatus compared = before;
    compared.read_at = port.status.read_at;
    if (compared != port.status) {
        changed_(key);
    }
}

void PortReader::arm_round()
{
    next_round_ = loop_.after(interval_, [this] {
        for (auto& [key, port] : ports_) {
            if (!port.netdev.empty()) {
                read_soon(key, port, Duration::zero());
            }
        }
        arm_round();
    });
}

}    // namespace rdmaqos
