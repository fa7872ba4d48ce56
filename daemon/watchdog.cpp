#include "daemon/watchdog.h"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/base/log.h"

namespace rdmaqos {

std::vector<std::string> lost_threads(const std::map<std::string, WorkerPulse>& before,
                                      const std::map<std::string, WorkerPulse>& now)
{
    std::vector<std::string> lost;
    for (const auto& [name, pulse] : now) {
        const auto last = before.find(name);
        if (last != before.end() && takes_no_work(last->second, pulse)) {
            lost.push_back(name);
        }
    }
    return lost;
}

Watchdog::Watchdog(Executor& loop, Duration period, std::function<std::map<std::string, WorkerPulse>()> pulses,
                   std::function<void()> feed)
    : loop_(loop), period_(period), pulses_(std::move(pulses)), feed_(std::move(feed))
{
    wait();
}

void Watchdog::wait()
{
    timer_ = loop_.after(period_, [this] { look(); });
}

void Watchdog::look()
{
    auto now = pulses_();
    const auto lost = lost_threads(before_, now);
    before_ = std::move(now);
    wait();
    if (lost.empty()) {
        logged_ = false;
        feed_();
    } else if (!std::exchange(logged_, true)) {
        log(LogLevel::Error, "the thread of {} takes no work: the watchdog is not fed, so that the daemon is restarted",
            fmt::join(lost, ", "));
    }
}

}    // namespace rdmaqos
