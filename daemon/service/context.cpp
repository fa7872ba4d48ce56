#include "daemon/service/context.h"

#include <utility>

namespace rdmaqos {

ServiceContext::ServiceContext(ServiceOptions given, Executor& loop, const Clock& time)
    : options(std::move(given)), executor(loop), clock(time), ending(loop), loader(loop), calls(loop)
{
}

void ServiceContext::note_state(const std::string& file, const std::string& failure)
{
    const auto known = state_failures.find(file);
    if (failure == (known == state_failures.end() ? "" : known->second)) {
        return;
    }
    if (failure.empty()) {
        state_failures.erase(known);
    } else {
        state_failures[file] = failure;
    }
    notify([](ServiceObserver& observer) { observer.state_failures_changed(); });
}

Result<void> ServiceContext::not_ending() const
{
    if (shutting_down) {
        return fail(ErrorCode::Busy, "rdma-qosd is stopping");
    }
    return {};
}

}    // namespace rdmaqos
