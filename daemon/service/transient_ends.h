// Takes transient policy files away when they have ended, and has the policy read again, which leaves
// a trial in force.
#pragma once

#include <cstdint>

#include "daemon/service/context.h"
#include "daemon/service/policy_in_force.h"
#include "daemon/service/reloads.h"
#include "policy/load/transient_files.h"

namespace rdmaqos {

class TransientEnds {
public:
    // All must outlive it.
    TransientEnds(ServiceContext& context, PolicyInForce& policy, Reloads& reloads)
        : context_(context), policy_(policy), reloads_(reloads)
    {
    }

    // Service::end_transient_files()
    [[nodiscard]] bool end();

private:
    enum class Left : std::uint8_t { Yes, No };
    [[nodiscard]] Left remove(const TransientFile& file, WhyEnded why) const;

    ServiceContext& context_;
    PolicyInForce& policy_;
    Reloads& reloads_;
};

}    // namespace rdmaqos
