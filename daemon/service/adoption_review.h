// Stage Watched of adoption: after the rules have changed, goes through all adopted queue pairs, some at a time, and
// takes those out of the tree that the rules no longer adopt.
//
// Thread: the main loop.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "daemon/service/adoption_verdicts.h"
#include "daemon/service/context.h"
#include "daemon/service/device_table.h"
#include "daemon/service/policy_in_force.h"
#include "daemon/service/session_calls.h"
#include "daemon/service/session_table.h"

namespace rdmaqos {

class AdoptionReview {
public:
    // All must outlive it.
    AdoptionReview(ServiceContext& context, const PolicyInForce& policy, const DeviceTable& devices,
                   const SessionTable& sessions, SessionCalls& calls, AdoptionVerdicts& verdicts,
                   std::function<bool()> adopts)
        : context_(context), policy_(policy), devices_(devices), sessions_(sessions), calls_(calls),
          verdicts_(verdicts), adopts_(std::move(adopts))
    {
    }

    // From the first session on. While `adopts` says no, nothing stays adopted.
    void begin();

private:
    void go_on();
    // It is adopted, and the rules adopt it no longer; the verdict is noted.
    [[nodiscard]] bool is_unwanted(const Session& session, const QueuePairName& name, bool adopting);

    ServiceContext& context_;
    const PolicyInForce& policy_;
    const DeviceTable& devices_;
    const SessionTable& sessions_;
    SessionCalls& calls_;
    AdoptionVerdicts& verdicts_;
    std::function<bool()> adopts_;
    // What was looked at last: the session, and the queue pair in it.
    SessionId session_{};
    std::optional<QueuePairName> queue_pair_;
    std::unique_ptr<Timer> next_turn_;
};

}    // namespace rdmaqos
