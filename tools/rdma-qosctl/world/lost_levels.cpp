#include "tools/rdma-qosctl/world/lost_levels.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {

std::vector<LostLevelView> lost_levels(const World& world)
{
    using Loss = std::tuple<std::string, std::uint64_t, std::string, std::string, std::string>;
    struct Count {
        std::set<std::uint64_t> sessions;
        std::size_t queue_pairs = 0;
    };
    std::map<Loss, Count> counts;
    const auto add = [&](const SessionView& session, const bus::Dict& dict, std::size_t queue_pairs) {
        if (const std::string level = text_of(dict, "lost-level"); !level.empty()) {
            Count& count = counts[{level, number_of(dict, "lost-at"), text_of(dict, "lost-reason"),
                                   text_of(dict, "renamed-to"), text_of(dict, "lost-revision")}];
            count.sessions.insert(session.id);
            count.queue_pairs += queue_pairs;
        }
    };
    for (const auto& session : world.sessions) {
        add(session, session.grant, 0);
        for (const auto& queue_pair : session.queue_pairs) {
            add(session, queue_pair, 1);
        }
    }
    std::vector<LostLevelView> lost;
    for (const auto& [loss, count] : counts) {
        const auto& [level, at, reason, renamed_to, revision] = loss;
        lost.push_back({level, reason, renamed_to, revision, at, count.sessions.size(), count.queue_pairs});
    }
    for (const auto& count : world.session_counts) {
        if (std::string level = text_of(count, "lost-level"); !level.empty()) {
            lost.push_back({std::move(level), text_of(count, "lost-reason"), text_of(count, "renamed-to"),
                            text_of(count, "lost-revision"), number_of(count, "lost-at"), number_of(count, "sessions"),
                            number_of(count, "queue-pairs")});
        }
    }
    std::ranges::sort(lost, {}, [](const LostLevelView& each) { return std::tie(each.level, each.at); });
    return lost;
}

std::string loss_in_words(std::string_view reason, std::string_view renamed_to)
{
    if (reason == "renamed") {
        return fmt::format("which was removed; level {} is the same", renamed_to);
    }
    if (reason == "not-allowed") {
        return renamed_to.empty() ? "whose `allow` does not include them any longer"
                                  : fmt::format("which is {} now, whose `allow` does not include them", renamed_to);
    }
    return reason == "no-rule" ? "to which no rule leads any longer" : "which was removed";
}

std::string advice_on_loss(std::string_view level, std::string_view reason, std::string_view renamed_to)
{
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

std::string advice_on_loss(const bus::Dict& dict)
{
    return advice_on_loss(text_of(dict, "lost-level"), text_of(dict, "lost-reason"), text_of(dict, "renamed-to"));
}

std::string level_in_words(const bus::Dict& dict)
{
    const std::string level = text_of(dict, "level");
    const std::string lost = text_of(dict, "lost-level");
    return level.empty() && !lost.empty() ? fmt::format("none (was {})", lost) : level;
}

}    // namespace rdmaqos::ctl
