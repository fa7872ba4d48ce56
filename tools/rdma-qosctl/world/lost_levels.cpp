#include "tools/rdma-qosctl/world/lost_levels.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

namespace rdmaqos::ctl {

std::vector<LostLevelView> lost_levels(const World& world)
{
    struct Count {
        std::set<std::uint64_t> sessions;
        std::size_t queue_pairs = 0;
    };
    std::map<api::Lost, Count> counts;
    const auto add = [&](const SessionView& session, const std::optional<api::Lost>& lost, std::size_t queue_pairs) {
        if (lost) {
            Count& count = counts[*lost];
            count.sessions.insert(session.id);
            count.queue_pairs += queue_pairs;
        }
    };
    for (const auto& session : world.sessions) {
        add(session, session.grant.lost, 0);
        for (const auto& queue_pair : session.queue_pairs) {
            add(session, queue_pair.lost, 1);
        }
    }
    std::vector<LostLevelView> lost;
    for (const auto& [loss, count] : counts) {
        lost.push_back({{loss}, count.sessions.size(), count.queue_pairs});
    }
    for (const auto& count : world.session_counts) {
        if (count.lost) {
            lost.push_back({{*count.lost}, count.sessions.value_or(0), count.queue_pairs.value_or(0)});
        }
    }
    std::ranges::sort(lost, {}, [](const LostLevelView& each) { return std::tie(each.level, each.at); });
    return lost;
}

std::string loss_in_words(const api::Lost& lost)
{
    const auto& [level, at, reason, renamed_to, revision] = lost;
    if (reason == "renamed") {
        return fmt::format("which was removed; level {} is the same", renamed_to);
    }
    if (reason == "not-allowed") {
        return renamed_to.empty() ? "whose `allow` does not include them any longer"
                                  : fmt::format("which is {} now, whose `allow` does not include them", renamed_to);
    }
    return reason == "no-rule" ? "to which no rule leads any longer" : "which was removed";
}

std::string advice_on_loss(const api::Lost& lost)
{
    const auto& [level, at, reason, renamed_to, revision] = lost;
    if (reason == "renamed") {
        return fmt::format("`renamed-from: {}` in level {} gives it to them again, with the next reload", level,
                           renamed_to);
    }
    if (reason == "not-allowed") {
        return fmt::format("extend `allow` of level {} and reload, or restart the programs with a level that they may "
                           "use",
                           renamed_to.empty() ? level : renamed_to);
    }
    if (reason == "no-rule") {
        return fmt::format("write a rule that leads to level {}, or open DEFAULT to them, and reload", level);
    }
    return fmt::format(
        "define level {0} again, or write `renamed-from: {0}` in the level that replaces it, and reload; "
        "or restart the programs with another level",
        level);
}

std::string level_in_words(const std::string& level, const std::optional<api::Lost>& lost)
{
    return level.empty() && lost ? fmt::format("none (was {})", lost->level) : level;
}

std::string level_in_words(const SessionView& session)
{
    return level_in_words(session.level.empty() ? session.grant.level : session.level, session.grant.lost);
}

}    // namespace rdmaqos::ctl
