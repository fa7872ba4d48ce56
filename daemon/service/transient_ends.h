// Takes transient policy files away when they have ended, and has the policy read again, which leaves
// a trial in force.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

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

    // Where a cgroup is that such a file names; empty: that cannot be known here.
    [[nodiscard]] std::filesystem::path cgroup_directory(const std::string& cgroup) const
    {
        return rdmaqos::cgroup_directory(context_.options.root, cgroup);
    }
    // Removes those that have ended, and reads the policy again if one of them was in force. False: somebody else
    // changes files there, try again soon.
    [[nodiscard]] bool end();

private:
    enum class Left : std::uint8_t { Yes, No };
    [[nodiscard]] Left remove(const TransientFile& file, WhyEnded why) const;

    ServiceContext& context_;
    PolicyInForce& policy_;
    Reloads& reloads_;
};

}    // namespace rdmaqos
