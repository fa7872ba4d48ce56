#include "daemon/service/adoption_verdicts.h"

#include <fmt/format.h>

namespace rdmaqos {

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

std::string reason_of(const AdoptionChoice& choice)
{
    return choice.verdict == AdoptionVerdict::Monitored
               ? fmt::format("level {} is only monitored (`mode: monitor`)", choice.match.level->name)
               : std::string();
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

std::string AdoptionVerdicts::reason(const HostQueuePair& queue_pair) const
{
    if (setting != Unregistered::Adopt) {
        return {};
    }
    const AdoptionVerdictOf* verdict = find(queue_pair);
    return !unavailable.empty() ? unavailable : verdict == nullptr ? std::string() : verdict->reason;
}

}    // namespace rdmaqos
