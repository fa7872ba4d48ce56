#include "daemon/service/lost_levels.h"

#include <algorithm>

#include <fmt/format.h>

#include "lib/base/log.h"
#include "lib/base/text.h"
#include "policy/explain/changes.h"
#include "policy/match/client.h"

namespace rdmaqos {
namespace {

constexpr std::size_t kMostLines = 32;    // of losses, and as many of renamings

// Levels that ulps make have names too, which nobody can ask for.
const QosLevel* find_any(const Policy& policy, const std::string& name)
{
    const auto found = std::ranges::find_if(
        policy.levels, [&](const QosLevel& level) { return equals_ignoring_case(level.name, name); });
    return found == policy.levels.end() ? nullptr : &*found;
}

std::string loss_in_words(const LevelLoss& loss)
{
    switch (loss.reason) {
    case LossReason::Removed:
        return fmt::format("level {} is gone", loss.level);
    case LossReason::Renamed:
        return fmt::format("level {} is gone (level {} is the same, without `renamed-from: {}`)", loss.level,
                           loss.renamed_to, loss.level);
    case LossReason::NotAllowed:
        return fmt::format("level {} is closed by its `allow`", loss.renamed_to.empty() ? loss.level : loss.renamed_to);
    case LossReason::NoRule:
        return fmt::format("no rule leads to level {}", loss.level);
    }
    return {};
}

}    // namespace

LostLevels::Reason LostLevels::why(const std::string& level, const Identity& owner)
{
    const QosLevel* now = find_any(after_, level);
    const QosLevel* renamed = now == nullptr ? after_.find_renamed_level(level) : nullptr;
    if (now == nullptr && renamed == nullptr) {
        const auto [same, is_new] = same_.try_emplace(level);
        if (is_new && before_ != nullptr) {
            const QosLevel* gone = before_->find_level(level);
            const QosLevel* found = gone == nullptr ? nullptr : same_under_another_name(*before_, *gone, after_);
            same->second = found == nullptr ? "" : found->name;
        }
        return {level, same->second.empty() ? LossReason::Removed : LossReason::Renamed, same->second};
    }
    const bool allowed = is_allowed(now != nullptr ? *now : *renamed, owner);
    return {level, allowed ? LossReason::NoRule : LossReason::NotAllowed,
            renamed == nullptr ? std::string() : renamed->name};
}

void LostLevels::move(SessionId id, const Identity& owner, Had before, Membership& after, std::uint32_t queue_pairs)
{
    const auto count = [&](Count& of) {
        of.sessions.insert(id);
        of.queue_pairs += queue_pairs;
    };
    if (!after.level.empty()) {
        const QosLevel* level = equals_ignoring_case(before.level, after.level) || before.level.empty()
                                    ? nullptr
                                    : after_.find_renamed_level(before.level);
        if (level != nullptr && level->name == after.level) {
            count(renamed_[{before.level, after.level}]);
        }
        return;
    }
    if (before.level.empty()) {
        after.lost = before.lost;
        return;
    }
    const Reason reason = why(before.level, owner);
    Count& of = lost_[reason];
    if (of.lost == nullptr) {
        LostLevel lost = taken_;
        std::tie(lost.level, lost.reason, lost.renamed_to) = reason;
        of.lost = std::make_shared<const LostLevel>(std::move(lost));
    }
    count(of);
    after.lost = of.lost;
}

std::vector<LevelLoss> LostLevels::losses() const
{
    std::vector<LevelLoss> losses;
    for (const auto& [why, count] : lost_) {
        const auto& [level, reason, renamed_to] = why;
        losses.push_back(
            {level, reason, renamed_to, static_cast<std::uint32_t>(count.sessions.size()), count.queue_pairs});
    }
    return losses;
}

std::vector<LevelRenaming> LostLevels::renamings() const
{
    std::vector<LevelRenaming> renamings;
    for (const auto& [names, count] : renamed_) {
        renamings.push_back(
            {names.first, names.second, static_cast<std::uint32_t>(count.sessions.size()), count.queue_pairs});
    }
    return renamings;
}

void log_lost_levels(const std::vector<LevelLoss>& losses, const std::vector<LevelRenaming>& renamings,
                     const std::string& revision)
{
    for (std::size_t i = 0; i < std::min(losses.size(), kMostLines); ++i) {
        const LevelLoss& loss = losses[i];
        log_event(LogLevel::Warning, LogEvent::LevelLost, {},
                  {{"LEVEL", loss.level},
                   {"REASON", std::string(to_string(loss.reason))},
                   {"SESSIONS", fmt::format("{}", loss.sessions)},
                   {"QUEUE_PAIRS", fmt::format("{}", loss.queue_pairs)},
                   {"REVISION", revision}},
                  "{}: {} with {} {} no other level; {} queue pairs leave the tree{}", loss_in_words(loss),
                  counted(loss.sessions, "session"), counted(loss.queue_pairs, "queue pair"),
                  loss.sessions == 1 ? "loses it and gets" : "lose it and get", loss.sessions == 1 ? "its" : "their",
                  i + 1 == kMostLines && losses.size() > kMostLines
                      ? fmt::format("; {} more, `rdma-qosctl status` names them",
                                    counted(losses.size() - kMostLines, "level"))
                      : "");
    }
    for (std::size_t i = 0; i < std::min(renamings.size(), kMostLines); ++i) {
        const LevelRenaming& renaming = renamings[i];
        log(LogLevel::Notice, {{"LEVEL", renaming.to}, {"REVISION", revision}},
            "level {} is renamed to {}: {} with {} {} it", renaming.from, renaming.to,
            counted(renaming.sessions, "session"), counted(renaming.queue_pairs, "queue pair"),
            renaming.sessions == 1 ? "keeps" : "keep");
    }
}

}    // namespace rdmaqos
