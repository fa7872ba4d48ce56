#include "daemon/service/path_queries.h"

#include "lib/base/try.h"

namespace rdmaqos {

Result<PathResult> PathQueries::query(const Request& request, const Identity& identity) const
{
    TRY(calls_.ready());
    const Rules& rules = policy_.rules();
    const auto found = TRY(rules.matcher->match(request, identity));
    const QosLevel& level = *found.level;
    const auto answer = TRY(apply_level(level, request, devices_.path_limits(request, *rules.fabric)));
    return PathResult{level.name, rules.matcher->why(found, request, identity), answer, level.traffic_class,
                      level.sl && level.sl_source == SlSource::Host};
}

Result<Explanation> PathQueries::explain(const Request& request, const Identity& identity) const
{
    TRY(calls_.ready());
    const Rules& rules = policy_.rules();
    return rdmaqos::explain(*rules.matcher, request, identity, devices_.path_limits(request, *rules.fabric));
}

}    // namespace rdmaqos
