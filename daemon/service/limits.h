// What one user may use: sessions, queue pairs and requests. Counts live here so that no walk over all sessions is
// needed to answer a request; memory is one small entry per account that holds something or asked lately.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "lib/base/account.h"
#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "policy/model/settings.h"

namespace rdmaqos {

class UidLimits {
public:
    explicit UidLimits(const Clock& clock) : clock_(clock) {}

    void set_limits(const Limits& limits) { limits_ = limits; }

    // One request: a token bucket of one second's worth. LimitReached names the limit and the setting. Root is always
    // answered: what it asks for may be long because of what others have.
    [[nodiscard]] Result<void> take_request(Account account);
    // The last request costs as much as this many more. The bucket may owe, at most a few seconds' worth.
    void charge(Account account, std::size_t requests);

    [[nodiscard]] Result<void> add_session(Account account);
    void remove_session(Account account);

    // How many more queue pairs fit into a session that has `in_session`, and the limit that decides it.
    struct Room {
        std::uint32_t count = 0;
        Error limit;
    };
    [[nodiscard]] Room room(Account account, std::uint32_t in_session) const;
    // All or nothing.
    [[nodiscard]] Result<void> add_queue_pairs(Account account, std::uint32_t in_session, std::uint32_t count);
    void remove_queue_pairs(Account account, std::uint32_t count);

    // Entries kept; for the test that memory is bounded.
    [[nodiscard]] std::size_t entries() const { return uses_.size(); }

private:
    struct Use {
        std::uint32_t sessions = 0;
        std::uint32_t queue_pairs = 0;
        double tokens = 0;
        TimePoint refilled;
    };

    void remove_idle();

    const Clock& clock_;
    Limits limits_;
    std::unordered_map<Account, Use> uses_;
    TimePoint last_sweep_{};
};

}    // namespace rdmaqos
