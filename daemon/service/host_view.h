// All queue pairs of the host, also those of programs that know nothing of us: which are in a leaf, and why the others
// are not.
//
// Thread: the main loop.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include <sys/types.h>

#include "daemon/loop/callback.h"
#include "daemon/model/host_survey.h"
#include "daemon/service/context.h"
#include "daemon/service/device_table.h"
#include "daemon/service/session_table.h"
#include "daemon/survey/surveyor.h"

namespace rdmaqos {

class HostView {
public:
    using Processes = std::unordered_set<pid_t>;

    // All must outlive it.
    HostView(ServiceContext& context, const DeviceTable& devices, const SessionTable& sessions);

    // At most a second old.
    void survey(Callback<std::shared_ptr<const HostSurvey>> done) { surveyor_.survey(std::move(done)); }

    // What the daemon knows of it now, which may be later than it was seen.
    [[nodiscard]] HostStanding standing(const HostQueuePair& queue_pair, const Processes& with_session) const;
    [[nodiscard]] Processes processes_with_session() const;
    // Of one that a session attached, whether or not the kernel tracks it; empty: it is attached no more.
    struct Known {
        std::string name;    // of its device
        std::uint32_t port = 0;
        QueuePairType type = QueuePairType::Rc;
        std::shared_ptr<const Identity> owner;
        HostStanding standing;
    };
    [[nodiscard]] std::optional<Known> standing(const QueuePairName& queue_pair) const;
    // Queue pairs of sessions that the kernel does not track: made through DEVX, or of a simulated device.
    [[nodiscard]] std::vector<QueuePairName> untracked(const HostSurvey& survey) const;
    // Those of `untracked` too.
    [[nodiscard]] HostCounts count(const HostSurvey& survey) const;

private:
    // Of one that a session attached.
    void fill_in(const ManagedDevice& device, std::uint32_t number, HostStanding& standing) const;

    const DeviceTable& devices_;
    const SessionTable& sessions_;
    Surveyor surveyor_;
};

}    // namespace rdmaqos
