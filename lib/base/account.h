// On whose account something is done: what a user may take of the daemon is counted by this, and root has more.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace rdmaqos {

// A number of a user is an ordinary account, that of uid 0 too: the root of a container has it, and must take nothing
// that is kept for the root of the host (privileges.h).
class Account {
public:
    constexpr Account(std::uint32_t uid) : key_(uid) {}    // NOLINT(*-explicit-*): see above
    [[nodiscard]] static constexpr Account root()
    {
        Account account(0);
        account.key_ = kRoot;
        return account;
    }

    [[nodiscard]] constexpr bool is_root() const { return key_ == kRoot; }
    [[nodiscard]] constexpr std::uint32_t uid() const { return is_root() ? 0 : static_cast<std::uint32_t>(key_); }

    friend auto operator<=>(const Account&, const Account&) = default;

private:
    friend struct std::hash<Account>;
    static constexpr std::uint64_t kRoot = std::uint64_t{1} << 32U;    // the number of no user

    std::uint64_t key_;
};

}    // namespace rdmaqos

template <>
struct std::hash<rdmaqos::Account> {
    std::size_t operator()(const rdmaqos::Account& account) const noexcept { return account.key_; }
};
