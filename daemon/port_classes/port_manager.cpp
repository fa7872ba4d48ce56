#include "daemon/port_classes/port_manager.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "lib/base/log.h"

namespace rdmaqos {
namespace {

LogLevel level_of(PortEvent::Kind kind)
{
    switch (kind) {
    case PortEvent::Kind::Set:
    case PortEvent::Kind::Repaired:
    case PortEvent::Kind::Restored:
        return LogLevel::Notice;
    case PortEvent::Kind::Drift:
    case PortEvent::Kind::NotPutBack:
        return LogLevel::Warning;
    case PortEvent::Kind::Stopped:
    case PortEvent::Kind::Refused:
        break;
    }
    return LogLevel::Error;
}

LogEvent event_of(PortEvent::Kind kind)
{
    switch (kind) {
    case PortEvent::Kind::Set:
    case PortEvent::Kind::Restored:
    case PortEvent::Kind::NotPutBack:
        return LogEvent::PortClassesSet;
    case PortEvent::Kind::Drift:
        return LogEvent::DriftFound;
    case PortEvent::Kind::Repaired:
        return LogEvent::DriftRepaired;
    case PortEvent::Kind::Stopped:
        return LogEvent::PortClassesStopped;
    case PortEvent::Kind::Refused:
        break;
    }
    return LogEvent::PortClassesRefused;
}

}    // namespace

PortManager::PortManager(Executor& loop, const Clock& clock, PortClassesOptions options,
                         std::function<Result<void>(const PortRecords&)> save,
                         std::function<void(const Result<void>&)> saved, PortReader::ForKey changed)
    : loop_(loop), clock_(clock), wall_clock_(options.wall_clock), save_(std::move(save)), saved_(std::move(saved)),
      changed_(std::move(changed)),
      reader_(loop, std::move(options), changed_, [this](const std::string& key) { was_read(key); })
{
}

PortManager::~PortManager() = default;

bool PortManager::has_records() const
{
    return std::ranges::any_of(ports_, [](const auto& entry) { return entry.second.keeper.record().has_value(); });
}

void PortManager::set_reader()
{
    const bool is_off = setting_ == PortClassesSetting::Off && !has_records();
    reader_.set(is_off ? PortClassesSetting::Off : PortClassesSetting::Report, interval_);
}

void PortManager::set(PortClassesSetting setting, std::chrono::milliseconds interval)
{
    setting_ = setting;
    interval_ = interval;
    set_reader();
}

void PortManager::follow(const std::string& key, const PortIdentity& identity)
{
    const auto [found, is_new] = ports_.try_emplace(key);
    Port& port = found->second;
    if (is_new || port.identity != identity) {
        const auto record = records_.find(identity.id);
        port.identity = identity;
        port.keeper = PortKeeper(identity.netdev,
                                 record == records_.end() ? std::nullopt : std::optional(record->second));
        port.is_unread = true;
        port.retry = nullptr;
        port.last_change.reset();
        set_reader();
    }
    reader_.follow(key, identity.netdev, identity.reason);
}

void PortManager::forget(const std::string& key)
{
    reader_.forget(key);
    const auto found = ports_.find(key);
    if (found == ports_.end()) {
        return;
    }
    const auto waiting = std::move(found->second.waiting);
    ports_.erase(found);
    for (const auto& done : waiting) {
        done();
    }
}

void PortManager::take_wish(const std::string& key, std::optional<PortWish> wish)
{
    const auto found = ports_.find(key);
    if (found != ports_.end() && found->second.keeper.take_wish(std::move(wish))) {
        look(key, found->second);
    }
}

void PortManager::hold(const std::string& key)
{
    if (const auto found = ports_.find(key); found != ports_.end()) {
        found->second.keeper.hold();
    }
}

void PortManager::resume(const std::string& key)
{
    if (const auto found = ports_.find(key); found != ports_.end() && found->second.keeper.resume()) {
        look(key, found->second);
    }
}

void PortManager::look_again(const std::string& key)
{
    if (const auto found = ports_.find(key); found != ports_.end() && found->second.keeper.has_work()) {
        look(key, found->second);
    }
}

void PortManager::was_reset(const std::string& key)
{
    if (const auto found = ports_.find(key); found != ports_.end()) {
        found->second.keeper.was_reset();
        look(key, found->second);
    }
}

void PortManager::look(const std::string& key, Port& port)
{
    port.is_unread = true;
    set_reader();
    reader_.read_now(key);
}

bool PortManager::is_at_rest(const std::string& key, const Port& port) const
{
    if (!port.keeper.has_work()) {
        return true;    // it is read, and nobody waits for that
    }
    const PortReading reading = reader_.status(key).reading;
    if (reading == PortReading::Off || reading == PortReading::None) {
        return true;
    }
    return !port.is_unread && !reader_.is_busy(key);
}

void PortManager::when_at_rest(const std::string& key, LoopCallback<void()> done)
{
    const auto found = ports_.find(key);
    if (found == ports_.end() || is_at_rest(key, found->second)) {
        done();
    } else {
        found->second.waiting.push_back(std::move(done));
    }
}

PortStatus PortManager::status(const std::string& key) const
{
    PortStatus status = reader_.status(key);
    if (const auto found = ports_.find(key); found != ports_.end()) {
        status.care = found->second.keeper.care();
    }
    return status;
}

std::optional<PortPlan> PortManager::plan_of(const std::string& key, const std::optional<PortWish>& wish) const
{
    const auto found = ports_.find(key);
    return found == ports_.end() ? std::nullopt : found->second.keeper.plan_of(wish);
}

void PortManager::compare(const std::string& key,
                          LoopCallback<void(Result<std::vector<port_classes::Difference>>)> done)
{
    const auto found = ports_.find(key);
    const PortReading reading = reader_.status(key).reading;
    if (found == ports_.end() || !found->second.keeper.has_goal() || reading == PortReading::Off ||
        reading == PortReading::None) {
        done(std::vector<port_classes::Difference>());
        return;
    }
    reader_.look_aside(key, [this, key, done = std::move(done)](const Result<PortAnswer>& answer) {
        const auto port = ports_.find(key);
        if (!answer) {
            done(fail(answer.error()));
        } else if (port == ports_.end()) {
            done(fail(ErrorCode::DeviceGone, fmt::format("{} went away", key)));
        } else {
            done(port->second.keeper.differences(answer->settings));
        }
    });
}

void PortManager::was_read(const std::string& key)
{
    const auto found = ports_.find(key);
    if (found == ports_.end()) {
        return;
    }
    Port& port = found->second;
    const PortStatus status = reader_.status(key);
    if (status.reading != PortReading::Read) {
        if (status.reading == PortReading::None) {
            port.keeper.take_none(status.reason);
        } else {
            port.keeper.take_failed_reading(status.reason);
        }
        port.is_unread = false;
        rest(key, port);
        return;
    }
    const bool is_news = status.last_change && status.last_change != port.last_change;
    port.last_change = status.last_change;
    port.keeper.take_reading({status.driver, status.settings, status.owners},
                             is_news ? status.last_change : std::nullopt, wall_clock_(), clock_.now());
    act(key);
}

void PortManager::act(const std::string& key)
{
    Port& port = ports_.at(key);
    port.is_unread = false;
    PortJob job = port.keeper.next(clock_.now());
    log_events(key, port);
    if (job.kind == PortJob::Kind::Rest) {
        rest(key, port);
    } else {
        do_job(key, std::move(job));
    }
}

void PortManager::do_job(const std::string& key, PortJob job)
{
    switch (job.kind) {
    case PortJob::Kind::Rest:
        break;
    case PortJob::Kind::Save:
        save(key, false);
        break;
    case PortJob::Kind::Forget:
        save(key, true);
        break;
    case PortJob::Kind::Write: {
        std::vector<dcb::Write> writes;
        std::ranges::transform(job.steps, std::back_inserter(writes), &port_classes::Step::write);
        reader_.write(key, std::move(writes), [this, key](const Result<dcb::WriteReport>& report) {
            Port& port = ports_.at(key);
            port.last_change = reader_.status(key).last_change;
            port.keeper.written(report ? *report : dcb::WriteReport{{}, fail(report.error())}, clock_.now());
            act(key);
        });
        break;
    }
    }
}

// `is_last`: its record is removed.
void PortManager::save(const std::string& key, bool is_last)
{
    Port& port = ports_.at(key);
    if (is_last) {
        records_.erase(port.identity.id);
    } else {
        records_.insert_or_assign(port.identity.id, *port.keeper.record());
    }
    reader_.work(
        key, [save = save_, records = records_] { return save ? save(records) : Result<void>(); },
        [this, key, is_last](const Result<void>& result) {
            if (saved_) {
                saved_(result);
            }
            if (!is_last) {
                ports_.at(key).keeper.saved(result, clock_.now());
            }
            act(key);
        });
}

void PortManager::rest(const std::string& key, Port& port)
{
    port.retry = nullptr;
    if (const auto at = port.keeper.retry_at(); at && *at > clock_.now()) {
        port.retry = loop_.after(*at - clock_.now(), [this, key] {
            ports_.at(key).retry = nullptr;
            look(key, ports_.at(key));
        });
    }
    if (PortCare care = port.keeper.care(); care != port.care) {
        port.care = std::move(care);
        changed_(key);
    }
    const auto waiting = std::exchange(port.waiting, {});
    if (setting_ == PortClassesSetting::Off) {
        set_reader();
    }
    for (const auto& done : waiting) {
        done();
    }
}

void PortManager::log_events(const std::string& key, Port& port)
{
    for (const PortEvent& event : port.keeper.take_events()) {
        log_event(level_of(event.kind), event_of(event.kind), LogOrigin::device(key), {{"DEVICE", key}}, "{}: {}", key,
                  event.text);
    }
}

}    // namespace rdmaqos
