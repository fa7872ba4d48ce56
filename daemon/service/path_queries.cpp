#include "daemon/service/path_queries.h"

namespace rdmaqos {

Result<PathResult> PathQueries::query(const Request& request, const Identity& identity) const
{
    if (const auto ready = calls_.ready(); !ready) {
        return fail(ready.error());
    }
    const Rules& rules = policy_.rules();
    const auto found = rules.matcher->match(request, identity);
    if (!found) {
        return fail(found.error());
    }
    const auto answer = apply_level(*found->level, request, devices_.path_limits(request, *rules.fabric));
    if (!answer) {
        return fail(answer.error());
    }
    const QosLevel& level = *found->level;
    return PathResult{level.name, rules.matcher->why(*found, request, identity), *answer, level.traffic_class,
                      level.sl && level.sl_source == SlSource::Host};
}

Result<Explanation> PathQueries::explain(const Request& request, const Identity& identity) const
{
    if (const auto ready = calls_.ready(); !ready) {
        return fail(ready.error());
    }
    const Rules& rules = policy_.rules();
    return rdmaqos::explain(*rules.matcher, request, identity, devices_.path_limits(request, *rules.fabric));
}

}    // namespace rdmaqos
