#include "lib/model/faults.h"

#include <cerrno>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace rdmaqos {
namespace {

Refusal refusal_of(const Failure& failure, CommandKind kind)
{
    Refusal refusal = make_refusal(RefusalReason::Injected, {});
    refusal.status = failure.status;
    refusal.syndrome = failure.syndrome;
    refusal.sys_errno = failure.sys_errno != 0 ? failure.sys_errno : errno_of(failure.status);
    refusal.mailbox = failure.mailbox;
    if (!failure.mailbox) {
        refusal.message = fmt::format("the kernel refused the command \"{}\" without the device's reason",
                                      to_string(kind));
    } else {
        refusal.message = fmt::format("the device failed the command \"{}\" with status {}, syndrome {:#x}",
                                      to_string(kind), to_string(failure.status), failure.syndrome);
    }
    return refusal;
}

}    // namespace

std::string_view to_string(CommandKind kind)
{
    switch (kind) {
    case CommandKind::Create:
        return "create";
    case CommandKind::Modify:
        return "modify";
    case CommandKind::Query:
        return "query";
    case CommandKind::Destroy:
        return "destroy";
    case CommandKind::Attach:
        return "attach";
    case CommandKind::SetRate:
        return "set-rate";
    case CommandKind::QueryQueuePair:
        return "query-queue-pair";
    }
    return "unknown";
}

void Faults::fail(std::optional<CommandKind> kind, std::uint64_t nth, Failure failure, std::uint64_t times)
{
    const std::lock_guard lock(mutex_);
    orders_.push_back({kind, nth == 0 ? 0 : nth - 1, times, failure});
}

void Faults::busy(CommandKind kind, std::uint64_t times)
{
    fail(kind, 1, {FirmwareStatus::ResourceBusy, 0, EBUSY, false}, times);
}

void Faults::delay(std::optional<CommandKind> kind, std::chrono::milliseconds time)
{
    const std::lock_guard lock(mutex_);
    if (kind) {
        delays_.at(static_cast<std::size_t>(*kind)) = time;
    } else {
        delays_.fill(time);
    }
}

void Faults::clear()
{
    const std::lock_guard lock(mutex_);
    orders_.clear();
    delays_.fill(std::chrono::milliseconds{0});
}

void Faults::set_sleeper(Sleeper sleeper)
{
    const std::lock_guard lock(mutex_);
    sleeper_ = std::move(sleeper);
}

std::uint64_t Faults::fired() const
{
    const std::lock_guard lock(mutex_);
    return fired_;
}

std::optional<Refusal> Faults::strike(CommandKind kind)
{
    std::optional<Refusal> refusal;
    std::chrono::milliseconds wait{0};
    Sleeper sleeper;
    {
        const std::lock_guard lock(mutex_);
        wait = delays_.at(static_cast<std::size_t>(kind));
        sleeper = sleeper_;
        for (Order& order : orders_) {
            if (order.kind && *order.kind != kind) {
                continue;
            }
            if (order.skip > 0) {
                --order.skip;
            } else if (order.times > 0 && !refusal) {
                --order.times;
                refusal = refusal_of(order.failure, kind);
            }
        }
        std::erase_if(orders_, [](const Order& order) { return order.times == 0; });
        fired_ += refusal ? 1 : 0;
    }
    if (wait.count() > 0) {
        if (sleeper) {
            sleeper(wait);
        } else {
            std::this_thread::sleep_for(wait);
        }
    }
    return refusal;
}

}    // namespace rdmaqos
