// The sessions of programs that did not register end with their programs. That the queue pairs are gone is seen later,
// as the kernel has to be asked for them.
//
// Thread: the main loop.
#pragma once

#include <memory>
#include <unordered_map>

#include "daemon/service/context.h"
#include "daemon/service/session_calls.h"
#include "daemon/service/session_table.h"

namespace rdmaqos {

class ProgramEnds final : public ServiceObserver {
public:
    // All must outlive it.
    ProgramEnds(ServiceContext& context, const SessionTable& sessions, SessionCalls& calls);
    ~ProgramEnds() override;
    ProgramEnds(const ProgramEnds&) = delete;
    ProgramEnds& operator=(const ProgramEnds&) = delete;

    void session_added(SessionId id) override;
    void session_removed(SessionId id) override { watched_.erase(id); }

private:
    ServiceContext& context_;
    const SessionTable& sessions_;
    SessionCalls& calls_;
    std::unordered_map<SessionId, std::shared_ptr<void>> watched_;
};

}    // namespace rdmaqos
