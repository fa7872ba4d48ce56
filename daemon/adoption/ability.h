// Whether this process may take device files of other programs, and if not, what to change.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rdmaqos {

// What decides it.
struct AdoptionAbility {
    bool may_trace = false;             // CAP_SYS_PTRACE: to take descriptors of processes of other users
    bool may_search = false;            // CAP_DAC_READ_SEARCH or CAP_DAC_OVERRIDE: to see which descriptors they have
    bool kernel_can = false;            // pidfd_getfd(2), Linux 5.6
    bool is_filtered = false;           // a seccomp filter refuses that call
    std::optional<int> ptrace_scope;    // of the security module Yama; empty: it is not there

    friend bool operator==(const AdoptionAbility&, const AdoptionAbility&) = default;
};
[[nodiscard]] AdoptionAbility adoption_ability();

// A sentence with what to do; empty: it may. Pure.
[[nodiscard]] std::string why_not(const AdoptionAbility& ability);

}    // namespace rdmaqos
