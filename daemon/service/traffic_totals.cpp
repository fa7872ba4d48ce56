#include "daemon/service/traffic_totals.h"

#include <utility>

namespace rdmaqos {

void TrafficTotals::add(const std::vector<CountersOfPort>& ports)
{
    for (const auto& read : ports) {
        if (!read.is_read) {
            continue;
        }
        const auto [found, is_first] = ports_.try_emplace(read.key);
        Port& port = found->second;
        const auto before = std::exchange(port.last, {});
        for (const auto& each : read.counters) {
            const rdma_netlink::QueuePairCounter& counter = each.counter;
            if (!counter.sent_bytes && !counter.received_bytes) {
                continue;
            }
            const LevelTraffic now{counter.sent_bytes.value_or(0), counter.received_bytes.value_or(0)};
            port.last.emplace(counter.number, Reading{each.session, now});
            if (each.level.empty() || is_first) {
                continue;
            }
            const auto last = before.find(counter.number);
            const bool goes_on = last != before.end() && last->second.session == each.session &&
                                 last->second.bytes.sent <= now.sent && last->second.bytes.received <= now.received;
            const LevelTraffic from = goes_on ? last->second.bytes : LevelTraffic();
            LevelTraffic& total = port.totals[each.level];
            total.sent += now.sent - from.sent;
            total.received += now.received - from.received;
        }
    }
}

const std::map<std::string, LevelTraffic>* TrafficTotals::of(const std::string& key) const
{
    const auto port = ports_.find(key);
    return port == ports_.end() ? nullptr : &port->second.totals;
}

}    // namespace rdmaqos
