#include "policy/yaml/build_levels.h"

#include <string>
#include <unordered_map>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "policy/keys/objects.h"
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
    const Mapping mapping(context, object.mapping, keys::kQosLevel);
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

// A name means one level: the one that has it, else the one that had it.
void check_former_names(Build& build)
{
    Context& context = build.context;
    std::unordered_map<std::string, const FormerName*> first_of;    // by name in lower case
    for (const FormerName& former : build.former_names) {
        if (const auto present = build.levels.find(former.name)) {
            const QosLevel& level = build.policy.levels[*present];
            if (*present == former.level) {
                context.error(*former.at, fmt::format("`{}` is the name that the level has now", former.name),
                              "`renamed-from` takes the name that it had before");
            } else {
                context.error(*former.at, fmt::format("there is a qos-level `{}`: it was not renamed", level.name),
                              "remove one of the two: `renamed-from` takes a name that no level has any longer");
                context.note(level.location, "it is defined here");
            }
            continue;
        }
        const auto [first, is_new] = first_of.emplace(to_lower(former.name), &former);
        if (is_new) {
            build.renamed_levels.add(former.name, former.level);
            continue;
        }
        const bool is_twice = first->second->level == former.level;
        context.error(*former.at,
                      is_twice ? fmt::format("`renamed-from` has `{}` twice", former.name)
                               : fmt::format("two levels are renamed from `{}`", former.name),
                      is_twice ? "omit one of them" : "a name can lead to one level only: omit it in the other");
        context.note(context.locate(*first->second->at), "the first is here");
    }
}

}    // namespace

void read_levels(Build& build)
{
    for (const auto& object : build.sections.levels.objects()) {
        read_level(build, object);
    }
    check_former_names(build);
}

}    // namespace rdmaqos::reader
