// The table of refusals on the firmware model itself.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "lib/model/firmware.h"
#include "tests/support/refusals.h"

namespace rdmaqos::test {

inline FirmwareOptions strict_options(const Capabilities& capabilities)
{
    FirmwareOptions options;
    options.capabilities = capabilities;
    options.implicit_queue_pairs = false;
    return options;
}

class FirmwareDriver final : public RefusalDriver {
public:
    explicit FirmwareDriver(const Capabilities& capabilities) : firmware_(strict_options(capabilities)) {}

    [[nodiscard]] Verdict take(const Step& step) override
    {
        return std::visit([this](const auto& concrete) { return take_one(concrete); }, step);
    }

private:
    template <typename T>
    static Verdict verdict(const Answer<T>& answer)
    {
        Verdict result;
        if (!answer) {
            result.refused = true;
            result.status = answer.error().status;
            result.sys_errno = answer.error().sys_errno;
            result.message = answer.error().message;
        }
        return result;
    }

    [[nodiscard]] ObjectId id(const std::string& name) const { return name.empty() ? kNoObject : ids_.at(name); }

    Verdict take_one(const Create& step)
    {
        CreateCommand command;
        command.kind = step.kind;
        if (!step.parent.empty()) {
            command.parent = id(step.parent);
        }
        command.fields = {step.flags, step.share, step.max_rate_mbps};
        const auto answer = firmware_.create(command);
        if (answer) {
            ids_[step.name] = *answer;
        }
        return verdict(answer);
    }

    Verdict take_one(const Modify& step)
    {
        return verdict(firmware_.modify(kHostContext, id(step.name), {step.flags, step.share, step.max_rate_mbps}));
    }

    Verdict take_one(const Expect& step)
    {
        const auto answer = firmware_.query(kHostContext, id(step.name));
        Verdict result = verdict(answer);
        if (answer && (answer->share != step.share || answer->max_rate_mbps != step.max_rate_mbps)) {
            result.refused = true;
            result.message = "share " + std::to_string(answer->share) + ", rate " +
                             std::to_string(answer->max_rate_mbps);
        }
        return result;
    }

    Verdict take_one(const Destroy& step) { return verdict(firmware_.destroy(kHostContext, id(step.name))); }

    Verdict take_one(const MakeQueuePair& step)
    {
        firmware_.create_queue_pair(step.number, step.type, step.state);
        return {};
    }

    Verdict take_one(const DestroyQueuePair& step)
    {
        firmware_.destroy_queue_pair(step.number);
        return {};
    }

    Verdict take_one(const Attach& step)
    {
        return verdict(
            firmware_.attach({kHostContext, step.number, step.type, id(step.requester), id(step.responder)}));
    }

    Verdict take_one(const Pace& step)
    {
        return verdict(firmware_.set_rate({kHostContext, step.number, step.type, step.rate}));
    }

    Firmware firmware_;
    std::map<std::string, ObjectId> ids_;
};

}    // namespace rdmaqos::test
