#include "daemon/service/program_ends.h"

namespace rdmaqos {

ProgramEnds::ProgramEnds(ServiceContext& context, const SessionTable& sessions, SessionCalls& calls)
    : context_(context), sessions_(sessions), calls_(calls)
{
    context_.add_observer(*this);
}

ProgramEnds::~ProgramEnds()
{
    context_.remove_observer(*this);
}

void ProgramEnds::session_added(SessionId id)
{
    const Session* const session = sessions_.find(id);
    if (session == nullptr || !session->adopted || !context_.options.watch_end) {
        return;
    }
    if (auto watch = context_.options.watch_end(session->owner, [this, id] { calls_.program_ended(id); })) {
        watched_.emplace(id, std::move(watch));
    }
}

}    // namespace rdmaqos
