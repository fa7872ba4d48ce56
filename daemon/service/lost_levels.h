// Who loses a level when rules are tried (staging.h), and what the log says of it when they come into force.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "daemon/device/placement.h"
#include "daemon/model/level_loss.h"
#include "policy/model/identity.h"
#include "policy/model/policy.h"

namespace rdmaqos {

class LostLevels {
public:
    // `taken`: what the records have in common: when, and by which revision. All must outlive it; `before` may be null.
    LostLevels(const Policy* before, const Policy& after, LostLevel taken)
        : before_(before), after_(after), taken_(std::move(taken))
    {
    }

    // What was there until now: a level, or none and perhaps the one that was lost.
    struct Had {
        const std::string& level;
        const std::shared_ptr<const LostLevel>& lost;
    };
    // A session, or `queue_pairs` of one, had this and gets that. Without a level, `after` remembers which one it was.
    void move(SessionId id, const Identity& owner, Had before, Membership& after, std::uint32_t queue_pairs);

    // Those who lose a level now, by its name.
    [[nodiscard]] std::vector<LevelLoss> losses() const;
    [[nodiscard]] std::vector<LevelRenaming> renamings() const;

private:
    using Reason = std::tuple<std::string, LossReason, std::string>;    // level, why, renamed_to
    struct Count {
        std::shared_ptr<const LostLevel> lost;
        std::set<SessionId> sessions;
        std::uint32_t queue_pairs = 0;
    };

    [[nodiscard]] Reason why(const std::string& level, const Identity& owner);

    const Policy* before_;
    const Policy& after_;
    LostLevel taken_;
    std::map<std::string, std::string> same_;    // of levels that are gone: same_under_another_name()
    std::map<Reason, Count> lost_;
    std::map<std::pair<std::string, std::string>, Count> renamed_;
};

// A line for each level, up to a number of them.
void log_lost_levels(const std::vector<LevelLoss>& losses, const std::vector<LevelRenaming>& renamings,
                     const std::string& revision);

}    // namespace rdmaqos
