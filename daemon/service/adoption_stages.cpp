#include "daemon/service/adoption_stages.h"

#include <fmt/format.h>

#include "daemon/device/device_names.h"
#include "daemon/service/adoption_path.h"
#include "daemon/service/device_switches.h"
#include "lib/rdma_netlink/queue_pairs.h"

namespace rdmaqos {
namespace {

constexpr std::size_t kMostVerdicts = 4096;

AdoptionOutcome refused(const AdoptionCandidate& candidate, AdoptionVerdictOf verdict)
{
    return {candidate, AdoptionEnd::Refused, {}, std::move(verdict)};
}

Error not_found(const AdoptionJob& job)
{
    return {ErrorCode::BadQueuePair, 0,
            fmt::format("process {} has no open file of {} with this queue pair in it (another process has it, or its "
                        "main thread has ended): it has to register, or to be run with rdma-qos-run",
                        job.owner->pid, job.device)};
}

AdoptionOutcome outcome_of(const AdoptionCandidate& candidate, pid_t process, const Error& error)
{
    switch (error.code) {
    case ErrorCode::Busy:
    case ErrorCode::BadState:
        return {candidate, AdoptionEnd::TooEarly, error};
    case ErrorCode::BadQueuePair:
    case ErrorCode::NotOwner:
        return {candidate, AdoptionEnd::Vanished};
    default:
        return refused(candidate, {kNotAdoptable, to_string(error), process});
    }
}

}    // namespace

std::string why_not_schedulable(const DeviceInfo& port, const Capabilities& capabilities, std::uint8_t kernel_type)
{
    const auto type = rdma_netlink::attachable_type(kernel_type);
    const std::string key = key_of(names_of(port));
    if (!capabilities.scheduling) {
        return fmt::format("{} cannot schedule queue pairs of other processes: `rdma-qosctl devices {}` shows why", key,
                           port.name);
    }
    if (type == QueuePairType::RawPacket) {
        return "the kernel does not tell the send queue of a raw packet queue pair: its program has to register, or to "
               "be run with rdma-qos-run";
    }
    if (!type || !capabilities.attachable.contains(*type)) {
        return fmt::format(
            "{} cannot schedule queue pairs of type {}: its program has to use another type (RC, UC, UD)", key,
            rdma_netlink::name_of_type(kernel_type));
    }
    return {};
}

const ProgramVerdicts::Verdict& ProgramVerdicts::of(const Rules& rules, const Identity& owner, const DeviceInfo& port)
{
    const bool is_same = !matcher_.owner_before(rules.matcher) && !rules.matcher.owner_before(matcher_);
    if (!is_same || verdicts_.size() >= kMostVerdicts) {
        verdicts_.clear();
        matcher_ = rules.matcher;
    }
    const auto [verdict, is_new] = verdicts_.try_emplace({{owner.pid, key_of(names_of(port))}, owner.start_time});
    if (is_new) {
        const auto choice = choose_for_adoption(*rules.matcher, request_of(port), owner, false);
        verdict->second = {choice.verdict, reason_of(choice, *rules.policy), level_if_enforced(choice)};
    }
    return verdict->second;
}

AdoptionVerdictOf verdict_of(const AdoptionChoice& choice, const Request& path, const Rules& rules, pid_t process)
{
    return {word_of(choice.verdict),
            choice.verdict == AdoptionVerdict::NoRule ? unknown_lid(*rules.matcher, path)
                                                      : reason_of(choice, *rules.policy),
            process, level_if_enforced(choice)};
}

AdoptionPlacement plan_placement(const AdoptionJob& job, const DeviceInfo& port, const Rules& rules,
                                 const UidLimits::Room& room)
{
    const Error limit = room.limit.with_context(fmt::format("no room for {} more", job.candidates.size()));
    AdoptionPlacement placement;
    for (AdoptionCandidate candidate : job.candidates) {
        const auto found = job.search.found.find(candidate.sought.number);
        if (found == job.search.found.end()) {
            placement.outcomes.push_back(
                {candidate, AdoptionEnd::TooEarly, job.search.problem.value_or(not_found(job))});
            continue;
        }
        const auto& [there, file] = found->second;
        QueuePairRequest request;
        request.device = job.device;
        request.ref = {candidate.sought.number, candidate.sought.type, there.handle, 0,
                       job.owner->pid,          job.owner->start_time, file};
        request.path.of_kernel = true;
        request.path.pkey = there.pkey;
        take_ends(there, port, request.path);
        request.has_path = request.path.pkey || request.path.destination || request.path.source;
        Request whole = request.path;
        whole.device = request_of(port).device;
        const auto choice = choose_for_adoption(*rules.matcher, whole, *job.owner, true);
        if (choice.verdict != AdoptionVerdict::Adopt) {
            placement.outcomes.push_back(refused(candidate, verdict_of(choice, whole, rules, job.owner->pid)));
            continue;
        }
        if (placement.requests.size() >= room.count) {
            placement.outcomes.push_back({candidate, AdoptionEnd::Limited, limit});
            continue;
        }
        candidate.ref = request.ref;
        placement.requests.push_back(std::move(request));
        placement.tried.push_back(std::move(candidate));
    }
    return placement;
}

std::vector<AdoptionOutcome> outcomes_of(const AdoptionJob& job, const Result<std::vector<QueuePairResult>>& results)
{
    std::map<std::uint32_t, std::optional<Error>> by_number;
    for (const auto& result : results.value_or(std::vector<QueuePairResult>())) {
        by_number.emplace(result.number, result.error);
    }
    std::vector<AdoptionOutcome> outcomes;
    for (const auto& candidate : job.candidates) {
        const auto result = by_number.find(candidate.sought.number);
        if (!results && results.error().code == ErrorCode::LimitReached) {
            outcomes.push_back({candidate, AdoptionEnd::Limited, results.error()});
        } else if (!results) {
            outcomes.push_back(refused(candidate, {kNotAdoptable, to_string(results.error()), job.owner->pid}));
        } else if (result == by_number.end()) {
            outcomes.push_back({candidate, AdoptionEnd::NotTried});
        } else if (!result->second) {
            outcomes.push_back({candidate, AdoptionEnd::Adopted});
        } else {
            outcomes.push_back(outcome_of(candidate, job.owner->pid, *result->second));
        }
    }
    return outcomes;
}

}    // namespace rdmaqos
