#include "daemon/device/pacing_budget.h"

#include <algorithm>

namespace rdmaqos {

void PacingBudget::want(std::uint32_t number, std::uint64_t order, const std::optional<RateLimit>& limit)
{
    if (table_size_ == 0) {
        return;
    }
    if (const auto before = wants_.find(number); before != wants_.end()) {
        const auto& [user, wanted] = before->second;
        if (limit == wanted && user.first == order) {
            return;
        }
        const auto users = users_.find(wanted);
        users->second.erase(user);
        if (users->second.empty()) {
            users_.erase(users);
        }
        wants_.erase(before);
        changed_ = true;
    }
    if (limit) {
        const User user{order, number};
        users_[*limit].insert(user);
        wants_.emplace(number, std::pair(user, *limit));
        changed_ = true;
    }
}

void PacingBudget::clear()
{
    users_.clear();
    wants_.clear();
    granted_.clear();
    changed_ = false;
}

std::vector<std::uint32_t> PacingBudget::settle()
{
    std::vector<std::uint32_t> served;
    if (!changed_) {
        return served;
    }
    changed_ = false;
    std::erase_if(granted_, [this](const RateLimit& limit) { return !users_.contains(limit); });
    if (granted_.size() >= table_size_ || granted_.size() == users_.size()) {
        return served;
    }
    std::vector<std::pair<User, const RateLimit*>> waiting;
    for (const auto& [limit, users] : users_) {
        if (!granted_.contains(limit)) {
            waiting.emplace_back(*users.begin(), &limit);
        }
    }
    std::sort(waiting.begin(), waiting.end());
    for (const auto& [first, limit] : waiting) {
        if (granted_.size() >= table_size_) {
            break;
        }
        granted_.insert(*limit);
        for (const auto& [order, number] : users_.at(*limit)) {
            served.push_back(number);
        }
    }
    return served;
}

}    // namespace rdmaqos
