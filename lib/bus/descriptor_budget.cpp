#include "lib/bus/descriptor_budget.h"

namespace rdmaqos::bus {
namespace {

constexpr std::size_t kPartOfRoot = 16;

}    // namespace

std::size_t DescriptorBudget::State::most_for(Account account) const
{
    return account.is_root() ? room : room - room / kPartOfRoot;
}

// With the mutex held.
DescriptorBudget::Held DescriptorBudget::hold(const std::shared_ptr<State>& state, Account account, std::size_t count)
{
    Held held(state.get(), [state, account, count](void*) {
        const std::lock_guard lock(state->mutex);
        state->all -= count;
        const auto own = state->of.find(account);
        own->second -= count;
        if (own->second == 0) {
            state->of.erase(own);
        }
    });
    state->all += count;
    state->of[account] += count;
    return held;
}

void DescriptorBudget::set_room(std::size_t descriptors)
{
    const std::lock_guard lock(state_->mutex);
    state_->room = descriptors;
}

DescriptorBudget::Held DescriptorBudget::take(Account account, std::size_t count)
{
    const std::lock_guard lock(state_->mutex);
    const std::size_t most = state_->most_for(account);
    if (state_->all > most || count > most - state_->all) {
        return nullptr;
    }
    const auto own = state_->of.find(account);
    // Nobody takes more than is left for the others.
    if (!account.is_root() && own != state_->of.end() && own->second + count > most - state_->all) {
        return nullptr;
    }
    return hold(state_, account, count);
}

DescriptorBudget::Held DescriptorBudget::count(Account account, std::size_t count)
{
    const std::lock_guard lock(state_->mutex);
    return hold(state_, account, count);
}

std::size_t DescriptorBudget::of(Account account) const
{
    const std::lock_guard lock(state_->mutex);
    const auto own = state_->of.find(account);
    return own == state_->of.end() ? 0 : own->second;
}

std::size_t DescriptorBudget::in_all() const
{
    const std::lock_guard lock(state_->mutex);
    return state_->all;
}

std::size_t DescriptorBudget::most_for(Account account) const
{
    const std::lock_guard lock(state_->mutex);
    return state_->most_for(account);
}

}    // namespace rdmaqos::bus
