// All queue pairs of the host, also those of programs that did not register: which are in a leaf, and why the others
// are not.
//
// Thread: the main loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "daemon/loop/callback.h"
#include "daemon/model/host_survey.h"
#include "daemon/service/adoption_verdicts.h"
#include "daemon/service/context.h"
#include "daemon/service/device_table.h"
#include "daemon/service/session_table.h"
#include "daemon/survey/shared_look.h"

namespace rdmaqos {

// One of them: tracked by the kernel, or else attached by a session (made through DEVX, or of a simulated device).
struct HostEntry {
    const HostQueuePair* tracked = nullptr;
    std::optional<QueuePairName> untracked;
};

// All of them, one at a time, so that others are served in between: sessions and devices may change meanwhile.
class HostWalk {
public:
    HostWalk(const SessionTable& sessions, std::shared_ptr<const HostSurvey> survey)
        : sessions_(sessions), survey_(std::move(survey))
    {
    }

    // One, or nothing where there is nothing to see; false at the end.
    bool next(HostEntry& entry);

private:
    const SessionTable& sessions_;
    std::shared_ptr<const HostSurvey> survey_;
    std::size_t next_ = 0;
    std::unordered_map<std::string, std::unordered_set<std::uint32_t>> tracked_;    // by device, as far as seen
    SessionId session_{};                                                           // that is looked at; ids begin at 1
    std::optional<QueuePairName> after_;
};

class HostView {
public:
    // All must outlive it.
    HostView(ServiceContext& context, const DeviceTable& devices, const SessionTable& sessions,
             const AdoptionVerdicts& verdicts);

    // At most a second old. With `unregistered: ignore`, the kernel is not asked.
    void survey(Callback<std::shared_ptr<const HostSurvey>> done);
    [[nodiscard]] HostWalk walk(std::shared_ptr<const HostSurvey> survey) const
    {
        return {sessions_, std::move(survey)};
    }

    // What the daemon knows of it now, which may be later than it was seen.
    [[nodiscard]] HostStanding standing(const HostQueuePair& queue_pair) const;
    // Of one that a session attached, whether or not the kernel tracks it; empty: it is attached no more.
    struct Known {
        std::string name;    // of its device
        std::uint32_t port = 0;
        QueuePairType type = QueuePairType::Rc;
        std::shared_ptr<const Identity> owner;
        HostStanding standing;
    };
    [[nodiscard]] std::optional<Known> standing(const QueuePairName& queue_pair) const;

    // Queue pairs of programs that did not register and would be adopted into a level if that were not only monitored;
    // of a device by name, or of all ("").
    [[nodiscard]] std::map<std::string, std::uint32_t> monitored(const std::string& device) const
    {
        return verdicts_.monitored(device);
    }

    // How many are where, with what could not be seen. Counted in turns of the loop; kept for a second.
    struct Counted {
        HostCounts counts;
        std::shared_ptr<const HostSurvey> survey;
    };
    void count(Callback<Counted> done);

private:
    struct Found {
        std::string device;                   // key; empty: not managed
        const ManagedDevice* of = nullptr;    // null: no session attached it
    };
    [[nodiscard]] Found find(const HostQueuePair& queue_pair) const;
    [[nodiscard]] std::string_view outside(const HostQueuePair& queue_pair, const Found& found) const;
    void add(const HostEntry& entry);
    void go_on();
    void answer(const Result<Counted>& counted);

    ServiceContext& context_;
    const DeviceTable& devices_;
    const SessionTable& sessions_;
    const AdoptionVerdicts& verdicts_;
    SharedLook<HostSurvey> look_;
    // The count that is being made, for all who have asked since it began, and the last one.
    std::vector<Callback<Counted>> waiting_;
    std::optional<HostWalk> walk_;
    Counted counting_;
    std::unique_ptr<Timer> next_turn_;
    std::optional<Counted> last_;
    TimePoint counted_at_{};
};

}    // namespace rdmaqos
