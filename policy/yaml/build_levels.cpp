#include "policy/yaml/build_levels.h"

#include <fmt/format.h>

#include "policy/yaml/level_options.h"

namespace rdmaqos::reader {
namespace {

void warn_about(Context& context, const Mapping& mapping, const QosLevel& level)
{
    const bool capped = (level.schedule && level.schedule->rate.max_rate) || level.per_queue_pair.max_rate;
    if (level.rate_limit && !capped) {
        context.warning(
            *find_key(mapping.node(), "rate-limit"),
            fmt::format("`rate-limit` of `{}` caps nothing: it is only reported in path answers", level.name),
            "a cap is `max-rate` in `schedule` or `per-queue-pair`");
    }
    if (level.schedule && level.schedule->rate.has_guarantee() && !level.allow) {
        context.warning(*find_key(*find_value(mapping.node(), "schedule"), "min-rate"),
                        fmt::format("anybody may use the guarantee of `{}`", level.name), "restrict it with `allow`");
    }
}

void read_level(Build& build, const NamedObject& object)
{
    Context& context = build.context;
    const Mapping mapping(context, object.mapping, "a qos-level", build.sections.levels.keys());
    QosLevel level;
    RateFields fields;
    level.name = object.name;
    level.location = context.locate(object.name_at);
    if (const auto field = mapping.find("use")) {
        level.use = read_description(context, *field);
    }
    for (const auto& option : level_options()) {
        if (const auto field = mapping.find(option.key)) {
            option.read({build, mapping, level, fields}, *field);
        }
    }
    warn_about(context, mapping, level);
    build.add(std::move(level));
    build.level_fields.push_back(fields);
}

}    // namespace

void read_levels(Build& build)
{
    for (const auto& object : build.sections.levels.objects()) {
        read_level(build, object);
    }
}

}    // namespace rdmaqos::reader
