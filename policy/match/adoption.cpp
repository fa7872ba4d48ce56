#include "policy/match/adoption.h"

#include <algorithm>

#include "policy/match/client.h"
#include "policy/match/match_index.h"

namespace rdmaqos {
namespace {

AdoptionChoice choice_of(const Result<Match>& match)
{
    if (!match || match->source == LevelSource::Default) {
        return {};
    }
    return {adoption_of(*match->level, match->rule), *match};
}

bool perhaps_by_partition(const Policy& policy, const Identity& identity)
{
    return std::ranges::any_of(policy.partitions, [&](const Partition& partition) {
        return partition.level && adoption_of(policy.levels[*partition.level], nullptr) == AdoptionVerdict::Adopt &&
               is_allowed(policy.levels[*partition.level], identity);
    });
}

}    // namespace

AdoptionVerdict adoption_of(const QosLevel& level, const MatchRule* rule)
{
    if (!level.adopt || (rule != nullptr && !rule->adopt)) {
        return AdoptionVerdict::Excluded;
    }
    if (!level.schedule) {
        return AdoptionVerdict::NotScheduled;
    }
    return level.mode == Mode::Monitor ? AdoptionVerdict::Monitored : AdoptionVerdict::Adopt;
}

AdoptionChoice choose_for_adoption(const Matcher& matcher, const Request& request, const Identity& identity,
                                   bool path_known)
{
    if (path_known) {
        return choice_of(matcher.match(request, identity));
    }
    Request bare = request;
    bare.source.reset();
    bare.destination.reset();
    bare.pkey.reset();
    // A rule that asks for the path does not match a request without one, so this is the first that certainly matches.
    const auto certain = matcher.match(bare, identity);
    AdoptionChoice choice = choice_of(certain);
    const MatchRule* rule = certain ? certain->rule : nullptr;
    const QosLevel* same = choice.verdict == AdoptionVerdict::Adopt ? choice.match.level : nullptr;
    if (matcher.index().perhaps_otherwise(bare, identity, rule, same) ||
        (rule == nullptr && perhaps_by_partition(matcher.policy(), identity))) {
        return {AdoptionVerdict::NeedsPath, {}};
    }
    return choice;
}

}    // namespace rdmaqos
