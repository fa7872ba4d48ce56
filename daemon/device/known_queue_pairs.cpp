#include "daemon/device/known_queue_pairs.h"

namespace rdmaqos {

std::vector<std::uint32_t> take_outcomes(DeviceFacts& facts, const Report& report)
{
    std::vector<std::uint32_t> changed;
    for (const auto& outcome : report.queue_pairs) {
        const auto known = facts.queue_pairs.find(outcome.queue_pair.number);
        if (known != facts.queue_pairs.end() && (!known->second.known || known->second.last != outcome)) {
            known->second.last = outcome;
            known->second.known = true;
            changed.push_back(outcome.queue_pair.number);
        }
    }
    return changed;
}

std::vector<std::pair<SessionId, std::uint32_t>> find_vanished(const DeviceFacts& facts, const Report& report)
{
    std::vector<std::pair<SessionId, std::uint32_t>> gone;
    for (const auto& outcome : report.queue_pairs) {
        const std::uint32_t number = outcome.queue_pair.number;
        const auto known = facts.queue_pairs.find(number);
        if (known != facts.queue_pairs.end() && known->second.admitted && outcome.error &&
            outcome.error->code == ErrorCode::BadQueuePair) {
            gone.emplace_back(facts.book.find(number)->session, number);
        }
    }
    return gone;
}

}    // namespace rdmaqos
