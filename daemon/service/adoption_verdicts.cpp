#include "daemon/service/adoption_verdicts.h"

#include <fmt/format.h>

#include "policy/model/lower.h"

namespace rdmaqos {
namespace {

// Why `qps` shows it outside the tree.
constexpr const char* kStaysInRtr =
    "it is in RTR, where no device puts a queue pair into a leaf, and is adopted when it may send (RTS); a program "
    "that only answers RDMA READ stays in RTR, as the server of ib_read_bw does: it has to register, or to be run with "
    "rdma-qos-run";

}    // namespace

std::string_view word_of(AdoptionVerdict verdict)
{
    switch (verdict) {
    case AdoptionVerdict::NotScheduled:
        return kNotScheduled;
    case AdoptionVerdict::Monitored:
        return kLevelMonitor;
    case AdoptionVerdict::Excluded:
        return kExcluded;
    case AdoptionVerdict::Adopt:
    case AdoptionVerdict::NeedsPath:
    case AdoptionVerdict::NoRule:
        break;
    }
    return kNoRule;
}

std::string reason_of(const AdoptionChoice& choice, const Policy& policy)
{
    if (choice.verdict != AdoptionVerdict::Monitored) {
        return {};
    }
    const QosLevel& level = *choice.match.level;
    const auto& limit = level.per_queue_pair.max_rate;
    return fmt::format(
        "level {} is only monitored (`mode: monitor`): with `enforce`, it would be adopted, and its class "
        "would be {}{}",
        level.name, class_path(policy, level).text(),
        limit ? fmt::format(", and the limit of each queue pair {}", to_string(*limit)) : "");
}

std::string level_if_enforced(const AdoptionChoice& choice)
{
    return choice.verdict == AdoptionVerdict::Monitored ? choice.match.level->name : std::string();
}

const AdoptionVerdictOf* AdoptionVerdicts::find(const HostQueuePair& queue_pair) const
{
    const auto found = verdicts_.find({queue_pair.device, queue_pair.tracked.number});
    const bool is_its = found != verdicts_.end() && queue_pair.owner != nullptr &&
                        found->second.process == queue_pair.owner->pid;
    return is_its ? &found->second : nullptr;
}

std::string_view AdoptionVerdicts::word(const HostQueuePair& queue_pair) const
{
    if (setting != Unregistered::Adopt) {
        return kUnregistered;
    }
    if (!unavailable.empty()) {
        return kNotAdoptable;
    }
    const AdoptionVerdictOf* verdict = find(queue_pair);
    return verdict == nullptr ? kNotReady : verdict->word;
}

std::string AdoptionVerdicts::level(const HostQueuePair& queue_pair) const
{
    const AdoptionVerdictOf* verdict = setting == Unregistered::Adopt && unavailable.empty() ? find(queue_pair)
                                                                                             : nullptr;
    return verdict == nullptr ? std::string() : verdict->level;
}

std::map<std::string, std::uint32_t> AdoptionVerdicts::monitored(const std::string& device) const
{
    std::map<std::string, std::uint32_t> counts;
    for (const auto& [queue_pair, verdict] : verdicts_) {
        if (!verdict.level.empty() && (device.empty() || queue_pair.first == device)) {
            ++counts[verdict.level];
        }
    }
    return counts;
}

std::string AdoptionVerdicts::reason(const HostQueuePair& queue_pair) const
{
    if (setting != Unregistered::Adopt) {
        return {};
    }
    const AdoptionVerdictOf* verdict = find(queue_pair);
    if (!unavailable.empty()) {
        return unavailable;
    }
    if (verdict != nullptr) {
        return verdict->reason;
    }
    const bool may_stay = queue_pair.tracked.state == QueuePairState::Rtr;
    return may_stay ? kStaysInRtr : std::string();
}

}    // namespace rdmaqos
