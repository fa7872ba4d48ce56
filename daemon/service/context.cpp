#include "daemon/service/context.h"

#include <utility>

#include <fmt/format.h>

namespace rdmaqos {

ServiceContext::ServiceContext(ServiceOptions given, Executor& loop, const Clock& time)
    : options(std::move(given)), executor(loop), clock(time), ending(loop), loader(loop), calls(loop)
{
}

void ServiceContext::note_state(const std::string& file, StateFailure failure)
{
    const auto known = state_failures.find(file);
    if (failure == (known == state_failures.end() ? StateFailure() : known->second)) {
        return;
    }
    if (failure.message.empty()) {
        state_failures.erase(known);
    } else {
        state_failures[file] = std::move(failure);
    }
    notify([](ServiceObserver& observer) { observer.state_failures_changed(); });
}

std::string ServiceContext::note_saved(const std::string& file, const Result<void>& saved, std::string_view loss)
{
    std::string message = saved ? std::string() : fmt::format("{}: {}", loss, to_string(saved.error()));
    note_state(file, {message, !saved});
    return message;
}

Result<void> ServiceContext::not_ending() const
{
    if (shutting_down) {
        return fail(ErrorCode::Busy, "rdma-qosd is stopping");
    }
    return {};
}

}    // namespace rdmaqos
