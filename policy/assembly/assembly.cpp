#include "policy/assembly/assembly.h"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/base/text.h"

namespace rdmaqos::reader {
namespace {

bool has_members(const PortGroup& group)
{
    return !group.port_guids.empty() || !group.port_names.empty() || !group.pkeys.empty() ||
           !group.partitions.empty() || !group.node_types.none() || group.self || group.subnet_manager ||
           !group.gids.empty();
}

}    // namespace

void Assembly::add(PortGroup group, Read read)
{
    if (read == Read::Whole && !has_members(group)) {
        context.warning(group.location,
                        fmt::format("port-group `{}` has no members: it never matches", printable(group.name)));
    }
    groups.add(group.name, policy.groups.size());
    policy.groups.push_back(std::move(group));
}

void Assembly::add(QosLevel level)
{
    levels.add(level.name, policy.levels.size());
    policy.levels.push_back(std::move(level));
}

std::size_t Assembly::make_level(std::string name, std::uint8_t sl, const Location& at)
{
    QosLevel level;
    level.name = std::move(name);
    level.sl = sl;
    level.from_ulp = true;
    level.location = at;
    policy.levels.push_back(std::move(level));    // by no name that a file can say
    return policy.levels.size() - 1;
}

std::size_t Assembly::level_of_sl(std::uint8_t sl, const Location& at)
{
    auto& index = level_of_sl_.at(sl);
    if (!index) {
        index = make_level(fmt::format("SimpleQoSLevel_SL{}", sl), sl, at);
    }
    return *index;
}

std::size_t Assembly::default_level_of_sl(std::uint8_t sl, const Location& at)
{
    return make_level("SimpleQoSLevel_DEFAULT", sl, at);
}

void Assembly::add_ulp(UlpMeaning meaning, MatchRule rule)
{
    rule.service_id = std::move(meaning.service_id);
    rule.pkey = std::move(meaning.pkey);
    if (!meaning.group_name.empty()) {
        const std::size_t index = policy.groups.size();
        PortGroup group;
        group.name = meaning.group_name;
        group.use = "generated from qos-ulps";
        group.port_guids = std::move(meaning.port_guids);
        group.location = rule.location;
        add(std::move(group), Read::InPart);
        if (meaning.group_is_source) {
            rule.source = {index};
        }
        if (meaning.group_is_destination) {
            rule.destination = {index};
        }
    }
    ulp_rules_.push_back(std::move(rule));
}

void Assembly::set_ulp_default(std::size_t level, const Location& at, std::string_view entry)
{
    if (ulp_default_) {
        context.warning(at, fmt::format("a second {}: it replaces the first, as in OpenSM", entry));
    }
    ulp_default_ = UlpDefault{level, at, std::string(entry)};
}

void Assembly::add_rule(MatchRule rule, bool asks_for_nothing)
{
    if (asks_for_nothing) {
        catch_all_.push_back(policy.rules.size());
    }
    rule.number = policy.rules.size() + 1;
    policy.rules.push_back(std::move(rule));
}

void Assembly::end_rules()
{
    for (MatchRule& rule : std::exchange(ulp_rules_, {})) {
        add_rule(std::move(rule), false);
    }
    for (const std::size_t index : catch_all_) {
        // Of a level with `allow` it matches only for those who may use the level.
        const std::size_t level = policy.rules[index].level;
        const bool is_open = level >= policy.levels.size() || !policy.levels[level].allow;
        if (index + 1 < policy.rules.size() && is_open) {
            context.warning(policy.rules[index].location,
                            "a rule without criteria matches everything: no rule after it is ever reached");
        }
    }
}

bool Assembly::choose_default()
{
    if (const auto level = levels.find("default")) {
        policy.default_level = *level;
        if (ulp_default_) {
            context.warning(ulp_default_->at, fmt::format("{} is ignored, as in OpenSM: there is a qos-level `DEFAULT`",
                                                          ulp_default_->entry));
            context.note(policy.levels[*level].location, "it is defined here");
        }
        return true;
    }
    if (ulp_default_) {
        policy.default_level = ulp_default_->level;
    }
    return ulp_default_.has_value();
}

std::string ulp_in_words(Ulp ulp, std::optional<UlpCriterion> criterion, const std::vector<std::string>& ranges)
{
    const std::string_view name = form_of(ulp).name;
    return criterion ? fmt::format("{}, {} {}", name, to_string(*criterion), fmt::join(ranges, ","))
                     : std::string(name);
}

}    // namespace rdmaqos::reader
