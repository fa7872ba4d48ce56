// The descriptors that this process has on account of clients, out of all that it may have: of their connections, of
// what they sent and is kept (device files, texts), and of what is being closed. What is scarce is counted in one
// place, whatever it is used for.
//
// One in sixteen is kept for root, so that an administrator always gets in. Of the rest nobody gets more than is left
// for all others together.
//
// Thread-safe: what was taken is given back on whichever thread releases it.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "lib/base/account.h"

namespace rdmaqos::bus {

class DescriptorBudget {
public:
    // Gives back what was taken when the last copy goes; may outlive the budget.
    using Held = std::shared_ptr<void>;

    // Of everybody together; no limit until it is set.
    void set_room(std::size_t descriptors);
    // Null: there is no room for so many more of this account.
    [[nodiscard]] Held take(Account account, std::size_t count);
    // Whether there is room or not: it is open already.
    [[nodiscard]] Held count(Account account, std::size_t count);
    [[nodiscard]] std::size_t of(Account account) const;
    [[nodiscard]] std::size_t in_all() const;
    // As much as this account could have if it were alone.
    [[nodiscard]] std::size_t most_for(Account account) const;

private:
    struct State {
        mutable std::mutex mutex;
        std::size_t room = SIZE_MAX;
        std::size_t all = 0;
        std::map<Account, std::size_t> of;

        [[nodiscard]] std::size_t most_for(Account account) const;
    };

    static Held hold(const std::shared_ptr<State>& state, Account account, std::size_t count);

    std::shared_ptr<State> state_ = std::make_shared<State>();
};

}    // namespace rdmaqos::bus
